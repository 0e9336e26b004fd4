"""Findings as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from trectools_plus.validation.findings import FileReport, Finding
from trectools_plus.validation.rendering.text import Tally

FileExtras = Callable[[FileReport], dict[str, Any]]


def iter_json(
    reports: Iterable[FileReport],
    *,
    statistics: bool = False,
    extras: FileExtras | None = None,
) -> Iterator[str]:
    """Yield all findings as a JSON document.

    ``{"files": [{"path", "kind", "rows", "queries", "findings": [...]}], "summary": {"errors",
    "warnings", "infos"}}``. Invisible characters in ids are JSON escapes.

    Args:
        reports: Read once, one at a time.
        statistics: Add ``statistics``: code, name, severity, count and files per rule.
        extras: Returns additional keys for a file.
    """
    tally = Tally()
    document: dict[str, Any] = {
        "files": (_file(report, extras) for report in tally.count(reports)),
        "summary": tally.summary,
    }
    if statistics:
        document["statistics"] = tally.as_dicts
    yield from json_chunks(document)
    yield "\n"


def _file(report: FileReport, extras: FileExtras | None) -> dict[str, Any]:
    return {
        "path": report.path,
        "kind": report.kind,
        "rows": report.rows,
        "queries": report.queries,
        "findings": (_finding(finding, report) for finding in report.findings),
        **(extras(report) if extras else {}),
    }


def _finding(finding: Finding, report: FileReport) -> dict[str, Any]:
    # ``lines`` may be an array; it is not converted to a list, which needs more memory.
    lines: Sequence[int] = finding.lines if report.line_text is None else finding.every_line
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "line": finding.line,
        "column": finding.column,
        "lines": map(int, lines),
        "count": finding.count,
        "query_id": finding.query_id,
        "doc_id": finding.doc_id,
        "message": finding.message,
        "remedy": finding.remedy,
        "fix": finding.fix.value,
        **({"fix_effect": finding.effect} if finding.effect else {}),
    }


_INDENT = "  "
_END = object()


_SCALARS = (str, int, float)


_BATCH = 4096


def json_chunks(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield an indented JSON text in parts; invisible characters become escapes.

    Args:
        value: A value that ``json`` supports. It may also contain iterables, which become lists
            and are read one item at a time, and functions without arguments, which are called
            when they are reached, for totals that are known only at the end. An item of a list
            that ``json`` supports is written on one line.
        depth: The nesting depth of the value in its document.
    """
    if callable(value):
        yield from json_chunks(value(), depth)
    elif isinstance(value, dict):
        members = ((f"{json.dumps(key)}: ", member) for key, member in value.items())
        yield from _bracketed("{}", members, depth)
    elif value is None or isinstance(value, _SCALARS):
        yield json.dumps(value)
    else:
        yield from _list(iter(value), depth)


def _list(items: Iterator[Any], depth: int) -> Iterator[str]:
    first = next(items, _END)
    if first is _END:
        yield "[]"
        return
    items = chain([first], items)
    if isinstance(first, _SCALARS):
        separator = "["
        while batch := list(islice(items, _BATCH)):
            yield f"{separator}{json.dumps(batch)[1:-1]}"
            separator = ", "
        yield "]"
        return
    yield from _bracketed("[]", (("", _compact(item)) for item in items), depth)


def _compact(item: Any) -> Any:
    """Return an item as JSON text, or the item itself if ``json`` does not support it."""
    try:
        return _Text(json.dumps(item))
    except TypeError:
        return item


def _bracketed(brackets: str, members: Iterable[tuple[str, Any]], depth: int) -> Iterator[str]:
    separator = ""
    yield brackets[0]
    for key, member in members:
        yield f"{separator}\n{_INDENT * (depth + 1)}{key}"
        if isinstance(member, _Text):
            yield member
        else:
            yield from json_chunks(member, depth + 1)
        separator = ","
    yield f"\n{_INDENT * depth}{brackets[1]}" if separator else brackets[1]


class _Text(str):
    """A complete JSON text."""

    __slots__ = ()
