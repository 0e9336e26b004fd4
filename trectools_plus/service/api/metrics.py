"""Figures for Prometheus: as a page to scrape, a text file, or pushed to a gateway."""

from __future__ import annotations

import urllib.error
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from trectools_plus.errors import InputError, MissingExtraError, UsageError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.service.api.settings import DEFAULT_PREFIX, check_prefix
from trectools_plus.service.api.snapshots import Snapshot, SnapshotStore, as_label, read_snapshots
from trectools_plus.service.names import split_measure

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the latency histograms' buckets, in seconds."""

JOB = "trectools_plus"
"""The group of metrics at a gateway."""

_LABELS = ("dataset", "mode", "query_type")
_GATEWAY_SECONDS = 10.0


def render_metrics(snapshots: Iterable[Snapshot], prefix: str = DEFAULT_PREFIX) -> bytes:
    """Figures in Prometheus' text format.

    Args:
        snapshots: One for each dataset and mode.
        prefix: What names begin with.

    Raises:
        UsageError: If no name can begin so.
        MissingExtraError: If the extra ``service`` is not installed.
    """
    client = _client()
    content: bytes = client.generate_latest(make_registry(lambda: snapshots, prefix))
    return content


def render_report(path: str | Path, prefix: str = DEFAULT_PREFIX) -> bytes:
    """The figures of a report in Prometheus' text format.

    Args:
        path: ``BenchmarkReport.json``, or its folder.
        prefix: What names begin with.

    Raises:
        InputError: If the report cannot be read.
        UsageError: As :func:`render_metrics`.
    """
    return render_metrics(read_snapshots(path), prefix)


def write_textfile(path: str | Path, content: bytes) -> None:
    """Write figures where node_exporter's textfile collector finds them, whole or not at all.

    Raises:
        UsageError: If the name does not end in ``.prom``: others are not looked at.
        InputError: If the file cannot be written.
    """
    if Path(path).suffix != ".prom":
        raise UsageError(
            "node_exporter looks at files ending in .prom only",
            where=str(path),
            remedy="name it so",
        )
    with atomic_write(path, "wb") as stream:
        stream.write(content)


def push(
    url: str, snapshots: Iterable[Snapshot], prefix: str = DEFAULT_PREFIX, job: str = JOB
) -> None:
    """Push figures to a Pushgateway, in place of those that the group had.

    Args:
        url: The gateway, ``http://host:9091``.
        snapshots: One for each dataset and mode.
        prefix: What names begin with.
        job: The group.

    Raises:
        UsageError: As :func:`check_gateway`.
        InputError: If the gateway cannot be reached, or refuses.
    """
    client = _client()
    check_gateway(url)
    registry = make_registry(lambda: snapshots, prefix)
    try:
        client.push_to_gateway(url, job=job, registry=registry, timeout=_GATEWAY_SECONDS)
    except (urllib.error.URLError, OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"the gateway does not take the figures: {reason}",
            where=url,
            remedy="see that it runs, and can be reached from here",
        ) from error


