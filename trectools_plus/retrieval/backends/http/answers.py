"""Read ids and scores from the answers of a service by paths, and refuse unusable answers.

A service that finds nothing returns an empty list at the path of the ids. Three settings declare
what else an answer shows: ``incomplete`` names its errors, ``total`` the number of results found,
and ``list_required`` whether the list of ids may be missing if that number is 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.http.paths import Step, parse_path
from trectools_plus.retrieval.source import Query

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NO_ERROR = ("", "none", "null", "nil", "false", "0", "ok", "no error", "success")
"""Texts that mean that there is no error."""
_ERRORS = (
    *("error", "errors", "Error", "error_message", "exception", "failures", "timed_out"),
    *("timedOut", "partial_results", "partialResults", "incomplete_results", "!success", "!ok"),
)
"""Paths of errors in the answers of many services, besides those of the settings."""


class AnswerError(ValueError):
    """An answer, or its part for one query, that does not match the settings.

    Args:
        reason: The problem.
        shown: The part of the answer that the message quotes, if any.
        is_final: Whether a retry would give the same answer.
    """

    def __init__(self, reason: str, shown: Any = None, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.shown = shown
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """The part of an answer for one query.

    Attributes:
        ids: Best first.
        scores: One per id, higher is better; ``None`` if the settings have no path of scores.
        total: The number of results found; ``None`` if it is unknown.
    """

    ids: list[str]
    scores: list[float] | None
    total: int | None


def read_answer(
    document: Any, queries: Sequence[Query], settings: HttpSettings
) -> list[AnswerEntry | AnswerError]:
    """Return each query's entry or the error in it, in the order of the queries.

    Raises:
        AnswerError: If the answer reports an error, the list of entries is missing, or entries
            are matched by position and their number differs from the number of queries.
    """
    refuse_incomplete(document, settings.incomplete, settings.ids)
    if settings.results is None:
        return [_try_read_entry([document], settings)]
    parts = list(_find(document, settings.results).values())
    if settings.query_id is None:
        if len(parts) != len(queries):
            reason = f"{len(parts)} entries ({settings.results}) for {len(queries)} queries"
            raise AnswerError(reason, document, is_final=bool(parts))
        return [_try_read_entry([part], settings) for part in parts]
    by_id: dict[str, list[Any]] = {query.query_id: [] for query in queries}
    for part in parts:
        for query_id in _values(part, settings.query_id):
            by_id.get(str(query_id), []).append(part)
    return [
        _try_read_entry(of_query, settings, parts, f"query {query_id}")
        for query_id, of_query in by_id.items()
    ]


def _try_read_entry(
    parts: Sequence[Any], settings: HttpSettings, others: Any = None, name: str = "the query"
) -> AnswerEntry | AnswerError:
    """Return the entry in the only part of a query."""
    if len(parts) != 1:
        number = f"{len(parts)} entries" if parts else "no entry"
        return AnswerError(f"the answer has {number} for {name}", others, is_final=bool(parts))
    try:
        return _read_entry(parts[0], settings)
    except AnswerError as error:
        error.shown = parts[0] if error.shown is None else error.shown
        return error


def _read_entry(part: Any, settings: HttpSettings) -> AnswerEntry:
    refuse_incomplete(part, settings.incomplete, settings.ids)
    total = next((total for total in _values(part, settings.total) if type(total) is int), None)
    ids = _find(part, settings.ids, is_required=settings.list_required or total != 0)
    if total and not ids:
        reason = f"the answer lists no results, but {settings.total} (http.total) is {total}"
        raise AnswerError(reason, part)
    for value in ids.values():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise AnswerError(f"expected an id at {settings.ids}", [value], is_final=True)
    scores = None
    if settings.scores is not None:
        found = _find(part, settings.scores) if ids else {}
        # The places in lists show which score belongs to which id.
        if list(found) != list(ids):
            raise AnswerError(
                f"{len(ids)} ids ({settings.ids}) and {len(found)} scores ({settings.scores}) do "
                "not stand side by side",
                is_final=True,
            )
        sign = 1 if settings.higher_is_better else -1
        scores = [sign * _read_score(score, settings.scores) for score in found.values()]
    return AnswerEntry([str(value) for value in ids.values()], scores, total)


def refuse_incomplete(part: Any, paths: Sequence[str] = (), of_results: str = "") -> None:
    """Check the paths of errors, and of signs that documents are missing.

    Args:
        part: An answer, or the part for one query.
        paths: Paths that must lead nowhere or to nothing: null, false, 0, or an empty text, list or
            object. With ``!`` before it, a path must not lead to false.
        of_results: The path of the results, which is not checked.

    Raises:
        AnswerError: If one does.
    """
    for path in (*_ERRORS, *paths):
        steps = parse_path(path.removeprefix("!"))
        for value in () if steps == parse_path(of_results)[:1] else _values(part, steps):
            if value is False if path.startswith("!") else not _is_empty(value):
                shown = {str(steps[-1]): value, **(part if isinstance(part, Mapping) else {})}
                raise AnswerError(f"the answer reports an error or is incomplete ({path})", shown)


def _is_empty(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_is_empty, value.values() if isinstance(value, dict) else value))
    return not value or (isinstance(value, str) and value.strip().lower() in _NO_ERROR)


def _values(part: Any, path: str | tuple[Step, ...] | None) -> list[Any]:
    """Return the values at a path that may be missing."""
    return [] if path is None else list(_find(part, path, is_required=False).values())


def _find(
    value: Any, path: str | tuple[Step, ...], *, is_required: bool = True
) -> dict[tuple[int, ...], Any]:
    """Return the values at a path by their places in the lists of the path.

    Raises:
        AnswerError: If a step of a required path leads nowhere.
    """
    found: dict[tuple[int, ...], Any] = {(): value}
    for step in parse_path(path) if isinstance(path, str) else path:
        above, found = found, {}
        for places, part in above.items():
            if step is None and isinstance(part, list):
                found |= {(*places, place): item for place, item in enumerate(part)}
            elif _has(part, step):
                found[places] = part[step]
            elif is_required and not (isinstance(step, int) and part == []):
                reason = f"the answer has no list, not even an empty one, at {path}"
                if places:
                    reason = f"an item of the answer's list has nothing at {path}"
                raise AnswerError(reason, part)
    return found


def _has(value: Any, step: Step) -> bool:
    """Return whether a step leads from a value to another one."""
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, list) and step is not None and step < len(value)


def _read_score(value: Any, path: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and _DECIMAL.fullmatch(value)):
        raise AnswerError(f"expected a score at {path}", [value], is_final=True)
    try:
        score = float(value)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        raise AnswerError(f"expected a score at {path}, not out of range", [value], is_final=True)
    return score
