"""What requests share: the documents, the workers, the figures."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from trectools_plus.service.jobs import Jobs
from trectools_plus.service.metrics import ServiceMetrics
from trectools_plus.service.search import Search
from trectools_plus.service.settings import ServiceSettings
from trectools_plus.service.snapshots import SnapshotStore


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """One service's belongings.

    Attributes:
        settings: What it was started with.
        search: The documents.
        jobs: The workers.
        store: The figures that ``/metrics`` shows.
        metrics: The page of ``/metrics``.
    """

    settings: ServiceSettings
    search: Search
    jobs: Jobs
    store: SnapshotStore
    metrics: ServiceMetrics


def make_context(settings: ServiceSettings) -> Context:
    """Everything that a service needs, nothing of it begun.

    Raises:
        MissingExtraError: If the extra ``service`` is not installed.
    """
    search, jobs = Search(settings), Jobs(settings.limits)
    store = SnapshotStore(settings.reports)
    metrics = ServiceMetrics(
        settings.prefix, store, jobs.count, lambda: search.state in ("ready", "off")
    )
    return Context(settings, search, jobs, store, metrics)


def context_of(request: Request) -> Context:
    """The context of the service that got a request."""
    found: Context = request.app.state.context
    return found
