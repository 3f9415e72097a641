"""A voice for a model that was named without one, so that any model can be measured. It is said in the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from langdu.engines.base import Audio
from langdu.engines.qwen3.checkpoint import Kind
from langdu.errors import ModelError, VoiceError
from langdu.models.check_qwen3 import read_json
from langdu.voices.persona import ClonePersona, DesignPersona, Persona, SpeakerPersona

SENTENCE = "参考音频由内置的声音朗读，内容和这段文字完全一样，方便每台机器用同一段声音来比较。"
SPOKEN_BY = "zf_xiaobei"
DESCRIPTION = "A calm Mandarin-speaking woman in her thirties, clear and even, at the pace of a newsreader."
SIGNAL_S = 8.0
RATE_HZ = 24_000
NAME = "bench"
FIXED_FRAMES = 1000.0
"""`min_new_tokens` of a take whose length is fixed, as far as that setting goes: 80 s in which no end is drawn."""


def kind_of(folder: Path) -> Kind:
    """What a Qwen3-TTS folder is, by its configuration. ModelError when it does not say."""
    found = read_json(folder / "config.json").get("tts_model_type")
    for kind in ("base", "voice_design", "custom_voice"):
        if found == kind:
            return kind
    raise ModelError(f"{folder} is no Qwen3-TTS model: its tts_model_type is {found!r}.")


def voice_for(folder: Path, work: Path, *, fixed_length: bool) -> tuple[Persona, str]:
    """A persona that the checkpoint in `folder` can be, and in words what it is. Files go below `work`."""
    settings = {"min_new_tokens": FIXED_FRAMES} if fixed_length else {}
    kind = kind_of(folder)
    if kind == "voice_design":
        persona = DesignPersona(name=NAME, description=DESCRIPTION, settings=settings)
        return persona, "a designed voice"
    if kind == "custom_voice":
        speakers = list(read_json(folder / "config.json").get("talker_config", {}).get("spk_id", {}))
        if not speakers:
            raise ModelError(f"{folder} names no speakers.")
        return SpeakerPersona(name=NAME, speaker=speakers[0], settings=settings), f"its speaker {speakers[0]}"
    clip, words = _clip(work, fixed_length=fixed_length)
    return ClonePersona(name=NAME, clip=clip, transcript=SENTENCE, settings=settings), words


def fixed(persona: Persona) -> Persona:
    """The persona, never ending by itself."""
    return persona.model_copy(update={"settings": {**persona.settings, "min_new_tokens": FIXED_FRAMES}})


def _clip(work: Path, *, fixed_length: bool) -> tuple[Path, str]:
    import soundfile

    from langdu.models.store import model_dir

    path = work / "reference.wav"
    try:
        model_dir("kokoro")
    except ModelError:
        if not fixed_length:
            raise VoiceError(
                "This model clones a voice from a clip, and no voice was named.",
                hint="Name a persona with --voice, or fetch the built-in voices for the clip: langdu models get kokoro",
            ) from None
        soundfile.write(path, signal(), RATE_HZ, subtype="PCM_16")
        return path, f"a clone of a test signal of {SIGNAL_S:.0f} s"
    if not path.is_file():
        soundfile.write(path, _said(), RATE_HZ, subtype="PCM_16")
    return path, f"a clone of {SPOKEN_BY}"


def _said() -> Audio:
    from langdu.synthesis.say import Saying, SayRequest

    with Saying(SayRequest(SENTENCE, SPOKEN_BY)) as saying:
        return np.concatenate(list(saying.blocks()))


def signal() -> Audio:
    """Gliding tones under a slow envelope, mono at 24 kHz: something a speaker encoder takes for a voice."""
    t = np.arange(int(SIGNAL_S * RATE_HZ)) / RATE_HZ
    pitch = 120 + 40 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / RATE_HZ
    wave = sum(np.sin(n * phase) / n for n in range(1, 8)) * (0.5 + 0.5 * np.abs(np.sin(2 * np.pi * 1.3 * t)))
    return np.asarray(0.2 * wave, np.float32)
