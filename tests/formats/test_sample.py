"""The collection that the package contains."""

from pathlib import Path

import pytest

from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.formats.collection import SAMPLE, sample_files
from trectools_plus.formats.files.atomic import write_new


def test_a_folder_with_this_name_needs_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_new(sample_files(tmp_path / SAMPLE))
    (tmp_path / SAMPLE / "corpus.jsonl").write_text('{"doc_id": "own", "text": "x"}\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    for folder in (f"./{SAMPLE}", tmp_path / SAMPLE, Path(SAMPLE)):
        corpus = load_collection(folder).corpus
        assert list(corpus.to_dict()) == ["own"]
    corpus = load_collection(SAMPLE).corpus
    assert corpus is not None
    assert len(corpus) == 60
