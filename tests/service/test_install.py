import configparser
import plistlib
import sys
from pathlib import Path

import pytest

from langdu.errors import DependencyError, OutputError
from langdu.service.install import agent, install, uninstall


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def test_the_launchd_agent_has_what_launchd_needs(home: Path) -> None:
    found = agent(("--port", "9000"), platform="darwin")
    facts = plistlib.loads(found.text)
    assert found.path == home / "Library/LaunchAgents/app.langdu.service.plist"
    assert facts["ProgramArguments"][:4] == [sys.executable, "-m", "langdu", "serve"]
    assert facts["ProgramArguments"][-2:] == ["--port", "9000"]
    assert facts["ProcessType"] == "Interactive"
    assert facts["RunAtLoad"] is True
    paths = [
        facts["ProgramArguments"][0],
        facts["StandardErrorPath"],
        facts["StandardOutPath"],
        facts["WorkingDirectory"],
    ]
    assert all(Path(path).is_absolute() for path in paths)


def test_the_systemd_unit_has_what_systemd_needs(home: Path) -> None:
    found = agent(("--allow-host", "a b%c"), platform="linux")
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(found.text.decode())
    assert found.path == home / ".config/systemd/user/langdu.service"
    assert unit["Service"]["ExecStart"].startswith(f'"{sys.executable}" "-m" "langdu" "serve"')
    assert unit["Service"]["ExecStart"].endswith('"a b%%c"')
    assert unit["Service"]["Restart"] == "on-failure"
    assert unit["Install"]["WantedBy"] == "default.target"


def test_another_system_is_refused_by_name() -> None:
    with pytest.raises(DependencyError, match="win32"):
        agent(platform="win32")


def test_it_is_written_and_taken_away(home: Path) -> None:
    found = agent(platform="linux")
    install(found, tell=False)
    assert found.path.read_bytes() == found.text
    assert found.log_folder.is_dir()
    assert uninstall(found, tell=False)
    assert not uninstall(found, tell=False)
    assert list(found.path.parent.iterdir()) == []


def test_a_file_the_user_changed_is_not_overwritten_unasked(home: Path) -> None:
    found = agent(platform="linux")
    install(found, tell=False)
    found.path.write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        install(found, tell=False)
    assert found.path.read_text() == "mine"
    install(found, tell=False, overwrite=True)
    assert found.path.read_bytes() == found.text
