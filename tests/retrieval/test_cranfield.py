"""The embedded modes on a real collection, against the figures of a plain prototype."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.retrieval.backends.modes import MODES
from trectools_plus.retrieval.fetch import fetch

LEAST_NDCG = {"lexical": 0.32, "vector": 0.29, "hybrid": 0.34}


def test_reaches_the_reference_and_hybrid_leads(
    ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    import ir_measures

    collection = load_collection("irds:cranfield")
    assert collection.corpus is not None
    fetched = fetch(collection.corpus, collection.topics, MODES)
    # The prototype's figures count negative grades as 0.
    qrels = {
        query_id: {doc_id: max(0, grade) for doc_id, grade in grades.items()}
        for query_id, grades in collection.qrels.to_dict().items()
    }
    values = {
        mode: ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, result.run.to_dict())
        for mode, result in fetched.items()
    }
    ndcg = {mode: value[ir_measures.nDCG @ 10] for mode, value in values.items()}
    for mode, least in LEAST_NDCG.items():
        assert ndcg[mode] >= least
    assert ndcg["hybrid"] > max(ndcg["lexical"], ndcg["vector"])
    assert all(result.run.frame.height == 225 * 100 for result in fetched.values())
