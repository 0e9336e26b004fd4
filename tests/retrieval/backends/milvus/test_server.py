"""A real Milvus server: accounts, versions, consistent reads, a death in the middle of a fetch."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from filelock import FileLock

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.collection import load_collection
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.formats.trec_files import read_run
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend
from trectools_plus.retrieval.backends.milvus.backend import MilvusBackend
from trectools_plus.retrieval.backends.milvus.connection import (
    TOKEN_VARIABLE,
    MilvusAddress,
    MilvusConnection,
)
from trectools_plus.retrieval.backends.milvus.support import MilvusSettings
from trectools_plus.retrieval.fetch.answering import FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest
from trectools_plus.retrieval.fetch.run_files import fetch_to_dir
from trectools_plus.retrieval.source import BackendRequest

from .milvus_server import TOKEN, MilvusServer, require_server

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

CORPUS = Corpus.from_dict({"a": "swept wing flow", "b": "heat transfer", "c": "thin shells"})
QUERIES = 1_000
FETCH = (
    "import sys; sys.argv[0] = 'runs'; from trectools_plus.cli.app import runs_main; runs_main()"
)


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """One at a time on this machine; tests that run beside these wait for their turn."""
    folder = tmp_path_factory.mktemp("milvus")
    with FileLock(Path(gettempdir()) / "trectools-plus-milvus-server.lock", timeout=600):
        require_server()
        server = MilvusServer(folder)
        server.start()
        yield server
        server.kill()


@pytest.fixture
def server(shared_server: MilvusServer, monkeypatch: pytest.MonkeyPatch) -> MilvusServer:
    """The server of this module, with its token in the environment."""
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    return shared_server


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Calls to the server, recorded."""
    made: list[tuple[str, dict[str, Any]]] = []
    call = MilvusConnection.call

    def listen(self: MilvusConnection, method: str, *args: Any, **options: Any) -> Any:
        made.append((method, options))
        return call(self, method, *args, **options)

    monkeypatch.setattr(MilvusConnection, "call", listen)
    return made


