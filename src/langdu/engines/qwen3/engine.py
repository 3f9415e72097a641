"""Qwen3-TTS behind the engine protocol: rows under way, their budgets and endings, streamed pieces."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Accepts, Audio, Ending, EngineInfo, Event, Failed, Piece, Request, Spoken, Voice
from langdu.engines.qwen3 import device as devices
from langdu.engines.qwen3 import frame_step, languages, prompt, voice
from langdu.engines.qwen3.budget import FRAMES_PER_SECOND, budget_frames
from langdu.engines.qwen3.checkpoint import Checkpoint, read_json, weight_files
from langdu.engines.qwen3.checkpoint import load as load_checkpoint
from langdu.engines.qwen3.codec import STEPS, Codec, Stream
from langdu.engines.qwen3.sampling import RANGES
from langdu.engines.qwen3.slots import OVERRUN, Frame, Job, Slots, choose_rows
from langdu.errors import LangduError, ModelError, SettingError, TextError, VoiceError
from langdu.models.environment import check_environment

if TYPE_CHECKING:
    from langdu.synthesis.runner import EngineSpec
    from langdu.voices.persona import Persona

RATE_HZ = 24_000
ACCEPTS = Accepts(frozenset(voice.NEEDS), RANGES)
PIECES = (4, 8, 12)
"""Frames of the first streamed pieces and of all later ones: a third of a second comes first."""
CACHE_BYTES = 1 << 30
"""Freed buffers MLX may keep for the next step; more only grows with the longest text."""
OPTIONS: dict[str, Any] = {"device": "auto", "precision": "", "slots": 0, "context": 2048, "threads": 0, "warm": ""}


@dataclass(slots=True)
class _Row:
    """One request under way."""

    request: Request
    stream: Stream
    facts: dict[str, Any]
    started: float = field(default_factory=time.perf_counter)
    codes: list[npt.NDArray[np.int32]] = field(default_factory=list)
    parts: list[Audio] = field(default_factory=list)
    decoded: int = 0
    pieces: int = 0
    """Pieces queued for decoding, and pieces sent: the second lags by one frame."""
    sent: int = 0


@dataclass(slots=True)
class _Decoding:
    """Sound of a row that the device is working out, and how the take ends with it, if it does."""

    key: int
    row: _Row
    sound: list[Any]
    ending: Ending | None


class Qwen3Engine:
    """Not safe for more than one thread: MLX is touched by the thread that made it, and by no other."""

    def __init__(self, checkpoint: Checkpoint, *, slots: int = 1, context: int = 2048, cache: Path) -> None:
        """`context`: positions a row has for its prompt and frames. `cache`: folder of encoded references."""
        import mlx.core as mx

        mx.set_cache_limit(CACHE_BYTES)
        self.checkpoint, self._context, self._cache = checkpoint, context, cache
        self._steps = frame_step.choose(checkpoint.talker, rows=slots, context=context, device=checkpoint.device)
        self._slots, self._started = Slots(self._steps), 0
        steps = STEPS if checkpoint.device == "cuda" else ()
        self.codec = Codec(checkpoint.model.speech_tokenizer.decoder, steps)
        self._decoding: list[_Decoding] = []
        self._voices: dict[str, voice.Prepared] = {}
        self.info = EngineInfo(
            engine="qwen3", model=checkpoint.path.name, revision=checkpoint.revision, precision=checkpoint.precision,
            device=checkpoint.device, sample_rate_hz=RATE_HZ, batched=True, slots=slots,
            languages=languages.codes(checkpoint.languages), can_instruct=checkpoint.kind != "base",
        )  # fmt: skip

    def prepare(self, persona: Persona) -> Voice:
        key = persona.content_hash()
        if key not in self._voices:
            self._voices[key] = voice.prepare(self.checkpoint, self.codec, persona, self._cache)
        return Voice(key=key, language=persona.language)

    def fits(self, text: str, language: str, voice: str) -> bool:
        positions = prompt.length(self.checkpoint, text, self._voice(voice).conditions)
        return positions + budget_frames(text) + OVERRUN <= self._context

    def speak(
        self,
        requests: Iterable[Request | None],
        *,
        cancelled: Callable[[str], bool] = lambda _id: False,
    ) -> Iterator[Event]:
        source, rows, more = iter(requests), dict[int, _Row](), True
        try:
            while more or rows:
                while more and self._slots.free:
                    try:
                        request = next(source)
                    except StopIteration:
                        more = False
                        break
                    if request is None:
                        if not rows:
                            time.sleep(0.002)
                        break
                    try:
                        key, row = self._start(request)
                        rows[key] = row
                    except LangduError as error:
                        yield Failed(request.id, error.code, error.message, error.hint)
                for key in [key for key, row in rows.items() if cancelled(row.request.id)]:
                    self._slots.cancel(key)
                    yield self._spoken(rows.pop(key), "cancelled")
                frames = self._slots.step()
                yield from self._decoded(rows)  # the next frame is queued behind it: the device does not wait for us
                for frame in frames:
                    yield from self._take(rows, frame)
        finally:
            self._slots.clear()
            self._decoding.clear()

    def _take(self, rows: dict[int, _Row], frame: Frame) -> Iterator[Event]:
        """What a frame brings to its request: sound to be decoded, its end, or a failure."""
        key = cast(int, frame.key)
        row = rows[key]
        if frame.codes is not None:
            row.codes.append(frame.codes)
        waiting = len(row.codes) - row.decoded
        due = row.request.stream and waiting >= PIECES[min(row.pieces, len(PIECES) - 1)]
        if frame.ending is None and not due:
            return
        try:
            codes = np.stack(row.codes[row.decoded :]) if waiting else np.zeros((0, self.codec.codebooks), np.int32)
            sound = self.codec.queue(row.stream, codes, last=frame.ending is not None)
        except LangduError as error:
            self._slots.cancel(key)
            del rows[key]
            yield Failed(row.request.id, error.code, error.message, error.hint)
            return
        row.decoded = len(row.codes)
        row.pieces += 1
        self._decoding.append(_Decoding(key, row, sound, frame.ending))

    def _decoded(self, rows: dict[int, _Row]) -> Iterator[Event]:
        """Fetch the sound that was queued a frame ago. Rows cancelled meanwhile are gone, and theirs is dropped."""
        decoding, self._decoding = self._decoding, []
        for found in decoding:
            row = found.row
            if found.key not in rows:
                continue
            audio = self.codec.read(found.sound)
            row.parts.append(audio)
            if row.request.stream and len(audio):
                yield Piece(row.request.id, row.sent, audio)
                row.sent += 1
            if found.ending is not None:
                del rows[found.key]
                yield self._spoken(row, found.ending)
        if decoding and not rows:
            self._clear()

    def _start(self, request: Request) -> tuple[int, _Row]:
        prepared = self._voice(request.voice)
        if request.speed != 1.0:
            raise SettingError(f"Qwen3-TTS cannot change its speed ({request.speed:g} was asked for).", hint="Use 1.")
        sampling = prepared.sampling.with_settings(request.settings)
        start = prompt.build(self.checkpoint, request.text, request.language, prepared.conditions)
        wanted = budget_frames(request.text) if request.max_s is None else math.ceil(request.max_s * FRAMES_PER_SECOND)
        if wanted < 1:
            raise SettingError(f"max_s of {request.max_s} leaves no frame.")
        if start.length + wanted + OVERRUN > self._context:
            raise TextError(
                f"The text is too long for one request: {start.length} positions of prompt and {wanted} frames are "
                f"more than the {self._context} of a row.", hint="Split the text.",
            )  # fmt: skip
        facts = {
            "mode": prepared.mode, "prompt_positions": start.length, "text_tokens": start.text_tokens,
            "budget_frames": wanted, "language": languages.resolve(request.language, self.checkpoint.languages),
        }  # fmt: skip
        stream = prepared.past.fork() if prepared.past is not None else Stream()
        self._started += 1
        self._slots.add(Job(self._started, start, sampling, request.seed, wanted))
        return self._started, _Row(request, stream, facts)

    def _spoken(self, row: _Row, ending: Ending) -> Spoken:
        row.facts["device_peak_mb"] = round(_peak_memory_bytes() / 1e6, 1)
        audio = np.concatenate(row.parts) if row.parts else np.zeros(0, np.float32)
        seconds = time.perf_counter() - row.started
        return Spoken(row.request.id, audio, RATE_HZ, row.request.seed, seconds, ending, len(row.codes), row.facts)

    def _voice(self, key: str) -> voice.Prepared:
        if key not in self._voices:
            raise VoiceError("The voice of this request was not prepared in this engine.")
        return self._voices[key]

    def _clear(self) -> None:
        """When no row speaks: under way, a step would have to allocate everything anew (CACHE_BYTES bounds it then)."""
        import mlx.core as mx

        mx.clear_cache()

    def close(self) -> None:
        self._voices.clear()
        del self.checkpoint, self.codec, self._steps, self._slots
        self._clear()


def _peak_memory_bytes() -> int:
    """MLX's own peak in this process: on an NVIDIA GPU none of it is in the resident size."""
    import mlx.core as mx

    return int(mx.get_peak_memory())


