"""How many frames a text may take. Around one generation in 200 to 300 never ends by itself.

The budget is far above what any voice needs, so only a take that ran away meets it; meeting it is a fault.
Rates are seconds for a character of slow, careful speech: Mandarin is read at 4 to 5 syllables a second,
English at 12 to 15 letters a second.
"""

from __future__ import annotations

import math
import unicodedata

FRAMES_PER_SECOND = 12.5
SAMPLES_PER_FRAME = 1920
MARGIN = 2.5
"""How often the slow estimate fits into the budget."""
EXTRA_S = 2.0
"""Silence around speech, and room for one-word texts."""

_CJK_S, _LETTER_S, _DIGIT_S, _PAUSE_S = 0.28, 0.085, 0.35, 0.3


def estimate_s(text: str) -> float:
    """Seconds of slow speech for `text`."""
    total = 0.0
    for character in text:
        kind = unicodedata.category(character)
        if kind == "Nd":
            total += _DIGIT_S
        elif kind in ("Lo", "Nl", "No", "So"):  # ideographs, kana, hangul and other unspaced scripts
            total += _CJK_S
        elif kind[0] in "LM":
            total += _LETTER_S
        elif kind[0] in "PS":
            total += _PAUSE_S
    return total


def budget_frames(text: str) -> int:
    """Frames after which a take of `text` has run away."""
    return math.ceil((estimate_s(text) * MARGIN + EXTRA_S) * FRAMES_PER_SECOND)
