"""`langdu serve` as its users start it, with a data folder of its own and the models of the user's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from langdu.settings import settings


class RealService:
    def __init__(self, home: Path, *arguments: str, models: bool = True, **environment: str) -> None:
        self.home = home
        settings.cache_clear()
        for name in ("models", "cache") if models else ():
            (home / name).symlink_to(settings().data_dir / name)
        self._log = home / "stderr"
        command = [sys.executable, "-m", "langdu", "serve", "--port", "0", *arguments]
        with self._log.open("wb") as stderr:
            inherited = {**os.environ, "LANGDU_DATA_DIR": str(home)}
            self._process = subprocess.Popen(command, env={**inherited, **environment}, stderr=stderr)
        self.url = ""

    def __enter__(self) -> RealService:
        end = time.monotonic() + 60
        while (found := re.search(r"http://[\d.:]+", self._log.read_text())) is None:
            assert self._process.poll() is None and time.monotonic() < end, self._log.read_text()
            time.sleep(0.05)
        self.url = found[0]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        assert self._process.wait(30) == 0, self._log.read_text()
