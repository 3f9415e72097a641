import subprocess
import sys
from pathlib import Path

from langdu.service import running


def test_logs_rotate_and_old_ones_go(tmp_path: Path) -> None:
    code = (
        "import logging, sys; from langdu.service import running\n"
        "running.LOG_BYTES = 2000; running._log_to(sys.argv[1])\n"
        "for n in range(500): logging.getLogger('langdu').info('line %d', n)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "logs")], check=True)
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files == ["service.log", *(f"service.log.{n}" for n in range(1, running.LOG_FILES + 1))]
    assert all(path.stat().st_size <= 2000 for path in (tmp_path / "logs").iterdir())
    assert "line 499" in (tmp_path / "logs" / "service.log").read_text()
