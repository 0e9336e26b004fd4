"""Test sets made of a few words."""

import json

import pytest

from trectools_plus.testsets import TestQuery, TestSet
from trectools_plus.testsets.model import RelevantTerm, TestSetMetadata


class Maker:
    """Makes test sets, and writes them."""

    def __init__(self, folder):
        self.folder = folder

    def make(self, texts, *, language="en", **fields):
        """A set with a text by query id; ``fields`` are lists with a value for each query."""
        found = tuple(
            TestQuery(
                query_id=query_id,
                text=text,
                relevant=(RelevantTerm(doc_id=f"d{at}", grade=3),),
                **{name: values[at] for name, values in fields.items()},
            )
            for at, (query_id, text) in enumerate(texts.items())
        )
        metadata = TestSetMetadata(dataset_id="made", version="1.0.0", language=language)
        return TestSet(metadata=metadata, queries=found)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return path


@pytest.fixture
def maker(tmp_path):
    return Maker(tmp_path)
