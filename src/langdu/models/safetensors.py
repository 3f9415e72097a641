"""The header of a safetensors file: which tensors it holds, without reading them.

Layout: 8 bytes, the header's length (little endian); the header, JSON; the values. A file cut short, an
empty one or a web page under that name shows in the first bytes or in the last offset.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from langdu.errors import ModelError

MAX_HEADER = 100_000_000
"""Bytes; the format's own limit."""


@dataclass(frozen=True, slots=True)
class Tensor:
    dtype: str
    """"F32", "BF16", "U32", …"""
    shape: tuple[int, ...]
    file: Path
    bytes: int


def read_header(file: Path) -> dict[str, Tensor]:
    """Tensors by name. ModelError says in a few words what is wrong with the file."""
    size = file.stat().st_size
    if size == 0:
        raise ModelError("is empty (0 bytes)")
    with file.open("rb") as stream:
        first = stream.read(512)
        if first.lstrip()[:1] == b"<":
            raise ModelError("holds a web page (HTML), not weights")
        if first.startswith(b"version https://git-lfs"):
            raise ModelError("is a Git LFS pointer, not the weights themselves")
        length = int.from_bytes(first[:8], "little")
        if len(first) < 8 or length > MAX_HEADER or first[8:9] != b"{":
            raise ModelError("is not a safetensors file")
        if 8 + length > size:
            raise ModelError(f"is cut short: {size} bytes, and its header alone takes {8 + length}")
        stream.seek(8)
        raw = stream.read(length)
    try:
        found = json.loads(raw)
        found.pop("__metadata__", None)
        spans = sorted((int(t["data_offsets"][0]), int(t["data_offsets"][1])) for t in found.values())
        tensors = {
            name: Tensor(t["dtype"], tuple(t["shape"]), file, int(t["data_offsets"][1]) - int(t["data_offsets"][0]))
            for name, t in found.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise ModelError("has a damaged header") from None
    end = spans[-1][1] if spans else 0
    if any(start > stop for start, stop in spans) or any(one[1] > two[0] for one, two in pairwise(spans)):
        raise ModelError("has a damaged header")
    if 8 + length + end > size:
        raise ModelError(f"is cut short: {size} of {8 + length + end} bytes")
    return tensors
