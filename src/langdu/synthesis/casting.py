"""Who says what: personas by name, the engine each needs, and the keys of all chunks, before anything loads."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import regex

from langdu.engines import accepts, describe
from langdu.engines.base import EngineInfo
from langdu.errors import SettingError
from langdu.settings import settings
from langdu.synthesis.model import Chunk, Plan, take_key
from langdu.synthesis.plan import engine_cap, make_plan
from langdu.synthesis.runner import EngineSpec
from langdu.synthesis.say import SayRequest, find_persona, spec_for
from langdu.synthesis.worker import Worker
from langdu.text.model import Script
from langdu.text.script import ScriptOptions
from langdu.voices.builtin import BUILTIN
from langdu.voices.library import Library
from langdu.voices.persona import Persona

UNQUOTED = regex.compile(r"""^([ \t]*)([^\s="'#\[\]]*[^\x00-\x7f\s="'#\[\]][^\s="'#\[\]]*)([ \t]*=)""", regex.MULTILINE)
PersonaOf = Callable[[str | None], Persona]


@dataclass(frozen=True, slots=True)
class Cast:
    """Roles of a text, each with the name of its persona."""

    roles: Mapping[str, str]

    @staticmethod
    def read(path: Path | str) -> Cast:
        """From a TOML file with one table `[cast]`: role = "persona". SettingError names what is wrong in it.

        A role in another script than Latin need not be quoted, though TOML asks for it.
        """
        path = Path(path)
        try:
            found = tomllib.loads(UNQUOTED.sub(r'\1"\2"\3', path.read_text(encoding="utf-8-sig")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingError(f"The cast {path} cannot be read ({error}).") from None
        roles = found.get("cast")
        if set(found) != {"cast"} or not isinstance(roles, dict):
            raise SettingError(
                f"The cast {path} must have one table, [cast].", hint='Write: [cast] 旁白 = "zf_xiaobei"'
            )
        for role, name in roles.items():
            if not isinstance(name, str) or not name:
                raise SettingError(f'In {path} the role "{role}" has no persona.', hint='Write: role = "persona"')
        return Cast(roles)


@dataclass(frozen=True, slots=True)
class Casting:
    """A plan whose chunks have keys, and the engine for each."""

    plan: Plan
    specs: Mapping[str, EngineSpec]
    """Engine of a persona, by the persona's content hash."""
    infos: Mapping[str, EngineInfo]

    def spec_of(self, chunk: Chunk) -> EngineSpec:
        return self.specs[chunk.persona.content_hash()]

    def groups(self, chunks: list[Chunk]) -> list[tuple[EngineSpec, list[Chunk]]]:
        """Chunks by engine, each group in order; engines run one after another, so that memory holds one."""
        found: list[tuple[EngineSpec, list[Chunk]]] = []
        for chunk in chunks:
            spec = self.spec_of(chunk)
            for known, members in found:
                if known == spec:
                    members.append(chunk)
                    break
            else:
                found.append((spec, [chunk]))
        return found


def for_cast(options: ScriptOptions, persona_of: PersonaOf, roles: Mapping[str, str]) -> ScriptOptions:
    """The options with each voice's own lexicon, and with the roles and personas as the speakers of a dialogue."""
    speakers = {*roles, *Library().names(), *BUILTIN}
    return replace(options, words_of=lambda name: persona_of(name).lexicon, speakers=speakers)


def cast_script(script: Script, request: SayRequest, persona_of: PersonaOf, *, language: str) -> Casting:
    """Plan a script with its keys. Raises VoiceError for an unknown persona before any model loads."""
    names = dict.fromkeys(utterance.voice for utterance in script.utterances)
    personas = [persona_of(name) for name in names]
    specs = {persona.content_hash(): spec_for(persona, request, language) for persona in personas}
    infos = {key: _info(spec) for key, spec in specs.items()}
    most = request.cap or settings().chunk_chars
    cap = min(engine_cap(spec.engine, language, most) for spec in specs.values())
    plan = make_plan(
        script, persona_of, None, cap=cap, pause_chunk_s=settings().pause_chunk_s, speed=request.speed,
        takes_pinyin=lambda persona: accepts(specs[persona.content_hash()].engine).pinyin,
    )  # fmt: skip
    return Casting(replace(plan, chunks=tuple(_keyed(chunk, infos) for chunk in plan.chunks)), specs, infos)


def resolver(default: Persona, roles: Mapping[str, str]) -> PersonaOf:
    """Who a name in the script is: a role's persona, or the persona of that name; None is the default."""

    @functools.cache
    def persona_of(name: str | None) -> Persona:
        return default if name is None else find_persona(roles.get(name, name))

    return persona_of


def _keyed(chunk: Chunk, infos: Mapping[str, EngineInfo]) -> Chunk:
    info = infos[chunk.persona.content_hash()]
    return replace(chunk, key=take_key(chunk.said, chunk.language, chunk.persona, info, speed=chunk.speed))


def _info(spec: EngineSpec) -> EngineInfo:
    """By the engine's files alone where it can, else by loading it once."""
    found = describe(spec)
    if found is not None:
        return found
    worker = Worker(spec)
    try:
        return worker.wait_ready()
    finally:
        worker.kill()
