"""Options of several commands that run a benchmark: data, measures, statistics, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer

from trectools_plus import benchmark, choices, measures
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import (
    FIGURES,
    INTERVAL_HELP,
    USUAL_MEASURES,
    WORK,
    measure_option,
    output_dir_option,
)

QrelsFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Judgments: TREC qrels or BEIR TSV.")
]
OutputDir = Annotated[
    Path | None,
    output_dir_option("Folder for the report and the runs.  [default: results/<experiment id>]"),
]
Modes = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Modes to compare, comma-separated: lexical (or bm25), vector (or dense), ngram, "
        "hybrid, hybrid+exact (hybrid with exact matches first), splade, or an aggregation "
        "strategy of multi-vector search.  "
        "[default: lexical,vector,hybrid]",
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
        metavar="NUMBERS",
        help="Cutoffs of the default measures, comma-separated, for example 1,5,20; not with "
        "--measure.",
        rich_help_panel=FIGURES,
    ),
]
Correction = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Correction for the number of comparisons: max_t (studentised bootstrap, with "
        "intervals that agree), holm, bonferroni, benjamini_hochberg or tukey_hsd.  [default: "
        "max_t, or holm with --test]",
        rich_help_panel=FIGURES,
        autocompletion=completion.complete_words(get_args(choices.Correction)),
    ),
]
Test = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Paired test that decides on significance instead of max_t: randomisation, t_test, "
        "paired_bootstrap, wilcoxon or sign_test.",
        rich_help_panel=FIGURES,
        autocompletion=completion.complete_words(get_args(choices.TestName)),
    ),
]
Interval = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"{INTERVAL_HELP}  [default: auto]",
        rich_help_panel=FIGURES,
        autocompletion=completion.complete_words(get_args(choices.IntervalMethod)),
    ),
]
PrimaryMeasure = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURE",
        help="Measure that the verdict is about.  [default: nDCG@10; for hpo RR]",
        rich_help_panel=FIGURES,
    ),
]
HeadlineMeasures = Annotated[
    str | None,
    typer.Option(
        metavar="MEASURES",
        help="At most six measures to show first, comma-separated; the report has all.",
        rich_help_panel=FIGURES,
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        metavar="LEVEL",
        help="Confidence level of the intervals, between 0 and 1.  [default: 0.95]",
        rich_help_panel=FIGURES,
    ),
]
Rope = Annotated[
    float | None,
    typer.Option(
        metavar="WIDTH",
        help="Add the probability that a mode is better than another by more than this difference, "
        "for example 0.01 (region of practical equivalence).",
        rich_help_panel=FIGURES,
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of bootstrap resamples of the queries.  [default: 10000]",
        rich_help_panel=FIGURES,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Seed of the random numbers.  [default: 42]", rich_help_panel=FIGURES
    ),
]
TargetPresets = Annotated[
    str | None,
    typer.Option(
        "--targets",
        metavar="NAMES",
        help="Targets for the means: trec-2025 (with the meaningful uplift of "
        "MAP@100 over the baseline), bands (nDCG above 0.5 good, above 0.8 very good), or both.",
        rich_help_panel=FIGURES,
    ),
]
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
        rich_help_panel=WORK,
    ),
]

LogTo = Annotated[
    list[str] | None,
    typer.Option(
        "--log-to",
        metavar="TRACKER",
        help="Also log the report's figures, settings and files to mlflow:EXPERIMENT or "
        "wandb:PROJECT. Repeatable. Needs the extra mlflow or wandb.",
        rich_help_panel=WORK,
    ),
]
Plots = Annotated[
    bool,
    typer.Option(
        "--plots",
        help="Also write the plots as PNG and SVG files (extra plots).",
        rich_help_panel=WORK,
    ),
]


@dataclass(frozen=True)
class FigureOptions:
    """Measures and their intervals, for :func:`~trectools_plus.cli.options.groups.with_groups`."""

    measure: Measures = None
    cutoffs: Cutoffs = None
    correction: Correction = None
    test: Test = None
    interval: Interval = None
    primary_measure: PrimaryMeasure = None
    headline_measures: HeadlineMeasures = None
    rope: Rope = None
    confidence: Confidence = None
    resamples: Resamples = None
    seed: Seed = None
    targets: TargetPresets = None

    def settings(self) -> benchmark.ConfigOptions:
        """Return the options as settings; ``None`` where an option is absent."""
        named = None if self.measure is None else measures.split_names(",".join(self.measure))
        return {
            "measures": named,
            "cutoffs": self.cutoffs,
            "correction": self.correction,
            "test": self.test,
            "interval": self.interval,
            "primary_measure": self.primary_measure,
            "headline_measures": None
            if self.headline_measures is None
            else measures.split_names(self.headline_measures),
            "rope": self.rope,
            "confidence": self.confidence,
            "resamples": self.resamples,
            "seed": self.seed,
            "targets": self.targets,
        }
