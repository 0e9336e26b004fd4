"""The answers of a service: ids and scores found by JSONPath, every oddity refused in words.

"Nothing found" is an empty list where the ids are looked for. An answer without that list, or one
that reports an error beside it, is no answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from trectools_plus.retrieval.backends.http.settings import HttpSettings, compile_path
from trectools_plus.retrieval.source import Query

if TYPE_CHECKING:
    from jsonpath import JSONPathMatch
    from jsonpath.segments import JSONPathSegment

_SPELLED_NAME = re.compile(r"""'([^']*)'|"([^"]*)"|\.([^.\[\]()*~\s]+)""")

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

# Names of members: in lower case, without _ and -.
_ERROR_NAMES = frozenset(
    {"error", "errors", "errormessage", "errormsg", "errorcode", "errordescription", "errmsg"}
    | {"err", "errno", "errcode", "exception", "exceptions", "fault", "failures"}
)
"""Report an error, unless they are empty."""
_FLAG_NAMES = frozenset(
    {"timedout", "timeout", "partial", "partialresults", "incomplete", "incompleteresults"}
    | {"failed", "failure", "iserror", "haserror", "haserrors"}
)
"""Report by ``true`` that there is an error, or that documents are missing."""
_SUCCESS_NAMES = frozenset({"success", "successful", "succeeded", "ok"})
"""Report an error by ``false``."""
_STATUS_NAMES = frozenset({"status", "statuscode", "code"})
"""Report an error by an HTTP status of 400 or more, or by a word."""
_HEAD_NAMES = frozenset({"status", "meta", "metadata", "header", "responseheader"})
"""Objects beside the list that may hold any of these."""
_NO_ERRORS = frozenset({"", "none", "null", "nil", "false", "0", "ok", "no error", "success"})
_ERROR_WORDS = frozenset(
    {"error", "errors", "fail", "failed", "failure", "exception", "timeout", "timed out"}
)


