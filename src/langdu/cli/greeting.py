"""What `langdu` alone says on a terminal: what works right now, and the next three commands.

Looks at files and hardware only; nothing is loaded, nothing is fetched.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

Mark = Literal["ready", "not yet", "no"]
COLOURS: dict[Mark, str] = {"ready": "green", "not yet": "yellow", "no": "bright_black"}
HELLO = "你好，世界。"


@dataclass(frozen=True, slots=True)
class State:
    voice: str
    """The default voice."""
    kokoro: str
    """Why the built-in voices cannot be used; empty when they can."""
    checker: bool
    personas: tuple[str, ...]
    qwen3: str
    """Why Qwen3-TTS makes no sense here; empty when it does."""
    gpu: str
    clone_model: str
    """The checkpoint that fits this machine."""
    qwen3_here: bool
    """A Qwen3-TTS checkpoint is on this machine."""
    player: bool
    """Something to play on."""


def greet() -> None:
    from langdu import __version__

    state = look()
    click.echo(
        click.style(f"Langdu 朗读 {__version__}", bold=True) + ": text in, verified speech out, on your machine.\n"
    )
    for name, mark, text in works(state):
        click.echo(f"  {name:<16} {click.style(f'{mark:<8}', fg=COLOURS[mark])} {text}")
    click.echo("\nNext:")
    commands = following(state)
    width = max(_columns(command) for command, _ in commands)
    for command, why in commands:
        click.echo(f"  {click.style(command, bold=True)}{' ' * (width - _columns(command))}   {why}")
    click.echo("\nAll commands: langdu --help")


def works(state: State) -> list[tuple[str, Mark, str]]:
    """Rows of the greeting: what, whether it works, in words."""
    mine = ", ".join(state.personas[:5]) + (" …" if len(state.personas) > 5 else "")
    qwen3: tuple[Mark, str]
    if state.qwen3:
        qwen3 = ("no", f"does not make sense here: {state.qwen3.partition(':')[0]}")
    elif state.qwen3_here:
        qwen3 = ("ready", f"on {state.gpu}")
    else:
        qwen3 = ("not yet", f"{state.gpu} is there, a model is not: langdu models get {state.clone_model}")
    return [
        (
            "built-in voices", "not yet" if state.kokoro else "ready",
            state.kokoro or f"Mandarin, English, Japanese; default {state.voice}",
        ),
        (
            "checking", "ready" if state.checker else "not yet",
            "whisper listens to every take" if state.checker else "langdu models get whisper-base",
        ),
        ("your voices", "ready" if state.personas else "not yet", mine or "none so far"),
        ("Qwen3-TTS", *qwen3),
    ]  # fmt: skip


def following(state: State) -> list[tuple[str, str]]:
    """The next three commands, and why."""
    from langdu.models.catalog import CATALOG

    size = {name: f"{CATALOG[name].size / 1e6:.0f} MB" for name in ("kokoro", "whisper-base")}
    file = "" if state.player else " -o hello.wav"
    say = (f'langdu say "{HELLO}"{file}', "hear it" if state.player else "your first sentence, as a file")
    book = ("langdu book novel.txt -o novel.m4b", "a long text, every take checked")
    doctor = ("langdu doctor", "what this machine can run, and what to mend")
    if state.kokoro:
        command = state.kokoro if state.kokoro.startswith("pip") else "langdu models get kokoro"
        return [(command, f"the built-in voices, {size['kokoro']}"), say, doctor]
    if not state.checker:
        return [
            say,
            ("langdu models get whisper-base", f"so that nothing unheard passes, {size['whisper-base']}"),
            doctor,
        ]
    if state.qwen3:
        return [say, book, doctor]
    if not state.qwen3_here:
        return [say, (f"langdu models get {state.clone_model}", "the model that clones a voice"), doctor]
    if not state.personas:
        return [say, ("langdu voices add me --clone me.wav", "your own voice, from ten seconds of it"), book]
    return [(f'langdu say -v {state.personas[0]} "{HELLO}"{file}', "in your voice"), book, doctor]


def look() -> State:
    import importlib.util

    from langdu.cli.complete import persona_names
    from langdu.doctor import machine, qwen3
    from langdu.errors import ModelError
    from langdu.models.store import MANIFEST, folder_of, model_dir
    from langdu.settings import settings

    here = machine.look(quick=True)
    gpu = here.gpu
    kokoro = "" if importlib.util.find_spec("onnxruntime") else 'pip install "langdu[kokoro]"'
    try:
        model_dir("kokoro")
    except ModelError as error:
        kokoro = kokoro or error.message
    return State(
        settings().voice, kokoro, (folder_of("whisper-base") / MANIFEST).is_file(), tuple(persona_names()),
        qwen3.not_sensible(here), gpu.name if gpu else "",
        (gpu and gpu.memory_bytes and qwen3.best_that_fits(qwen3.DEFAULT, gpu)) or qwen3.DEFAULT,
        any(settings().models_dir.glob(f"qwen3-*/{MANIFEST}")),
        importlib.util.find_spec("sounddevice") is not None and _has_output(),
    )  # fmt: skip


def _has_output() -> bool:
    """Whether there is a sound card or a sound server; asking PortAudio itself would take too long here."""
    if sys.platform != "linux":
        return True
    mine = Path(os.environ.get("XDG_RUNTIME_DIR", "/nowhere"))
    servers = (mine / "pulse" / "native", mine / "pipewire-0")
    cards = Path("/dev/snd").glob("pcm*p") if Path("/dev/snd").is_dir() else ()
    return any(cards) or any(path.exists() for path in servers) or bool(os.environ.get("PULSE_SERVER"))


def _columns(text: str) -> int:
    """Width on a terminal, where a Chinese character takes two columns."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
