"""``benchmark metrics``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from trectools_plus import service
from trectools_plus.cli.options.common import Report


def benchmark_metrics(
    report: Report,
    textfile: Annotated[
        Path | None,
        Option(help="Write the metrics to a .prom file for node_exporter."),
    ] = None,
    prefix: Annotated[
        str, Option(metavar="PREFIX", help="Prefix of the names of metrics.")
    ] = "trectools_plus",
) -> None:
    """Without --textfile, the metrics are printed. Needs the extra service.

    \b
    Examples:
      benchmark metrics results/today
      benchmark metrics results/today --prefix medicalkg --textfile /var/lib/node/retrieval.prom
    """
    content = service.render_metrics(service.read_snapshots(report), prefix)
    if textfile is None:
        sys.stdout.write(content.decode())
    else:
        service.write_textfile(textfile, content)
