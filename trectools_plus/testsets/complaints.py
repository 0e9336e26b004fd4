"""What pydantic says of a test set, in this package's words and with the line of the file."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from trectools_plus.errors import FormatError
from trectools_plus.formats.yaml_text import YamlDocument
from trectools_plus.validation.topics.schema import SPELLINGS


def translated(error: ValidationError, document: YamlDocument, path: str) -> FormatError:
    """The first complaint with its place inside the file, and how many more there are."""
    problems = error.errors(include_url=False)
    # "Too short" of a list whose items were refused would be a complaint of our own making.
    deepest = [p for p in problems if not any(_lies_within(q["loc"], p["loc"]) for q in problems)]
    first = deepest[0]
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    place = "".join(steps).removeprefix(".") or "the file"
    message = first["msg"]
    if first["type"] == "value_error":
        message = str(first["ctx"]["error"])
    else:
        message = message[:1].lower() + message[1:]
    value = first["input"]
    seen = f", got {value!r}"[:60] if not isinstance(value, dict | list) else ""
    more = f" (and {len(deepest) - 1} more)" if len(deepest) > 1 else ""
    line = document.find_line(_written_place(first["loc"], document.content))
    remedy = "each query needs query_id, text and relevant: [{doc_id, grade}]"
    if first["type"] == "string_type" and value is not None and line is not None:
        remedy = "put it in quotes: without them YAML takes it for a number, a flag or a date"
    return FormatError(f"{place}: {message}{seen}{more}", path=path, line=line, remedy=remedy)


def _written_place(place: tuple[int | str, ...], content: Any) -> tuple[int | str, ...]:
    """Where something stands in the file, given where it stands in this package's form."""
    steps: list[int | str] = []
    for step in place:
        if isinstance(content, dict):
            if isinstance(step, int) and step < len(content):
                step = list(content)[step]  # the mapping form of `relevant`
            elif step not in content:
                names = SPELLINGS.get(str(step), ("test_cases",))
                step = next((name for name in names if name in content), step)
        elif isinstance(content, list) and step == "queries":
            continue  # the file is the list itself
        steps.append(step)
        try:
            content = content[step]
        except (LookupError, TypeError):
            break
    return tuple(steps)


def _lies_within(place: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(place) > len(outer) and place[: len(outer)] == outer
