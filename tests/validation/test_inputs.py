"""Everything that the public functions accept: every form of an input gives the same figures."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pytest

import trectools_plus as tp
from trectools_plus.errors import TrectoolsPlusError, UsageError
from trectools_plus.validation.inputs import as_corpus, as_qrels, as_runs, as_topics

QRELS = {"1": {"10": 2, "20": 0}, "2": {"30": 1}}
RUN = {"1": {"20": 1.5, "10": 0.5}, "2": {"30": 1.0}}
JUDGED = [(query, doc, grade) for query, docs in QRELS.items() for doc, grade in docs.items()]
FOUND = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
PYTERRIER = pd.DataFrame(
    {
        "qid": [query for query, *_ in FOUND],
        "docid": [7, 8, 9],
        "docno": [doc for _, doc, _ in FOUND],
        "rank": [0, 1, 0],
        "score": [score for *_, score in FOUND],
        "query": ["roses", "roses", "bees"],
    }
)


def judged_frame(*names: str) -> pd.DataFrame:
    return pd.DataFrame(JUDGED, columns=list(names))


def found_frame(*names: str) -> pd.DataFrame:
    return pd.DataFrame(FOUND, columns=list(names))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The judgments and the run as files."""
    tp.write_qrels(tp.Qrels.from_dict(QRELS), tmp_path / "qrels.txt")
    tp.write_run(tp.Run.from_dict(RUN), tmp_path / "my.run")
    return {"qrels": tmp_path / "qrels.txt", "run": tmp_path / "my.run"}


QRELS_FORMS: dict[str, Any] = {
    "dictionary": QRELS,
    "dictionary of integers": {1: {10: 2, 20: 0}, 2: {30: 1}},
    "dictionary of numpy scalars": {
        np.str_("1"): {np.int64(10): np.int8(2), "20": np.float64(0)},
        "2": {"30": True},
    },
    "Qrels": tp.Qrels.from_dict(QRELS),
    "Qrels from a frame": tp.Qrels(judged_frame("qid", "docno", "label")),  # type: ignore[arg-type]
    "pandas": judged_frame("query_id", "doc_id", "relevance"),
    "pandas of PyTerrier": judged_frame("qid", "docno", "label"),
    "pandas of ranx": judged_frame("q_id", "doc_id", "score"),
    "pandas of BEIR": judged_frame("query-id", "corpus-id", "score"),
    "pandas of trectools": judged_frame("query", "docid", "rel"),
    "pandas with integer ids": judged_frame("qid", "docno", "label").astype(int),
    "pandas with mixed ids": judged_frame("qid", "docno", "label").assign(docno=[10, "20", 30]),
    "polars": pl.DataFrame(JUDGED, schema=["query_id", "doc_id", "relevance"], orient="row"),
    "polars with float grades": pl.DataFrame(
        JUDGED, schema=["qid", "docno", "label"], orient="row"
    ).with_columns(pl.col("label").cast(pl.Float64)),
    "records": [ir_measures.Qrel(*row) for row in JUDGED],
}
RUN_FORMS: dict[str, Any] = {
    "dictionary": RUN,
    "dictionary of integers": {1: {20: 1.5, 10: 0.5}, 2: {30: 1}},
    "dictionary of numpy scalars": {"1": {"20": np.float32(1.5), "10": 0.5}, "2": {"30": 1}},
    "dictionary of decimals": {"1": {"20": Decimal("1.5"), "10": 0.5}, "2": {"30": 1}},
    "named": {"a": RUN},
    "Run": tp.Run.from_dict(RUN),
    "Run from a dictionary": tp.Run(RUN),  # type: ignore[arg-type]
    "list": [RUN],
    "pandas": found_frame("query_id", "doc_id", "score"),
    "pandas of PyTerrier": PYTERRIER,
    "polars of PyTerrier": pl.DataFrame(PYTERRIER.to_dict("list")).drop("rank"),
    "records": [ir_measures.ScoredDoc(*row) for row in FOUND],
}


@pytest.mark.parametrize("form", sorted(QRELS_FORMS))
def test_judgments_in_every_form(form: str) -> None:
    assert as_qrels(QRELS_FORMS[form]).to_dict() == QRELS
    assert tp.evaluate(QRELS_FORMS[form], RUN, ["AP"]).mean("AP") == 0.75


@pytest.mark.parametrize("form", sorted(RUN_FORMS))
def test_runs_in_every_form(form: str) -> None:
    (run,) = as_runs(RUN_FORMS[form]).values()
    assert run.to_dict() == RUN
    assert tp.evaluate(QRELS, RUN_FORMS[form], ["AP"]).mean("AP") == 0.75


