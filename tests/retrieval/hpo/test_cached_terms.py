"""The tables of an ontology are read from the cache, if they are intact."""

from zlib import crc32

import pytest
from harness.observe import ROOT

from trectools_plus.formats.files.index_cache import cache_folder
from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.retrieval.hpo import ontology_terms
from trectools_plus.retrieval.hpo.ontology_terms import corpus_of, open_terms

TOY = str(ROOT / "fixtures/ontology/toy.obo")
TEXTS = ("Dog", "beast", "toy_0104", "TOY:0010", "TOY:0013", "TOY:0012", "TOY:9", "?", "dogs")


def content_of(corpus):
    names = corpus.find_exact
    tables = (corpus.frame, corpus.parts, names.table, names.words)
    return [corpus.path, *map(names, TEXTS), *(table.rows() for table in tables), corpus.sha256()]


EXPECTED = content_of(corpus_of(load_ontology(TOY)))


def test_later_calls_do_not_read_the_ontology(cache, monkeypatch):
    assert content_of(open_terms(TOY)) == EXPECTED
    monkeypatch.delattr(ontology_terms, "read_obo")
    assert content_of(open_terms(TOY)) == EXPECTED


@pytest.mark.parametrize("name", ["terms", "parts", "names", "words", "ids", "index.json"])
def test_a_changed_file_is_written_again(cache, name, caplog):
    open_terms(TOY)
    (file,) = cache_folder().glob(f"terms-*/{name}")
    for content in (b"", b"PAR1"):
        file.write_bytes(content)
        assert content_of(open_terms(TOY)) == EXPECTED
    assert caplog.text.count("is built again") == 2


def test_the_version_of_the_tables_changes_with_their_content(cache):
    """If this fails, raise the version, so that the tables of earlier versions are not used."""
    open_terms(TOY)
    (index,) = cache_folder().glob("terms-*/index.json")
    assert '"version": 2' in index.read_text()
    assert crc32(repr(EXPECTED[1:]).encode()) == 40681451
