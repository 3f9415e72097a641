"""From a script to chunks, each with the key of its sound."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence

from langdu.engines.base import EngineInfo
from langdu.synthesis.model import Chunk, Plan, take_key
from langdu.text import pronunciation
from langdu.text.model import Script
from langdu.text.segment import Segment, chunk
from langdu.voices.persona import Persona

# The most characters one chunk may have, by engine and language, under the user's own cap. Kokoro: about four
# phonemes a Mandarin character, and a model limit of 510.
ENGINE_CAP = {"kokoro": {"zh": 120, "ja": 90, "en": 400}}
CHUNK_COST_CHARS = 7
"""What starting a chunk costs beside its text: kokoro computes about 1.45 s of silence, seven characters' worth."""
SMALLEST_CAP = 60


def engine_cap(engine: str, language: str, cap: int) -> int:
    return min(cap, ENGINE_CAP.get(engine, {}).get(language, cap))


def even_cap(script: Script, cap: int, workers: int, *, first_cap: int | None = None) -> int:
    """The cap under `cap` that lets `workers` finish together soonest.

    Fewer chunks compute less silence, but nine equal chunks keep one of two workers idle for the ninth. The
    finishing time is estimated by handing out the longest first; short texts only, long ones even out anyway.
    """
    if workers < 2 or sum(len(u.spoken) for u in script.utterances) > 40 * cap:
        return cap

    def finish(candidate: int) -> float:
        lengths = [len(s.spoken) for s in chunk(script.utterances, candidate, first_cap=first_cap)]
        loads = [0.0] * workers
        for length in sorted(lengths, reverse=True):
            heapq.heapreplace(loads, loads[0] + length + CHUNK_COST_CHARS)
        return max(loads)

    return min(range(cap, min(cap, SMALLEST_CAP) - 1, -6), key=finish)


def make_plan(
    script: Script,
    persona_of: Callable[[str | None], Persona],
    engine: EngineInfo | None,
    *,
    cap: int,
    first_cap: int | None = None,
    pause_chunk_s: float = 0.15,
    speed: float = 1.0,
    fits: Callable[[str, str], bool] | None = None,
    takes_pinyin: Callable[[Persona], bool] = lambda persona: False,
) -> Plan:
    """Chunks of a script in order, numbered within their chapters.

    `persona_of` resolves the names in the script (None: the default voice); it raises VoiceError before
    anything is loaded. Without `engine` the chunks have no keys yet (nothing is kept under them). Where the
    persona's engine takes no pinyin, the characters are said and `Plan.warnings` tells of it.
    """
    segments = chunk(script.utterances, cap, first_cap=first_cap, pause_chunk_s=pause_chunk_s, fits=fits)
    personas = {name: persona_of(name) for name in dict.fromkeys(segment.voice for segment in segments)}
    numbers: defaultdict[int, int] = defaultdict(int)
    pinyin = {name: takes_pinyin(persona) for name, persona in personas.items()}
    chunks = []
    for index, segment in enumerate(segments):
        numbers[segment.chapter] += 1
        persona = personas[segment.voice]
        chunks.append(_chunk(index, numbers[segment.chapter], segment, persona, engine, speed, pinyin[segment.voice]))
    warnings = _unpronounced(segments, personas, pinyin)
    return Plan(tuple(chunks), script.chapters, script.title, script.author, warnings)


def _unpronounced(
    segments: Sequence[Segment], personas: dict[str | None, Persona], pinyin: dict[str | None, bool]
) -> tuple[str, ...]:
    found: dict[str, set[str]] = defaultdict(set)
    for segment in segments:
        if not pinyin[segment.voice]:
            marks = pronunciation.MARK.finditer(segment.spoken)
            found[personas[segment.voice].name].update(match["written"] for match in marks)
    return tuple(
        f'the engine of "{name}" takes no pinyin; the characters are said as it reads them: {", ".join(sorted(words))}'
        for name, words in found.items()
        if words
    )


def _chunk(
    index: int, number: int, segment: Segment, persona: Persona, engine: EngineInfo | None, speed: float, pinyin: bool
) -> Chunk:
    marked = segment.spoken.strip()
    text = pronunciation.plain(marked)
    pronounced = marked if pinyin and marked != text else ""
    speed *= persona.settings.get("speed", 1.0)
    key = take_key(pronounced or text, segment.language, persona, engine, speed=speed) if engine is not None else ""
    return Chunk(
        index, segment.chapter, number, text, segment.language, persona, segment.pause_after_s, key,
        segment.utterances, speed, pronounced,
    )  # fmt: skip


def longest_first(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The order in which workers finish soonest, when nobody waits for the first sound."""
    return sorted(chunks, key=lambda c: -len(c.text))
