"""The tables of an ontology are read from the cache, if they are intact."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from harness.observe import ROOT

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.index_cache import cache_folder
from trectools_plus.formats.tables import Corpus
from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.retrieval.hpo import ontology_terms
from trectools_plus.retrieval.hpo.ontology_terms import TermNames, corpus_of, open_terms

TOY = ROOT / "fixtures/ontology/toy.obo"
TEXTS = ("Dog", "beast", "toy_0104", "TOY:0010", "TOY:0013", "TOY:0012", "TOY:9", "?", "dogs")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(tmp_path))


def content_of(corpus: Corpus) -> list[object]:
    names = corpus.find_exact
    assert isinstance(names, TermNames)
    resolved = [[names(text), names.ids.resolve(names.ids.spelled(text))] for text in TEXTS]
    tables = (corpus.frame, corpus.parts, names.table, names.words)
    return [corpus.path, *resolved, *(table.to_dicts() for table in tables if table is not None)]


EXPECTED = content_of(corpus_of(load_ontology(str(TOY))))


def test_later_calls_do_not_read_the_ontology(monkeypatch: pytest.MonkeyPatch) -> None:
    assert content_of(open_terms(str(TOY))) == EXPECTED
    monkeypatch.delattr(ontology_terms, "read_obo")
    assert content_of(open_terms(str(TOY))) == EXPECTED


@pytest.mark.parametrize("name", ["terms", "parts", "names", "words", "ids", "index.json"])
@pytest.mark.parametrize("content", [None, b"", b"[[], {}]", b"PAR1"])
def test_a_changed_file_is_written_again(
    name: str, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    open_terms(TOY)
    (file,) = cache_folder().glob(f"terms-*/{name}")
    before = file.read_bytes()
    file.unlink() if content is None else file.write_bytes(content)
    assert content_of(open_terms(str(TOY))) == EXPECTED
    assert "is built again" in caplog.text
    assert file.read_bytes() == before


def test_an_ontology_with_an_error_is_not_cached() -> None:
    path = cache_folder().parent / "bad.obo"
    path.write_text("[Term]\nname: no id\n")
    for _ in range(2):
        with pytest.raises(FormatError, match="expected one id"):
            open_terms(path)
    assert not list(cache_folder().glob("terms-*/*"))


def test_the_version_of_the_tables_changes_with_their_content() -> None:
    """If this fails, raise the version, so that the tables of earlier versions are not used."""
    open_terms(str(TOY))
    (index,) = cache_folder().glob("terms-*/index.json")
    assert json.loads(index.read_text("utf-8"))["facts"]["version"] == 1
    assert sha256(repr(EXPECTED[1:]).encode()).hexdigest()[:16] == "8baec4417df6ff8d"
