"""Saying one text from start to end: what the command line, the service and the agents call for short work."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from langdu.audio.join import Joiner
from langdu.engines import accepts
from langdu.engines.base import Audio, EngineInfo
from langdu.errors import EngineError, TextError, by_code
from langdu.settings import settings
from langdu.synthesis.capacity import choose_workers
from langdu.synthesis.model import Plan, Take
from langdu.synthesis.order import in_order
from langdu.synthesis.plan import engine_cap, even_cap, longest_first, make_plan
from langdu.synthesis.pool import Pool
from langdu.synthesis.runner import EngineSpec, Job, Outcome
from langdu.text.language import language_of
from langdu.text.model import Document, Language, Script
from langdu.text.script import ScriptOptions, make_script
from langdu.text.segment import chunk, sayable
from langdu.voices.builtin import BUILTIN
from langdu.voices.library import Library
from langdu.voices.persona import BuiltinPersona, Persona

SINGLE_CHARS = 40
"""Up to here a text is one chunk: one worker with all cores is quicker than two that each load the model."""
GUESS_CHARS = 20_000
FIRST_CAP = 24
"""Characters of the first chunk where somebody waits for the first sound."""


@dataclass(frozen=True, slots=True)
class SayRequest:
    text: str | Document
    voice: str | None = None
    language: Language | None = None
    workers: int | None = None
    force: bool = False
    speed: float = 1.0
    seed: int = 0
    live: bool = False
    """Somebody listens while it is made: a short first chunk, then in order."""
    model: str = ""
    options: ScriptOptions | None = None
    engine_options: dict[str, str | int | float | bool] = field(default_factory=dict)
    engine: str = ""
    """"" is the engine of the voice."""
    cap: int | None = None
    """Most characters in a chunk, where the engine takes that many; None: the setting."""


@dataclass(slots=True)
class Facts:
    """What a run was, for people and programs. RTF is seconds of work per second of sound: lower is better."""

    engine: str = ""
    model: str = ""
    precision: str = ""
    device: str = ""
    voice: str = ""
    workers: int = 0
    chunks: int = 0
    seconds: float = 0.0
    audio_seconds: float = 0.0
    rtf: float = 0.0
    load_seconds: float = 0.0
    first_sound_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    faults: list[dict[str, Any]] = field(default_factory=list)
    output: str = ""
    warnings: list[str] = field(default_factory=list)
    """What in the text was not understood, and what the engine cannot do of it."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Saying:
    """One run. Iterate `blocks()` for the joined sound; `facts` is complete afterwards.

    Construction checks the text and the voice before any model loads; workers start at once after that and
    load while the text is prepared. Use as a context: leaving it ends every worker.
    """

    def __init__(self, request: SayRequest, *, on_take: Callable[[int, int], None] | None = None) -> None:
        self._started = time.perf_counter()
        self._request, self._on_take = request, on_take
        self.takes: list[tuple[int, Take]] = []
        self._pool = self._early_pool()
        try:
            self._prepare()
        except BaseException:
            self._pool.close()
            raise
        self.facts = Facts(voice=self.persona.name, workers=self.workers, chunks=len(self.plan.chunks))
        self.facts.warnings = [*map(str, self.script.warnings), *self.plan.warnings]
        self._joiner: Joiner | None = None

    def _early_pool(self) -> Pool:
        """The first worker loads while the text is prepared; it needs no more than the voice."""
        request = self._request
        raw = request.text if isinstance(request.text, str) else _text_of(request.text)
        if not sayable(raw):
            raise TextError("There is nothing to say in this text.", hint="Give at least one letter or digit.")
        self.persona = persona_for(request.voice, request.language or guess_language(raw))
        self.spec = spec_for(self.persona, request, raw)
        # Before anything starts: more workers than the machine carries are refused with the numbers.
        batched = self.spec.engine == "qwen3"
        count = choose_workers(
            request.workers, engine=self.spec.engine, chunks=10**6, batched=batched, force=request.force
        )
        if request.workers is None and len(raw) <= SINGLE_CHARS:
            self.spec.options.setdefault("threads", count)
        if batched and count > 1:
            self.spec.options.setdefault("slots", 1)  # each would take the rows that fit into the memory of all
        return Pool(self.spec, 1, personas=[self.persona])

    def _prepare(self) -> None:
        request = self._request
        self.script = make_script(
            request.text, language=request.language, default=own_language(self.persona),
            options=_options(request, self.persona),
        )  # fmt: skip
        cap = engine_cap(self.spec.engine, _main_language(self.script), request.cap or settings().chunk_chars)
        first_cap = FIRST_CAP if request.live else None
        workers = 1 if "threads" in self.spec.options else request.workers
        rough = len(chunk(self.script.utterances, cap, first_cap=first_cap))
        workers = choose_workers(
            workers, engine=self.spec.engine, chunks=rough, batched=self.spec.engine == "qwen3", force=request.force
        )
        if not request.live:
            cap = even_cap(self.script, cap, workers)
        self.plan: Plan = make_plan(
            self.script, lambda name: find_persona(name) if name else self.persona, None, cap=cap,
            first_cap=first_cap, pause_chunk_s=settings().pause_chunk_s, speed=request.speed,
            takes_pinyin=lambda _: accepts(self.spec.engine).pinyin,
        )  # fmt: skip
        self.workers = min(workers, len(self.plan.chunks))
        self._pool.grow(self.workers)

    def outcomes(self) -> Iterator[Outcome]:
        """Each chunk's outcome, in order. A chunk that failed raises its error."""
        chunks = self.plan.chunks if self._request.live else longest_first(self.plan.chunks)
        jobs = [Job(wanted, self._request.seed) for wanted in chunks]
        for outcome in in_order(_counted(self._pool.run(jobs), self._on_take, len(jobs))):
            if outcome.failed is not None:
                failed = outcome.failed
                where = f"Chunk {outcome.job.chunk.name} ({outcome.job.chunk.text[:30]}…) could not be said: "
                error = by_code(failed.code, failed.message, failed.hint)
                raise type(error)(where + failed.message, hint=failed.hint) if isinstance(error, EngineError) else error
            yield outcome
        self._note(self._pool.info)

    def blocks(self) -> Iterator[Audio]:
        """The joined sound, block by block; takes are kept in `takes` for checking."""
        for outcome in self.outcomes():
            assert outcome.take is not None
            take, said = outcome.take, outcome.job.chunk
            if not self.takes:
                self.facts.first_sound_seconds = time.perf_counter() - self._started
            self.takes.append((said.index, take))
            if take.ending == "budget":
                self.facts.faults.append({"chunk": said.name, "fault": "budget", "text": said.text})
            if self._joiner is None:
                self._joiner = Joiner(take.sample_rate_hz)
            yield from self._joiner.add(take.audio, said.pause_after_s)
        if self._joiner is not None:
            self.facts.audio_seconds = self._joiner.samples / self._joiner.sample_rate_hz

    def sample_rate_hz(self) -> int:
        return self._pool.info.sample_rate_hz

    def _note(self, info: EngineInfo) -> None:
        facts = self.facts
        facts.engine, facts.model, facts.precision, facts.device = info.engine, info.model, info.precision, info.device
        facts.load_seconds = self._pool.load_seconds
        facts.peak_memory_mb = self._pool.peak_memory_mb()

    def finish(self, output: str) -> Facts:
        """The facts, with time counted up to now."""
        self.facts.output = output
        self.facts.seconds = time.perf_counter() - self._started
        self.facts.rtf = self.facts.seconds / self.facts.audio_seconds if self.facts.audio_seconds else 0.0
        return self.facts

    def __enter__(self) -> Saying:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()


