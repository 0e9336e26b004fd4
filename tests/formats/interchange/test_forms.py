"""Every form of JSON and every format of columns: a small example of each, in ``fixtures/``."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.validation.loading import convert_qrels, convert_run

FOLDER = Path(__file__).parents[3] / "fixtures" / "formats"
QRELS = [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d3", 1)]
RELEVANT = [("q1", "d1", 1), ("q2", "d3", 1)]
RUN = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d3", 3.0)]
RANKED = [("q1", "d1", -1.0), ("q1", "d2", -2.0), ("q2", "d3", -1.0)]

OF_QRELS = {
    "beir.tsv": QRELS,
    "bioasq.json": RELEVANT,
    "judgment-list.json": QRELS,
    "llama-index.json": RELEVANT,
    "msmarco.qrels.tsv": QRELS,
    "ntcir.qrels.txt": QRELS,
    "prels.txt": QRELS,
    "quepid.csv": QRELS,
    "ragas.jsonl": RELEVANT,
    "rank-eval-request.json": QRELS,
    "rank-eval-response.json": QRELS,
    "records.jsonl": QRELS,
    "smart.qrels.text": RELEVANT,
    "testset.jsonl": QRELS,
}
OF_RUNS = {
    "dpr.json": RUN,
    "elasticsearch.json": RUN,
    "elasticsearch.jsonl": RUN,
    "mteb-1.json": RUN,
    "mteb.json": RUN,
    "msmarco.run.tsv": RANKED,
    "ragas.jsonl": RANKED,
    "rank-eval-response.json": RUN,
    "rank-llm.jsonl": RUN,
    "ranx.json": RUN,
    "run.csv": RUN,
    "run.parquet": RUN,
    "run.tsv": RUN,
    "trec-rag-answers.jsonl": RANKED,
    "trec-rag-candidates.jsonl": RUN,
}


@pytest.mark.parametrize(("name", "rows"), OF_QRELS.items())
def test_qrels_in_every_format(name: str, rows: list[tuple[str, str, int]]) -> None:
    frame = convert_qrels(FOLDER / name).table.frame
    assert frame.select("query_id", "doc_id", "relevance").rows() == rows


@pytest.mark.parametrize(("name", "rows"), OF_RUNS.items())
def test_runs_in_every_format(name: str, rows: list[tuple[str, str, float]]) -> None:
    frame = convert_run(FOLDER / name).table.frame
    assert frame.select("query_id", "doc_id", "score").rows() == rows


def test_every_example_is_read() -> None:
    assert {path.name for path in FOLDER.iterdir()} == OF_QRELS.keys() | OF_RUNS.keys()
