"""Spans of OpenTelemetry: one per query, and nothing without a tracer provider."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.backends.python import PythonBackend
from trectools_plus.retrieval.fetch.answering import Collapse, FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.source import Backend, BackendRequest, Failure, Hits, Query, Source

TOPICS = Topics.from_dict({"q1": "a private text", "q2": "nothing", "q3": "broken"})


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch, require_module: Any) -> Iterator[Any]:
    """The spans of a tracer provider that is configured for one test."""
    require_module("opentelemetry.sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield found
    provider.shutdown()


class Engine(Backend):
    """Answers batches from several threads."""

    name = "engine"

    def __init__(self, batch_size: int, concurrency: int) -> None:
        self.size = batch_size, concurrency

    def open(self, request: BackendRequest) -> dict[str, Source]:
        source = EngineSource()
        source.batch_size, source.concurrency = self.size
        return dict.fromkeys(request.modes, source)


class EngineSource(Source):
    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        answers: dict[str, Hits | Failure] = {
            "q1": Hits(["d1", "d2"], [2.0, 1.0], 1.0, attempts=3),
            "q2": Hits([], [], 1.0),
            "q3": Failure("no room", "unavailable", attempts=5),
        }
        return [answers[query.query_id] for query in queries]


@pytest.mark.parametrize(("batch_size", "concurrency"), [(1, 1), (3, 1), (1, 3), (2, 2)])
def test_a_span_has_the_outcome_of_its_query(
    exporter: Any, batch_size: int, concurrency: int
) -> None:
    from opentelemetry import trace

    tracer = trace.get_tracer_provider().get_tracer("application")
    with tracer.start_as_current_span("fetching") as parent:
        backend = Engine(batch_size, concurrency)
        fetch_runs(FetchRequest(None, TOPICS, ["fast"], backend=backend))
    *spans, _ = exporter.get_finished_spans()
    found = {}
    for span in spans:
        attributes = dict(span.attributes)
        query_id = attributes.pop("trectools_plus.query_id")
        assert span.name == "search fast"
        assert span.parent.span_id == parent.get_span_context().span_id
        assert attributes.pop("trectools_plus.mode") == "fast"
        assert attributes.pop("trectools_plus.backend") == "engine"
        found[query_id] = (span.status.status_code.name, span.status.description, attributes)
    assert found == {
        "q1": ("UNSET", None, {"trectools_plus.result_count": 2, "trectools_plus.retries": 2}),
        "q2": ("UNSET", None, {"trectools_plus.result_count": 0, "trectools_plus.retries": 0}),
        "q3": (
            "ERROR",
            "no room",
            {
                "trectools_plus.result_count": 0,
                "trectools_plus.retries": 4,
                "error.type": "unavailable",
            },
        ),
    }


def test_rounds_of_a_query_are_not_retries(exporter: Any) -> None:
    def search(text: str, depth: int) -> list[str]:
        return [f"d{n // 4}#{n}" for n in range(depth)]

    options = FetchOptions(depth=10, collapse=Collapse(separator="#", method="first"))
    backend = PythonBackend({"mine": search})
    fetch_runs(FetchRequest(None, TOPICS, ["mine"], options, backend=backend))
    for span in exporter.get_finished_spans():
        assert span.attributes["trectools_plus.retries"] == 0
        assert span.attributes["trectools_plus.result_count"] == 10


def test_an_embedded_mode_has_a_span_for_each_query(exporter: Any) -> None:
    fetch(Corpus.from_dict({"d1": "a private text"}), TOPICS, "lexical")
    spans = exporter.get_finished_spans()
    query_ids = [span.attributes["trectools_plus.query_id"] for span in spans]
    assert sorted(query_ids) == ["q1", "q2", "q3"]


@pytest.mark.parametrize("wanted", [False, True])
def test_texts_of_queries_are_only_in_spans_on_request(
    exporter: Any, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    if wanted:
        monkeypatch.setenv("TRECTOOLS_PLUS_TRACE_QUERY_TEXT", "1")
    fetch_runs(FetchRequest(None, TOPICS, ["fast"], backend=Engine(1, 1)))
    shown = "".join(span.to_json() for span in exporter.get_finished_spans())
    assert ("a private text" in shown) == wanted


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_spans_end_with_an_interruption(exporter: Any, interruption: Any) -> None:
    class Interrupted(EngineSource):
        def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
            raise interruption

    class Broken(Engine):
        def open(self, request: BackendRequest) -> dict[str, Source]:
            return dict.fromkeys(request.modes, Interrupted())

    with pytest.raises(interruption):
        fetch_runs(FetchRequest(None, TOPICS, ["fast"], backend=Broken(1, 1)))
    assert len(exporter.get_finished_spans()) == 1


FETCH = """
import sys
from trectools_plus.cli.app import main
sys.argv = "t runs fetch --topics t.tsv --retriever json:dumps --output-dir o --timeout 9".split()
try:
    main()
except SystemExit:
    pass
print(*[name for name in sys.modules if name.startswith("opentelemetry")])
"""


@pytest.mark.parametrize("provider", ["", "no_such_provider"])
def test_nothing_is_imported_without_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    (tmp_path / "t.tsv").write_text("q1\ttext\n")
    monkeypatch.setenv("OTEL_PYTHON_TRACER_PROVIDER", provider)
    done = subprocess.run(
        [sys.executable, "-c", FETCH], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "error: dumps failed" in done.stderr
    if not provider:
        assert done.stdout.split() == []
