"""The light start: `import langdu` and `langdu --help` touch nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"numpy", "pydantic", "onnxruntime", "mlx", "faster_whisper", "rich", "httpx", "soundfile", "av"}


def modules_after(code: str) -> set[str]:
    listing = f"{code}; import sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not HEAVY & modules_after("import langdu")


def test_help_loads_nothing_heavy_and_names_every_command() -> None:
    code = "import langdu.cli as c; from click.testing import CliRunner as R; r = R().invoke(c.root, ['--help'])"
    assert not HEAVY & modules_after(code)
    done = subprocess.run([sys.executable, "-m", "langdu", "--help"], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in ("say", "verify", "script", "voices", "models", "serve"))


def test_every_listed_command_can_be_asked_for_help() -> None:
    from click.testing import CliRunner

    from langdu.cli import COMMANDS, root

    for name in COMMANDS:
        result = CliRunner().invoke(root, [name, "--help"])
        assert result.exit_code == 0, (name, result.output, result.exception)
