"""All checks, in the order in which a reader asks: what is this, what can it run, what is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langdu.doctor import (
    compute,
    configured,
    machine,
    models,
    network,
    packages,
    places,
    processes,
    qwen3,
    sound,
    voices,
)
from langdu.doctor.child import Died, ask
from langdu.doctor.finding import Finding, worst

if TYPE_CHECKING:
    from langdu.settings import Settings
    from langdu.voices.library import Library
    from langdu.voices.persona import Persona

IMPORTS_TIMEOUT_S, COMPUTE_TIMEOUT_S, SOUND_TIMEOUT_S = 120.0, 180.0, 20.0
"""The first process on a CUDA machine compiles kernels for up to a minute."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    findings: tuple[Finding, ...]
    default_voice: voices.Spoken
    machine: machine.Hardware
    packages: tuple[packages.Package, ...]
    mlx: compute.Computed | None
    seconds: float

    @property
    def exit_code(self) -> int:
        """3: the default voice cannot speak. 1: an error is among the findings. 0: neither."""
        if not self.default_voice.speaks:
            return 3
        return 1 if worst(self.findings) == "error" else 0

    def as_dict(self) -> dict[str, Any]:
        from dataclasses import asdict

        from langdu import __version__

        return {
            "langdu": __version__, "exit_code": self.exit_code, "worst": worst(self.findings),
            "default_voice": self.default_voice.as_dict(),
            "findings": [finding.as_dict() for finding in self.findings],
            "machine": self.machine.as_dict(), "mlx": None if self.mlx is None else asdict(self.mlx),
            "packages": [asdict(package) for package in self.packages], "seconds": round(self.seconds, 1),
        }  # fmt: skip


def examine(*, quick: bool = False, step: Callable[[str], None] = lambda what: None) -> Diagnosis:
    """Look at everything; `step` is told what is looked at. `quick` imports, times and hashes nothing, says nothing.

    Raises SettingError for settings that cannot be read: without them nothing can be said about voices and models.
    """
    from langdu.errors import LangduError
    from langdu.models.catalog import CATALOG
    from langdu.settings import settings
    from langdu.voices.library import Library

    started = time.perf_counter()
    chosen = settings()
    with ThreadPoolExecutor(1) as background:
        reach = background.submit(network.look_around, chosen.hub_endpoint, CATALOG[qwen3.DEFAULT].hub)
        step("the machine")
        here = machine.look()
        library: Library | None = None
        damage: list[Finding] = []
        try:
            library = Library()
            default: Persona | None = library.get(chosen.voice)
            spoken = None
        except LangduError as error:
            default, spoken = None, voices.Spoken(chosen.voice, False, error.message, error.hint)
            if library is None:
                damage = [Finding("error", "voices", error.message, error.hint, "langdu voices audit")]
        mlx, mlx_findings, here = _compute(here, quick, step)
        found_packages, package_findings = _packages(here, default, quick, step)
        named, model_findings, missing = _models(chosen, library, default, quick, step)
        if qwen3.not_sensible(here):
            missing = [name for name in missing if CATALOG[name].role != "qwen3"]
        if spoken is None and default is not None:
            step(f"the voice {default.name}")
            spoken = voices.could_speak(default) if quick else voices.speak(default)
        assert spoken is not None
        step("sound, ports, disk, processes, network")
        findings = [
            *machine.judge(here),
            voices.judge_default(spoken),
            *mlx_findings,
            *qwen3.judge(here, named, voice=_builtin(chosen.voice)),
            *package_findings,
            *model_findings,
            *damage,
            *_personas(library, qwen3.not_sensible(here)),
            *_sound(here),
            *_places(chosen, missing),
            *processes.judge(processes.look_orphans()),
            network.judge(reach.result(), missing),
            *_settings(),
        ]
    return Diagnosis(tuple(findings), spoken, here, found_packages, mlx, time.perf_counter() - started)


