"""Marks by what they do to a sentence."""

CLOSERS = "”’』」）】》〉〕｝)]}\"'»"
QUOTES = '”’』」"'
OPENERS = "“‘『「（【《〈〔｛([{«"
ENDERS = "。！？!?｡"
ELLIPSIS = "…⋯"
CLAUSE_STRONG = "；：;:—"
CLAUSE = "，、,､"
LEADING = CLOSERS.replace("'", "").replace('"', "") + ENDERS + ELLIPSIS + CLAUSE + "；：;:."
"""Marks no chunk may begin with: they belong to what was said before."""
