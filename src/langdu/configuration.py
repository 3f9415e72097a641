"""Where each setting's value comes from, and changing the file that holds them.

A value is taken from its environment variable, else from `config.toml`, else it is the default. A key that is
no setting, or a value of the wrong kind or out of range, is an error that names the file and the key (or the
variable): a misspelt setting that is quietly ignored would be a setting that quietly does not act.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from langdu.errors import SettingError
from langdu.settings import Settings, config_file

Origin = Literal["default", "file", "environment"]
PREFIX = "LANGDU_"
FIELDS: dict[str, Field[Any]] = {one.name: one for one in fields(Settings)}


@dataclass(frozen=True, slots=True)
class Value:
    name: str
    value: Any
    origin: Origin
    where: str
    """The variable, the file, or "" for a default."""

    @property
    def shown(self) -> str:
        """As a person writes it; a secret is not shown."""
        if FIELDS[self.name].metadata.get("secret"):
            return "(set, not shown)" if self.value else "(none)"
        if self.value is None:
            return "auto" if self.name == "workers" else "(none)"
        return ", ".join(self.value) if isinstance(self.value, tuple) else str(self.value)


def read(environment: Mapping[str, str] | None = None, path: Path | None = None) -> list[Value]:
    """Every setting in the order of `Settings`. An empty environment variable counts as not set.

    Raises SettingError for a file that is not TOML, an unknown key, or a value that cannot be used.
    """
    environment = os.environ if environment is None else environment
    path = config_file() if path is None else path
    written = _table(path)
    return [_value(name, environment, path, written) for name in FIELDS]


def variable(name: str) -> str:
    return str(FIELDS[name].metadata.get("variable") or PREFIX + name.upper())


def strangers(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables that look like settings and are near one, but are none: variable to what was probably meant."""
    known = {variable(name) for name in FIELDS}
    found = {}
    for name in sorted(set(os.environ if environment is None else environment) - known):
        if name.startswith(PREFIX) and (near := difflib.get_close_matches(name, known, 1, 0.8)):
            found[name] = near[0]
    return found


def set_value(name: str, text: str, path: Path | None = None) -> Value:
    """Write a setting to the file, keeping its comments and order; the file is replaced as a whole.

    Raises SettingError for an unknown name or an unusable value: the file is then as it was.
    """
    import tomlkit

    path = config_file() if path is None else path
    one = known(name)
    value = _parsed(one, text, name)
    if isinstance(value, Path) and not value.is_absolute():
        raise SettingError(f"{name}: {text} is not an absolute path, and a file cannot know from where to start.")
    document = _document(path)
    plain = [*value] if isinstance(value, tuple) else "auto" if value is None else value
    document[name] = tomlkit.item(str(plain) if isinstance(plain, Path) else plain)
    _write(path, tomlkit.dumps(document))
    return Value(name, value, "file", str(path))


def unset(name: str, path: Path | None = None) -> bool:
    """Take a setting, known or not, out of the file. False when it is not there."""
    import tomlkit

    path = config_file() if path is None else path
    document = _document(path)
    if name not in document:
        return False
    del document[name]
    _write(path, tomlkit.dumps(document))
    return True


def known(name: str) -> Field[Any]:
    if name not in FIELDS:
        raise SettingError(f'There is no setting "{name}".', hint=_near(name))
    return FIELDS[name]


def _near(name: str) -> str:
    near = difflib.get_close_matches(name, FIELDS, 3, 0.5)
    return f"Did you mean {', '.join(near)}?" if near else "See: langdu config"


def _table(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingError(f"{path} cannot be read ({error.strerror}).") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not TOML ({error}).", hint="Mend that line.") from None
    for name in found:
        if name not in FIELDS:
            hint = f"{_near(name)} Take it out: langdu config unset {name}"
            raise SettingError(f'{path}: there is no setting "{name}".', hint=hint)
    return found


def _value(name: str, environment: Mapping[str, str], path: Path, written: Mapping[str, Any]) -> Value:
    one, from_environment = FIELDS[name], variable(name)
    if text := environment.get(from_environment, ""):
        return Value(name, _parsed(one, text, from_environment), "environment", from_environment)
    if name in written:
        found = _checked(one, written[name], f"{path}: {name}")
        if isinstance(found, Path) and not found.is_absolute():
            raise SettingError(f"{path}: {name}: {found} is not an absolute path.")
        return Value(name, found, "file", str(path))
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return Value(name, default, "default", "")


def _parsed(one: Field[Any], text: str, where: str) -> Any:
    """A value written as text (a variable, an argument), read as the setting's type says."""
    kind = _kind(one)
    if kind is tuple:
        try:
            listed = json.loads(text) if text.lstrip().startswith("[") else [part.strip() for part in text.split(",")]
        except ValueError:
            raise SettingError(f"{where}: {text!r} is not a list; write it as: a, b.") from None
        return _checked(one, listed, where)
    if kind in (int, float) and text != "auto":
        try:
            return _checked(one, kind(text), where)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise SettingError(f"{where}: {text!r} is not {what}.", hint=_range(one)) from None
    return _checked(one, text, where)


def _checked(one: Field[Any], value: Any, where: str) -> Any:
    """The value as the setting's type. SettingError says what it must be."""
    kind, facts = _kind(one), one.metadata
    if kind in (int, float):
        if value == "auto" and one.default is None:
            return None
        right = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        if not right or not facts["low"] <= value <= facts["high"]:
            raise SettingError(f"{where}: {value!r} cannot be used.", hint=_range(one))
        return kind(value)
    if kind is tuple:
        if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
            raise SettingError(f"{where}: {value!r} is not a list of names.", hint=_range(one))
        for item in value:
            if item not in facts["choices"]:
                raise SettingError(f'{where}: there is no source "{item}".', hint=_range(one))
        return tuple(value)
    if not isinstance(value, str) or (not value.strip() and one.default != ""):
        raise SettingError(f"{where}: {value!r} is not a text.", hint="Put it in quotes; it cannot be empty.")
    return Path(value).expanduser() if kind is Path else value


def _kind(one: Field[Any]) -> Any:
    """str, Path, int, float or tuple: the annotation without its `| None` and its item type."""
    annotation = _ANNOTATIONS[one.name]
    if typing.get_origin(annotation) is tuple:
        return tuple
    return next((part for part in typing.get_args(annotation) if part is not NoneType), annotation)


_ANNOTATIONS = typing.get_type_hints(Settings)


def _range(one: Field[Any]) -> str:
    if choices := one.metadata.get("choices"):
        return f"Known: {', '.join(choices)}."
    number = "a whole number" if _kind(one) is int else "a number"
    return f"It is {number} from {one.metadata['low']} to {one.metadata['high']}" + (
        ", or auto." if one.default is None else "."
    )


def _document(path: Path) -> Any:
    """The file as an editable document, wrong values and all, so that they can be mended."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is not TOML ({error}).", hint="Mend that line by hand first.") from None
    except OSError as error:
        raise SettingError(f"{path} cannot be read ({error.strerror}).") from None


def _write(path: Path, text: str) -> None:
    """Put the new text in place at once; a link (as dotfile managers set) stays a link."""
    from langdu.voices.library import write_atomic

    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, (text.rstrip("\n") + "\n").encode())
    except OSError as error:
        raise SettingError(f"{path} cannot be written ({error.strerror}).") from None
