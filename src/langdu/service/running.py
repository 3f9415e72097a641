"""The service as a process: its socket, its logs, and its end."""

from __future__ import annotations

import errno
import logging
import logging.handlers
import signal
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from types import FrameType

import uvicorn

from langdu.errors import SettingError
from langdu.service.app import create_app
from langdu.service.connections import Connection, more_files
from langdu.service.guard import Policy
from langdu.service.hub import Limits

LOG_BYTES, LOG_FILES = 5 << 20, 5


def serve(policy: Policy, limits: Limits, port: int, *, open_page: bool = False, log_folder: str | None = None) -> None:
    """Serve until SIGINT or SIGTERM, after which it returns. Raises SettingError when the address is taken."""
    _log_to(log_folder)
    more_files()
    listener = _listen(policy.host, port)
    host = f"[{policy.host}]" if ":" in policy.host else policy.host
    url = f"http://{host}:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        create_app(policy, limits), http=Connection, log_config=None, access_log=False, backlog=1024,
        timeout_graceful_shutdown=10, timeout_keep_alive=15, server_header=False,
    )  # fmt: skip
    server = _Server(config, url, open_page=open_page)
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """Says where it listens once it does, and ends in order."""

    def __init__(self, config: uvicorn.Config, url: str, *, open_page: bool) -> None:
        super().__init__(config)
        self._url, self._open_page = url, open_page

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Asked to end, ending is no fault: uvicorn would raise SIGTERM once more when all is done."""
        if sig == signal.SIGTERM:
            self.should_exit = True
        else:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Langdu listens on {self._url} (studio: {self._url}/)", file=sys.stderr, flush=True)
        if self._open_page:
            threading.Thread(target=webbrowser.open, args=(self._url,), daemon=True).start()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        reason = "is in use already" if taken else f"cannot be used ({error.strerror or error})"
        raise SettingError(f"The address {host}:{port} {reason}.", hint="Give another --host or --port.") from None
    found.set_inheritable(True)
    return found


def _log_to(folder: str | None) -> None:
    handler: logging.Handler = logging.StreamHandler()
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(
            Path(folder) / "service.log", maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8"
        )
    logging.basicConfig(
        level=logging.WARNING, handlers=[handler], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("langdu").setLevel(logging.INFO)
