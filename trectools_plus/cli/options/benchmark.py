"""Options of several commands that run a benchmark."""

from __future__ import annotations

from typing import Annotated

import typer

from trectools_plus.choices import Panel

FIGURE_SETTINGS = (
    "measures",
    "cutoffs",
    "correction",
    "test",
    "interval",
    "primary_measure",
    "headline_measures",
    "rope",
    "confidence",
    "resamples",
    "seed",
    "targets",
)
"""Settings of the measures and their intervals, without those that choose queries."""

Everything = Annotated[
    bool,
    typer.Option("--all", help="Print all measures and all notes, instead of at most 40 lines."),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Compute everything again, even if the output folder or a sibling folder contains "
        "the results of the same configuration, data and code.",
        rich_help_panel=Panel.WORK,
    ),
]

LogTo = Annotated[
    list[str] | None,
    typer.Option(
        "--log-to",
        metavar="TRACKER",
        help="Also log the report's figures, settings and files to mlflow:EXPERIMENT or "
        "wandb:PROJECT. Repeatable. Needs the extra mlflow or wandb.",
        rich_help_panel=Panel.WORK,
    ),
]
Plots = Annotated[
    bool,
    typer.Option(
        "--plots",
        help="Also write the plots as PNG and SVG files (extra plots).",
        rich_help_panel=Panel.WORK,
    ),
]
