"""Nothing longer than the model takes is ever sent: a long phoneme string is cut where a reader breathes."""

from __future__ import annotations

MAX_PHONEMES = 500
"""The model takes 510 tokens beside the two paddings, and has a style vector for each length up to 510."""

BREAKS = (".!?…", ";:—", ",", ' ”)"', "")


def split(phonemes: str, limit: int = MAX_PHONEMES) -> list[str]:
    """Parts of at most `limit` symbols, together the whole; cut after the strongest mark near the middle."""
    if len(phonemes) <= limit:
        return [phonemes]
    low, high = len(phonemes) - limit if len(phonemes) < 2 * limit else limit // 2, limit
    for marks in BREAKS:
        places = [at for at in range(max(1, low), high + 1) if not marks or phonemes[at - 1] in marks]
        if places:
            middle = len(phonemes) / 2 if len(phonemes) < 2 * limit else limit
            cut = min(places, key=lambda at: abs(at - middle))
            return [phonemes[:cut], *split(phonemes[cut:], limit)]
    raise AssertionError("the last row of BREAKS matches everywhere")
