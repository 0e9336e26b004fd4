"""Fields of the queries that form strata, and the queries of each stratum."""

import polars as pl
import pytest

from trectools_plus.benchmark.compare import find_strata
from trectools_plus.benchmark.run.dataset import hash_query_fields
from trectools_plus.formats import Topics
from trectools_plus.testsets import load_test_set, model
from trectools_plus.testsets.loading import DEFAULT_TEST_SET


def topics_of(field):
    ids = [f"q{n}" for n in range(len(field))]
    return Topics(pl.DataFrame({"query_id": ids, "text": ids, "field": field}))


def values_of(field):
    ids = [f"q{n}" for n in range(len(field))]
    found = find_strata(topics_of(field), ids).get("field", {})
    return {value: rows.tolist() for value, rows in found.items()}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        # Values are ordered by the number of their queries, then by name.
        (["b", "b", "c", "c", "c", "a", "a"], {"c": [2, 3, 4], "a": [5, 6], "b": [0, 1]}),
        ([" x", "x ", "", None, "  ", "y", "y"], {"x": [0, 1], "y": [5, 6]}),
        # Nearly every query has its own value.
        (["a", "a", "b", "c"], {}),
        (["a", "a", "a", "b"], {"a": [0, 1, 2], "b": [3]}),
        # Queries without a value do not make groups larger.
        (["a", "b", "", "", "", ""], {}),
    ],
)
def test_values_make_strata(field, values):
    assert [*values_of(field).items()] == [*values.items()]


@pytest.mark.parametrize(
    ("values", "strata"), [(1, 0), (2, 2), (30, 30), (31, 0)], ids=lambda count: str(count)
)
def test_fields_have_at_least_2_and_at_most_30_values(values, strata):
    assert len(values_of([f"v{n % values}" for n in range(84)])) == strata


def test_only_queries_that_are_averaged_over_count():
    topics = topics_of(["a", "a", "b", "b", "c"])
    found = find_strata(topics, ["q3", "unknown", "q0", "q1", "q2"])["field"]
    assert {value: rows.tolist() for value, rows in found.items()} == {"a": [2, 3], "b": [0, 4]}


def test_topics_without_fields_make_no_strata():
    plain = Topics(topics_of(["x"]).frame.select("query_id", "text"))
    assert find_strata(plain, ["q0"]) == {}
    assert hash_query_fields(plain) is None


@pytest.mark.parametrize("added", [[], [pl.Series("field", [["x"], ["x"], ["y"], ["y"]])]])
def test_ids_texts_and_lists_make_no_strata(added):
    ids = ["q0", "q1", "q2", "q3"]
    frame = pl.DataFrame({"query_id": ids, "text": ["a", "a", "b", "b"]}).with_columns(*added)
    assert find_strata(Topics(frame), ids) == {}


def test_strata_of_the_shipped_cases():
    topics = model.topics_of(load_test_set(DEFAULT_TEST_SET))
    found = find_strata(topics, topics.query_ids)
    assert set(found) == {"category", "difficulty", "hpo_domain", "query_type"}  # one language
    for values in found.values():
        assert sum(len(rows) for rows in values.values()) == len(topics.query_ids)
