"""A safetensors header tells what is in the file, and whether the file is all there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from langdu.errors import ModelError
from langdu.models.safetensors import read_header


def raw(header: object, values: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + values


def test_names_types_and_shapes_are_read(tmp_path: Path) -> None:
    save_file({"a": np.zeros((2, 3), np.float32), "b": np.zeros(5, np.uint32)}, tmp_path / "f", metadata={"k": "v"})
    tensors = read_header(tmp_path / "f")
    assert {name: (t.dtype, t.shape, t.bytes) for name, t in tensors.items()} == {
        "a": ("F32", (2, 3), 24),
        "b": ("U32", (5,), 20),
    }


A = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"is empty \(0 bytes\)"),
        (b"  <!DOCTYPE html><html>not found</html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer"),
        (b"abc", "is not a safetensors file"),
        (b"PK\x03\x04" + bytes(100), "is not a safetensors file"),
        (raw({"a": A}, bytes(8))[:20], "is cut short"),
        (raw({"a": A}, bytes(7)), r"is cut short: \d+ of \d+ bytes"),
        (raw({"a": {"dtype": "F32", "shape": [2]}}), "damaged header"),
        (raw({"a": 3}), "damaged header"),
        (raw({"a": A, "b": A | {"data_offsets": [4, 12]}}, bytes(12)), "damaged header"),
        (raw({"a": A | {"data_offsets": [8, 0]}}, bytes(8)), "damaged header"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "f").write_bytes(data)
    with pytest.raises(ModelError, match=message):
        read_header(tmp_path / "f")
