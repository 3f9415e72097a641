"""One reader for each kind of document; `langdu.text.documents` chooses."""
