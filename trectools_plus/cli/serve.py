"""``serve``: the REST service; ``benchmark metrics``: a report's figures for Prometheus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus.cli.retrieval_options import (
    DeviceName,
    EmbeddingModel,
    MultiVector,
    Setting,
    retrieval_values,
)

Prefix = Annotated[str, typer.Option(help="What the names of metrics begin with.")]


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8000,
    key_from_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable that holds the key which requests must bear.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Documents that test sets are evaluated on: hpo (the default), irds:<id>, a "
            "folder in BEIR or TREC layout, or none."
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(metavar="FILE", help="Documents (JSONL), instead of --dataset.")
    ] = None,
    modes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Modes that are made ready, with commas [default: lexical,vector,hybrid].",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(min=1, help="Results fetched per query [default: 100]."),
    ] = None,
    multi_vector: MultiVector = False,
    embedding_model: EmbeddingModel = None,
    device: DeviceName = None,
    setting: Setting = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="REPORT",
            help="Report whose figures /metrics shows, read again when it changes; repeatable.",
        ),
    ] = None,
    prefix: Prefix = "trectools_plus",
    max_body_mib: Annotated[int, typer.Option(min=1, help="Largest body of a request.")] = 32,
    max_queries: Annotated[
        int, typer.Option(min=1, help="Most queries of a test set, qrels or run.")
    ] = 2_000,
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a body to arrive, and for an answer.")
    ] = 60.0,
    job_time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a job in the background.")
    ] = 3_600.0,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Requests worked on at the same time.")
    ] = 2,
) -> None:
    """Serve evaluation, validation and scoring over HTTP, and figures for Prometheus.

    POST /v1/evaluate, /v1/validate and /v1/score; /v1/jobs for long work; /healthz, /readyz,
    /metrics, /openapi.json. Requests bear the key as 'Authorization: Bearer KEY', unless the
    service listens on this machine's own loopback address and was given none. Needs the extra
    service. Stops on Ctrl-C.

    \b
    Examples:
      trectools-plus serve
      trectools-plus serve --dataset none --report results/today --prefix medicalkg
      trectools-plus serve --host 0.0.0.0 --port 8080 --key-from-env SERVICE_KEY
    """
    from trectools_plus.retrieval.settings import make_settings
    from trectools_plus.service.api.settings import Limits, ServiceSettings
    from trectools_plus.service.server import read_key, run_server
    from trectools_plus.text import split_list

    values = retrieval_values(
        setting, multi_vector=multi_vector, embedding_model=embedding_model, device=device
    )
    settings = ServiceSettings(
        dataset=dataset,
        corpus=corpus,
        **({} if modes is None else {"modes": tuple(split_list(modes))}),
        **({} if depth is None else {"depth": depth}),
        retrieval=make_settings(values),
        prefix=prefix,
        reports=tuple(map(str, report or ())),
        limits=Limits(
            body_bytes=max_body_mib << 20,
            queries=max_queries,
            seconds=time_limit,
            job_seconds=job_time_limit,
            workers=workers,
        ),
    )
    run_server(settings, host, port, None if key_from_env is None else read_key(key_from_env))


def benchmark_metrics(
    report: Annotated[
        Path, typer.Argument(metavar="REPORT", help="BenchmarkReport.json, or its folder.")
    ],
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a .prom file for node_exporter to pick up."),
    ] = None,
    pushgateway: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Push to a Pushgateway, such as http://host:9091."),
    ] = None,
    prefix: Prefix = "trectools_plus",
    job: Annotated[
        str, typer.Option(metavar="NAME", help="The group of the metrics at the Pushgateway.")
    ] = "trectools_plus",
) -> None:
    """Turn a report's figures into metrics for Prometheus.

    Without --textfile and --pushgateway they are printed. Needs the extra service.

    \b
    Examples:
      benchmark metrics results/today
      benchmark metrics results/today --prefix medicalkg --textfile /var/lib/node/retrieval.prom
      benchmark metrics results/today --pushgateway http://localhost:9091
    """
    from trectools_plus.service.api.metrics import (
        check_gateway,
        push,
        render_metrics,
        write_textfile,
    )
    from trectools_plus.service.api.snapshots import read_snapshots

    if pushgateway is not None:
        check_gateway(pushgateway)
    snapshots = read_snapshots(report)
    content = render_metrics(snapshots, prefix)
    if textfile is not None:
        write_textfile(textfile, content)
    if pushgateway is not None:
        push(pushgateway, snapshots, prefix, job)
    if textfile is None and pushgateway is None:
        sys.stdout.write(content.decode())
