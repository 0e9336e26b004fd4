"""``trectools-plus serve``: the REST service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import retrieval, service
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import CorpusFile, Depth
from trectools_plus.cli.options.retrieval import (
    DeviceName,
    EmbeddingModel,
    MultiVector,
    RetrievalOptions,
    Setting,
)
from trectools_plus.text import split_list

_METRICS = "Metrics"
_LIMITS = "Limits"

Prefix = Annotated[
    str, typer.Option(help="The start of the names of metrics.", rich_help_panel=_METRICS)
]


def serve(
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; any other than the loopback address needs a key."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    key_from_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable with the key that requests must carry.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Documents that test sets are evaluated on: hpo (the default), irds:<id>, a "
            "folder in BEIR or TREC layout, or none.",
            autocompletion=completion.complete_dataset,
        ),
    ] = None,
    corpus: CorpusFile = None,
    modes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Modes to prepare, with commas [default: lexical,vector,hybrid].",
            autocompletion=completion.complete_modes,
        ),
    ] = None,
    depth: Depth = None,
    multi_vector: MultiVector = False,
    embedding_model: EmbeddingModel = None,
    device: DeviceName = None,
    setting: Setting = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="REPORT",
            help="Report whose figures /metrics shows, read again when it changes; repeatable.",
            rich_help_panel=_METRICS,
        ),
    ] = None,
    prefix: Prefix = "trectools_plus",
    max_body_mib: Annotated[
        int,
        typer.Option(min=1, help="Largest body of a request, in MiB.", rich_help_panel=_LIMITS),
    ] = 32,
    max_queries: Annotated[
        int,
        typer.Option(
            min=1, help="Most queries of a test set, qrels or run.", rich_help_panel=_LIMITS
        ),
    ] = 2_000,
    time_limit: Annotated[
        float,
        typer.Option(
            min=0.1,
            help="Seconds for a body to arrive, and for an answer.",
            rich_help_panel=_LIMITS,
        ),
    ] = 60.0,
    job_time_limit: Annotated[
        float,
        typer.Option(min=0.1, help="Seconds for a background job.", rich_help_panel=_LIMITS),
    ] = 3_600.0,
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="Requests processed at the same time.", rich_help_panel=_LIMITS
        ),
    ] = 2,
) -> None:
    """POST /v1/evaluate, /v1/validate and /v1/score; /v1/jobs for long work; /healthz, /readyz,
    /metrics, /openapi.json. Requests carry the key as 'Authorization: Bearer KEY', unless the
    service listens on the loopback address without a key. Needs the extra service. Stops on Ctrl-C.

    \b
    Examples:
      trectools-plus serve
      trectools-plus serve --dataset none --report results/today --prefix medicalkg
      trectools-plus serve --host 0.0.0.0 --port 8080 --key-from-env SERVICE_KEY
    """
    options = RetrievalOptions(
        multi_vector=multi_vector, embedding_model=embedding_model, device=device, setting=setting
    )
    settings = service.ServiceSettings(
        dataset=dataset,
        corpus=corpus,
        **({} if modes is None else {"modes": tuple(split_list(modes))}),
        **({} if depth is None else {"depth": depth}),
        retrieval=retrieval.make_settings(options.values()),
        prefix=prefix,
        reports=tuple(map(str, report or ())),
        limits=service.Limits(
            body_bytes=max_body_mib << 20,
            queries=max_queries,
            seconds=time_limit,
            job_seconds=job_time_limit,
            workers=workers,
        ),
    )
    key = None if key_from_env is None else service.read_key(key_from_env)
    service.run_server(settings, host, port, key)
