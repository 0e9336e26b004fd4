"""``benchmark metrics``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import service
from trectools_plus.cli.options.common import Report


def benchmark_metrics(
    report: Report,
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the metrics to a .prom file for node_exporter."),
    ] = None,
    pushgateway: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Push the metrics to a Pushgateway, for example http://host:9091.",
        ),
    ] = None,
    prefix: Annotated[
        str, typer.Option(metavar="PREFIX", help="Prefix of the names of metrics.")
    ] = "trectools_plus",
    job: Annotated[
        str, typer.Option(metavar="NAME", help="Job label of the metrics at the Pushgateway.")
    ] = "trectools_plus",
) -> None:
    """Without --textfile and --pushgateway, the metrics are printed. Needs the extra service.

    \b
    Examples:
      benchmark metrics results/today
      benchmark metrics results/today --prefix medicalkg --textfile /var/lib/node/retrieval.prom
      benchmark metrics results/today --pushgateway http://localhost:9091
    """
    if pushgateway is not None:
        service.check_gateway(pushgateway)
    snapshots = service.read_snapshots(report)
    content = service.render_metrics(snapshots, prefix)
    if textfile is not None:
        service.write_textfile(textfile, content)
    if pushgateway is not None:
        service.push(pushgateway, snapshots, prefix, job)
    if textfile is None and pushgateway is None:
        sys.stdout.write(content.decode())