def _compute(
    here: machine.Hardware, quick: bool, step: Callable[[str], None]
) -> tuple[compute.Computed | None, list[Finding], machine.Hardware]:
    import importlib.util

    from langdu.models.environment import look

    if importlib.util.find_spec("mlx") is None:
        return None, compute.judge(here, None), here
    if quick:
        found_only = look("mlx")
        what = f"MLX {found_only.version}, {found_only.path}"
        return None, [Finding("ok", "mlx", what, "not timed (--quick)")], here
    step("MLX")
    answer = ask("compute", timeout_s=COMPUTE_TIMEOUT_S)
    if isinstance(answer, Died):
        return None, compute.judge(here, answer), here
    found = compute.Computed(**answer)
    share = found.device.get("max_recommended_working_set_size")
    if found.backend == "metal" and share and here.gpu is not None:
        gpu = replace(here.gpu, memory_bytes=int(share), free_bytes=min(int(share), here.free_bytes))
        here = replace(here, gpus=(gpu,))
    return found, compute.judge(here, found), here


def _packages(
    here: machine.Hardware, default: Persona | None, quick: bool, step: Callable[[str], None]
) -> tuple[tuple[packages.Package, ...], list[Finding]]:
    step("packages")
    answer = packages.look(load=False) if quick else ask("imports", timeout_s=IMPORTS_TIMEOUT_S)
    needed = [voices.needs(default)[0]] if default is not None else ["kokoro"]
    sensible = not qwen3.not_sensible(here)
    if isinstance(answer, Died):
        return (), packages.judge(answer, needed=needed, qwen3=sensible)
    found = tuple(packages.Package(**one) for one in answer["packages"])
    return found, packages.judge(found, needed=needed, qwen3=sensible)


def _models(
    chosen: Settings, library: Library | None, default: Persona | None, quick: bool, step: Callable[[str], None]
) -> tuple[list[tuple[str, int]], list[Finding], list[str]]:
    """The Qwen3-TTS models in question with their bytes, the findings, and the models that are still to be fetched."""
    from langdu.models.catalog import CATALOG

    personas = library.personas() if library is not None else []
    wanted = [chosen.checker, *(voices.needs(persona)[1] for persona in personas)]
    needed = [voices.needs(default)[1]] if default is not None else ["kokoro"]
    found = models.look([*needed, *wanted], hashes=not quick, step=step)
    # A Qwen3-TTS model that a persona lacks is said with the persona.
    others = [name for name in wanted if name not in CATALOG or CATALOG[name].role != "qwen3"]
    findings = models.judge(found, models.partials(chosen.models_dir), needed=needed, wanted=others)
    here = {one.name: one.size for one in found}
    missing = [name for name in dict.fromkeys([*needed, *wanted]) if name not in here and name in CATALOG]
    named = {name: size for name, size in here.items() if name not in CATALOG or CATALOG[name].role == "qwen3"}
    named |= {name: 0 for name in missing if CATALOG[name].role == "qwen3"}
    return list(named.items()), findings, missing


def _personas(library: Library | None, no_qwen3: str) -> list[Finding]:
    from langdu.voices.audit import audit

    if library is None:
        return []
    return voices.judge_personas(audit(library), library.problems, str(library.path), no_qwen3=no_qwen3)


def _sound(here: machine.Hardware) -> list[Finding]:
    output, codecs = ask("output", timeout_s=SOUND_TIMEOUT_S), ask("codecs", timeout_s=SOUND_TIMEOUT_S)
    return [sound.judge_output(here, output), *sound.judge_codecs(codecs)]


def _places(chosen: Settings, missing: Iterable[str]) -> list[Finding]:
    from langdu.models.catalog import CATALOG

    ports = [
        places.look_port("serve", chosen.host, chosen.port),
        places.look_port("wyoming", "127.0.0.1", places.WYOMING_PORT),
    ]
    size = sum(CATALOG[name].size for name in missing)
    disk = places.judge_disk(places.look_disk(chosen.data_dir), missing_bytes=size)
    return [*(places.judge_port(port) for port in ports), disk]


def _settings() -> list[Finding]:
    from langdu.configuration import read, strangers
    from langdu.synthesis.capacity import Machine, most_workers

    return configured.judge(read(), strangers(), most_workers=most_workers("kokoro", Machine.here()))


def _builtin(voice: str) -> str:
    from langdu.voices.builtin import BUILTIN

    return voice if voice in BUILTIN else "zf_xiaobei"
