"""Tables: ids stay strings, lossy casts are errors, every conversion has an inverse."""

from __future__ import annotations

from datetime import date

import pandas as pd
import polars as pl
import pytest
from harness.tables import cases_of

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics

pytestmark = pytest.mark.installation


def test_conversion_from_and_to_dicts() -> None:
    scores = {"q": {"b": 2.0, "a": 1.5}, "p": {"a": -1.0}}
    run = Run.from_dict(scores)
    assert run.to_dict() == scores
    assert run.frame["rank"].to_list() == [1, 2, 1]
    assert run.query_ids == ["q", "p"]
    grades = {"q": {"a": 1, "b": -1}}
    assert Qrels.from_dict(grades).to_dict() == grades
    assert Topics.from_dict({"q": "text"}).to_dict() == {"q": "text"}
    assert Corpus.from_dict({"d": "text"}).to_dict() == {"d": "text"}


def test_conversion_from_and_to_pandas() -> None:
    table = pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"], "score": [2, 1.5]})
    run = Run.from_pandas(table)
    assert run.frame["rank"].to_list() == [1, 2]
    assert Run.from_pandas(run.to_pandas()).frame.equals(run.frame)
    topics = Topics.from_pandas(pd.DataFrame({"query_id": [1], "text": ["a"], "language": ["en"]}))
    assert topics.frame.rows() == [("1", "a", "en")]


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        *cases_of(__file__, "rows"),
        ({"query_id": ["1"], "doc_id": ["a"], "score": [date(2026, 1, 1)]}, "expected numbers"),
    ],
)
def test_lossy_conversions_are_refused(frame: dict[str, list[object]], what: str) -> None:
    with pytest.raises(InputError, match=what):
        Run(pl.DataFrame(frame))
