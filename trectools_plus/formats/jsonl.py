"""JSON Lines: one object per line, read strictly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import decode_lines


def iter_objects(lines: Iterable[bytes], path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Parse each line that is not blank as a JSON object.

    Yields:
        The line's number, from 1, and the object.

    Raises:
        FormatError: With the line, if a line is not a JSON object or not UTF-8, or contains
            a key twice, NaN or an infinity.
    """
    for line, text in decode_lines(lines, path):
        try:
            value = decode_json(text, parse_constant=_refuse_constant)
            if not isinstance(value, dict):
                raise ValueError("expected an object but got another value")
        except (ValueError, RecursionError) as error:
            raise FormatError(
                f"invalid JSON: {str(error).partition(':')[0] or 'nested too deeply'}",
                path=path,
                line=line,
                remedy="write one JSON object per line, with each field once",
            ) from error
        yield line, value


def decode_json(text: str, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON document.

    Args:
        text: The document.
        parse_constant: Converts NaN and infinities.

    Raises:
        ValueError: If it is not JSON, or contains a key twice or an unpaired surrogate.
        RecursionError: If it is nested too deeply.
    """
    value = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=parse_constant)
    if "\\u" in text:  # an unpaired surrogate is not a character
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a field occurs twice in an object")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