@pytest.mark.parametrize("token", ["", "root:wrong", "nobody:Milvus"])
def test_another_token_is_refused(
    server: MilvusServer, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    with pytest.raises(InputError) as caught:
        MilvusBackend(MilvusSettings(uri=server.uri)).open(BackendRequest(CORPUS, ["vector"]))
    assert TOKEN_VARIABLE in str(caught.value)
    assert not token or token not in str(caught.value)


@pytest.mark.parametrize("modes", [["lexical"], ["vector", "hybrid"]])
def test_a_server_without_full_text_search_is_reported_at_once(
    server: MilvusServer, modes: list[str], calls: list[tuple[str, Any]]
) -> None:
    with pytest.raises(
        UsageError, match=rf"no full-text search, which the mode '{modes[-1]}' requires"
    ):
        MilvusBackend(MilvusSettings(uri=server.uri)).open(BackendRequest(CORPUS, modes))
    assert "create_collection" not in dict(calls)


def test_cranfield_as_the_embedded_mode_ranks_it(
    server: MilvusServer,
    ir_datasets_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    calls: list[tuple[str, dict[str, Any]]],
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(ir_datasets_home))
    cranfield = load_collection("irds:cranfield")
    backend = MilvusBackend(MilvusSettings(uri=server.uri))
    runs = []
    for name, one in (("embedded", EmbeddedBackend()), ("first", backend), ("again", backend)):
        calls.clear()
        files = fetch_to_dir(
            FetchRequest(cranfield.corpus, cranfield.topics, ["vector"], backend=one),
            tmp_path / name,
        )
        runs.append(read_run(files["vector"].path).frame)
        assert ("insert" in dict(calls)) == (name == "first")
    embedded, first, again = runs
    for run in (first, again):
        assert run.select("query_id", "doc_id").equals(embedded.select("query_id", "doc_id"))
        gap = (run["score"] - embedded["score"]).abs().max()
        assert isinstance(gap, float)
        assert gap < 1e-6
    searches = [options for method, options in calls if method == "search"]
    # The first asks the server for its clock; no other waits for that to tick.
    assert searches[0]["consistency_level"] == "Strong"
    assert {one["consistency_level"] for one in searches[1:]} == {"Bounded"}
    assert len(searches) > cranfield.topics.frame.height


def test_what_was_just_inserted_is_found(server: MilvusServer) -> None:
    backend = MilvusBackend(MilvusSettings(uri=server.uri))
    for number in range(2):
        corpus = Corpus.from_dict({f"{number}-{one}": f"wing {one}" for one in range(50)})
        found = fetch_to_memory(backend, corpus)
        assert len(found) == 50
        assert all(doc_id.startswith(f"{number}-") for doc_id in found)


def fetch_to_memory(backend: MilvusBackend, corpus: Corpus) -> dict[str, float]:
    from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
    from trectools_plus.retrieval.settings import RetrievalSettings

    topics = Topics.from_dict({"q": "wing"})
    request = FetchRequest(
        corpus, topics, ["vector"], FetchOptions(100), RetrievalSettings(), backend
    )
    return fetch_runs(request)["vector"].run.to_dict()["q"]


def test_two_processes_that_fill_the_same_collection(server: MilvusServer, tmp_path: Path) -> None:
    rows = [f'{{"_id": "d{row}", "text": "wing {row} flow {row % 7}"}}\n' for row in range(3_000)]
    (tmp_path / "corpus.jsonl").write_text("".join(rows))
    (tmp_path / "topics.tsv").write_text("q1\twing 17\nq2\tflow 3\n")
    both = [begin(server, tmp_path, f"out-{number}") for number in range(2)]
    for process in both:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
    first, second = (tmp_path / f"out-{number}/vector.run" for number in range(2))
    assert first.read_bytes() == second.read_bytes()
    connection = MilvusConnection(MilvusAddress.parse(server.uri))
    names = connection.call("list_collections")
    connection.close()
    assert not [name for name in names if "_building" in name]


def begin(server: MilvusServer, folder: Path, output: str, *options: str) -> subprocess.Popen[str]:
    """Start ``runs fetch --modes vector`` in a process of its own."""
    words = ["fetch", "--corpus", "corpus.jsonl", "--topics", "topics.tsv", "--modes", "vector"]
    words += ["--milvus-uri", server.uri, "--output-dir", output, *options]
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, *words],
        cwd=folder,
        env={**os.environ, TOKEN_VARIABLE: TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_server_that_dies_and_comes_back(server: MilvusServer, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "d{row}", "text": "wing {row} flow"}}\n' for row in range(200))
    )
    (tmp_path / "topics.tsv").write_text(
        "".join(f"q{row}\twing {row} of the flow\n" for row in range(QUERIES))
    )
    process = begin(server, tmp_path, "out", "--depth", "10")
    journal = tmp_path / "out/vector.run.journal"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 200):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    server.kill()
    out, _ = process.communicate(timeout=120)
    server.start()
    assert process.returncode == 1, out
    assert "vector is incomplete" in out
    assert "the Milvus server cannot be reached" in out
    assert "Traceback" not in out
    assert 200 <= journal.read_bytes().count(b'"status": "ok"') < QUERIES
    for options in (["out", "--resume"], ["whole"]):
        again = begin(server, tmp_path, *options, "--depth", "10")
        out, _ = again.communicate(timeout=300)
        assert again.returncode == 0, out
    run = (tmp_path / "out/vector.run").read_bytes()
    assert run.count(b"\n") == 10 * QUERIES
    assert run == (tmp_path / "whole/vector.run").read_bytes()
    # Each query is answered once.
    assert journal.read_bytes().count(b'"status": "ok"') == QUERIES
