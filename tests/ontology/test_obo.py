import gzip
from itertools import pairwise

import pytest
from harness.files import write
from harness.tables import cases_of

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.obo import Synonym, read_obo
from trectools_plus.ontology.ontology import Ontology


@pytest.mark.parametrize(
    ("number", "attribute", "value"),
    [
        *cases_of(__file__, "rows"),
        (2, "synonyms", (Synonym("organism", "EXACT"),)),
        (4, "synonyms", (Synonym("beast", "RELATED", "layperson"),)),
        (6, "synonyms", (Synonym("hound", "NARROW"), Synonym("pet", "BROAD", "layperson"))),
    ],
)
def test_reads_a_stanza(toy_path, number, attribute, value):
    terms = {term.term_id: term for term in read_obo(read_file(toy_path)).terms}
    assert len(terms) == 13
    found = getattr(terms[f"TOY:{number:04d}"], attribute)
    assert found == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("change", [gzip.compress, lambda b: b.replace(b"\n", b"\r\n")])
def test_compression_and_line_ends_change_nothing(toy_path, tmp_path, change):
    path = write(tmp_path / "toy.obo", change(toy_path.read_bytes()))
    assert read_obo(read_file(path)).terms == read_obo(read_file(toy_path)).terms
    assert read_obo(read_file(path)).data_version == "toy/releases/2024-01-01"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "no \\[Term\\]"),
        ("format-version: 1.2\n", None, "no \\[Term\\]"),
        ("[Term]\nname: x\n", 1, "one id.*none"),
        ("[Term]\nid: X:1\nid: X:2\n", 3, "one id.*X:1, X:2"),
        ("[Term]\nid:\n", 2, "an id after id:"),
        ("[Term]\nid: X:1\nis_a: ! nothing\n", 3, "and is_a:"),
        ("[Term]\nid: X:1\ndef: unquoted\n", 3, "double quotes"),
        ('[Term]\nid: X:1\nsynonym: "open EXACT []\n', 3, "double quotes"),
        ("[Term]\nid: X:1\n1 Q0 d1 1 9.5 run\n", 3, "or 'tag: value'"),
        ('{"graphs": []}\n', 1, "or 'tag: value'"),
    ],
)
def test_wrong_text_is_refused_with_its_line(tmp_path, text, line, message):
    path = write(tmp_path / "wrong.obo", text)
    with pytest.raises(FormatError, match=message) as caught:
        read_obo(read_file(path))
    assert caught.value.line == line
    assert caught.value.path == str(path)
    assert caught.value.remedy


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path):
    path = write(tmp_path / "latin1.obo", "[Term]\nid: X:1\nname: Köhler\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"0xF6.*UTF-8") as caught:
        read_obo(read_file(path))
    assert caught.value.line == 3


def refused(path, match):
    with pytest.raises(FormatError, match=match) as caught:
        Ontology.from_obo(path)
    return caught.value


@pytest.mark.parametrize(
    ("terms", "line", "message"),
    [
        ((("X:1",), ("X:1", "name: again")), 6, "X:1 is defined twice.*first on line 3"),
        ((("X:1",), ("X:2", "is_a: X:9")), 6, "X:2 is_a X:9, which is not a term"),
        ((("X:1", "is_obsolete: true"), ("X:2", "is_a: X:1")), 7, "X:2 is_a X:1.*obsolete"),
        ((("X:1", "alt_id: X:9"), ("X:2", "alt_id: X:9")), 7, "belongs to X:1"),
        ((("X:1",), ("X:2", "alt_id: X:1")), 6, "belongs to X:1"),
    ],
)
def test_terms_that_contradict_each_other_are_refused(write_obo, terms, line, message):
    assert refused(write_obo(*terms), message).line == line


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