class AnswerError(ValueError):
    """An answer, or the part of it for one query, that is not what the settings say.

    Args:
        reason: What is wrong.
        shown: The part of the answer to show with it; ``None`` for none.
        is_final: Whether the service would not answer otherwise when asked again.
    """

    def __init__(self, reason: str, shown: Any = None, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.shown = shown
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Entry:
    """A query's part of an answer.

    Attributes:
        ids: Best first.
        scores: One per id, higher is better; ``None`` where only the order counts.
        diagnostics: What else was kept; ``None`` if nothing.
    """

    ids: list[str]
    scores: list[float] | None
    diagnostics: Any


def read_answer(
    document: Any, queries: Sequence[Query], settings: HttpSettings
) -> list[Entry | AnswerError]:
    """Each query's entry, or what is wrong with it, in the order of the queries.

    Raises:
        AnswerError: If it reports an error, the entries' list is missing, or there are not as many
            entries as queries, where they go by position.
    """
    if settings.results is None:
        parts = [document]
    else:
        matches, problem = _walk(document, settings.results, "results")
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
        return [_attempt(part, settings) for part in parts]
    by_id: dict[str, list[Any]] = {}
    for part in parts:
        if not _is_tree(part):  # JSONPath would read the JSON in a text
            continue
        for match in compile_path(settings.query_id).finditer(part):
            by_id.setdefault(_show_id(match.obj), []).append(part)
    return [_only(by_id.get(query.query_id, []), query, settings, parts) for query in queries]


def _only(
    found: list[Any], query: Query, settings: HttpSettings, parts: list[Any]
) -> Entry | AnswerError:
    if not found:
        return AnswerError(f"the answer has no entry for query {query.query_id}", parts)
    if len(found) > 1:
        reason = f"the answer has {len(found)} entries for query {query.query_id}"
        return AnswerError(reason, is_final=True)
    return _attempt(found[0], settings)


def _attempt(part: Any, settings: HttpSettings) -> Entry | AnswerError:
    try:
        return _read_entry(part, settings)
    except AnswerError as error:
        return error


def _read_entry(part: Any, settings: HttpSettings) -> Entry:
    id_matches, problem = _walk(part, settings.ids, "ids")
    ids = [_read_id(match.obj, settings.ids) for match in id_matches]
    scores = None
    if settings.scores is not None:
        score_matches = list(compile_path(settings.scores).finditer(part))
        # The places in lists and objects show which score belongs to which id.
        names = _fixed_names(settings.ids, settings.scores)
        if [_place(one, names) for one in id_matches] != [
            _place(one, names) for one in score_matches
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
    return Entry(ids, scores, diagnostics)


def _walk(part: Any, path: str, setting: str) -> tuple[list[JSONPathMatch], AnswerError | None]:
    """The matches of a path, and what is wrong with the first item that has none.

    Without a problem, there is no match only where the path leads to an empty list.

    Raises:
        AnswerError: If the path does not lead to a list, or an object on the way to it reports an
            error.
    """
    from jsonpath import JSONPath

    if not _is_tree(part):
        raise AnswerError(f"expected an object or a list but got {_kind(part)}", part)
    whole = compile_path(path)
    matches = list(JSONPath(env=whole.env, segments=()).finditer(part))
    on_the_way, problem = True, None
    for segment in whole.segments:
        found: list[JSONPathMatch] = []
        for match in matches:
            if on_the_way and not _is_by_key(segment):
                _refuse_error(match.obj)
            here = list(segment.resolve([match]))
            if not here and not _holds_nothing(match.obj, segment):
                if on_the_way:
                    raise _unreached(path, setting, part)
                reason = f"an item of the answer's list has nothing at {path} (http.{setting})"
                problem = problem or AnswerError(reason, match.obj)
            found += here
        # What follows are the documents, whose own members may have any name.
        on_the_way = on_the_way and _is_single(segment)
        matches = found
    return matches, problem


def _is_tree(value: Any) -> bool:
    return isinstance(value, dict | list)


def _is_single(segment: JSONPathSegment) -> bool:
    """Return true if a step leads to one value at most."""
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import IndexSelector, NameSelector

    return (
        not isinstance(segment, JSONPathRecursiveDescentSegment)
        and len(segment.selectors) == 1
        and isinstance(segment.selectors[0], NameSelector | IndexSelector)
    )


def _is_by_key(segment: JSONPathSegment) -> bool:
    """Return true if a step goes through all members of an object: ``.*`` or ``~``."""
    from jsonpath.selectors import KeysSelector, WildcardSelector

    spelled = KeysSelector if segment.token.value == "[" else KeysSelector | WildcardSelector
    return any(isinstance(one, spelled) for one in segment.selectors)


def _holds_nothing(value: Any, segment: JSONPathSegment) -> bool:
    """Whether a step without a match says that nothing was found, and not that the list is missing.

    An empty object says so only where the path, by ``.*`` or ``~``, goes through objects.
    """
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import Filter, NameSelector, SliceSelector

    kinds = segment.selectors
    if isinstance(segment, JSONPathRecursiveDescentSegment):
        return _has_empty_list(value)
    if all(isinstance(one, NameSelector) for one in kinds):
        return False
    if isinstance(value, list):
        return not value or any(isinstance(one, Filter | SliceSelector) for one in kinds)
    return value == {} and _is_by_key(segment)


def _has_empty_list(value: Any) -> bool:
    """Return true if there is an empty list, however deep."""
    if isinstance(value, dict):
        return any(map(_has_empty_list, value.values()))
    return isinstance(value, list) and (not value or any(map(_has_empty_list, value)))


def _unreached(path: str, setting: str, part: Any) -> AnswerError:
    """The error for a path that leads nowhere."""
    what = "no entry" if setting == "results" else "no list, not even an empty one,"
    return AnswerError(f"the answer has {what} at {path} (http.{setting})", part)


def _refuse_error(value: Any) -> None:
    """Check that an object does not say that it is an error, or that documents are missing.

    Raises:
        AnswerError: If it does.
    """
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        if _reports_error(name, member):
            raise AnswerError("the answer reports an error", {name: member, **value})


def _reports_error(name: str, member: Any) -> bool:
    name = re.sub(r"[_-]", "", name).lower()
    if name in _ERROR_NAMES:
        return not _is_void(member)
    if name in _FLAG_NAMES:
        return member is True
    if name in _SUCCESS_NAMES:
        return member is False
    if name in _HEAD_NAMES and isinstance(member, dict):
        return any(_reports_error(*item) for item in member.items())
    if name in _STATUS_NAMES:
        if isinstance(member, str):
            return member.strip().lower() in _ERROR_WORDS
        return type(member) is int and 400 <= member < 600
    return False


def _is_void(value: Any) -> bool:
    """Return true if the value of a member for errors says that there is none."""
    if isinstance(value, dict):
        return all(map(_is_void, value.values()))
    if isinstance(value, list):
        return all(map(_is_void, value))
    return not value or (isinstance(value, str) and value.strip().lower() in _NO_ERRORS)


@cache
def _fixed_names(*paths: str) -> frozenset[str] | None:
    """Names that the paths spell out; ``None`` if names lead to matches in other ways too."""
    if any(".." in path for path in paths):
        return None
    found = [match for path in paths for match in _SPELLED_NAME.finditer(path)]
    return frozenset(name for match in found for name in match.groups() if name is not None)


def _place(match: Any, names: frozenset[str] | None) -> tuple[int | str, ...]:
    """The way to a match, without the names that are the same for all."""
    return tuple(
        step if isinstance(step, int) else step.removeprefix("~")  # the key itself, by "~"
        for step in match.parts
        if isinstance(step, int) or (names is not None and step not in names)
    )


def _show_id(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _read_id(value: Any, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise AnswerError(f"expected an id at {path} but got {_kind(value)}", is_final=True)
    return str(value)


def _read_score(value: Any, path: str) -> float:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        score = float(value)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise AnswerError(f"expected a score at {path} but got {_kind(value)}", is_final=True)
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
