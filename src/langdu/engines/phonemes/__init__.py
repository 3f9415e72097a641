"""Text to phonemes in Kokoro's alphabet: one module for each script, `mixed` routes between them."""
