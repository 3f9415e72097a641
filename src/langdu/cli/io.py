"""What commands share: reading the text to say, printing facts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from langdu.errors import DocumentError, InputError


def text_argument(text: str | None, file: str | None) -> str:
    """The text from the argument, a file or stdin ("-"). InputError when there is none or two."""
    if (text is None) == (file is None):
        raise InputError("Give a text, or a file with -f (- is stdin), not both and not neither.")
    if text is not None:
        return text
    assert file is not None
    if file == "-":
        return decode(sys.stdin.buffer.read(), "stdin")[0]
    path = Path(file)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DocumentError(f"{path} is not there.") from None
    except IsADirectoryError:
        raise DocumentError(f"{path} is a folder.", hint="Name a file in it.") from None
    except OSError as error:
        raise DocumentError(f"{path} cannot be read ({error.strerror}).") from None
    if not data:
        raise DocumentError(f"{path} is empty (0 bytes).")
    found, encoding = decode(data, str(path))
    if encoding not in ("utf-8", "ascii"):
        click.echo(f"{path}: read as {encoding}", err=True)
    return found


def decode(data: bytes, name: str) -> tuple[str, str]:
    """Text and its encoding: UTF-8, else as detected. DocumentError for what is no text at all."""
    try:
        return data.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        pass
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DocumentError(f"{name} is not a text file (it holds binary data).")
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        raise DocumentError(f"{name} is not a text in any known encoding.", hint="Save it as UTF-8.")
    return str(best), best.encoding


def print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))
