"""Settings of the validators from ``pyproject.toml`` or ``trectools.toml``."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError, UsageError
from trectools_plus.text import visible

_TABLES = {
    "trectools.toml": ("validate",),
    "pyproject.toml": ("tool", "trectools-plus", "validate"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The content of a settings file; keys that are not set are ``None`` or empty.

    The keys of the file are the names of these attributes with ``-`` for ``_``.

    Attributes:
        path: The file; ``None`` if there is none.
        profile: Name of a profile.
        max_depth: Results allowed per query.
        max_tag_length: Characters allowed in the run tag.
        select: Only these rules: codes, prefixes or names.
        ignore: Do not report these rules: codes, prefixes or names.
        strict: True if warnings fail the check too.
        per_file_ignores: Rules to ignore in files, by a pattern of their path below the folder of
            the settings file, or of their name.
    """

    path: Path | None = None
    profile: str | None = None
    max_depth: int | None = None
    max_tag_length: int | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool | None = None
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


KEYS = tuple(one.name.replace("_", "-") for one in fields(Settings) if one.name != "path")
"""The keys of a settings file."""


def find_settings(folder: Path) -> Settings:
    """Read the settings of the nearest file in ``folder`` or its parents.

    In one folder, ``trectools.toml`` takes precedence over ``pyproject.toml``. A file without the
    table for the validators is skipped.

    Raises:
        UsageError: If the file is not TOML, or has an invalid key or value.
        InputError: If it cannot be read.
    """
    folder = folder.absolute()
    for ancestor in (folder, *folder.parents):
        for name in _TABLES:
            path = ancestor / name
            if path.is_file() and (table := _table(path)) is not None:
                return _settings(path, table)
            if path.is_file() and name == "trectools.toml":
                _refuse_table_of_pyproject(path)
    return Settings()


def read_settings(path: Path) -> Settings:
    """Read the settings of one file, which must have the table for the validators.

    Raises:
        UsageError: If the file is not TOML, lacks the table, or has an invalid key or value.
        InputError: If it cannot be read.
    """
    table = _table(path)
    if table is None:
        name = _table_name(path)
        remedy = "add the table, or name another file"
        raise UsageError(f"the table [{name}] is missing", where=str(path), remedy=remedy)
    return _settings(path, table)


def _table(path: Path, names: Sequence[str] | None = None) -> Any:
    """Return the table at a path of names (default: the validators' table), or ``None``."""
    try:
        table: Any = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or nested too deeply
        raise UsageError(f"not TOML: {error}", where=str(path)) from error
    for name in names or _path_of_table(path):
        if not isinstance(table, dict) or name not in table:
            return None
        table = table[name]
    return table


def _refuse_table_of_pyproject(path: Path) -> None:
    """Reject a ``trectools.toml`` whose table has the name that belongs in ``pyproject.toml``."""
    names = _TABLES["pyproject.toml"]
    if _table(path, names) is not None:
        name = f"[{'.'.join(names)}]"
        remedy = f"rename it to [{_table_name(path)}]"
        raise UsageError(
            f"the table {name} belongs in pyproject.toml", where=str(path), remedy=remedy
        )


def _path_of_table(path: Path) -> tuple[str, ...]:
    return _TABLES.get(path.name, _TABLES["trectools.toml"])


def _table_name(path: Path) -> str:
    return ".".join(_path_of_table(path))


def _settings(path: Path, table: Any) -> Settings:
    where = f"{path} [{_table_name(path)}]"
    if not isinstance(table, dict):
        raise UsageError("expected a table", where=where)
    for key in table:
        if key not in KEYS:
            near = difflib.get_close_matches(key.replace("_", "-"), KEYS, 1)
            remedy = f"did you mean '{near[0]}'?" if near else f"keys: {', '.join(KEYS)}"
            raise UsageError(f"unknown key '{visible(key)}'", where=where, remedy=remedy)
    values = {key.replace("-", "_"): _value(key, value, where) for key, value in table.items()}
    return Settings(path, **values)


def _value(key: str, value: Any, where: str) -> Any:
    """Check the type of a value, and convert it; codes become upper case."""
    if key == "profile" and isinstance(value, str):
        return value
    if key.startswith("max-") and type(value) is int and value >= 1:
        return value
    if key == "strict" and isinstance(value, bool):
        return value
    if key in ("select", "ignore") and _is_list_of_codes(value):
        return tuple(code.upper() for code in value)
    if (
        key == "per-file-ignores"
        and isinstance(value, dict)
        and all(map(_is_list_of_codes, value.values()))
    ):
        return {pattern: tuple(code.upper() for code in codes) for pattern, codes in value.items()}
    raise UsageError(f"'{key}' expects {_EXPECTED[key]} but got {value!r}", where=where)


def _is_list_of_codes(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(code, str) and code for code in value)


_EXPECTED = {
    "profile": "the name of a profile",
    "max-depth": "a whole number of at least 1",
    "max-tag-length": "a whole number of at least 1",
    "select": "a list of rule codes",
    "ignore": "a list of rule codes",
    "strict": "true or false",
    "per-file-ignores": "a table of patterns with lists of rule codes",
}