def check_gateway(url: str) -> None:
    """See that figures can be pushed to a URL.

    Whatever stands before ``@`` would be looked up as part of the host's name, and logged on the
    way. A query is of no use: the client adds the group's path behind it.

    Raises:
        UsageError: If it is not a URL of http or https, or has a user, a password or a query. The
            message does not show it.
    """
    if "@" in url or "?" in url or "#" in url:
        raise UsageError(
            "the URL holds a user, a password or a query, which must not get into logs",
            where="--pushgateway",
            remedy="give the address alone, such as http://host:9091; a proxy on this machine can "
            "add what the gateway asks for",
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, half an IPv6 address
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise UsageError(
            "expected a URL of http or https", where="--pushgateway", remedy="http://host:9091"
        )


def make_registry(snapshots: Any, prefix: str) -> CollectorRegistry:
    """A registry of the figures that a function returns whenever they are asked for.

    Args:
        snapshots: Called for the snapshots.
        prefix: What names begin with.

    Raises:
        UsageError: If no name can begin so.
        MissingExtraError: If the extra ``service`` is not installed.
    """
    check_prefix(prefix)
    registry: CollectorRegistry = _client().CollectorRegistry(auto_describe=False)
    registry.register(RetrievalCollector(snapshots, prefix))
    return registry


class RetrievalCollector:
    """Turns snapshots into families of metrics.

    Args:
        snapshots: Called for the snapshots.
        prefix: What names begin with.
    """

    def __init__(self, snapshots: Any, prefix: str) -> None:
        self._snapshots = snapshots
        self._prefix = f"{prefix}_retrieval"

    def collect(self) -> Iterator[Any]:
        """The families, one after the other."""
        found = list(self._snapshots())
        yield from self._gauges(found)
        yield self._timestamps(found)
        yield self._latencies(found)

    def _gauges(self, snapshots: list[Snapshot]) -> Iterator[Any]:
        families: dict[str, Any] = {}
        for snapshot in snapshots:
            counted: dict[str, int] = {}
            for figure in snapshot.figures:
                labels = [
                    as_label(snapshot.dataset),
                    as_label(snapshot.mode),
                    as_label(figure.query_type),
                ]
                counted[labels[2]] = max(counted.get(labels[2], 0), figure.n)
                name, key, value, text = _family(figure.measure)
                ends = {"": figure.mean, "_low": figure.low, "_high": figure.high}
                for ending, number in ends.items():
                    if number is None:
                        continue
                    family = self._gauge(families, name + ending, text + _SAYS[ending], key)
                    family.add_metric([*labels, *([value] if key else [])], number)
            for query_type, count in counted.items():
                family = self._gauge(families, "queries", "Queries averaged over.", "")
                labels = [as_label(snapshot.dataset), as_label(snapshot.mode), query_type]
                family.add_metric(labels, count)
        yield from families.values()

    def _gauge(self, families: dict[str, Any], name: str, text: str, key: str) -> Any:
        from prometheus_client.core import GaugeMetricFamily

        full = f"{self._prefix}_{name}"
        if full not in families:
            labels = [*_LABELS, *([key] if key else [])]
            families[full] = GaugeMetricFamily(full, text, labels=labels)
        return families[full]

    def _timestamps(self, snapshots: list[Snapshot]) -> Any:
        from prometheus_client.core import GaugeMetricFamily

        family = GaugeMetricFamily(
            f"{self._prefix}_run_timestamp_seconds",
            "When the figures were computed, in seconds since 1970.",
            labels=list(_LABELS[:2]),
        )
        for one in snapshots:
            family.add_metric([as_label(one.dataset), as_label(one.mode)], one.created)
        return family

    def _latencies(self, snapshots: list[Snapshot]) -> Any:
        from prometheus_client.core import HistogramMetricFamily

        family = HistogramMetricFamily(
            f"{self._prefix}_latency_seconds",
            "Time per query of the latest run.",
            labels=list(_LABELS[:2]),
        )
        for one in snapshots:
            if one.latency_ms:
                times = sorted(ms / 1000 for ms in one.latency_ms)
                counts = [(str(end), float(bisect_right(times, end))) for end in BUCKETS]
                counts.append(("+Inf", float(len(times))))
                family.add_metric([as_label(one.dataset), as_label(one.mode)], counts, sum(times))
        return family


_SAYS = {
    "": "",
    "_low": " Lower end of the mean's interval.",
    "_high": " Upper end of the mean's interval.",
}


def _family(measure: str) -> tuple[str, str, str, str]:
    """Name, the label that tells its members apart, that label's value, and help text."""
    parts = split_measure(measure)
    if parts is None:
        return "measure", "measure", as_label(measure), "Mean of a measure, by its canonical name."
    base, cutoff = parts
    if cutoff is None:
        return base, "", "", f"Mean {base} over the queries, without a cutoff."
    return f"{base}_at_k", "k", cutoff, f"Mean {base} over the queries, in the first k results."


def _client() -> Any:
    try:
        import prometheus_client
    except ImportError as error:
        raise MissingExtraError("metrics for Prometheus", "service") from error
    return prometheus_client


class ServiceMetrics:
    """All that ``/metrics`` shows: figures of retrieval, and of the service itself.

    Args:
        prefix: What names begin with.
        store: The figures.
        unfinished: Called for how many pieces of work are waited for.
        ready: Called for whether documents can be searched.
    """

    def __init__(self, prefix: str, store: SnapshotStore, unfinished: Any, ready: Any) -> None:
        client = _client()
        self._client = client
        self.registry = make_registry(store.current, prefix)
        self._seconds = client.Histogram(
            f"{prefix}_http_request_duration_seconds",
            "Time to answer a request.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._gauge(f"{prefix}_service_unfinished_work", "Requests and jobs.", unfinished)
        self._gauge(f"{prefix}_service_ready", "1 when all is ready.", lambda: float(ready()))
        self._reports = client.Gauge(
            f"{prefix}_service_report_readable",
            "1 while a report could be read when it was last looked at.",
            ["report"],
            registry=self.registry,
        )
        self._store = store
        client.ProcessCollector(registry=self.registry)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note an answer."""
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def render(self) -> bytes:
        """The page."""
        self._store.current()  # looks at the reports
        for name, readable in self._store.readable().items():
            self._reports.labels(as_label(name)).set(readable)
        content: bytes = self._client.generate_latest(self.registry)
        return content

    def _gauge(self, name: str, text: str, function: Any) -> None:
        self._client.Gauge(name, text, registry=self.registry).set_function(function)
