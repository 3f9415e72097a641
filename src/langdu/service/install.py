"""Starting by itself at login: a launchd agent on macOS, a systemd user unit on Linux.

launchd gives a bare PATH and the working directory /, so every path is absolute; without a ProcessType it
throttles the process, and "Interactive" is the one for work that a user waits for.
"""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from langdu.errors import DependencyError, MachineError, OutputError
from langdu.voices.library import write_atomic

LABEL = "app.langdu.service"
UNIT = "langdu.service"


@dataclass(frozen=True, slots=True)
class Agent:
    """The file that makes the system start us, and the commands that tell the system of it."""

    path: Path
    text: bytes
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]
    ask: tuple[str, ...]
    log_folder: Path


def agent(arguments: tuple[str, ...] = (), *, platform: str = sys.platform) -> Agent:
    """The agent for this user. DependencyError on a system with neither launchd nor systemd."""
    log_folder = Path(platformdirs.user_log_path("langdu"))
    program = (sys.executable, "-m", "langdu", "serve", "--log-folder", str(log_folder), *arguments)
    if platform == "darwin":
        return _launchd(program, log_folder)
    if platform == "linux":
        return _systemd(program, log_folder)
    raise DependencyError(f"{platform} has neither launchd nor systemd.", hint="Start langdu serve by your own means.")


def _launchd(program: tuple[str, ...], log_folder: Path) -> Agent:
    path = Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    facts = {
        "Label": LABEL,
        "ProgramArguments": list(program),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Interactive",
        "WorkingDirectory": str(Path.home()),
        "EnvironmentVariables": {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONUNBUFFERED": "1"},
        "StandardOutPath": str(log_folder / "launchd.log"),
        "StandardErrorPath": str(log_folder / "launchd.log"),
    }
    domain = f"gui/{os.getuid()}"
    return Agent(
        path, plistlib.dumps(facts),
        start=(("launchctl", "bootstrap", domain, str(path)),),
        stop=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        ask=("launchctl", "print", f"{domain}/{LABEL}"), log_folder=log_folder,
    )  # fmt: skip


def _systemd(program: tuple[str, ...], log_folder: Path) -> Agent:
    path = Path.home() / ".config" / "systemd" / "user" / UNIT
    lines = [
        "[Unit]", "Description=Langdu speech service", "",
        "[Service]", f"ExecStart={' '.join(_quoted(part) for part in program)}",
        "Restart=on-failure", "RestartSec=10", "KillSignal=SIGTERM", "TimeoutStopSec=20", "NoNewPrivileges=yes",
        "Environment=PYTHONUNBUFFERED=1", "",
        "[Install]", "WantedBy=default.target", "",
    ]  # fmt: skip
    tell = ("systemctl", "--user")
    return Agent(
        path, "\n".join(lines).encode(),
        start=((*tell, "daemon-reload"), (*tell, "enable", "--now", UNIT)),
        stop=((*tell, "disable", "--now", UNIT),),
        ask=(*tell, "is-active", UNIT), log_folder=log_folder,
    )  # fmt: skip


def _quoted(part: str) -> str:
    """A word of ExecStart: quoted, with systemd's own escapes for %, $, quotes and backslashes."""
    escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def install(found: Agent, *, overwrite: bool = False, tell: bool = True) -> None:
    """Write the file and start the service. OutputError when another file is there already."""
    if found.path.exists() and found.path.read_bytes() != found.text and not overwrite:
        raise OutputError(f"{found.path} exists and differs.", hint="Use --overwrite to replace it.")
    found.log_folder.mkdir(parents=True, exist_ok=True)
    found.path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(found.path, found.text)
    if tell:
        for command in found.start:
            _call(command)


def uninstall(found: Agent, *, tell: bool = True) -> bool:
    """Stop the service and remove the file; False when there was none. Voices, models and jobs stay."""
    if not found.path.exists():
        return False
    if tell:
        for command in found.stop:
            subprocess.run(command, capture_output=True, check=False)  # a service that is down is no error
    found.path.unlink()
    return True


def running(found: Agent) -> bool:
    """Whether the system says that it runs."""
    if shutil.which(found.ask[0]) is None:
        return False
    return subprocess.run(found.ask, capture_output=True, check=False).returncode == 0


def _call(command: tuple[str, ...]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        hint = "Use --no-start to write the file only."
        raise DependencyError(f"{command[0]} is not on this machine.", hint=hint) from None
    if done.returncode != 0:
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise MachineError(
            f"{' '.join(command)} failed: {reason[-1] if reason else f'exit code {done.returncode}'}.",
            hint="The file is written; start it by hand, or see the log of the system.",
        )
