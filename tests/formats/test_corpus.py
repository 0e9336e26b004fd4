"""Corpora as JSON Lines, read strictly."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from harness.files import write

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.collection import iter_corpus, load_corpus
from trectools_plus.formats.tables import CorpusDocument


def test_beir_fields(tmp_path: Path) -> None:
    data = (
        '\ufeff{"_id": "1", "title": "T", "text": "a\\nb", "metadata": {"x": 1}}\r\n\n'
        '{"_id": "02", "title": null, "text": ""}\n{"_id": 3, "text": "\\u00e9 \\ud83d\\ude00"}'
    )
    corpus = load_corpus(write(tmp_path / "corpus.jsonl", data))
    assert corpus.frame.rows() == [("1", "T", "a\nb"), ("02", "", ""), ("3", "", "é 😀")]
    assert [*corpus.searchable_texts()] == ["T a\nb", "", "é 😀"]


def test_doc_id_and_text_compressed_and_one_by_one(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c",
        gzip.compress(b'{"doc_id": "a", "text": "x"}\n{"doc_id": "b", "text": "y"}\n'),
    )
    documents = iter_corpus(path)
    assert next(documents) == CorpusDocument("a", "", "x")
    assert list(documents) == [CorpusDocument("b", "", "y")]


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        ("", None, "no documents"),
        ('{"_id": "1", "text": "a"}\n{"_id": "1", "text": "b"}\n', 2, "already on line 1"),
        ('{"_id": "1"}\n', 1, "texts in 'text'"),
        ('{"text": "a"}\n', 1, "an id in '_id'"),
        ('{"_id": "1", "text": "a"}\n{"doc_id": "2", "text": "b"}\n', 2, "an id in '_id'"),
        ('{"_id": "1", "text": ["a"]}\n', 1, "texts in 'text'"),
        ('{"_id": "1", "text": "a", "title": 3}\n', 1, "and 'title'"),
        ('{"_id": "a b", "text": "a"}\n', 1, "in document id"),
        ('{"_id": "", "text": "a"}\n', 1, "empty document id"),
        ('{"_id": "1", "text": "a"}\n{"_id": "2", ', 2, "invalid JSON"),
    ],
)
def test_errors_have_a_line_and_column(
    tmp_path: Path, data: str, line: int | None, what: str
) -> None:
    with pytest.raises(FormatError) as caught:
        load_corpus(write(tmp_path / "corpus.jsonl", data))
    assert what in caught.value.what
    assert caught.value.line == line


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load_corpus(tmp_path / "gone.jsonl")
