"""Writes test sets in this package's form, as JSON or YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError
from trectools_plus.formats.rows import open_output
from trectools_plus.testsets.model import TestSet

_YAML = re.compile(r"\.ya?ml(\.\w+)?$", re.IGNORECASE)


def write_test_set(test_set: TestSet, path: str | Path) -> None:
    """Write a test set, whole or not at all; reading it gives the same set back.

    A name that ends in ``.yaml`` or ``.yml`` makes YAML, any other JSON; ``.gz``, ``.bz2``,
    ``.xz`` or ``.zst`` behind it compress.

    Args:
        test_set: The set.
        path: Where to, ``-`` for JSON on standard output.

    Raises:
        InputError: If a text has no UTF-8 form, or the file cannot be written.
    """
    content = as_content(test_set)
    text = _as_yaml(content) if _YAML.search(str(path)) else render_test_set(test_set)
    write_utf8(text, path)


def render_test_set(test_set: TestSet) -> str:
    """The set as JSON, ending in a line end."""
    return json.dumps(as_content(test_set), indent=2, ensure_ascii=False) + "\n"


def as_content(test_set: TestSet) -> dict[str, Any]:
    """The set as JSON values; fields that are not given are left out."""
    return test_set.model_dump(mode="json", exclude_none=True)


def write_utf8(text: str, path: str | Path) -> None:
    """Write a text, whole or not at all, compressed as its suffix says.

    Raises:
        InputError: If it has no UTF-8 form, or the file cannot be written.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "half a surrogate pair is no character",
            where=str(path),
            remedy=f"correct the text near {text[max(0, error.start - 20) : error.start]!r}",
        ) from error
    with open_output(path) as stream:
        stream.write(data)


class _Quoted(str):
    """A text that YAML is to keep a text: numbers, dates and flags are in the eye of the loader."""


def _as_yaml(content: Mapping[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
            return True

    def represent(dumper: yaml.SafeDumper, text: _Quoted) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')

    Dumper.add_representer(_Quoted, represent)
    return yaml.dump(_quote(content), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)


def _quote(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _quote(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_quote(item) for item in value]
    return _Quoted(value) if isinstance(value, str) else value
