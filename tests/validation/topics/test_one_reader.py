"""Loaders raise what the validators report: both read topics with the same code."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.errors import FormatError
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import validate_topics


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.tsv", "1\ta\n2 b\n"),
        ("t.tsv", "1\ta\n\tb\n"),
        ("t.tsv", "1\ta\n2\t \n"),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":"2","text":"b"\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n["2","b"]\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"qid":"2","text":"b"}\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":null,"text":"b"}\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":1.5,"text":"b"}\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":"2","text":true}\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":"2","text":" "}\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":"2","id":"3","text":"b"}\n'),
        ("t.jsonl", '{"id":"1","text":"a"}\n{"id":"2","text":"b","x":NaN}\n'),
        ("t.jsonl", '{"x":"1","text":"a"}\n'),
        ("t.xml", "<topics><topic number='1'>a</topic><topic>b</topic></topics>\n"),
    ],
)
def test_loaders_raise_the_first_error_of_the_validator(
    tmp_path: Path, name: str, data: str
) -> None:
    path = tmp_path / name
    path.write_text(data)
    (finding,) = [one for one in validate_topics(path).findings if one.severity == "error"]
    with pytest.raises(FormatError) as caught:
        read_topics(path)
    error = caught.value
    message, _, code = error.what.rpartition(" ")
    assert finding.message.startswith(message)
    assert code == f"({finding.code})"
    assert (error.line, error.column) == (finding.line, finding.column)


def test_warnings_do_not_stop_loaders(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"id":1,"text":"a"}\n{"id":2,"text":5,"n":-0}\n')
    assert [finding.code for finding in validate_topics(path).findings] == ["T114", "T115"]
    frame = read_topics(path).frame
    assert frame.rows() == [("1", "a", None), ("2", "5", "-0")]
