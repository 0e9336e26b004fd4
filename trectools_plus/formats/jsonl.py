"""JSON Lines: one object per line, read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import decode_lines


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
                "expected a JSON object but got another value",
                path=path,
                line=line,
                remedy="write one JSON object per line",
            )
        yield line, value


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
