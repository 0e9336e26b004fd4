"""Reads test sets from JSON or YAML, in this package's form and in Phentrieve's.

::

    {metadata: {dataset_id, …}, queries: [{query_id, text, relevant: [{doc_id, grade}], …}]}
    {queries: [{id, text, relevant: {doc_id: grade}, …}]}
    {metadata: {…}, test_cases: [{text, expected_hpo_ids: [HP:…], …}]}
    [{text, hpo_ids: [HP:…], description: …}]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from trectools_plus.benchmark.testset import Category, Difficulty, TestSet
from trectools_plus.benchmark.yaml_text import YamlDocument, read_values
from trectools_plus.errors import FormatError
from trectools_plus.formats.columns import scan_columns
from trectools_plus.formats.source import Source, read_source
from trectools_plus.validation.findings import Severity
from trectools_plus.validation.topics.engine import check_topics
from trectools_plus.validation.topics.reading import read_view
from trectools_plus.validation.topics.schema import (
    ID_KEYS,
    JUDGED_KEYS,
    LISTED_KEYS,
    TEXT_KEYS,
)

_EXPECTED_KEYS = LISTED_KEYS
_SPELLINGS = {"query_id": ID_KEYS, "text": TEXT_KEYS, "relevant": JUDGED_KEYS}
_KEPT_KEYS = ("text", "description", "language", "hpo_domain")
_KEPT_VALUES = {"category": get_args(Category), "difficulty": get_args(Difficulty)}
"""Fields that other sets fill with words of their own, which are left out."""
_FORM = "a list of test cases, or a mapping with 'queries' or 'test_cases'"


def read_test_set(path: str | Path) -> TestSet:
    """Read a test set, compressed or not.

    What ``topics validate`` calls an error is refused, with its code in the message; what it only
    warns of is read: ids that are whole numbers become text, a case or a judgment that is repeated
    as it is counts once, and a case without judgments is left without a score.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If it is neither JSON nor YAML, or a field is missing or wrong.
    """
    source = read_source(path)
    _refuse_errors(source)
    document = _parse(source)
    content = _own_form(document.content, source.path)
    try:
        return TestSet.model_validate(content)
    except ValidationError as error:
        raise _translated(error, document, source.path) from None


def _refuse_errors(source: Source) -> None:
    """Refuse what the validator of test sets calls an error."""
    view = read_view(scan_columns(source, 2))
    if view.form not in ("yaml", "json"):
        return
    for finding in check_topics(view):
        if finding.severity is Severity.ERROR:
            raise FormatError(
                f"{finding.message} ({finding.code})",
                path=source.path,
                line=finding.line,
                column=finding.column,
                remedy=finding.remedy[:1].lower() + finding.remedy[1:],
            )


def _parse(source: Source) -> YamlDocument:
    text = source.text
    is_yaml = re.search(r"\.ya?ml(\.\w+)?$", source.path, re.IGNORECASE)
    try:
        if text.lstrip()[:1] in ("{", "[") and not is_yaml:
            return YamlDocument(json.loads(text, object_pairs_hook=_distinct_keys))
        return _parse_yaml(text, source.path)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"not JSON: {error.msg}", path=source.path, line=error.lineno, column=error.colno
        ) from None
    except (RecursionError, ValueError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FormatError(f"neither JSON nor YAML: {what}", path=source.path) from None


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; Python would keep the last of two equal keys without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key '{twice}' stands twice in one object")
    return found


def _parse_yaml(text: str, path: str) -> YamlDocument:
    import yaml

    try:
        return read_values(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise FormatError(
            f"not YAML: {getattr(error, 'problem', None) or str(error).splitlines()[0]}",
            path=path,
            line=mark.line + 1 if mark else None,
            column=mark.column + 1 if mark else None,
        ) from None


def _own_form(content: Any, path: str) -> Any:
    """The content in this package's form: lists and Phentrieve's cases converted."""
    if isinstance(content, list):
        is_own = content and isinstance(content[0], dict) and "relevant" in content[0]
        content = {"queries" if is_own else "test_cases": content}
    if not isinstance(content, dict) or not content.keys() & {"queries", "test_cases"}:
        is_mapping = isinstance(content, dict) and content
        seen = ", ".join(map(str, content))[:60] if is_mapping else _kind(content)
        raise FormatError(f"expected {_FORM} but got {seen}", path=path)
    metadata = content.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise FormatError(f"metadata: expected a mapping but got {_kind(metadata)}", path=path)
    metadata = {"dataset_id": Path(path).name.partition(".")[0], **metadata}
    if "queries" in content:
        queries = content["queries"]
        queries = _listed(queries)
        if isinstance(queries, list):
            queries = _first_cases([_spelled_out(query) for query in queries])
        return {**content, "queries": queries, "metadata": metadata}
    cases = _listed(content["test_cases"])
    if not isinstance(cases, list):
        raise FormatError(f"test_cases: expected a list but got {_kind(cases)}", path=path)
    return {
        "metadata": {key: str(value) for key, value in metadata.items() if value is not None},
        "queries": _first_cases(
            [_own_case(number, case, path) for number, case in enumerate(cases, 1)]
        ),
    }


def _spelled_out(query: Any) -> Any:
    """A query with its short forms written out: ``id``, and ``relevant`` as ids with grades."""
    if not isinstance(query, dict):
        return query
    query = dict(query)
    for name, spellings in _SPELLINGS.items():
        given = [query.pop(key) for key in spellings if key in query]
        if given:
            query[name] = given[0]
    for name in ("query_id", "text"):
        query[name] = _as_text(query.get(name))
    if query.get("relevant") is None:
        query["relevant"] = []
    if isinstance(query["relevant"], dict):
        query["relevant"] = [
            {"doc_id": doc_id, "grade": grade} for doc_id, grade in query["relevant"].items()
        ]
    if isinstance(query["relevant"], list):
        query["relevant"] = _distinct(map(_judgment, query["relevant"]))
    return query


def _judgment(term: Any) -> Any:
    """A judgment of ``relevant``: an id alone is one of grade 1."""
    if isinstance(term, dict):
        return {**term, "doc_id": _as_text(term.get("doc_id"))}
    return {"doc_id": _as_text(term), "grade": 1}


def _as_text(value: Any) -> Any:
    """An id or text; a whole number as it is written."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Values without those that are repeated as they are."""
    return list({repr(value): value for value in values}.values())