def _options(request: SayRequest, persona: Persona) -> ScriptOptions:
    """The request's options, with each voice's own lexicon before theirs and its personas as speakers of a dialogue."""
    options = request.options or ScriptOptions.from_settings()
    if options.dialogue and options.speakers is None:
        options = replace(options, speakers={*Library().names(), *BUILTIN})
    return replace(options, words_of=lambda name: (find_persona(name) if name else persona).lexicon)


def own_language(persona: Persona) -> Language | None:
    """What a persona reads that shows no language of its own, such as digits; None where it does not say."""
    found: dict[str | None, Language] = {"zh": "zh", "en": "en", "ja": "ja"}
    return found.get(persona.language)


def _counted(outcomes: Iterator[Outcome], on_take: Callable[[int, int], None] | None, total: int) -> Iterator[Outcome]:
    for done, outcome in enumerate(outcomes, 1):
        if on_take is not None:
            on_take(done, total)
        yield outcome


def _main_language(script: Script) -> str:
    sizes: dict[str, int] = {}
    for utterance in script.utterances:
        sizes[utterance.language] = sizes.get(utterance.language, 0) + len(utterance.spoken)
    return max(sizes, key=lambda language: sizes[language])


def persona_for(name: str | None, language: str) -> Persona:
    """The persona of that name; without a name, the default voice of the text's language (it is reported)."""
    if name is None:
        chosen = settings()
        name = {"en": chosen.voice_en, "ja": chosen.voice_ja}.get(language, chosen.voice)
    return find_persona(name)


def guess_language(raw: str) -> Language:
    """A text's language as a whole: anything with Chinese in it is Chinese, kana make it Japanese."""
    return language_of(raw[:GUESS_CHARS], "zh")


def _text_of(document: Document) -> str:
    paragraphs = (p.text for section in document.sections if section.kind == "body" for p in section.paragraphs)
    return "\n\n".join(itertools.islice(paragraphs, 50))


def find_persona(name: str) -> Persona:
    """A persona of the user's library, or a built-in voice. VoiceError lists near names."""
    if name == "tone":
        return BuiltinPersona(name="tone", voice="tone")
    return Library().get(name)


def spec_for(persona: Persona, request: SayRequest, raw: str) -> EngineSpec:
    """Which engine says this persona, and with which model: never another one in silence."""
    options = dict(request.engine_options)
    if request.engine:
        return EngineSpec(request.engine, request.model, options)
    if persona.kind == "builtin":
        if persona.voice == "tone":
            return EngineSpec("tone", options=options)
        warm = request.language or guess_language(raw)
        return EngineSpec("kokoro", request.model, {"warm": warm, **options})
    return EngineSpec("qwen3", request.model or persona.model, options)
