"""Hashes of topics."""

from __future__ import annotations

from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.source import hash_topics


def test_hash_of_topics_heeds_order() -> None:
    assert hash_topics(Topics.from_dict({"1": "a", "2": "b"})) != hash_topics(
        Topics.from_dict({"2": "b", "1": "a"})
    )
