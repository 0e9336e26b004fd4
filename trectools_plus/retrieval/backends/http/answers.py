"""Read ids and scores from the answers of a service by JSONPath, and refuse unusable answers.

A service that finds nothing returns an empty list at the path of the ids. An answer is unusable if
that list is missing, or if an object along the path reports an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from trectools_plus.retrieval.backends.http.mapping import HttpSettings, compile_path
from trectools_plus.retrieval.source import Query

if TYPE_CHECKING:
    from jsonpath import JSONPathMatch
    from jsonpath.segments import JSONPathSegment

_NAME_IN_PATH = re.compile(r"""'([^']*)'|"([^"]*)"|\.([^.\[\]()*~\s]+)""")

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

# Names of members in lower case, without _ and -.
_ERROR_NAMES = frozenset(
    {"error", "errors", "errormessage", "errormsg", "errorcode", "errordescription", "errmsg"}
    | {"err", "errno", "errcode", "exception", "exceptions", "fault", "failures"}
)
"""Members that report an error unless they are empty."""
_MESSAGE_NAMES = frozenset({"warning", "warnings", "message", "messages", "details", "notices"})
"""Members whose empty list does not mean that no document was found."""
_FLAG_NAMES = frozenset(
    {"timedout", "timeout", "partial", "partialresults", "incomplete", "incompleteresults"}
    | {"failed", "failure", "iserror", "haserror", "haserrors"}
    | {"degraded", "ispartial", "isincomplete", "istimeout", "istimedout", "searchcutoff"}
)
"""Members whose value ``true`` reports an error or missing documents."""
_COUNTS = frozenset({"failed", "partial"})
"""Members that can also be a number of shards or clusters."""
_SUCCESS_NAMES = frozenset({"success", "successful", "succeeded", "ok"})
"""Members whose value ``false`` reports an error."""
_STATUS_NAMES = frozenset({"status", "statuscode", "code"})
"""Members that report an error by an HTTP status of 400 or more, or by a word."""
_HEADER_NAMES = frozenset(
    {"status", "meta", "metadata", "header", "responseheader"}
    | {"shards", "clusters", "coverage", "degraded"}
)
"""Members whose value may be an object with such members."""
_NO_ERRORS = frozenset({"", "none", "null", "nil", "false", "0", "ok", "no error", "success"})
_ERROR_WORDS = frozenset(
    {"error", "errors", "fail", "failed", "failure", "exception", "timeout", "timed out"}
    | {"partial", "incomplete", "unavailable"}
)
_TRUE_WORDS = frozenset({"true", "yes", "omitted"})


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
    if settings.results is None:
        parts = [document]
    else:
        matches, problem = _find_matches(document, settings.results, "results")
        if problem is not None:
            raise problem
        parts = [match.obj for match in matches]
        if not parts:
            reason = f"the answer has no entry at {settings.results} (http.results)"
            raise AnswerError(reason, document)
    if settings.results is None or settings.query_id is None:
        if len(parts) != len(queries):
            raise AnswerError(
                f"{len(parts)} entries ({settings.results}) for {len(queries)} queries",
                is_final=True,
            )
        return [_try_read_entry(part, settings) for part in parts]
    by_id: dict[str, list[Any]] = {}
    for part in parts:
        if not _is_container(part):  # JSONPath would parse a text as JSON
            continue
        for match in compile_path(settings.query_id).finditer(part):
            by_id.setdefault(str(match.obj), []).append(part)
    entries: list[AnswerEntry | AnswerError] = []
    for query in queries:
        found = by_id.get(query.query_id, [])
        if len(found) == 1:
            entries.append(_try_read_entry(found[0], settings))
        elif found:
            reason = f"the answer has {len(found)} entries for query {query.query_id}"
            entries.append(AnswerError(reason, is_final=True))
        else:
            reason = f"the answer has no entry for query {query.query_id}"
            entries.append(AnswerError(reason, parts))
    return entries


def _try_read_entry(part: Any, settings: HttpSettings) -> AnswerEntry | AnswerError:
    try:
        return _read_entry(part, settings)
    except AnswerError as error:
        return error


