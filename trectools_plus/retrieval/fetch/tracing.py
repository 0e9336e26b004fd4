"""A span of OpenTelemetry for each query, if the process has a tracer provider."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from trectools_plus.retrieval.fetch.answering import (
    Answer,
    FailedQuery,
    FetchOptions,
    answer_batch,
)
from trectools_plus.retrieval.source import Query, Source

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

TEXT_VARIABLE = "TRECTOOLS_PLUS_TRACE_QUERY_TEXT"
"""The environment variable that adds the texts of queries to spans, if it is 1 or true."""
_PROVIDER_VARIABLE = "OTEL_PYTHON_TRACER_PROVIDER"
_PREFIX = "trectools_plus."


class QuerySpans:
    """Sends queries, with a span for each of them.

    OpenTelemetry is imported only if the application has imported it, or the environment names a
    tracer provider.

    Args:
        mode: The mode that searches.
        backend: The name of its backend.
    """

    def __init__(self, mode: str, backend: str) -> None:
        self._name = f"search {mode}"
        self._attributes = {f"{_PREFIX}mode": mode, f"{_PREFIX}backend": backend}
        self._with_text = os.environ.get(TEXT_VARIABLE, "").lower() in ("1", "true")
        self._tracer = _find_tracer()
        self._context: Any = None
        if self._tracer is not None:
            from opentelemetry import context

            # Queries may be sent from other threads, which have no current span.
            self._context = context.get_current()

    def answer_batch(
        self, source: Source, queries: Sequence[Query], options: FetchOptions
    ) -> list[Answer | FailedQuery]:
        """Do the same as :func:`~trectools_plus.retrieval.fetch.answering.answer_batch`."""
        if self._tracer is None:
            return answer_batch(source, queries, options)
        with self._open(self._tracer, queries) as spans:
            outcomes = answer_batch(source, queries, options)
            for span, outcome in zip(spans, outcomes, strict=True):
                _describe(span, outcome, options)
        return outcomes

    @contextmanager
    def _open(self, tracer: Tracer, queries: Sequence[Query]) -> Iterator[list[Span]]:
        """Start a span for each query, and end all of them; a single one is the current span."""
        from opentelemetry import trace

        with ExitStack() as stack:
            spans = []
            for query in queries:
                attributes = {**self._attributes, f"{_PREFIX}query_id": query.query_id}
                if self._with_text:
                    attributes[f"{_PREFIX}query_text"] = query.text
                span = tracer.start_span(self._name, self._context, attributes=attributes)
                spans.append(stack.enter_context(_ended(span)))
            if len(spans) == 1:
                # Spans of the HTTP client become its children.
                stack.enter_context(
                    trace.use_span(spans[0], record_exception=False, set_status_on_exception=False)
                )
            yield spans


@contextmanager
def _ended(span: Span) -> Iterator[Span]:
    try:
        yield span
    finally:
        span.end()


def _describe(span: Span, outcome: Answer | FailedQuery, options: FetchOptions) -> None:
    """Add the outcome of a query to its span."""
    if isinstance(outcome, Answer):
        first = options.depth + options.exclude_self
        rounds = 1 + math.ceil(math.log2(max(outcome.asked, first) / first))
        span.set_attribute(f"{_PREFIX}result_count", len(outcome.ranking))
        span.set_attribute(f"{_PREFIX}retries", outcome.attempts - rounds)
        return
    from opentelemetry.trace import Status, StatusCode

    failure = outcome.failure
    span.set_attribute(f"{_PREFIX}result_count", 0)
    span.set_attribute(f"{_PREFIX}retries", max(failure.attempts - 1, 0))
    span.set_attribute("error.type", failure.kind)
    span.set_status(Status(StatusCode.ERROR, failure.reason))


def _find_tracer() -> Tracer | None:
    """Return a tracer; ``None`` if no tracer provider is configured."""
    if "opentelemetry.trace" not in sys.modules and not os.environ.get(_PROVIDER_VARIABLE):
        return None
    try:
        from opentelemetry import trace

        from trectools_plus.provenance import package_versions

        provider = trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
            return None
        version = package_versions(["trectools-plus"]).get("trectools-plus")
        return provider.get_tracer("trectools_plus", version)
    except Exception:  # the environment names a provider that is not installed
        return None
