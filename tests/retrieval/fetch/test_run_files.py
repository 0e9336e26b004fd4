from __future__ import annotations

import json
from pathlib import Path

import pytest

from trectools_plus.blas import limited_blas_threads
from trectools_plus.choices import MODES
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.ranking import separate_ties
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.fetch import FetchRequest, fetch
from trectools_plus.retrieval.run_files import FetchManifest, fetch_to_dir
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import FetchOptions
from trectools_plus.validation.loading import load_run

CORPUS = Corpus.from_dict(
    {f"d{n}": f"swept wing number{n} heat " + "speed " * (n % 7) for n in range(30)}
)
TOPICS = Topics.from_dict({"q1": "swept wing", "d7": "heat number7", "q3": "the"})


def test_files_and_manifests(tmp_path: Path) -> None:
    settings = RetrievalSettings(k1=1.2)
    files = fetch_to_dir(
        FetchRequest(
            CORPUS,
            TOPICS,
            MODES,
            options=FetchOptions(depth=20, exclude_self=True),
            settings=settings,
        ),
        tmp_path / "new" / "runs",
        dataset="toy",
        command="runs fetch …",
    )
    plain = fetch(CORPUS, TOPICS, MODES, depth=20, settings=settings, exclude_self=True)
    for mode, file in files.items():
        assert file.path == tmp_path / "new" / "runs" / f"{mode}.run"
        run = load_run(file.path)
        assert run.name == mode
        assert run.frame.equals(separate_ties(plain[mode].run.frame))
        manifest = FetchManifest.model_validate_json(Path(f"{file.path}.manifest.json").read_text())
        assert manifest == file.manifest
        assert manifest.settings == settings.for_documents(has_parts=False)
        assert (manifest.mode, manifest.depth, manifest.exclude_self) == (mode, 20, True)
        assert (manifest.dataset, manifest.command) == ("toy", "runs fetch …")
        assert (manifest.corpus.count, manifest.topics.count) == (30, 3)
        assert manifest.run.sha256 == sha256_file(file.path)
        assert manifest.run.results == run.frame.height
        assert manifest.created_at.endswith("Z")
        assert {"bm25s", "wordllama", "trectools-plus"} <= set(manifest.packages)
        assert manifest.blas_threads == limited_blas_threads()
        assert manifest.latency_ms.p50 <= manifest.latency_ms.p95 <= manifest.latency_ms.p99
    assert files["lexical"].manifest.run.missing_queries == ["q3"]


def test_a_run_without_any_result_fails_the_check(tmp_path: Path) -> None:
    with pytest.raises(
        CheckFailedError,
        match="lexical found nothing",
    ):
        fetch_to_dir(FetchRequest(CORPUS, Topics.from_dict({"1": "zeppelin"}), MODES), tmp_path)
    runs = sorted(path.name for path in tmp_path.glob("*.run"))
    assert runs == ["hybrid.run", "vector.run"]
    manifest = json.loads((tmp_path / "lexical.run.manifest.json").read_text())
    assert manifest["status"] == "empty"
    assert manifest["run"] == {
        "path": None,
        "sha256": None,
        "queries": 0,
        "results": 0,
        "missing_queries": ["1"],
    }
    assert manifest["mode"] == "lexical"
    assert manifest["index_snapshots"].keys() == {"lexical"}
    (tmp_path / "lexical.run").write_text("1 Q0 d1 1 1.0 lexical\n")
    with pytest.raises(CheckFailedError, match=r"lexical\.run"):
        fetch_to_dir(
            FetchRequest(CORPUS, Topics.from_dict({"1": "zeppelin"}), ["lexical"]), tmp_path
        )


def test_refuses_before_writing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError):
        fetch_to_dir(FetchRequest(CORPUS, TOPICS, MODES), tmp_path / "file" / "runs")
    with pytest.raises(UsageError):
        fetch_to_dir(FetchRequest(CORPUS, TOPICS, ["denser"]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
