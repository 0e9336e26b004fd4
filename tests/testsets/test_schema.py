"""The published JSON Schema accepts the documents that the reader accepts, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from trectools_plus.errors import FormatError
from trectools_plus.formats.topic_records.schema import (
    DOC_ID_KEYS,
    GRADE_KEYS,
    GRADED_KEYS,
    ID_KEYS,
    LISTED_KEYS,
    NOTE_WORDS,
    TEXT_KEYS,
)
from trectools_plus.testsets.loading import read_test_set
from trectools_plus.testsets.model import json_schema_of_test_sets

SCHEMA = Draft202012Validator(json_schema_of_test_sets())
PUBLISHED = Path(__file__).parents[2] / "docs" / "schema" / "TestSet.schema.json"

# Wrong values of any field. JSON Schema counts 1.0 as an integer, so no id or text is 1.0. It
# cannot express that an id, or a document of a query, occurs once, or that a term of the set must
# have a grade above 0: ids below are unique, and every set starts with a valid case.
WRONG: list[Any] = [True, 1.5, [], {}, None]


def mostly(valid: st.SearchStrategy[Any], wrong: list[Any]) -> st.SearchStrategy[Any]:
    """Values that are valid in about nine of ten cases."""
    return st.integers(0, 9).flatmap(lambda n: valid if n else st.sampled_from(wrong))


@st.composite
def judgments(draw: st.DrawFn, doc_ids: list[str]) -> Any:
    grade = mostly(st.integers(-1, 3) | st.sampled_from([127, 2.0]), [*WRONG, "3", 128])
    if draw(st.booleans()):
        return {one: draw(grade) for one in doc_ids}
    items = []
    for one in doc_ids:
        doc_id = draw(mostly(st.just(one), [*WRONG, "", "a b"]))
        term = {
            draw(st.sampled_from(DOC_ID_KEYS)): doc_id,
            draw(st.sampled_from(GRADE_KEYS)): draw(grade),
        }
        if draw(st.integers(0, 4)) == 0:
            term["span"] = draw(mostly(st.sampled_from(["words", None]), [True, 1, [], {}, " "]))
        for key in list(term):
            if draw(st.integers(0, 15)) == 0:
                del term[key]
        if draw(st.integers(0, 15)) == 0:
            term["zzz"] = 1
        items.append(draw(st.sampled_from([term, doc_id])))
    return items


@st.composite
def cases(draw: st.DrawFn, number: int, judged_keys: tuple[str, ...]) -> Any:
    def absent() -> bool:
        return draw(st.integers(0, 12)) == 0

    case: dict[str, Any] = {}
    if not absent():
        identifier = st.sampled_from([f"q{number}", 1000 + number])
        case[draw(st.sampled_from(ID_KEYS))] = draw(mostly(identifier, [*WRONG, "", "a b"]))
    if not absent():
        text = draw(mostly(st.sampled_from(["a text", " x ", 7]), [*WRONG, "", "  "]))
        case[draw(st.sampled_from(TEXT_KEYS))] = text
    if not absent():
        doc_ids = [f"d{n}" for n in range(draw(st.integers(0, 3)))]
        judged = mostly(judgments(doc_ids) | st.none(), [True, 1.5, "d1"])
        case[draw(st.sampled_from(judged_keys))] = draw(judged)
    for name, words in NOTE_WORDS.items():
        if absent():
            case[name] = draw(mostly(st.sampled_from(words) | st.none(), [True, "other", 1, []]))
    for name in ("language", "description", "hpo_domain"):
        if absent():
            case[name] = draw(mostly(st.sampled_from(["de", "x"]) | st.none(), [True, 1, [], {}]))
    if absent():
        case["zzz"] = draw(st.sampled_from(WRONG))
    return draw(mostly(st.just(case), [None, "text", [], 1]))


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """Test sets in all forms, many of them with a mistake."""
    form = draw(st.sampled_from(["queries", "test_cases", "list", "foreign list"]))
    keys = LISTED_KEYS if form == "foreign list" else (*GRADED_KEYS, *LISTED_KEYS)
    valid = {"query_id": "q0", "text": "first", "relevant": [{"doc_id": "d", "grade": 1}]}
    if form == "foreign list" or (form == "test_cases" and draw(st.booleans())):
        valid = {"text": "first", "hpo_ids": ["d"]}
    found = [valid, *(draw(cases(n, keys)) for n in range(1, draw(st.integers(1, 4))))]
    if form in ("list", "foreign list"):
        return found
    as_mapping = draw(st.booleans())
    values: Any = {f"key{n}": case for n, case in enumerate(found)} if as_mapping else found
    document: dict[str, Any] = {form: values}
    if draw(st.booleans()):
        fields = st.dictionaries(
            st.sampled_from(["dataset_id", "version", "language", "description", "more"]),
            mostly(st.sampled_from(["de", "1.0"]), [None, 1, []]),
        )
        document["metadata"] = draw(mostly(fields | st.none(), [1, [], "text"]))
    if draw(st.integers(0, 15)) == 0:
        document["zzz"] = 1
    return document


def is_read(document: Any, folder: Path) -> bool:
    path = folder / "set.json"
    path.write_text(json.dumps(document), "utf-8")
    try:
        read_test_set(path)
    except FormatError:
        return False
    return True


@settings(max_examples=7 * settings().max_examples)
@given(document=documents())
def test_the_schema_accepts_what_is_read(
    document: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert SCHEMA.is_valid(document) == is_read(document, folder), json.dumps(document)


def test_real_files_match_the_published_schema(shared_data: Path) -> None:
    published = Draft202012Validator(json.loads(PUBLISHED.read_text("utf-8")))
    assert published.schema == SCHEMA.schema
    for path in sorted((shared_data / "phentrieve" / "german").glob("*.json")):
        published.validate(json.loads(path.read_text("utf-8")))