def test_generators_and_paths(files: dict[str, Path]) -> None:
    judgments = (ir_measures.Qrel(*row) for row in JUDGED)
    results = (ir_measures.ScoredDoc(*row) for row in FOUND)
    assert tp.evaluate(judgments, results, ["AP"]).mean("AP") == 0.75
    for convert in (str, Path):
        evaluation = tp.evaluate(convert(files["qrels"]), convert(files["run"]), ["AP"])
        assert evaluation.mean("AP") == 0.75
    mixed = tp.evaluate(QRELS, {"file": files["run"], "frame": PYTERRIER, "dict": RUN}, ["AP"])
    assert mixed.run_names == ["file", "frame", "dict"]
    assert [mixed.mean(name, "AP") for name in mixed.run_names] == [0.75] * 3


def test_levels_of_a_dictionary_decide_how_many_runs_there_are() -> None:
    assert list(as_runs(RUN)) == ["run"]
    assert list(as_runs({"bm25": RUN, "dense": RUN})) == ["bm25", "dense"]
    assert list(as_runs({"q1": {}, "q2": {"d": 1.0}})) == ["run"]
    assert as_runs({"bm25": {"q1": {}, "q2": {"d": 1.0}}})["bm25"].query_ids == ["q2"]
    for empty in ({}, {"q1": {}}, []):
        with pytest.raises(UsageError):
            as_runs(empty)
        with pytest.raises(UsageError):
            as_qrels(empty)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"q": {"d": "0.5"}}, "score but got '0.5'"),
        ({1.5: {"d": 1}}, "query_id but got 1.5"),
        ({"q": {b"d": 1}}, "doc_id but got b'd'"),
        ({"q": {"d": 1}, "p": 5}, "documents but got 5"),
        ({"bm25": {"q": {"d": 1}}, "dense": 5}, "got int — dense — give"),
        ({"a": ["d1"]}, "list — a — give"),
        (5, "int — give a dictionary"),
        (tp.Qrels.from_dict(QRELS), "got Qrels"),
        (pl.LazyFrame({"qid": ["q"], "docno": ["d"], "score": [1.0]}), "got LazyFrame"),
        (pl.DataFrame({"qid": [1.5], "docno": ["d"], "score": [1.0]}), "text in column"),
        (pl.DataFrame({"qid": ["q"], "text": ["d"]}), "doc_id, score is missing"),
        ([RUN, RUN], "named 'run'"),
        ({"": RUN}, "of a run"),
    ],
)
def test_other_values_are_refused_in_one_line(value: Any, words: str) -> None:
    for call in (tp.evaluate, tp.compare):
        with pytest.raises(TrectoolsPlusError, match=re.escape(words)) as refused:
            call(QRELS, value, ["AP"])
        assert "\n" not in str(refused.value)


def test_topics_and_documents_in_every_form() -> None:
    texts = {"d1": "red roses", "d2": "blue sky"}
    columns = {"docno": list(texts), "text": list(texts.values())}
    frame = pd.DataFrame(columns)
    nested = {doc: {"title": "", "text": text} for doc, text in texts.items()}
    for corpus in (
        texts,
        frame,
        pl.DataFrame(frame.to_dict("list")),
        nested,
        tp.Corpus.from_dict(texts),
    ):
        assert as_corpus(corpus).to_dict() == texts
    queries = {"1": "roses"}
    for topics in (queries, pd.DataFrame({"qid": [1], "query": ["roses"]})):
        assert as_topics(topics).to_dict() == queries
        assert tp.fetch(texts, topics, "lexical")["lexical"].run.to_dict()["1"].keys() == {"d1"}


def test_fusion_takes_runs_in_every_form(files: dict[str, Path]) -> None:
    other = {"1": {"10": 1.0}}
    plain = tp.fuse([tp.Run.from_dict(RUN), tp.Run.from_dict(other)])
    assert tp.fuse({"a": files["run"], "b": other}).to_dict() == plain.to_dict()


def test_validate_finds_out_what_it_is_given(files: dict[str, Path]) -> None:
    assert tp.validate(files["run"], qrels=QRELS).kind == "run"
    assert tp.validate(files["qrels"]).kind == "qrels"
    assert tp.validate(tp.Qrels.from_dict(QRELS)).kind == "qrels"
    assert tp.validate(judged_frame("qid", "docno", "label")).kind == "qrels"
    assert tp.validate(PYTERRIER).kind == "run"
    codes = [one.code for one in tp.validate({"1": {"d": float("nan")}}).errors]
    assert codes == [one.code for one in tp.validate_run({"1": {"d": float("nan")}}).errors] != []
    with pytest.raises(UsageError):
        tp.validate(files["qrels"], qrels=QRELS)


def test_pandas_is_imported_only_for_its_frames() -> None:
    code = (
        "import sys, trectools_plus as tp\n"
        "assert 'polars' not in sys.modules\n"
        "tp.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, ['MinRank'])\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
