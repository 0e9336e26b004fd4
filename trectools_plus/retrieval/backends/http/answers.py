"""Read ids and scores from the answers of a service by paths, and refuse unusable answers.

A service that finds nothing returns an empty list at the path of the ids. Two settings declare what
else an answer shows: ``incomplete`` names its errors, and ``total`` the number of results found; if
that is 0, the list may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from trectools_plus.retrieval.backends.http.mapping import HttpSettings, Step, parse_path
from trectools_plus.retrieval.source import FailureKind, Hits

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NO_ERROR = ("", "none", "null", "nil", "false", "0", "ok", "no error", "success")
"""Texts that mean that there is no error."""
_ERRORS = (
    *("error", "errors", "Error", "error_message", "exception", "failures", "timed_out"),
    *("timedOut", "partial_results", "partialResults", "incomplete_results", "!success", "!ok"),
)
"""Paths of errors in the answers of many services, besides those of the settings."""


@dataclass
class AnswerError(ValueError):
    """A failed request, or an answer that does not match the settings.

    Attributes:
        reason: The problem.
        shown: The part of the answer, or the error, that the message quotes, if any.
        is_final: Whether a retry would give the same answer.
        kind: ``unavailable`` if there is no answer.
        lasting: Whether the next query would probably fail too.
        stops: Whether every further query would fail too.
        wait: The seconds for which the service asks to wait.
    """

    reason: str
    shown: Any = None
    is_final: bool = False
    kind: FailureKind = "failed"
    lasting: bool = False
    stops: bool = False
    wait: float = 0.0


def read_answer(document: Any, query_id: str, settings: HttpSettings) -> Hits:
    """Return the results of a query, without the time and attempts of its request.

    Raises:
        AnswerError: If the answer reports an error, does not have one entry for the query, or lacks
            ids or scores.
    """
    refuse_incomplete(document, settings.incomplete, settings.ids)
    parts = found = [document]
    if settings.results is not None:
        parts = found = list(_find(document, settings.results).values())
        if settings.query_id is not None:
            named = ((part, _values(part, settings.query_id)) for part in parts)
            found = [part for part, ids in named if query_id in map(str, ids)]
    if len(found) != 1:
        number = f"{len(found)} entries" if found else "no entry"
        reason = f"the answer has {number} for query {query_id}"
        raise AnswerError(reason, found or parts, is_final=bool(found))
    try:
        return _read_entry(found[0], settings)
    except AnswerError as error:
        error.shown = found[0] if error.shown is None else error.shown
        raise


def _read_entry(part: Any, settings: HttpSettings) -> Hits:
    refuse_incomplete(part, settings.incomplete, settings.ids)
    total = next((one for one in _values(part, settings.total) if type(one) is int), None)
    ids = _find(part, settings.ids, is_required=total != 0)
    if total and not ids:
        raise AnswerError(f"no results, but {settings.total} (http.total) is {total}")
    for value in ids.values():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise AnswerError(f"expected an id at {settings.ids}", [value], is_final=True)
    scores = None if settings.scores is None else _read_scores(part, settings, list(ids))
    return Hits([str(value) for value in ids.values()], scores, 0.0, total=total)


def _read_scores(part: Any, settings: HttpSettings, places: list[tuple[int, ...]]) -> list[float]:
    """Return the scores of ids, whose places in lists show which score belongs to which id."""
    path, sign = str(settings.scores), 1 if settings.higher_is_better else -1
    found = _find(part, path) if places else {}
    if list(found) != places:
        raise AnswerError(
            f"{len(places)} ids ({settings.ids}) and {len(found)} scores ({path}) do not stand "
            "side by side",
            is_final=True,
        )
    scores = []
    for value in found.values():
        is_text = isinstance(value, str) and _DECIMAL.fullmatch(value)
        score = float(str(value)) if is_text or type(value) in (int, float) else nan
        if not isfinite(score):
            raise AnswerError(f"expected a score at {path}", [value], is_final=True)
        scores.append(sign * score)
    return scores


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
