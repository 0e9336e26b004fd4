"""Hashes of topics, and the topics of a dataset without its documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.ir_datasets import CatalogueDataset
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.fetch.topics import hash_topics, read_dataset_topics


def test_topics_of_a_dataset(
    tmp_path: Path, ir_datasets_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    topics = read_dataset_topics("irds:cranfield")
    assert topics is not None
    assert hash_topics(topics) == hash_topics(CatalogueDataset("cranfield").read_topics())
    assert read_dataset_topics("hpo") is None
    with pytest.raises(UsageError):
        read_dataset_topics(str(tmp_path / "nowhere"))


def test_hash_of_topics_heeds_order() -> None:
    assert hash_topics(Topics.from_dict({"1": "a", "2": "b"})) != hash_topics(
        Topics.from_dict({"2": "b", "1": "a"})
    )
