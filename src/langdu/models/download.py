"""One file over HTTP, however often the connection breaks.

What has come rests in `NAME.part`, its ETag beside it; a later attempt asks for the rest with Range and
If-Range. A server that ignores Range, or whose file has changed, sends the whole: then it starts over.
"""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

import httpx

from langdu.errors import NetworkError
from langdu.models.store import Progress, Report

BLOCK = 1 << 18
TRIES = 6
BACK_OFF_S = 1.0
"""Doubles after each try without progress: 1, 2, 4, … s."""
CONNECT_S = 4.0
"""A machine without a hub falls through to its package registries after this long."""
TIMEOUT = httpx.Timeout(30, connect=CONNECT_S)
AGAIN = (408, 425, 429)
"""Answers below 500 that another try may change."""


def download(
    url: str, target: Path, *, size: int = 0, report: Report | None = None, tries: int = TRIES,
    back_off_s: float = BACK_OFF_S,
) -> str:  # fmt: skip
    """Bring `url` to `target`; return the SHA-256 (hex) of what came.

    Raises NetworkError after `tries` attempts in a row that brought nothing, or for an answer that more
    tries cannot change (404 and the like). OSError (a full disk) passes; the part file stays.
    """
    part, tag = part_of(target), target.with_name(f"{target.name}.etag")
    failures = 0
    while not (size and _size(part) == size):  # a process killed before the rename left the whole file
        before = _size(part)
        try:
            _attempt(url, part, tag, size, report)
            break
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            if status == 416:  # the part is longer than the file: another file, or damaged
                part.unlink(missing_ok=True)
            elif status not in AGAIN and status < 500:
                raise NetworkError(f"{url} answers {status} {error.response.reason_phrase}") from None
            reason = f"answers {status}"
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
        failures = 0 if _size(part) > before else failures + 1
        if failures >= tries:
            raise NetworkError(f"{url} broke off {tries} times in a row ({reason})")
        time.sleep(back_off_s * 2 ** (failures - 1) if failures else 0)
    with part.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    part.replace(target)
    tag.unlink(missing_ok=True)
    return digest


def part_of(target: Path) -> Path:
    """Where the bytes of `target` rest until all are there."""
    return target.with_name(f"{target.name}.part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _attempt(url: str, part: Path, tag: Path, size: int, report: Report | None) -> None:
    have = _size(part)
    known = tag.read_text() if tag.exists() else ""
    headers = {"Accept-Encoding": "identity"}
    if have and known:
        headers |= {"Range": f"bytes={have}-", "If-Range": known}
    with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=TIMEOUT) as answer:
        answer.raise_for_status()
        resumed = answer.status_code == 206
        etag = answer.headers.get("ETag", "")
        if resumed and ((etag and etag != known) or _start(answer) != have):
            part.unlink()
            raise httpx.ReadError("the file changed on the server")
        if not resumed:  # in this order: a kill in between must not leave old bytes under a new ETag
            part.unlink(missing_ok=True)
            tag.unlink(missing_ok=True)
        done = have if resumed else 0
        length = int(answer.headers.get("Content-Length", 0))
        total = done + length if length else size
        if etag:
            tag.write_text(etag)
        with part.open("ab" if resumed else "wb") as out:
            for block in answer.iter_raw(BLOCK):
                out.write(block)
                done += len(block)
                if report is not None:
                    report(Progress(part.name.removesuffix(".part"), done, total))
        if total and done < total:
            raise httpx.ReadError(f"{total - done} bytes are missing")


def _start(answer: httpx.Response) -> int:
    """First byte of a partial answer, from "Content-Range: bytes START-END/TOTAL"; -1 when it does not say."""
    found = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    return int(found[1]) if found else -1