def _listed(cases: Any) -> Any:
    """Test cases as a list, where they are a mapping of ids to cases."""
    if not isinstance(cases, dict) or not all(isinstance(case, dict) for case in cases.values()):
        return cases
    named = cases.items()
    return [
        case if case.keys() & set(ID_KEYS) else {"query_id": key, **case} for key, case in named
    ]


def _first_cases(queries: list[Any]) -> list[Any]:
    """Queries without those whose id and text another has before them."""
    found: dict[Any, Any] = {}
    for number, query in enumerate(queries):
        is_case = isinstance(query, dict) and isinstance(query.get("query_id"), str)
        found.setdefault((query["query_id"], repr(query.get("text"))) if is_case else number, query)
    return list(found.values())


def _kind(value: Any) -> str:
    """What a wrong value is, for people."""
    names = {dict: "a mapping", list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(value), repr(value)[:40])


def _own_case(number: int, case: Any, path: str) -> dict[str, Any]:
    """A test case of Phentrieve's: every expected term is relevant, none more than another."""
    where = f"test_cases[{number - 1}]"
    if not isinstance(case, dict):
        raise FormatError(f"{where}: expected a mapping with text and expected_hpo_ids", path=path)
    expected = next((case[key] for key in _EXPECTED_KEYS if key in case), None) or []
    if not isinstance(expected, list):
        raise FormatError(
            f"{where}: expected a list of term ids as {' or '.join(_EXPECTED_KEYS)}", path=path
        )
    given = next((case[key] for key in ("query_id", "id", "case_id") if case.get(key)), None)
    distinct = list(dict.fromkeys(map(str, expected)))
    return {
        **{key: _as_text(case[key]) for key in _KEPT_KEYS if case.get(key) is not None},
        **{key: case[key] for key, known in _KEPT_VALUES.items() if case.get(key) in known},
        "query_id": f"case-{number:03d}" if given is None else str(given),
        "relevant": [{"doc_id": term_id, "grade": 1} for term_id in distinct],
    }


def _translated(error: ValidationError, document: YamlDocument, path: str) -> FormatError:
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
                aliases = ("id", "test_cases", *_EXPECTED_KEYS)
                step = next((name for name in aliases if name in content), step)
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