def _read_entry(part: Any, settings: HttpSettings) -> AnswerEntry:
    total = _read_total(part, settings)
    try:
        id_matches, problem = _find_matches(part, settings.ids, "ids")
        _refuse_incomplete(part, settings)
    except MissingListError:
        _refuse_incomplete(part, settings)
        if total != 0 or settings.list_required:
            raise
        id_matches, problem = [], None
    if total and not id_matches and problem is None:
        reason = f"the answer lists no results, but {settings.total} (http.total) is {total}"
        raise AnswerError(reason, part)
    ids = [_read_id(match.obj, settings.ids) for match in id_matches]
    scores = None
    if settings.scores is not None:
        score_matches = list(compile_path(settings.scores).finditer(part))
        # The positions in lists and objects show which score belongs to which id.
        names = _fixed_names(settings.ids, settings.scores)
        if [_position(one, names) for one in id_matches] != [
            _position(one, names) for one in score_matches
        ]:
            raise AnswerError(
                f"{len(ids)} ids ({settings.ids}) and {len(score_matches)} scores "
                f"({settings.scores}) do not stand side by side",
                is_final=True,
            )
        sign = 1 if settings.higher_is_better else -1
        scores = [sign * _read_score(match.obj, settings.scores) for match in score_matches]
    if problem is not None:
        raise problem
    diagnostics = None
    if settings.diagnostics is not None:
        diagnostics = next(
            (match.obj for match in compile_path(settings.diagnostics).finditer(part)), None
        )
    return AnswerEntry(ids, scores, diagnostics, total)


def _find_matches(
    part: Any, path: str, setting: str
) -> tuple[list[JSONPathMatch], AnswerError | None]:
    """Return the matches of a path, and an error if an item of the list has no match.

    Neither a match nor an error means that the list is empty.

    Raises:
        AnswerError: If the path does not lead to a list, or an object along the path reports an
            error.
    """
    from jsonpath import JSONPath

    if not _is_container(part):
        raise AnswerError(f"expected an object or a list but got {_kind(part)}", part)
    whole = compile_path(path)
    matches = list(JSONPath(env=whole.env, segments=()).finditer(part))
    above_list, problem = True, None
    for segment in whole.segments:
        found: list[JSONPathMatch] = []
        for match in matches:
            if above_list and not _selects_all_members(segment):
                refuse_error(match.obj, _selected_name(segment))
            here = list(segment.resolve([match]))
            if not here and not _means_no_results(match.obj, segment):
                if above_list:
                    what = "no entry" if setting == "results" else "no list, not even an empty one,"
                    reason = f"the answer has {what} at {path} (http.{setting})"
                    lacks_member = isinstance(match.obj, dict) and _selects_one_value(segment)
                    raise (MissingListError if lacks_member else AnswerError)(reason, part)
                reason = f"an item of the answer's list has nothing at {path} (http.{setting})"
                problem = problem or AnswerError(reason, match.obj)
            found += here
        # Below the list are the documents, whose members may have any name.
        above_list = above_list and _selects_one_value(segment)
        matches = found
    return matches, problem


def _refuse_incomplete(part: Any, settings: HttpSettings) -> None:
    """Check that no path of ``incomplete`` leads to a value that means something is missing.

    Raises:
        AnswerError: If one does.
    """
    for path in settings.incomplete:
        for match in compile_path(path).finditer(part):
            if not _is_empty(match.obj):
                reason = f"the answer is incomplete ({path})"
                raise AnswerError(reason, {_last_name(match): match.obj})


def _last_name(match: JSONPathMatch) -> str:
    return str(match.parts[-1]) if match.parts else "$"


def _read_total(part: Any, settings: HttpSettings) -> int | None:
    """Return the number of results found; ``None`` if it is unknown."""
    if settings.total is None or not _is_container(part):
        return None
    found = [match.obj for match in compile_path(settings.total).finditer(part)]
    return found[0] if len(found) == 1 and type(found[0]) is int else None


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list)


def _selects_one_value(segment: JSONPathSegment) -> bool:
    """Return whether a segment selects at most one value."""
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import IndexSelector, NameSelector

    return (
        not isinstance(segment, JSONPathRecursiveDescentSegment)
        and len(segment.selectors) == 1
        and isinstance(segment.selectors[0], NameSelector | IndexSelector)
    )


def _selected_name(segment: JSONPathSegment) -> str | None:
    """Return the name of the only member that a segment selects, if it selects one by its name."""
    from jsonpath.selectors import NameSelector

    one = segment.selectors[0]
    return one.name if _selects_one_value(segment) and isinstance(one, NameSelector) else None


def _selects_all_members(segment: JSONPathSegment) -> bool:
    """Return whether a segment selects all members of an object: ``.*`` or ``~``."""
    from jsonpath.selectors import KeysSelector, WildcardSelector

    kinds = KeysSelector if segment.token.value == "[" else KeysSelector | WildcardSelector
    return any(isinstance(one, kinds) for one in segment.selectors)


def _means_no_results(value: Any, segment: JSONPathSegment) -> bool:
    """Return whether a segment without a match means an empty list instead of a missing one.

    An empty object counts as an empty list only if the segment is ``.*`` or ``~``.
    """
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import Filter, NameSelector, SliceSelector

    selectors = segment.selectors
    if isinstance(segment, JSONPathRecursiveDescentSegment):
        return _has_empty_list(value)
    if all(isinstance(one, NameSelector) for one in selectors):
        return False
    if isinstance(value, list):
        return not value or any(isinstance(one, Filter | SliceSelector) for one in selectors)
    return value == {} and _selects_all_members(segment)


