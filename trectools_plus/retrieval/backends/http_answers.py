"""What a service answers: ids and scores found by JSONPath, every oddity refused in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from trectools_plus.retrieval.backends.base import Query

if TYPE_CHECKING:
    from jsonpath import JSONPath

    from trectools_plus.retrieval.backends.http_settings import HttpSettings


_SPELLED_NAME = re.compile(r"""'([^']*)'|"([^"]*)"|\.([^.\[\]()*~\s]+)""")


class AnswerError(ValueError):
    """An answer, or the part of it for one query, that is not what the settings say."""


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


@cache
def compile_path(path: str) -> JSONPath:
    """A path ready to be used.

    Raises:
        ValueError: If it is no JSONPath.
    """
    import jsonpath

    if not path.startswith("$"):
        raise ValueError(f"'{path}' is no JSONPath: it does not begin with $ — write $.{path}")
    try:
        found = jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        first = str(error).partition("\n")[0]
        raise ValueError(f"'{path}' is no JSONPath: {first}") from error
    if not isinstance(found, jsonpath.JSONPath):
        raise ValueError(f"'{path}' is several JSONPaths in one — write one")
    return found


def read_answer(
    document: Any, queries: Sequence[Query], settings: HttpSettings
) -> list[Entry | AnswerError]:
    """Each query's entry, or what is wrong with it, in the order of the queries.

    Raises:
        AnswerError: If there are not as many entries as queries, where they go by position.
    """
    if settings.results is None:
        parts = [document]
    else:
        parts = [match.obj for match in compile_path(settings.results).finditer(document)]
        if not parts:
            raise AnswerError(f"the answer has no entry at {settings.results} (http.results)")
    if settings.results is None or settings.query_id is None:
        if len(parts) != len(queries):
            raise AnswerError(
                f"{len(parts)} entries ({settings.results}) for {len(queries)} queries"
            )
        return [_attempt(part, settings) for part in parts]
    by_id: dict[str, list[Any]] = {}
    for part in parts:
        for match in compile_path(settings.query_id).finditer(part):
            by_id.setdefault(_show_id(match.obj), []).append(part)
    return [_only(by_id.get(query.query_id, []), query, settings) for query in queries]


def _only(parts: list[Any], query: Query, settings: HttpSettings) -> Entry | AnswerError:
    if len(parts) != 1:
        found = "no entry" if not parts else f"{len(parts)} entries"
        return AnswerError(f"the answer has {found} for query {query.query_id}")
    return _attempt(parts[0], settings)


def _attempt(part: Any, settings: HttpSettings) -> Entry | AnswerError:
    try:
        return _read_entry(part, settings)
    except AnswerError as error:
        return error


def _read_entry(part: Any, settings: HttpSettings) -> Entry:
    id_matches = list(compile_path(settings.ids).finditer(part))
    ids = [_read_id(match.obj, settings.ids) for match in id_matches]
    scores = None
    if settings.scores is not None:
        score_matches = list(compile_path(settings.scores).finditer(part))
        # The places in lists and objects tell which score belongs to which id.
        names = _fixed_names(settings.ids, settings.scores)
        if [_place(one, names) for one in id_matches] != [
            _place(one, names) for one in score_matches
        ]:
            raise AnswerError(
                f"{len(ids)} ids ({settings.ids}) and {len(score_matches)} scores "
                f"({settings.scores}) do not stand side by side"
            )
        sign = 1 if settings.higher_is_better else -1
        scores = [sign * _read_score(match.obj, settings.scores) for match in score_matches]
    diagnostics = None
    if settings.diagnostics is not None:
        diagnostics = next(
            (match.obj for match in compile_path(settings.diagnostics).finditer(part)), None
        )
    return Entry(ids, scores, diagnostics)


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
        raise AnswerError(f"expected an id at {path} but got {_kind(value)}")
    return str(value)


def _read_score(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise AnswerError(f"expected a score at {path} but got {_kind(value)}")
    try:
        return float(value)
    except OverflowError as error:
        raise AnswerError(f"expected a score at {path} but got a number out of range") from error


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", str: "text", int: "a number", float: "a decimal number"}
    return names.get(type(value), "a list or an object")
