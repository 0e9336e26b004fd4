"""``benchmark sweep``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import TextMarkdownJson, split_assignments
from trectools_plus.cli.options.runs import FurtherRuns, read_runs
from trectools_plus.cli.options.settings import Given, SettingOptions
from trectools_plus.cli.printing import print_result, write_files
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.provenance import format_command

_SETTINGS = SettingOptions(
    benchmark.SweepConfig,
    *("dataset", "test_file", "held_out", "unknown_terms", "language"),
    *("corpus", "topics", "qrels", "ontology", "modes", "depth", "retrieval"),
    *("measures", "primary_measure", "baseline", "missing", "confidence", "seed", "output_dir"),
)


def benchmark_sweep(
    given: Annotated[Given, _SETTINGS],
    runs: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=FILE...",
            help="Run files: with --grid, the runs to fuse; without it, the variants. Needs "
            "--qrels or --dataset. Without NAME=, a run is named after its file.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUES",
            help="Values of a setting, comma-separated, for example fusion.weights=0.4,0.5,0.6; "
            "the parts of one value are separated by colons, for example 0.2:0.3:0.5. Repeatable: "
            "every combination is a variant.",
        ),
    ] = None,
    output_format: TextMarkdownJson = "text",
    config: Annotated[
        Path | None,
        Option(
            help="Configuration file with any of these settings; options override it.",
        ),
    ] = None,
    further_runs: FurtherRuns = None,
) -> None:
    """The mean of the best of many variants is too high: it is the best by chance too. The command
    therefore also reports its corrected mean, the value to expect on new queries: the best variant
    on resampled queries, scored on the other queries.

    The settings of --grid are those of --set, depth, and fusion.weights, fusion.method, fusion.k,
    fusion.normalisation and fusion.missing_documents. With two rankings, a weight w means w and
    1 - w. The command writes SweepReport.json, SweepReport.md, SweepReport.html,
    per_query.parquet, winner.run and, with the extra plots, visualizations/sweep.png and .svg.

    \b
    Examples:
      benchmark sweep --runs a.run b.run --qrels qrels.txt --grid fusion.weights=0.4,0.5,0.6
      benchmark sweep --runs variants/*.run --qrels qrels.txt --baseline bm25
      benchmark sweep --dataset irds:cranfield --grid fusion.weights=0.4,0.6 --grid depth=50,100
      benchmark sweep --dataset hpo --modes lexical --grid k1=0.6,0.9,1.2 --grid b=0.3,0.5
      benchmark sweep --test-file mine-used.json --grid rerank_depth=20,50 --enable-reranker
    """
    varied = split_assignments(grid or [], "--grid") or None
    settings = {**given, "runs": read_runs(runs, further_runs), "grid": varied}
    configuration = benchmark.load_sweep_config(config, settings)
    with show_progress() as progress:
        result = benchmark.run_sweep(configuration, progress, command=format_command(sys.argv))
    written = reporting.write_sweep_report(result)
    full = output_format != "text"
    print_result(output_format, result.report, reporting.sweep_blocks(result.report, full=full))
    if output_format == "text":
        write_files(written)