def load(spec: EngineSpec) -> Qwen3Engine:
    """Options: `device` (auto, cpu, gpu, metal, cuda), `precision`, `slots` (rows at once; 0 takes what fits into
    the free memory), `context` (positions a row has)."""
    from langdu.models.store import model_dir
    from langdu.settings import settings

    unknown = sorted(set(spec.options) - set(OPTIONS))
    if unknown:
        raise SettingError(
            f"The qwen3 engine has no option {', '.join(unknown)}.", hint=f"Known: {', '.join(OPTIONS)}."
        )
    options = OPTIONS | spec.options
    slots, context = int(options["slots"]), int(options["context"])
    if slots < 0 or context < 64:
        raise SettingError(f"{slots} slots of {context} positions: at least 1 of 64 are needed, or 0 for what fits.")
    check_environment()
    # The codec's lengths of step have some 150 convolutions; MLX keeps the plans of 128 unless told otherwise.
    os.environ.setdefault("MLX_CUDA_CONV_CACHE_SIZE", "1024")
    path = Path(spec.model).expanduser()
    if not spec.model:
        raise SettingError("The qwen3 engine needs a model.", hint="Name a persona with a model, or use --model.")
    if not path.is_dir() and ("/" in spec.model or "\\" in spec.model):
        raise ModelError(f"There is no model folder {spec.model}.", hint="See: langdu models list")
    path = path if path.is_dir() else model_dir(spec.model)
    device, precision = devices.choose(str(options["device"])), str(options["precision"])
    slots = slots or _rows_that_fit(path, device, precision, context)
    checkpoint = load_checkpoint(path, device=device, precision=precision, slots=slots, context=context)
    engine = Qwen3Engine(checkpoint, slots=slots, context=context, cache=settings().data_dir / "references")
    engine.codec.warm()
    return engine


def _rows_that_fit(path: Path, device: str, precision: str, context: int) -> int:
    config, weights = read_json(path / "config.json"), sum(file.stat().st_size for file in weight_files(path))
    value_bytes = 4 if precision == "float32" or device == "cpu" else 2
    row = devices.estimate(config, 0, slots=1, context=context, bytes_per_value=value_bytes).context
    copies = 2 if device == "cuda" else 1  # the frame kernel keeps the talker packed beside its own weights
    return choose_rows(devices.available_bytes(device) - copies * weights, row, device)
