"""The published JSON Schema accepts the sets that are written, and no others."""

import pytest
from jsonschema import Draft202012Validator

from trectools_plus.testsets import json_schema_of_test_sets, load_test_set, shipped_names

SCHEMA = Draft202012Validator(json_schema_of_test_sets())
QUERY = {"query_id": "q1", "text": "fever", "relevant": [{"doc_id": "d", "grade": 1}]}


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_sets_match(name):
    SCHEMA.validate(load_test_set(name).model_dump(mode="json", exclude_none=True))


@pytest.mark.parametrize(
    "query",
    [
        {},
        {**QUERY, "query_id": "a b"},
        {**QUERY, "text": " "},
        {**QUERY, "zzz": 1},
        {**QUERY, "category": "other"},
        {**QUERY, "relevant": [{"doc_id": "d", "grade": 128}]},
        {**QUERY, "relevant": [{"doc_id": "d", "grade": "3"}]},
    ],
)
def test_others_do_not(query):
    content = {"metadata": {"dataset_id": "a"}, "queries": [QUERY]}
    assert SCHEMA.is_valid(content)
    assert not SCHEMA.is_valid({**content, "queries": [query]})
