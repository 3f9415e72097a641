"""Room on disk, and who answers at the ports Langdu's servers use."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langdu.doctor.finding import Finding, gigabytes

TIMEOUT_S = 2.0
SCARCE_BYTES = 2_000_000_000
"""An hour of takes is 0.17 GB (16 bit, 24 kHz); a book of ten hours, joined and encoded, about this."""
FULL_BYTES = 200_000_000
SERVERS = {"serve": "the HTTP service", "wyoming": "Home Assistant (Wyoming)"}
WYOMING_PORT = 10200


@dataclass(frozen=True, slots=True)
class Disk:
    folder: str
    free_bytes: int
    total_bytes: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Port:
    command: str
    """The command that would listen there: serve or wyoming."""
    host: str
    port: int
    free: bool
    langdu: bool = False
    """A Langdu answers there."""
    owner: str = ""
    """The process that has it, where the system tells."""
    refused: str = ""
    """Why the address cannot be used at all."""


def look_disk(folder: Path) -> Disk:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    usage = shutil.disk_usage(place)
    return Disk(str(folder), usage.free, usage.total, os.access(place, os.W_OK | os.X_OK))


def look_port(command: str, host: str, port: int) -> Port:
    """Try to listen there; when that fails, or somebody answers already, ask who it is."""
    answers = _is_service if command == "serve" else _is_wyoming
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return Port(command, host, port, free=False, refused=error.strerror or str(error))
        return Port(command, host, port, free=False, langdu=answers(host, port), owner=_owner(port))
    # macOS lets an address be bound that another program has through the wildcard: connecting tells.
    if _somebody_listens(host, port):
        return Port(command, host, port, free=False, langdu=answers(host, port), owner=_owner(port))
    return Port(command, host, port, free=True)


def _somebody_listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((_reachable(host), port), timeout=TIMEOUT_S).close()
    except OSError:
        return False
    return True


def judge_disk(disk: Disk, *, missing_bytes: int) -> Finding:
    """`missing_bytes`: what the models still to be fetched take."""
    free = f"{gigabytes(disk.free_bytes)} of {gigabytes(disk.total_bytes)} free in {disk.folder}"
    if not disk.writable:
        command = "export LANGDU_DATA_DIR=~/langdu"
        return Finding(
            "error", "disk", f"{disk.folder} cannot be written", "models, voices and takes live there", command
        )
    prune = "langdu takes prune --keep-gb 1"
    if disk.free_bytes < missing_bytes + FULL_BYTES:
        reason = f"{gigabytes(missing_bytes)} of models are still to come" if missing_bytes else "too little for a book"
        return Finding("error", "disk", free, reason, prune)
    if disk.free_bytes < missing_bytes + SCARCE_BYTES:
        return Finding("warning", "disk", free, "a book of ten hours takes about 2 GB while it is made", prune)
    return Finding("ok", "disk", free)


def judge_port(port: Port) -> Finding:
    where, what = f"{port.host}:{port.port}", SERVERS[port.command]
    other = f"langdu {port.command} --port {port.port + 1}"
    if port.free:
        return Finding("ok", "ports", f"{where} is free", f"for {what}")
    if port.refused:
        return Finding(
            "warning",
            "ports",
            f"{where} cannot be used",
            f"{port.refused}; for {what}",
            f"langdu {port.command} --host 127.0.0.1",
        )
    if port.langdu:
        return Finding("ok", "ports", f"Langdu answers at {where}", port.owner)
    owner = port.owner or "a process of another user, which the system does not name"
    return Finding("warning", "ports", f"{where} is taken by another program", f"{owner}; {what} would use it", other)


def _is_service(host: str, port: int) -> bool:
    """Langdu's /health has a status "ok" and a version; its /v1/status and /ready are Langdu's own."""
    import httpx

    name = _reachable(host)
    base = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
    try:
        health = httpx.get(f"{base}/health", timeout=TIMEOUT_S, trust_env=False)
        ready: Any = httpx.get(f"{base}/ready", timeout=TIMEOUT_S, trust_env=False).json()
        return bool(health.json()["status"] == "ok" and health.json()["version"] and "ready" in ready)
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False


def _is_wyoming(host: str, port: int) -> bool:
    """Ask to describe: the answer names the program."""
    try:
        with socket.create_connection((_reachable(host), port), timeout=TIMEOUT_S) as link:
            link.settimeout(TIMEOUT_S)
            link.sendall(json.dumps({"type": "describe"}).encode() + b"\n")
            answer = link.makefile("rb")
            header = json.loads(answer.readline(65_536))
            facts = json.loads(answer.read(min(int(header.get("data_length") or 0), 1 << 20)) or b"{}")
            programs = {**(header.get("data") or {}), **facts}.get("tts") or []
            return any(program.get("name") == "langdu" for program in programs)
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def _owner(port: int) -> str:
    """ "name (pid N)" of the process that listens; "" where the system does not tell (macOS without root)."""
    import psutil

    with suppress(psutil.Error, OSError):
        for link in psutil.net_connections("tcp"):
            if link.status == psutil.CONN_LISTEN and getattr(link.laddr, "port", 0) == port and link.pid:
                process = psutil.Process(link.pid)
                return f"{process.name()} (pid {link.pid})"
    return ""