def _has_empty_list(value: Any) -> bool:
    """Return whether there is an empty list at any depth, except one of errors or messages."""
    if isinstance(value, dict):
        return any(
            _has_empty_list(member)
            for name, member in value.items()
            if re.sub(r"[_-]", "", name).lower() not in _ERROR_NAMES | _MESSAGE_NAMES
        )
    return isinstance(value, list) and (not value or any(map(_has_empty_list, value)))


def refuse_error(value: Any, name_in_path: str | None) -> None:
    """Check that an object does not report an error or missing documents.

    Args:
        value: The object.
        name_in_path: A member that is not checked, because it contains the results.

    Raises:
        AnswerError: If it does.
    """
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        if name != name_in_path and _reports_error(name, member):
            raise AnswerError("the answer reports an error", {name: member, **value})


def _reports_error(name: str, member: Any) -> bool:
    name = re.sub(r"[_-]", "", name).lower()
    if name in _ERROR_NAMES:
        return not _is_empty(member)
    if name in _HEADER_NAMES and isinstance(member, dict):
        return _is_partial(name, member) or any(_reports_error(*item) for item in member.items())
    word = member.strip().lower() if isinstance(member, str) else None
    if name in _FLAG_NAMES:
        is_count = name in _COUNTS and type(member) is int and member > 0
        return member is True or word in _TRUE_WORDS or is_count
    if name in _SUCCESS_NAMES:
        return member is False or word == "false"
    if name == "@search.coverage":
        return isinstance(member, int | float) and member < 100
    if name in _STATUS_NAMES:
        if word is not None:
            return word in _ERROR_WORDS
        return type(member) is int and 400 <= member < 600
    return False


def _is_partial(name: str, member: dict[str, Any]) -> bool:
    """Return whether a header says that a part of the index did not answer."""
    if name == "coverage":
        return member.get("full") is False
    total, successful = member.get("total"), member.get("successful")
    # Shards that are not allocated count as neither successful nor failed.
    if name not in ("shards", "clusters") or type(total) is not int or type(successful) is not int:
        return False
    return successful < total


def find_reason(value: Any) -> str | None:
    """Return the first message in the error members of an answer, at any depth."""
    if isinstance(value, list):
        return next(filter(None, map(find_reason, value)), None)
    if not isinstance(value, dict):
        return None
    for name, member in value.items():
        plain = re.sub(r"[_-]", "", name).lower()
        if plain in _ERROR_NAMES or plain == "partialresultsdetails":
            reason = _find_message(member)
            if reason is not None:
                return reason
    return find_reason(list(value.values()))


def _find_message(value: Any) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, list):
        return next(filter(None, map(_find_message, value)), None)
    if not isinstance(value, dict):
        return None
    for name in ("message", "msg", "reason", "detail", "description", "summary"):
        reason = _find_message(value.get(name))
        if reason is not None:
            return reason
    return None


def _is_empty(value: Any) -> bool:
    """Return whether the value of an error member means that there is no error."""
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return not value or (isinstance(value, str) and value.strip().lower() in _NO_ERRORS)


@cache
def _fixed_names(*paths: str) -> frozenset[str] | None:
    """Return the member names in the paths; ``None`` if ``..`` can match members of any name."""
    if any(".." in path for path in paths):
        return None
    found = [match for path in paths for match in _NAME_IN_PATH.finditer(path)]
    return frozenset(name for match in found for name in match.groups() if name is not None)


def _position(match: Any, names: frozenset[str] | None) -> tuple[int | str, ...]:
    """Return the location of a match, without the names that all matches share."""
    return tuple(
        step if isinstance(step, int) else step.removeprefix("~")  # "~" selects the key
        for step in match.parts
        if isinstance(step, int) or (names is not None and step not in names)
    )


def _read_id(value: Any, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        what = f"expected an id at {path} but got {_kind(value)}"
        raise AnswerError(what, is_final=True)
    return str(value)


def _read_score(value: Any, path: str) -> float:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        score = float(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        what = f"expected a score at {path} but got {_kind(value)}"
        raise AnswerError(what, is_final=True)
    else:
        try:
            score = float(value)
        except OverflowError:
            score = math.inf
    if not math.isfinite(score):
        reason = f"expected a score at {path} but got a number out of range"
        raise AnswerError(reason, is_final=True)
    return score


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "text", int: "a number", float: "a decimal number"}
    return names.get(type(value), "a list or an object")
