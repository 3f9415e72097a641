"""Language codes to the names a checkpoint knows. An unknown one is an error: "auto" is only what asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from langdu.errors import VoiceError

NAMES = {
    "zh": "chinese", "en": "english", "ja": "japanese", "ko": "korean", "de": "german", "fr": "french",
    "ru": "russian", "pt": "portuguese", "es": "spanish", "it": "italian",
}  # fmt: skip
"""Codes (ISO 639-1) of the languages Qwen3-TTS publishes."""
AUTO = "auto"


def resolve(language: str, known: Mapping[str, int]) -> str:
    """The checkpoint's name for a code or a name of a language or dialect, or "auto".

    Raises VoiceError, with the checkpoint's own list, when it does not speak `language`.
    """
    wanted = language.strip().lower()
    name = NAMES.get(wanted, wanted)
    if name == AUTO or name in known:
        return name
    raise VoiceError(
        f'This checkpoint does not speak "{language}".',
        hint=f"It knows: {', '.join([AUTO, *sorted(known)])}.",
    )


def codes(known: Mapping[str, int]) -> tuple[str, ...]:
    """The language codes a checkpoint speaks; names without a code and dialects under their own names."""
    by_name = {name: code for code, name in NAMES.items()}
    return tuple(by_name.get(name, name) for name in known)
