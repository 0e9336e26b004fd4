"""``benchmark sweep``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, reporting
from trectools_plus.cli.options.common import TextMarkdownJson
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.retrieval import SearchOptions, Setting
from trectools_plus.cli.options.runs import read_runs
from trectools_plus.cli.printing import write_as, write_files
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.provenance import format_command

_SETTINGS = SettingOptions(
    benchmark.SweepConfig,
    *("grid", "dataset", "test_file", "unknown_terms", "language"),
    *("corpus", "topics", "id_field", "text_fields", "qrels", "ontology", "annotations"),
    *("modes", "depth", "exclude_self", "retrieval"),
    *("measures", "primary_measure", "baseline", "missing", "no_relevant"),
    *("confidence", "resamples", "seed", "output_dir"),
)


@with_groups
def benchmark_sweep(
    *,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE...",
            help="Run files: with --grid, the runs to fuse; without it, the variants. Needs "
            "--qrels or --dataset. Without NAME=, a run is named after its file.",
        ),
    ] = None,
    given: Annotated[Given, _SETTINGS],
    setting: Setting = None,
    output_format: TextMarkdownJson = "text",
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Configuration file with any of these settings; options override it.",
        ),
    ] = None,
    further_runs: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=FILE", hidden=True)
    ] = None,
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
    searching = SearchOptions(given.pop("retrieval", {}), setting)
    files, names = read_runs(runs, further_runs, given.pop("measures", None))
    settings = {
        **given,
        "runs": files,
        "measures": names,
        "retrieval": searching.values or None,
    }
    configuration = benchmark.load_sweep_config(config, settings)
    with show_progress() as progress:
        result = benchmark.run_sweep(configuration, progress, command=format_command(sys.argv))
    written = reporting.write_sweep_report(result)
    write_as(
        output_format,
        json=lambda: reporting.render_json(result.report),
        markdown=lambda: reporting.markdown(reporting.sweep_blocks(result.report)),
        text=lambda: reporting.print_blocks(
            reporting.sweep_blocks(result.report, full=False), sys.stdout
        ),
    )
    if output_format == "text":
        write_files(written)
