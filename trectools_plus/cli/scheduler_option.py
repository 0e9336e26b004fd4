"""The option ``--scheduler``, which several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="tcp://HOST:PORT",
        help="Spread the work over the workers of this Dask scheduler; same figures "
        "[default: this machine].",
    ),
]
