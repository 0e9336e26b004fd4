"""Queries that are not held are those that are."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.ir_datasets import CatalogueDataset
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topics import read_topics
from trectools_plus.retrieval.fetch.topics import (
    StreamedTopics,
    hash_topics,
    iter_queries,
    stream_topics,
)


def streamed(file: Path) -> StreamedTopics:
    topics = stream_topics(None, str(file))
    assert topics is not None
    return topics


def assert_same(ours: StreamedTopics, held: Topics) -> None:
    assert len(ours) == len(held)
    assert hash_topics(ours) == hash_topics(held)
    assert list(iter_queries(ours)) == list(ours) == list(iter_queries(held))


LINES = st.lists(
    st.tuples(st.sampled_from(["q1", "q2", "é", "a b", ""]), st.text("wé ", max_size=3)),
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=LINES, before=st.sampled_from([0, 0, 0, 8_190]), bits=st.sampled_from([1, 64]))
def test_a_streamed_file_is_read_and_refused_like_one_in_memory(
    digests_of: Any,
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[str, str]],
    before: int,
    bits: int,
) -> None:
    """Also behind so many queries that they are in several steps."""
    file = tmp_path_factory.mktemp("topics") / "topics.tsv"
    lines = [*((f"n{number}", "x") for number in range(before)), *lines]
    file.write_text("".join(f"{query_id}\t{text}\n" for query_id, text in lines))
    with digests_of(bits) as digested:
        try:
            held = read_topics(file)
        except TrectoolsPlusError:
            with pytest.raises(TrectoolsPlusError):
                len(streamed(file))
            return
        assert_same(streamed(file), held)
        assert {text.decode() for text in digested} >= {*held.to_dict()}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"_id": "1", "text": "swept wing"}\n\n{"_id": "2", "text": "heat"}\n'),
        ("a.xml", '<topics><topic number="1"><query>wing</query></topic></topics>'),
        ("a.trec", "<top>\n<num> Number: 301\n<title> wing\n</top>\n"),
        ("bom.tsv", "\ufeff\n# a comment\n1\twing\theat\r\n2\tflow"),
        ("again.tsv", "1\twing\n2\theat\n1\twing\n1\twing\n"),
    ],
)
def test_every_format(tmp_path: Path, name: str, content: str) -> None:
    plain, packed = tmp_path / name, tmp_path / f"{name}.gz"
    plain.write_bytes(content.encode())
    packed.write_bytes(gzip.compress(content.encode()))
    for file in (plain, packed):
        assert_same(streamed(file), read_topics(file))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no topics"),
        ("# only this\n", "no topics"),
        ("1\twing\n1\theat\n", "query id '1' occurs more than once"),
        ("1 wing\n", r"no tab .*topics:1"),
        ("1\twi\rng\n", r"CR without LF .*topics:1:5"),
        ("1\twing\n2\t \n", r"no text \(T121\).*topics:2"),
        ('{"_id": "1"}\n', r"field for the text.*topics:1"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "topics"
    file.write_bytes(content.encode())
    with pytest.raises(InputError, match=message):
        len(streamed(file))


def test_the_catalogue(ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    topics = stream_topics("irds:cranfield", None)
    assert topics is not None
    assert topics.path == "irds:cranfield"
    assert_same(topics, CatalogueDataset("cranfield").read_topics())


def test_an_address(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    file = tmp_path / "topics.tsv"
    file.write_text("1\twing\n2\theat\n")
    topics = stream_topics(None, file.as_uri())
    assert topics is not None
    assert topics.path == file.as_uri()
    assert_same(topics, read_topics(file))


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_what_cannot_be_read_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert stream_topics(None, str(tmp_path / "pipe")) is None
    assert stream_topics("hpo", None) is None
    assert stream_topics(None, "-") is None
    assert stream_topics(None, None) is None
    with pytest.raises(UsageError):
        stream_topics(str(tmp_path / "nowhere"), None)


def test_hash_of_topics_heeds_order() -> None:
    assert hash_topics(Topics.from_dict({"1": "a", "2": "b"})) != hash_topics(
        Topics.from_dict({"2": "b", "1": "a"})
    )
