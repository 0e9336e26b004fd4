"""The table of backends, and those that installed packages register."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.registry import BACKENDS
from trectools_plus.retrieval.backends.selection import BackendSettings
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs

ENGINE = """
from trectools_plus.retrieval.source import Backend, Hits, Source


class Engine(Backend, Source):
    name = "my-engine"
    streams_documents = True

    def open(self, request):
        return {mode: self for mode in request.modes}

    def ask(self, queries, depth):
        return [Hits(["d1"], [1.5], 1.0) for _ in queries]


function = len
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "site" / "my_engine-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-engine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[trectools_plus.backends]\nmy-engine = my_engine_plugin:Engine\n"
        "no-engine = my_engine_plugin:function\nhttp = my_engine_plugin:Engine\n"
    )
    (tmp_path / "site" / "my_engine_plugin.py").write_text(ENGINE)
    monkeypatch.syspath_prepend(tmp_path / "site")
    importlib.invalidate_caches()


@pytest.mark.usefixtures("installed")
def test_a_backend_by_its_entry_point() -> None:
    settings = BackendSettings(backend="my-engine")
    assert (settings.needs_corpus, settings.streams_documents) == (False, True)
    settings.check_backend_modes(["fast"])
    with pytest.raises(UsageError):
        settings.check_backend_modes(["a/b"])
    topics = Topics.from_dict({"1": "wing"})
    found = fetch_runs(FetchRequest(None, topics, ["fast"], backend=settings.make_backend()))
    assert found["fast"].run.to_dict() == {"1": {"d1": 1.5}}


@pytest.mark.usefixtures("installed")
def test_built_in_backends_win_and_others_must_be_backends() -> None:
    with pytest.raises(UsageError, match="URL"):
        BackendSettings(backend="http")
    with pytest.raises(UsageError, match="my_engine_plugin:function"):
        BackendSettings(backend="no-engine")
    unknown = f"unknown backend .other. — BackendSettings — use one of {', '.join(BACKENDS)}"
    with pytest.raises(UsageError, match=unknown):
        BackendSettings(backend="other")
