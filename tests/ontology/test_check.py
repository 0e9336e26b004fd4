from itertools import pairwise

import pytest

from trectools_plus.errors import FormatError
from trectools_plus.ontology.ontology import Ontology


def refused(path, match):
    with pytest.raises(FormatError, match=match) as caught:
        Ontology.from_obo(path)
    return caught.value


def test_id_twice(write_obo):
    error = refused(write_obo(("X:1",), ("X:1", "name: again")), "X:1 is defined twice")
    assert "first on line 3" in error.what
    assert error.line == 6


def test_unknown_parent(write_obo):
    error = refused(write_obo(("X:1",), ("X:2", "is_a: X:9")), "X:2 is_a X:9, which is not a term")
    assert error.line == 6


def test_obsolete_parent(write_obo):
    path = write_obo(("X:1", "is_obsolete: true"), ("X:2", "is_a: X:1"))
    refused(path, "X:2 is_a X:1, which is obsolete")


def test_parents_of_obsolete_terms_do_not_matter(write_obo):
    path = write_obo(("X:1",), ("X:2", "is_obsolete: true", "is_a: X:9"))
    assert len(Ontology.from_obo(path)) == 1


@pytest.mark.parametrize("length", [1, 2, 3, 9])
def test_cycle_names_its_terms(write_obo, length):
    ring = [(f"X:{i}", f"is_a: X:{(i + 1) % length}") for i in range(length)]
    error = refused(write_obo(("X:root",), *ring), "own ancestors: X:")
    shown = error.what.partition(": ")[2].removesuffix(" …").split(" is_a ")
    for child, parent in pairwise(shown):
        assert int(parent[2:]) == (int(child[2:]) + 1) % length
    assert error.line == 6


def test_parent_by_alternative_id(write_obo):
    path = write_obo(("X:1",), ("X:2", "is_a: X:1", "alt_id: X:20"), ("X:3", "is_a: X:20"))
    assert Ontology.from_obo(path).parents["X:3"] == ("X:2",)


@pytest.mark.parametrize(
    "terms",
    [
        (("X:1", "alt_id: X:9"), ("X:2", "alt_id: X:9")),
        (("X:1",), ("X:2", "alt_id: X:1")),
    ],
)
def test_alternative_id_of_two_terms(write_obo, terms):
    refused(write_obo(*terms), "belongs to X:1")
