"""SSML as our own marks: `<break>`, `<say-as>`, `<sub>`, `<voice>`, `<emphasis>`, `<p>`, `<s>`.

lxml parses it with entities unexpanded and no network; a document type is refused.
"""

from __future__ import annotations

from typing import Any

import regex

from langdu.errors import DependencyError, TextError

LOOKS = regex.compile(r"<(?:speak|break|say-as|sub|voice|emphasis|prosody|phoneme)\b[^<>]*>")
STRENGTH_S = {"none": 0.0, "x-weak": 0.1, "weak": 0.2, "medium": 0.4, "strong": 0.7, "x-strong": 1.0}
SPELLED = frozenset({"characters", "spell-out", "verbatim", "digits", "telephone"})
KNOWN = frozenset({"speak", "p", "s", "break", "say-as", "sub", "voice", "emphasis"})


def looks_like(text: str) -> bool:
    return bool(LOOKS.search(text))


def to_marks(text: str) -> str:
    """The text with our marks. Raises TextError with line and column where the XML is broken."""
    try:
        from lxml import etree
    except ImportError:
        hint = 'Run: pip install "langdu[text]"'
        raise DependencyError("lxml is not installed; it reads SSML.", hint=hint) from None

    body = regex.sub(r"^\s*<\?xml[^>]*\?>\s*", "", text)
    if "<!DOCTYPE" in body or "<!ENTITY" in body:
        raise TextError("The SSML declares a document type; that is not read.", hint="Take the <!DOCTYPE> out.")
    wrapped = body if body.lstrip().startswith("<speak") else f"<speak>{body}</speak>"
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(wrapped.encode(), parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        hint = "Close every tag; write & as &amp; and < as &lt;."
        raise TextError(f"The SSML is broken at line {line}, column {column}: {error.msg}.", hint=hint) from None
    out: list[str] = []
    _write(root, out, [])
    return "".join(out)


def _write(node: Any, out: list[str], voices: list[str]) -> None:
    tag = regex.sub(r"^\{.*\}", "", node.tag) if isinstance(node.tag, str) else ""
    attributes = {regex.sub(r"^\{.*\}", "", str(name)): str(value) for name, value in node.attrib.items()}
    if tag == "break":
        strength = STRENGTH_S.get(attributes.get("strength", "medium"), 0.4)
        out.append(f"[pause:{attributes.get('time', f'{strength}s')}]")
    elif tag == "sub":
        out.append(attributes.get("alias", "".join(node.itertext())))
    elif tag == "say-as" and attributes.get("interpret-as") in SPELLED:
        out.append(f"[spell:{''.join(node.itertext())}]")
    elif tag == "emphasis":
        out.append(f"[em:{''.join(node.itertext())}]")
    elif tag:
        if tag not in KNOWN:
            out.append(f"[{regex.sub('[^a-z]', '', tag.lower()) or 'unknown'}]")  # reported, its text is said
        name = attributes.get("name", "")
        if tag == "voice":
            voices.append(name)
            out.append(f"[voice:{name}]")
        out.append(node.text or "")
        for child in node:
            _write(child, out, voices)
            out.append(child.tail or "")
        if tag == "voice":
            voices.pop()
            out.append(f"[voice:{voices[-1] if voices else ''}]")
        if tag == "p":
            out.append("\n\n")
