"""Options of several commands that make a benchmark: data, measures, statistics, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, measures
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import (
    FIGURES,
    USUAL_MEASURES,
    WORK,
    measure_option,
    output_dir_option,
)

QrelsFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Judgments: TREC qrels or BEIR's TSV.")
]
OutputDir = Annotated[
    Path | None,
    output_dir_option("Folder for reports and runs [default: results/<experiment id>]."),
]
Modes = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Modes to fetch, with commas: lexical,vector,hybrid (the default); bm25 and dense "
        "are other names, splade and each aggregation strategy are further modes.",
        autocompletion=completion.complete_modes,
    ),
]
Measures = Annotated[
    list[str] | None,
    measure_option(
        f"{USUAL_MEASURES}; for hpo RR, and HitRate, nDCG, R, P, APcap and MaxOntSim at 1, 3, 5, 10"
    ),
]
Cutoffs = Annotated[
    str | None,
    typer.Option(
        metavar="K,K",
        help="Other cutoffs for the default measures, such as 1,5,20; not with --measure.",
        rich_help_panel=FIGURES,
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        metavar="LEVEL", help="Level of the intervals [default: 0.95].", rich_help_panel=FIGURES
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Bootstrap resamples [default: 10000].", rich_help_panel=FIGURES
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Seed of the resamples [default: 42].", rich_help_panel=FIGURES),
]
NoCache = Annotated[
    bool,
    typer.Option(
        "--no-cache",
        help="Compute everything, even where the output folder, or one beside it, contains the "
        "results of the same configuration, data and code.",
        rich_help_panel=WORK,
    ),
]


@dataclass(frozen=True)
class FigureOptions:
    """Measures and their intervals, for :func:`~trectools_plus.cli.options.groups.with_groups`."""

    measure: Measures = None
    cutoffs: Cutoffs = None
    confidence: Confidence = None
    resamples: Resamples = None
    seed: Seed = None

    def settings(self) -> benchmark.ConfigOptions:
        """Return the options as settings; ``None`` where an option is absent."""
        named = None if self.measure is None else measures.split_names(",".join(self.measure))
        return {
            "measures": named,
            "cutoffs": self.cutoffs,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
        }
