"""The backend as a fetch uses it: runs, manifests, a server of its own that dies."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.collection import stream_documents
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.formats.trec_files import read_run
from trectools_plus.retrieval.backends.embedded.modes import MODES
from trectools_plus.retrieval.backends.milvus.backend import MilvusBackend
from trectools_plus.retrieval.backends.milvus.connection import TOKEN_VARIABLE
from trectools_plus.retrieval.backends.milvus.support import MilvusSettings
from trectools_plus.retrieval.backends.selection import BackendSettings
from trectools_plus.retrieval.fetch.answering import FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch
from trectools_plus.retrieval.fetch.run_files import fetch_to_dir
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import BackendRequest, Failure, Hits, Query

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

CORPUS = Corpus.from_dict(
    {"a": "swept wing flow", "b": "heat transfer in flow", "c": "thin shells", "q2": "a wing"}
)
TOPICS = Topics.from_dict({"q1": "laminar flow", "q2": "wing"})
SECRET = "root:s3cret-Pass"


@pytest.fixture
def local(connect: Callable[..., Any], tmp_path: Path) -> MilvusSettings:
    """A local database; skips without the extra."""
    return MilvusSettings(uri=str(tmp_path / "own.db"))


@pytest.fixture
def server(
    connect: Callable[..., Any], tmp_path: Path
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """milvus-lite as a server in a process of its own, reached as a cluster would be."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "milvus_lite", "server", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--data-dir", str(tmp_path / "server.db")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    uri = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while True:
        try:
            connect(uri)
            break
        except InputError:
            if time.monotonic() > deadline or process.poll() is not None:
                raise
            time.sleep(0.2)
    try:
        yield uri, process
    finally:
        process.kill()
        process.wait()


def test_run_files_and_manifests(local: MilvusSettings, tmp_path: Path) -> None:
    backend = MilvusBackend(local)
    files = fetch_to_dir(
        FetchRequest(
            CORPUS, TOPICS, MODES, options=FetchOptions(exclude_self=True), backend=backend
        ),
        tmp_path / "out",
    )
    assert list(files) == list(MODES)
    for mode, file in files.items():
        manifest = json.loads(file.manifest_path.read_text())
        assert manifest["backend"] == "milvus"
        settings = manifest["backend_settings"]
        assert settings["uri"] == local.uri
        assert settings["server_version"].startswith("milvus_lite")
        assert settings["collection"] == "trectools_plus_" + settings["collection_key"][:32]
        assert settings["documents"]["count"] == 4
        assert settings["settings"]["k1"] == 0.9
        assert "q2" not in read_run(file.path).to_dict()["q2"], mode
    # Documents that queries exclude do not affect the fusion either.
    expected = fetch(CORPUS, TOPICS, "hybrid", exclude_self=True)["hybrid"].run.to_dict()
    hybrid = read_run(files["hybrid"].path).to_dict()
    assert {query: list(found) for query, found in hybrid.items()} == {
        query: list(found) for query, found in expected.items()
    }
    for query_id, ranking in hybrid.items():
        assert ranking == pytest.approx(expected[query_id], abs=1e-6)
    lexical = read_run(files["lexical"].path).to_dict()
    assert set(lexical["q1"]) == {"a", "b"}
    assert list(lexical["q2"]) == ["a"]


