"""``trectools-plus serve``: the REST service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trectools_plus import benchmark, retrieval, service
from trectools_plus.choices import Panel
from trectools_plus.cli.options.common import DatasetOrHpo, Host, Port
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import IndexSettings, SearchOptions, Setting
from trectools_plus.text import split_list

_SETTINGS = SettingOptions(benchmark.BenchmarkConfig, "corpus", "depth")
_METRICS_PANEL = "Metrics"
_REPLACED_BY_DOCUMENTS = ("dataset", "corpus", "test_file")
"""Settings of the configuration file that are ignored if --dataset or --corpus is given."""
_LIMITS_PANEL = "Limits"


@with_groups
def serve(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    key_from_env: Annotated[
        str | None,
        typer.Option(
            metavar="VARIABLE",
            help="Environment variable with the key that requests must contain.",
        ),
    ] = None,
    dataset: DatasetOrHpo = None,
    given: Annotated[Given, _SETTINGS],
    test_file: Annotated[
        str | None,
        typer.Option(
            metavar="SET",
            help="The service's own test set, which a request to /v1/evaluate without a body "
            "evaluates: a file or a shipped name.  [default: queries and judgments of --dataset]",
            rich_help_panel=Panel.DATA,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Configuration file (benchmark.yaml), of which dataset, corpus, test_file, modes, "
            "depth and retrieval are used; options override it. Other data and backends are "
            "refused.",
        ),
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Modes to prepare, comma-separated.  [default: lexical,vector,hybrid]",
        ),
    ] = None,
    searching: IndexSettings,
    setting: Setting = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="REPORT",
            help="Report whose values /metrics contains, read again when it changes; repeatable.",
            rich_help_panel=_METRICS_PANEL,
        ),
    ] = None,
    prefix: Annotated[
        str,
        typer.Option(
            metavar="PREFIX", help="Prefix of the names of metrics.", rich_help_panel=_METRICS_PANEL
        ),
    ] = "trectools_plus",
    max_body_mib: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum size of a request body in MiB.",
            rich_help_panel=_LIMITS_PANEL,
        ),
    ] = 32,
    max_queries: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of queries of a test set, qrels or run.",
            rich_help_panel=_LIMITS_PANEL,
        ),
    ] = 2_000,
    time_limit: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="Time limit for receiving a request body, and for answering it.",
            rich_help_panel=_LIMITS_PANEL,
        ),
    ] = 60.0,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            metavar="N",
            help="Number of processes, and of requests processed at the same time.",
            rich_help_panel=_LIMITS_PANEL,
        ),
    ] = 2,
    max_memory_gib: Annotated[
        float | None,
        typer.Option(
            min=0.25,
            metavar="N",
            help="Maximum memory of each process in GiB, where the system can limit it (Linux).  "
            "[default: three quarters of the memory]",
            rich_help_panel=_LIMITS_PANEL,
        ),
    ] = None,
) -> None:
    """The service answers POST requests to /v1/evaluate, /v1/validate and /v1/score, and GET
    requests to /healthz, /readyz, /metrics and /openapi.json. Requests contain the key as
    'Authorization: Bearer KEY', unless the service listens on the loopback address without a key.
    Needs the extra service. Ctrl-C stops it.

    \b
    Examples:
      trectools-plus serve
      trectools-plus serve --config benchmark.yaml --prefix medicalkg
      trectools-plus serve --dataset none --report results/today --prefix medicalkg
      trectools-plus serve --host 0.0.0.0 --port 8080 --key-from-env SERVICE_KEY
    """
    options = SearchOptions(searching, setting)
    documents = dataset is not None or "corpus" in given
    values: dict[str, Any] = {}
    if config is not None:
        values = benchmark.load_search_settings(config, other_documents=documents)
    search = {
        **given,
        "dataset": dataset,
        "test_file": test_file,
        "modes": None if modes is None else split_list(modes),
    }
    if documents:
        values = {
            name: value for name, value in values.items() if name not in _REPLACED_BY_DOCUMENTS
        }
    values |= {name: value for name, value in search.items() if value is not None}
    retrieved = {**values.pop("retrieval", {}), **options.values}
    settings = service.ServiceSettings(
        **values,
        retrieval=retrieval.make_settings(retrieved),
        prefix=prefix,
        reports=tuple(map(str, report or ())),
        limits=service.Limits(
            body_bytes=max_body_mib << 20,
            queries=max_queries,
            seconds=time_limit,
            workers=workers,
            memory_bytes=None if max_memory_gib is None else int(max_memory_gib * (1 << 30)),
        ),
    )
    searched = settings.retrieval.for_documents(has_parts=settings.has_terms)
    options.check_used(settings.modes, searched)
    key = None if key_from_env is None else service.read_key(key_from_env)
    service.run_server(settings, host, port, key)
