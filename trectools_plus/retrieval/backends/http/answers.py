"""Read ids and scores from the answers of a service by paths, and refuse unusable answers.

A service that finds nothing returns an empty list at the path of the ids. An answer is unusable if
that list is missing, or if an object above the list reports an error.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.http.paths import Step, parse_path
from trectools_plus.retrieval.source import Query

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

# Names of members in lower case, without _ and -.
_ERROR = re.compile(
    r"err(or)?(s|no|code|msg|message|description)?|exceptions?|fault|failures", re.IGNORECASE
)
"""Members that report an error unless they are empty."""
_FLAG = re.compile(
    r"(is|has)?(timed?out|errors?|fail(ed|ure)|degraded|(partial|incomplete)(results?)?)"
    r"|searchcutoff"
)
"""Members whose value ``true`` reports an error or missing documents."""
_COUNTS = ("failed", "partial")
"""Flags that can also be a number of shards or clusters."""
_SUCCESS = ("success", "successful", "succeeded", "ok")
"""Members whose value ``false`` reports an error."""
_STATUS = ("status", "statuscode", "code")
"""Members that report an error by an HTTP status of 400 or more, or by a word."""
_HEADERS = re.compile(r"status|meta(data)?|(response)?header|shards|clusters|coverage|degraded")
"""Members whose value may be an object with such members."""
_NO_ERROR = ("", "none", "null", "nil", "false", "0", "ok", "no error", "success")
_ERROR_WORD = re.compile(r"errors?|fail(ed|ure)?|exception|timeout|timed out|unavailable|partial")


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


class MissingListError(AnswerError):
    """An object of the answer lacks the member with the list."""


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """The part of an answer for one query.

    Attributes:
        ids: Best first.
        scores: One per id, higher is better; ``None`` if the settings have no path of scores.
        diagnostics: Additional data for the journal, if any.
        total: The number of results found; ``None`` if it is unknown.
    """

    ids: list[str]
    scores: list[float] | None
    diagnostics: Any
    total: int | None


def read_answer(
    document: Any, queries: Sequence[Query], settings: HttpSettings
) -> list[AnswerEntry | AnswerError]:
    """Return each query's entry or the error in it, in the order of the queries.

    Raises:
        AnswerError: If the answer reports an error, the list of entries is missing, or entries
            are matched by position and their number differs from the number of queries.
    """
    parts = [document]
    if settings.results is not None:
        parts = [part for _, part in _find(document, settings.results)]
        if not parts:
            reason = f"the answer has no entry at {settings.results} (http.results)"
            raise AnswerError(reason, document)
    if settings.results is None or settings.query_id is None:
        if len(parts) != len(queries):
            reason = f"{len(parts)} entries ({settings.results}) for {len(queries)} queries"
            raise AnswerError(reason, is_final=True)
        return [_try_read_entry(part, settings) for part in parts]
    by_id: dict[str, list[Any]] = defaultdict(list)
    for part in parts:
        for query_id in _values(part, settings.query_id):
            by_id[str(query_id)].append(part)
    entries: list[AnswerEntry | AnswerError] = []
    for query in queries:
        count = len(by_id[query.query_id])
        if count == 1:
            entries.append(_try_read_entry(by_id[query.query_id][0], settings))
        else:
            what = f"{count} entries" if count else "no entry"
            reason = f"the answer has {what} for query {query.query_id}"
            entries.append(AnswerError(reason, parts, is_final=count > 1))
    return entries


def _try_read_entry(part: Any, settings: HttpSettings) -> AnswerEntry | AnswerError:
    try:
        return _read_entry(part, settings)
    except AnswerError as error:
        error.shown = part if error.shown is None else error.shown
        return error


def _read_entry(part: Any, settings: HttpSettings) -> AnswerEntry:
    totals = [total for total in _values(part, settings.total) if type(total) is int]
    total = totals[0] if totals else None
    try:
        ids = dict(_find(part, settings.ids))
    except MissingListError:
        if total != 0 or settings.list_required:
            raise
        ids = {}
    for path in settings.incomplete:
        for value in _values(part, path):
            if not _is_empty(value):
                name = str(parse_path(path)[-1])
                raise AnswerError(f"the answer is incomplete ({path})", {name: value})
    if total and not ids:
        reason = f"the answer lists no results, but {settings.total} (http.total) is {total}"
        raise AnswerError(reason, part)
    scores = None
    if settings.scores is not None:
        found = dict(_find(part, settings.scores)) if ids else {}
        # The places in lists show which score belongs to which id.
        if list(found) != list(ids):
            raise AnswerError(
                f"{len(ids)} ids ({settings.ids}) and {len(found)} scores ({settings.scores}) do "
                "not stand side by side",
                is_final=True,
            )
        sign = 1 if settings.higher_is_better else -1
        scores = [sign * _read_score(score, settings.scores) for score in found.values()]
    texts = [_read_id(value, settings.ids) for value in ids.values()]
    diagnostics = next(iter(_values(part, settings.diagnostics)), None)
    return AnswerEntry(texts, scores, diagnostics, total)


def _values(part: Any, path: str | None) -> list[Any]:
    """Return the values at a path that may be missing."""
    if path is None:
        return []
    return [value for _, value in _find(part, path, is_required=False)]


Places = tuple[int, ...]


def _find(
    value: Any, path: str, places: Places = (), start: int = 0, *, is_required: bool = True
) -> Iterator[tuple[Places, Any]]:
    """Yield the values at a path, each with its places in the lists of the path.

    Raises:
        MissingListError: If an object above the first list lacks a required member.
        AnswerError: If another step of a required path leads nowhere, or an object above the first
            list reports an error. Below it are the documents, whose members may have any name.
    """
    for number, step in enumerate(parse_path(path)[start:], start + 1):
        if is_required and not places:
            refuse_error(value, step)
        if step is None and isinstance(value, list):
            for place, item in enumerate(value):
                yield from _find(item, path, (*places, place), number, is_required=is_required)
            return
        if isinstance(step, int) and value == []:
            return
        if not _has(value, step):
            if not is_required:
                return
            reason = f"the answer has no list, not even an empty one, at {path}"
            if places:
                reason = f"an item of the answer's list has nothing at {path}"
            is_member = isinstance(value, dict) and isinstance(step, str) and not places
            raise (MissingListError if is_member else AnswerError)(reason, value)
        value = value[step]
    yield places, value


def _has(value: Any, step: Step) -> bool:
    """Return whether a step leads from a value to another one."""
    if isinstance(step, str):
        return isinstance(value, dict) and step in value
    return isinstance(value, list) and step is not None and step < len(value)


def refuse_error(value: Any, name_in_path: Step) -> None:
    """Check that an object does not report an error or missing documents.

    Args:
        value: The object.
        name_in_path: A member that is not checked, because it contains the results.

    Raises:
        AnswerError: If it does.
    """
    for name, member in value.items() if isinstance(value, dict) else ():
        if name != name_in_path and _reports_error(name, member):
            raise AnswerError("the answer reports an error", {name: member, **value})


def _reports_error(name: str, member: Any) -> bool:
    name = re.sub(r"[_-]", "", name).lower()
    if _ERROR.fullmatch(name):
        return not _is_empty(member)
    if isinstance(member, dict):
        is_partial = member.get("full") is False or _lacks_shards(member)
        return bool(_HEADERS.fullmatch(name)) and (
            is_partial or any(_reports_error(*item) for item in member.items())
        )
    word, is_number = str(member).strip().lower(), type(member) is int
    if _FLAG.fullmatch(name):
        is_count = name in _COUNTS and is_number and member > 0
        return word in ("true", "yes", "omitted") or is_count
    if name in _SUCCESS:
        return word == "false"
    is_status = _ERROR_WORD.fullmatch(word) or (is_number and 400 <= member < 600)
    return name in _STATUS and bool(is_status)


def _lacks_shards(header: dict[str, Any]) -> bool:
    """Return whether fewer shards answered than there are; some count as not failed either."""
    counts = [header.get(name) for name in ("successful", "total")]
    return all(type(count) is int for count in counts) and counts[0] < counts[1]  # type: ignore[operator]


def _is_empty(value: Any) -> bool:
    """Return whether the value of an error member means that there is no error."""
    if isinstance(value, dict | list):
        return all(map(_is_empty, value.values() if isinstance(value, dict) else value))
    return not value or (isinstance(value, str) and value.strip().lower() in _NO_ERROR)


def _read_id(value: Any, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise AnswerError(f"expected an id at {path} but got {_kind(value)}", is_final=True)
    return str(value)


def _read_score(value: Any, path: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and _DECIMAL.fullmatch(value)):
        raise AnswerError(f"expected a score at {path} but got {_kind(value)}", is_final=True)
    try:
        score = float(value)
    except OverflowError:
        score = math.inf
    if not math.isfinite(score):
        reason = f"expected a score at {path} but got a number out of range"
        raise AnswerError(reason, is_final=True)
    return score


def _kind(value: Any) -> str:
    names = {bool: "true or false", str: "text", int: "a number", float: "a decimal number"}
    return "null" if value is None else names.get(type(value), "a list or an object")
