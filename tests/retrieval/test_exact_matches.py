"""Modes that put exact matches first, and the search of names in query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.backends.embedded.backend import build_retrievers
from trectools_plus.retrieval.fetch.fetch import fetch
from trectools_plus.retrieval.ontology_terms import corpus_of, put_first
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import rank_scores

ROOT = Path(__file__).parents[2]
SCORES = st.lists(st.floats(-(2.0**99), 2.0**99, width=32), max_size=6)
IDS = "abcdef"


@pytest.fixture(scope="module")
def toy() -> Corpus:
    return corpus_of(Ontology.from_obo(ROOT / "fixtures" / "ontology" / "toy.obo"))


@given(scores=SCORES, first=st.lists(st.sampled_from("abcxyz"), unique=True))
def test_documents_are_put_first_in_canonical_order(scores: list[float], first: list[str]) -> None:
    ranking = rank_scores(list(IDS[: len(scores)]), np.array(scores), len(scores) or 1)
    found = put_first(first, ranking)
    rest = [doc_id for doc_id in ranking.doc_ids if doc_id not in first]
    assert found.doc_ids == [*first, *rest]
    assert found.scores[len(first) :].tolist() == [
        score
        for doc_id, score in zip(ranking.doc_ids, ranking.scores.tolist(), strict=True)
        if doc_id not in first
    ]
    above = found.scores[: len(first) + 1]
    assert (np.diff(above) < 0).all()  # no ties, so every evaluator reads this order
    assert found.scores.dtype == np.float32
    assert len(found.scores) == len(found.doc_ids)


def test_the_mode_is_hybrid_with_exact_matches_first(toy: Corpus) -> None:
    topics = Topics.from_dict({"1": "beast", "2": "wild hound", "3": "Living-Thing", "4": "TOY_9"})
    found = fetch(toy, topics, ["hybrid", "hybrid+exact"], depth=3)
    plain, exact = (
        {query: rows["doc_id"].to_list() for (query,), rows in run.run.frame.group_by("query_id")}
        for run in found.values()
    )
    for query, text in topics.frame.select("query_id", "text").iter_rows():
        named = toy.find_exact(text) if toy.find_exact else []
        rest = [doc_id for doc_id in plain.get(query, []) if doc_id not in named]
        assert exact.get(query, []) == [*named, *rest][:3]
    assert exact["1"][0] == "TOY:0004"
    assert exact["2"] == plain["2"]


def test_exact_matches_stay_first_after_reranking_and_with_exclude_self(toy: Corpus) -> None:
    settings = RetrievalSettings(reranker="lexical")
    modes = ["hybrid", "hybrid+exact"]
    retriever = build_retrievers(toy, modes, settings)["hybrid+exact"]
    (found,) = retriever.search(["beast"], 3)
    assert found.doc_ids[0] == "TOY:0004"
    topics = Topics.from_dict({"TOY:0004": "beast"})
    for run in fetch(toy, topics, modes, depth=3, exclude_self=True).values():
        assert "TOY:0004" not in run.run.frame["doc_id"]


def test_documents_without_names_have_no_such_mode() -> None:
    with pytest.raises(UsageError):
        build_retrievers(Corpus.from_dict({"a": "text"}), ["hybrid+exact"])
