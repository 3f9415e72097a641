"""The numbers verdicts are given by, each with where it comes from.

"measured" means: over the corpus of `benchmarks/verdicts.py` (built-in Mandarin and English voices, whisper-base),
the limit lies outside everything that healthy speech showed, with the margin stated in docs/verification.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

RULES = 2
"""Raised with every change of a limit or a check: takes judged by other rules are heard again."""
SYLLABLE_S = {"zh": 0.19, "en": 0.19, "ja": 0.11}
"""Seconds of sound a syllable takes (a mora in Japanese), measured over all voices."""

ERROR_LIMITS = {("whisper-base", "zh"): 0.25, ("whisper-base", "en"): 0.25, ("whisper-base", "ja"): 0.35}
"""Highest `sound_error` that passes, by checker and language. whisper-base on healthy Mandarin and English: up to
0.15; other words: from 0.60 (measured). Japanese by fewer sentences, with room."""


@dataclass(frozen=True, slots=True)
class Limits:
    quiet_lufs: float = -40.0
    """Nearly silent below it (in use elsewhere)."""
    true_peak_db: float = 3.0
    """Between samples above full scale. A note from 0 dB, a fault only here: the loudness pass turns down."""
    clipped_share: float = 0.002
    """Samples in flat tops; healthy speech: under 0.0001 (measured)."""
    dc: float = 0.02
    """Mean of the samples; healthy speech: under 0.001 (measured)."""
    pause_s: float = 1.5
    """Longest silence inside; 2 s and more is in use elsewhere, healthy chunks: under 0.8 (measured)."""
    edge_silence_s: float = 4.0
    """Silence before or after; engines leave about 1 s (measured)."""
    zcr: float = 0.3
    """Zero crossings a sample at 24 kHz: above it is crackle or hiss (in use elsewhere), healthy: 0.09 to 0.2."""
    zcr_last: float = 0.5
    """The same for the last two of eight stretches together: a tail that decays into hiss."""
    flatness: float = 0.3
    """Median spectral flatness; white noise 0.56, healthy speech under 0.05 (measured)."""
    too_short: float = 0.5
    too_long: float = 2.0
    """Seconds of sound over those expected from the syllables (0.5 to 2.5 is in use elsewhere)."""
    suspicious: float = 1.2
    """From this ratio on a take is heard once more, pause by pause, which shows what Whisper hides."""
    repeat: float = 0.83
    """Likeness of the end to what came before: a copy 0.91 and more, other words under 0.75 (measured)."""
    lost_tail: float = 0.12
    """Share of the syllables missing at the end, at least `lost_syllables` of them."""
    lost_syllables: int = 2
    similarity: float = 0.78
    """Cosine to the persona's voice by one chunk: the same voice 0.785 and more, 98 % of others under it (measured)."""
    doubtful_similarity: float = 0.81
    probability: float = 0.35
    """Below this mean probability the checker itself does not know (in use elsewhere: low confidence)."""
    short_syllables: int = 4
    """Texts under so many syllables are not judged by their transcript: one misheard is already a quarter."""
    errors: Mapping[tuple[str, str], float] = field(default_factory=lambda: dict(ERROR_LIMITS))

    def error(self, checker: str, language: str) -> float:
        """The limit of the checker for that language; larger checkers make fewer mistakes than whisper-base."""
        return self.errors.get((checker, language), self.errors.get(("whisper-base", language), 0.25))
