"""The forms that test sets have, turned into this package's own.

::

    {metadata: {dataset_id, …}, queries: [{query_id, text, relevant: [{doc_id, grade}], …}]}
    {queries: [{id, text, relevant: {doc_id: grade}, …}]}
    {queries: [{query_id, query_text, relevant_docs: [{doc_id, grade}], …}]}
    {metadata: {…}, test_cases: [{text, expected_hpo_ids: [HP:…], …}]}
    [{text, hpo_ids: [HP:…], description: …}]
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

from trectools_plus.errors import FormatError
from trectools_plus.testsets.model import Category, Difficulty, QueryType, TestSet
from trectools_plus.validation.topics.schema import (
    GRADED_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    LISTED_KEYS,
    SPELLINGS,
    TEXT_KEYS,
)

_FORM = "a list of test cases, or a mapping with 'queries' or 'test_cases'"
_NOTHING: tuple[Any, ...] = (None, [], {})
_KEPT_KEYS = ("description", "language", "hpo_domain")
WORDS: dict[str, tuple[str, ...]] = {
    "category": get_args(Category),
    "difficulty": get_args(Difficulty),
    "query_type": get_args(QueryType),
}
"""Fields that other sets fill with words of their own, which are left out."""


def own_form(content: Any, path: str) -> Any:
    """The content in this package's form: lists and Phentrieve's cases converted."""
    if isinstance(content, list):
        is_own = content and isinstance(content[0], dict) and content[0].keys() & set(GRADED_KEYS)
        content = {"queries" if is_own else "test_cases": content}
    if not isinstance(content, dict) or not content.keys() & {"queries", "test_cases"}:
        is_mapping = isinstance(content, dict) and content
        seen = ", ".join(map(str, content))[:60] if is_mapping else _kind(content)
        raise FormatError(f"expected {_FORM} but got {seen}", path=path)
    metadata = content.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise FormatError(f"metadata: expected a mapping but got {_kind(metadata)}", path=path)
    name = {"dataset_id": Path(path).name.partition(".")[0]}
    if "queries" in content:
        queries = content["queries"]
        queries = _listed(queries)
        if isinstance(queries, list):
            queries = _first_cases([_spelled_out(query) for query in queries])
        return {**content, "queries": queries, "metadata": {**name, **metadata}}
    cases = _listed(content["test_cases"])
    if not isinstance(cases, list):
        raise FormatError(f"test_cases: expected a list but got {_kind(cases)}", path=path)
    said = {key: str(value) for key, value in metadata.items() if value is not None}
    return {
        "metadata": {**name, **said},
        "queries": _first_cases(
            [_own_case(number, case, path) for number, case in enumerate(cases, 1)]
        ),
    }


def _spelled_out(query: Any) -> Any:
    """A query with its short forms written out: ``id``, and ``relevant`` as ids with grades."""
    if not isinstance(query, dict):
        return query
    query = dict(query)
    for name, spellings in SPELLINGS.items():
        given = [query.pop(key) for key in spellings if key in query]
        if given:
            query[name] = next((value for value in given if value not in _NOTHING), None)
    for name in ("query_id", "text"):
        query[name] = _as_text(query.get(name))
    query["relevant"] = _judgments(query.get("relevant"))
    return query


def _judgments(relevant: Any) -> Any:
    """Judgments as ids with grades, where they are ids alone or a mapping of ids to grades."""
    if relevant is None:
        return []
    if isinstance(relevant, dict):
        relevant = [{"doc_id": doc_id, "grade": grade} for doc_id, grade in relevant.items()]
    return _distinct(map(_judgment, relevant)) if isinstance(relevant, list) else relevant


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
    """A test case of Phentrieve's: every expected term is relevant, none more than another.

    Cases with graded judgments keep their grades.
    """
    where = f"test_cases[{number - 1}]"
    if not isinstance(case, dict):
        raise FormatError(f"{where}: expected a mapping with text and expected_hpo_ids", path=path)
    key, expected = next(
        ((key, case[key]) for key in JUDGED_KEYS if case.get(key) not in _NOTHING), ("", [])
    )
    if key in LISTED_KEYS and not isinstance(expected, list):
        raise FormatError(
            f"{where}: expected a list of term ids as {' or '.join(LISTED_KEYS)}", path=path
        )
    given = next((case[key] for key in ID_KEYS if case.get(key) is not None), None)
    text = next((case[key] for key in TEXT_KEYS if key in case), None)
    return {
        **{key: _as_text(case[key]) for key in _KEPT_KEYS if case.get(key) is not None},
        **{key: case[key] for key, known in WORDS.items() if case.get(key) in known},
        "text": _as_text(text),
        "query_id": f"case-{number:03d}" if given is None else str(given),
        "relevant": _judgments(expected),
    }


def json_schema_of_test_sets() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of test sets in every form that is read."""
    schema = TestSet.model_json_schema()
    definitions = schema.pop("$defs")
    term, query = definitions["RelevantTerm"], definitions["TestQuery"]
    definitions["TestSetMetadata"].pop("required")
    term["properties"]["doc_id"]["type"] = ["string", "integer"]
    term_id = {"type": ["string", "integer"], "pattern": term["properties"]["doc_id"]["pattern"]}
    grade = {key: term["properties"]["grade"][key] for key in ("type", "minimum", "maximum")}
    fields = query["properties"]
    for name in ("query_id", "text"):
        fields[name]["type"] = ["string", "integer"]
    fields["relevant"].pop("type")
    fields["relevant"].pop("items")
    fields["relevant"]["anyOf"] = [
        {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/RelevantTerm"}, term_id]}},
        {"type": "object", "additionalProperties": grade},
        {"type": "null"},
    ]
    for name, spellings in SPELLINGS.items():
        for spelling in spellings:
            fields.setdefault(spelling, {"description": f"As `{name}`.", **_untitled(fields[name])})
    del query["required"]
    query["anyOf"] = [{"required": [name]} for name in TEXT_KEYS]
    with_id = {"anyOf": [{"required": [name]} for name in ID_KEYS]}
    definitions["TestCase"] = {
        "description": "A test case of Phentrieve's; it may have further fields.",
        "type": "object",
        "properties": {name: fields[name] for names in SPELLINGS.values() for name in names},
        "anyOf": query["anyOf"],
    }
    metadata = {"anyOf": [schema["properties"]["metadata"], {"type": "null"}]}
    own = {"$ref": "#/$defs/TestQuery"}
    case = {"$ref": "#/$defs/TestCase"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": schema["title"],
        "description": schema["description"],
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "metadata": metadata,
                    "queries": _list_or_mapping(own | with_id, own),
                },
                "required": ["queries"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"test_cases": _list_or_mapping(case, case)},
                "required": ["test_cases"],
            },
            {"type": "array", "items": case, "minItems": 1},
        ],
        "$defs": definitions,
    }


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in ("title", "description")}


def _list_or_mapping(item: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """The schema of cases as a list, or as a mapping of ids to cases."""
    return {
        "anyOf": [
            {"type": "array", "items": item, "minItems": 1},
            {"type": "object", "additionalProperties": value, "minProperties": 1},
        ]
    }
