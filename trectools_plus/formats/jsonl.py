"""JSON Lines: one object per line, read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import decode_lines
from trectools_plus.text import shortened


def iter_objects(lines: Iterable[bytes], path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Parse each line that is not blank as a JSON object.

    Yields:
        The line's number, from 1, and the object.

    Raises:
        FormatError: With line and column, if a line is not a JSON object or not UTF-8, or contains
            a key twice, NaN or an infinity.
    """
    for line, text in decode_lines(lines, path):
        try:
            value = _DECODER.decode(text)
            if "\\u" in text:  # an unpaired surrogate is not a character
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            what = str(error).partition(":")[0] or "nested too deeply"
            raise FormatError(
                f"invalid JSON: {what}",
                path=path,
                line=line,
                column=getattr(error, "colno", None),
                remedy="write one JSON object per line, with each field once",
            ) from error
        if not isinstance(value, dict):
            raise FormatError(
                f"expected a JSON object but got {_TYPE_NAMES[type(value)]}",
                path=path,
                line=line,
                remedy="write one JSON object per line",
            )
        yield line, value


def find_key(record: dict[str, Any], keys: tuple[str, ...], what: str, path: str, line: int) -> str:
    """Return the first of ``keys`` that a record has.

    Raises:
        FormatError: If it has none of them.
    """
    for key in keys:
        if key in record:
            return key
    fields = shortened(", ".join(record)) or "none"
    raise FormatError(
        f"expected a field for the {what} ({', '.join(keys)}) but got {fields}",
        path=path,
        line=line,
        remedy="rename the field",
    )


def get_text(record: dict[str, Any], key: str, path: str, line: int, *, is_id: bool = False) -> str:
    """Return a field that must be text or, if it is an id, text or an integer.

    Raises:
        FormatError: If it is missing or something else.
    """
    if key not in record:
        raise FormatError(
            f"field '{key}' is missing",
            path=path,
            line=line,
            remedy="give every line the same fields as the first line",
        )
    value = record[key]
    if isinstance(value, bool) or not isinstance(value, (str, int) if is_id else str):
        expected = "an id (text or an integer)" if is_id else "text"
        what = f"expected {expected} in field '{key}' but got {_TYPE_NAMES[type(value)]}"
        raise FormatError(what, path=path, line=line)
    return str(value)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a field occurs twice")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_keys, parse_constant=_refuse_constant
)
_TYPE_NAMES = {
    dict: "an object",
    list: "an array",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
