"""The collection that the package contains."""

from pathlib import Path

import pytest

from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.errors import InputError
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


def test_files_are_never_overwritten(tmp_path: Path) -> None:
    contents = sample_files(tmp_path)
    files = write_new(contents)
    assert {file.name for file in files} >= {"corpus.jsonl", "topics.tsv", "qrels.txt"}
    written = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files}
    assert write_new(contents) == files
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in files} == written
    (tmp_path / "qrels.txt").write_text("1 0 mine 1\n", "utf-8")
    (tmp_path / "corpus.jsonl").unlink()
    with pytest.raises(InputError):
        write_new(contents)
    assert (tmp_path / "qrels.txt").read_text("utf-8") == "1 0 mine 1\n"
    assert not (tmp_path / "corpus.jsonl").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        write_new(sample_files(tmp_path / "file"))
