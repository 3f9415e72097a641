"""A local HTTP server that misbehaves as told, and a model hub on it."""

from __future__ import annotations

import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Server:
    """What is served, how it breaks, and what was asked for."""

    url: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    """By path, "/a/b"."""
    cut: int | None = None
    """Close the connection after that many bytes of each answer."""
    ranges: bool = True
    """False: answer 200 with the whole file, whatever Range says."""
    if_range: bool = True
    """False: honour Range without looking at If-Range, as simple servers do."""
    status: list[int] = field(default_factory=list)
    """Answer these first, one each, without content."""
    etags: dict[str, str] = field(default_factory=dict)
    """By path; the content's hash otherwise, "" for none."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    """(path, Range header) of each GET."""

    def etag(self, path: str) -> str:
        return self.etags.get(path, f'"{hashlib.md5(self.content[path]).hexdigest()}"')

    def publish(
        self, repository: str, files: dict[str, bytes], *, large: tuple[str, ...] = (), commit: str = "c0ffee1"
    ) -> None:
        """Serve `files` as a hub does; `large` ones are LFS objects with a SHA-256, the others have git's blob id."""
        rows = []
        for path, data in files.items():
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            row: dict[str, object] = {"type": "file", "path": path, "size": len(data), "oid": blob}
            if path in large:
                row["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}
            rows.append(row)
            self.content[f"/{repository}/resolve/{commit}/{path}"] = data
        api = f"/api/models/{repository}"
        self.content[f"{api}/revision/main"] = json.dumps({"sha": commit}).encode()
        self.content[f"{api}/tree/{commit}"] = json.dumps(rows).encode()

    def gets(self, end: str) -> list[str]:
        """Range headers of the GETs whose path ends so."""
        return [wanted for path, wanted in self.asked if path.endswith(end)]


@contextmanager
def serving() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            wanted = self.headers.get("Range", "")
            state.asked.append((path, wanted))
            if state.status or path not in state.content:
                self.send_response(state.status.pop(0) if state.status else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data, etag = state.content[path], state.etag(path)
            match = re.fullmatch(r"bytes=(\d+)-", wanted)
            same = not state.if_range or self.headers.get("If-Range") == etag
            if match and state.ranges and same:
                start = int(match[1])
                if start >= len(data):
                    self.send_response(416)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                data = data[start:]
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            if etag:
                self.send_header("ETag", etag)
            self.end_headers()
            self.wfile.write(data if state.cut is None else data[: state.cut])
            self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