def test_documents_are_streamed(local: MilvusSettings, tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    rows = [{"_id": one, "text": text} for one, text in CORPUS.to_dict().items()]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    streamed = stream_documents(None, str(file))
    ours = fetch_to_dir(
        FetchRequest(streamed, TOPICS, ["lexical"], backend=MilvusBackend(local)), tmp_path / "ours"
    )
    given = fetch_to_dir(
        FetchRequest(CORPUS, TOPICS, ["lexical"], backend=MilvusBackend(local)), tmp_path / "given"
    )
    assert (tmp_path / "ours/lexical.run").read_bytes() == (
        tmp_path / "given/lexical.run"
    ).read_bytes()
    records = [one["lexical"].manifest.backend_settings["collection"] for one in (ours, given)]
    assert records[0] == records[1]
    described = [one["lexical"].manifest.corpus for one in (ours, given)]
    assert {(one.count, one.sha256) for one in described if one} == {(4, CORPUS.sha256())}


def test_a_server_gives_what_a_local_database_gives(
    local: MilvusSettings,
    server: tuple[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, SECRET)
    backend = MilvusBackend(MilvusSettings(uri=server[0]))
    fetch_to_dir(FetchRequest(CORPUS, TOPICS, MODES, backend=backend), tmp_path / "there")
    fetch_to_dir(
        FetchRequest(CORPUS, TOPICS, MODES, backend=MilvusBackend(local)), tmp_path / "here"
    )
    for mode in MODES:
        there, here = (tmp_path / place / f"{mode}.run" for place in ("there", "here"))
        assert there.read_bytes() == here.read_bytes()
    for file in (tmp_path / "there").iterdir():
        assert SECRET.encode() not in file.read_bytes()


def test_a_server_that_dies(server: tuple[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    uri, process = server
    request = BackendRequest(CORPUS, MODES)
    sources = MilvusBackend(MilvusSettings(uri=uri)).open(request)
    asked = [Query("q1", "wing"), Query("q2", "heat")]
    assert all(isinstance(one, Hits) for one in sources["vector"].ask(asked, 2))
    process.kill()
    process.wait()
    started = time.monotonic()
    answers = sources["vector"].ask(asked, 2)
    assert time.monotonic() - started < 60
    for answer in answers:
        assert isinstance(answer, Failure)
        assert (answer.kind, answer.stops) == ("unavailable", True)
        assert answer.reason.startswith("the Milvus server cannot be reached — http")
        assert "\n" not in answer.reason
    for source in sources.values():
        source.close()
    assert capfd.readouterr() == ("", "")


def test_a_database_is_let_go_after_a_failure(local: MilvusSettings, tmp_path: Path) -> None:
    backend = MilvusBackend(local)
    for _ in range(2):
        with pytest.raises(InputError):
            backend.open(BackendRequest(Corpus.from_dict({}), ["lexical"]))
        with pytest.raises(UsageError, match="k1"):
            backend.open(BackendRequest(CORPUS, MODES, RetrievalSettings(k1=0)))
        with pytest.raises(UsageError, match=r"16,384.*20,000"):
            fetch_to_dir(
                FetchRequest(
                    CORPUS, TOPICS, MODES, options=FetchOptions(depth=20000), backend=backend
                ),
                tmp_path,
            )
    sources = backend.open(BackendRequest(CORPUS, ["lexical"]))
    too_deep = sources["lexical"].ask([Query("q", "wing")], 20_000)[0]
    assert isinstance(too_deep, Failure)
    assert too_deep.stops
    sources["lexical"].close()
    sources["lexical"].close()


def test_it_is_a_backend_by_its_name_or_its_settings(cache: Path) -> None:
    for values in ({"backend": "milvus"}, {"milvus": {"vector_index": "hnsw"}}):
        settings = BackendSettings.model_validate(values)
        backend = settings.make_backend()
        assert isinstance(backend, MilvusBackend)
        assert backend.needs_corpus
        assert backend.record["uri"] == str(cache / "indexes" / "milvus.db")
    with pytest.raises(TrectoolsPlusError, match="bm26"):
        settings.check_backend_modes(("bm26",))
    with pytest.raises(UsageError):
        BackendSettings(backend="embedded", milvus=MilvusSettings(uri="a.db"))


@pytest.mark.parametrize("vector_index", ["hnsw", "auto"])
def test_other_vector_indexes(local: MilvusSettings, vector_index: Any) -> None:
    settings = local.model_copy(update={"vector_index": vector_index})
    sources = MilvusBackend(settings).open(BackendRequest(CORPUS, ["vector", "hybrid"]))
    try:
        for source in sources.values():
            hits = source.ask([Query("q", "thin shells")], 2)[0]
            assert isinstance(hits, Hits)
            assert hits.ids[0] == "c"
    finally:
        for source in sources.values():
            source.close()


def test_waits_nowhere_for_a_missing_extra() -> None:
    """Without the extra the module can be imported, and is not imported by the package."""
    code = (
        "import sys; sys.modules['pymilvus'] = None; "
        "import trectools_plus.retrieval.backends.milvus.backend as one; "
        "print(one.MilvusBackend.name)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == "milvus\n"
