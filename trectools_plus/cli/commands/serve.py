"""``trectools-plus serve``: the REST service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from trectools_plus import benchmark, retrieval, service
from trectools_plus.cli.options.common import Host, KeyFromEnv, Port
from trectools_plus.cli.options.settings import Given, IndexSettings, SettingOptions, refuse_unused

_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig, "dataset", "corpus", "test_file", "modes", "depth", assigns=False
)
_OF_FILE = ("dataset", "corpus", "test_file", "modes", "depth", "retrieval")
_REPLACED_BY_DOCUMENTS = ("dataset", "corpus", "test_file")
"""Settings of the configuration file that are ignored if --dataset or --corpus is given."""


@dataclass(frozen=True)
class LimitOptions:
    """Limits on requests."""

    time_limit: Annotated[
        float,
        Option(
            min=0.1,
            help="Time limit for receiving a request body, and for answering it.",
        ),
    ] = 60.0
    workers: Annotated[
        int,
        Option(
            min=1,
            max=64,
            help="Number of processes, and of requests processed at the same time.",
        ),
    ] = 2

    def limits(self) -> service.Limits:
        """Return the limits."""
        return service.Limits(
            seconds=self.time_limit,
            workers=self.workers,
        )


def serve(
    given: Annotated[Given, _SETTINGS],
    searching: IndexSettings,
    limits: LimitOptions,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    key_from_env: KeyFromEnv = None,
    config: Annotated[
        Path | None,
        Option(
            help="Configuration file (benchmark.yaml), of which dataset, corpus, test_file, modes, "
            "depth and retrieval are used; options override it.",
        ),
    ] = None,
    report: Annotated[
        list[Path] | None,
        Option(
            help="Report whose values /metrics contains, read again when it changes; repeatable.",
        ),
    ] = None,
    prefix: Annotated[str, Option(help="Prefix of the names of metrics.")] = "trectools_plus",
) -> None:
    """The service answers POST requests to /v1/evaluate, /v1/validate and /v1/score, and GET
    requests to /healthz, /readyz, /metrics and /openapi.json. Requests contain the key as
    'Authorization: Bearer KEY', unless the service listens on the loopback address without a key.
    A request to /v1/evaluate without a body evaluates the test set of --test-file, otherwise the
    queries and judgments of --dataset. Needs the extra service. Ctrl-C stops it.

    \b
    Examples:
      trectools-plus serve
      trectools-plus serve --config benchmark.yaml --prefix medicalkg
      trectools-plus serve --dataset none --report results/today --prefix medicalkg
      trectools-plus serve --host 0.0.0.0 --port 8080 --key-from-env SERVICE_KEY
    """
    replaces = "dataset" in given or "corpus" in given
    values: dict[str, Any] = {}
    if config is not None:
        of_file = benchmark.load_fetch_settings(config).model_dump(exclude_unset=True)
        values = {name: of_file[name] for name in _OF_FILE if name in of_file}
    for name in _REPLACED_BY_DOCUMENTS if replaces else ():
        values.pop(name, None)
    retrieved = {**values.pop("retrieval", {}), **searching}
    values |= given
    settings = service.ServiceSettings(
        **values,
        retrieval=retrieval.make_settings(retrieved),
        prefix=prefix,
        reports=tuple(map(str, report or ())),
        limits=limits.limits(),
    )
    searched = settings.retrieval.for_documents(has_parts=settings.has_terms)
    refuse_unused(searching, settings.modes, searched)
    key = None if key_from_env is None else service.read_key(key_from_env)
    service.run_server(settings, host, port, key)
