"""The engine itself: one ONNX session, one thread, voice vectors by name."""

from __future__ import annotations

import functools
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from langdu.engines.base import Accepts, Audio, EngineInfo, Event, Failed, Piece, Request, Spoken, Voice
from langdu.engines.kokoro.session import open_session
from langdu.engines.kokoro.split import MAX_PHONEMES, split
from langdu.engines.kokoro.vocabulary import VOCABULARY
from langdu.engines.phonemes.mixed import Phonemizer
from langdu.errors import LangduError, ModelError, SettingError, TextError, VoiceError

if TYPE_CHECKING:
    from langdu.synthesis.runner import EngineSpec
    from langdu.voices.persona import Persona

MODEL_FILE = "kokoro-v1.0.int8.onnx"
RATE_HZ = 24_000
LANGUAGES = {"z": "zh", "a": "en", "b": "en", "j": "ja"}
"""First letter of a voice's name: Mandarin, American, British, Japanese."""
SPEED_RANGE = (0.25, 4.0)
ACCEPTS = Accepts(frozenset({"builtin"}), {"speed": SPEED_RANGE}, pinyin=True)


class KokoroEngine:
    """Deterministic: the same text and voice give the same samples on one machine, whatever the seed."""

    def __init__(self, folder: Path, *, threads: int = 1, warm: str = "zh") -> None:
        self._folder = folder
        self._phonemes = Phonemizer()
        # The dictionaries load (1 s) beside the session (1 s): both release the interpreter while reading.
        warming = threading.Thread(target=self._phonemes.warm, args=(warm,))
        warming.start()
        try:
            self._session = open_session(folder / MODEL_FILE, threads)
        finally:
            warming.join()
        self._voices: dict[str, str] = {}
        self.info = info_of(folder)

    def prepare(self, persona: Persona) -> Voice:
        """Raises VoiceError for a persona that is not a built-in voice."""
        if persona.kind != "builtin":
            raise VoiceError(
                f'"{persona.name}" is a {persona.kind} persona; kokoro only has built-in voices.',
                hint="Use the qwen3 engine for it, or pick a voice from: langdu say -v '?'",
            )
        self._styles(persona.voice)
        key = persona.content_hash()
        self._voices[key] = persona.voice
        return Voice(key=key, language=LANGUAGES[persona.voice[0]])

    def fits(self, text: str, language: str, voice: str) -> bool:
        return len(self._phonemize(text, language, self._voices[voice])) <= MAX_PHONEMES

    def speak(
        self,
        requests: Iterable[Request | None],
        *,
        cancelled: Callable[[str], bool] = lambda _id: False,
    ) -> Iterator[Event]:
        for request in requests:
            if request is None:
                continue
            try:
                yield from self._say(request, cancelled)
            except LangduError as error:
                yield Failed(request.id, error.code, error.message, error.hint)

    def _say(self, request: Request, cancelled: Callable[[str], bool]) -> Iterator[Event]:
        started = time.perf_counter()
        low, high = SPEED_RANGE
        if not low <= request.speed <= high:
            raise SettingError(f"Speed {request.speed} is outside {low} to {high}.")
        if request.settings:
            names = ", ".join(sorted(request.settings))
            raise SettingError(f"kokoro has no such setting: {names}.", hint="Remove it from the persona.")
        voice = self._voices[request.voice]
        phonemes = self._phonemize(request.text, request.language, voice)
        parts: list[Audio] = []
        for index, part in enumerate(split(phonemes)):
            if cancelled(request.id):
                seconds = time.perf_counter() - started
                yield Spoken(request.id, _joined(parts), RATE_HZ, request.seed, seconds, "cancelled")
                return
            parts.append(self._run(part, voice, request.speed))
            if request.stream:
                yield Piece(request.id, index, parts[-1])
        facts = {"phonemes": len(phonemes)}
        seconds = time.perf_counter() - started
        yield Spoken(request.id, _joined(parts), RATE_HZ, request.seed, seconds, facts=facts)

    def _phonemize(self, text: str, language: str, voice: str) -> str:
        spoken = self._phonemes(text, language, british=voice[0] == "b")
        phonemes = "".join(symbol for symbol in spoken if symbol in VOCABULARY)
        if not any(symbol.isalpha() for symbol in phonemes):
            raise TextError(f"There is nothing in {text!r} that this voice can say.")
        return phonemes

    def _run(self, phonemes: str, voice: str, speed: float) -> Audio:
        tokens = [0, *(VOCABULARY[symbol] for symbol in phonemes), 0]
        style = self._styles(voice)[len(phonemes) - 1]
        inputs = {
            "tokens": np.array([tokens], np.int64),
            "style": style,
            "speed": np.array([speed], np.float32),
        }
        audio: Audio = self._session.run(None, inputs)[0].astype(np.float32).reshape(-1)
        return audio

    @functools.lru_cache(maxsize=64)  # noqa: B019 - one engine for each process
    def _styles(self, voice: str) -> npt.NDArray[np.float32]:
        """Style vectors of a voice, shape (510, 1, 256), indexed by the number of phonemes less one."""
        path = self._folder / "voices" / f"{voice}.bin"
        if not voice.isidentifier() or voice[0] not in LANGUAGES or not path.is_file():
            raise VoiceError(f'kokoro has no voice "{voice}".', hint="See: langdu say -v '?'")
        styles = np.fromfile(path, "<f4")
        if styles.size != 510 * 256:
            raise ModelError(f"{path} is damaged ({styles.size} values instead of {510 * 256}).")
        return styles.reshape(510, 1, 256)

    def close(self) -> None:
        del self._session


def load(spec: EngineSpec) -> KokoroEngine:
    """Options: `threads` (default 1), `warm` (language whose dictionaries load ahead)."""
    threads, warm = int(spec.options.get("threads", 1)), str(spec.options.get("warm", "zh"))
    return KokoroEngine(_folder(spec), threads=threads, warm=warm)


def describe(spec: EngineSpec) -> EngineInfo:
    """The engine's facts by its files alone, in milliseconds."""
    return info_of(_folder(spec))


def _folder(spec: EngineSpec) -> Path:
    from langdu.models.store import model_dir

    path = Path(spec.model).expanduser()
    return path if spec.model and path.is_dir() else model_dir(spec.model or "kokoro")


def info_of(folder: Path) -> EngineInfo:
    return EngineInfo(
        engine="kokoro", model="kokoro", revision=revision(folder), precision="int8", device="cpu",
        sample_rate_hz=RATE_HZ, languages=("zh", "en", "ja"), can_speed=ACCEPTS.speed, deterministic=True,
    )  # fmt: skip


def revision(folder: Path) -> str:
    """What identifies the weights: size and name of each file hashed, and the model's recorded hash.

    Reading 92 MB for a true hash costs a quarter of a second at each start; the store has checked the
    hash when the file came, and a changed file changes its size or time.
    """
    files = sorted([folder / MODEL_FILE, *(folder / "voices").glob("*.bin")])
    facts = [[file.name, file.stat().st_size] for file in files if file.is_file()]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _joined(parts: list[Audio]) -> Audio:
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)
