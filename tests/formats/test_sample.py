"""The collection that the package contains."""

from pathlib import Path

import pytest

from trectools_plus import evaluate, fetch, load_run
from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.errors import InputError
from trectools_plus.formats.collection import SAMPLE, SAMPLE_FOLDER, Collection, sample_files
from trectools_plus.formats.files.atomic import write_new

MODES = ("lexical", "vector", "hybrid")


@pytest.fixture(scope="module")
def sample() -> Collection:
    return load_collection(SAMPLE)


def test_every_query_has_an_answer_and_every_judged_document_exists(sample: Collection) -> None:
    documents = sample.corpus.to_dict()
    judged = sample.qrels.to_dict()
    assert (len(documents), len(sample.topics.query_ids)) == (60, 30)
    assert judged.keys() == set(sample.topics.query_ids)
    assert all(max(grades.values()) == 3 for grades in judged.values())
    assert {doc_id for grades in judged.values() for doc_id in grades} <= documents.keys()
    assert set(sample.topics.frame["type"]) == {"keyword", "question", "paraphrase"}


@pytest.mark.parametrize("mode", MODES)
def test_runs_are_those_of_the_modes_and_judged_to_rank_10(sample: Collection, mode: str) -> None:
    run = load_run(SAMPLE_FOLDER / "runs" / f"{mode}.run", qrels=sample.qrels)
    found = fetch(sample.corpus, sample.topics, [mode], depth=20)[mode].run
    measures = ["nDCG@10", "RR", "R@20", "RelRet"]
    shipped, searched = (evaluate(sample.qrels, one, measures) for one in (run, found))
    for measure in measures:
        assert shipped.mean(measure) == pytest.approx(searched.mean(measure))
    assert evaluate(sample.qrels, run, ["Judged@10"]).values("Judged@10").max() == 1
    judged = sample.qrels.to_dict()
    for query_id, scores in run.to_dict().items():
        best = sorted(scores, key=lambda doc_id: -scores[doc_id])[:10]
        assert judged[query_id].keys() >= set(best)


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
