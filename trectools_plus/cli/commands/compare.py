"""``trectools-plus compare``: runs compared query by query, as a table with significance."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from trectools_plus import benchmark, formats, reporting
from trectools_plus.cli.options.common import Everything, TableOptions
from trectools_plus.cli.options.runs import ScoringOptions
from trectools_plus.cli.options.settings import Given, SettingOptions
from trectools_plus.cli.printing import print_notes, write_document
from trectools_plus.cli.verbosity import Verbosity
from trectools_plus.text import split_list

_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("primary_measure", "test", "correction", "interval", "confidence", "resamples", "seed"),
    assigns=False,
)


def compare_runs(
    runs: Annotated[
        list[str],
        Argument(
            metavar="RUN...",
            help="Run files, or NAME=FILE; without NAME=, a run is named after its file. - is "
            "standard input.",
        ),
    ],
    qrels: Annotated[
        str,
        Option(metavar="FILE", help="Judgments: TREC or BEIR qrels, or another format of eval."),
    ],
    scoring: ScoringOptions,
    settings: Annotated[Given, _SETTINGS],
    paper: TableOptions,
    baseline: Annotated[
        str | None,
        Option(
            help="Compare every other run with this run, or with several, comma-separated.  "
            "[default: compare every pair]",
        ),
    ] = None,
    to: Annotated[
        list[Path] | None,
        Option(
            help="Also write the table to a file ending in .tex, .md or .csv, or everything to one "
            "ending in .json; repeatable.",
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "json", "csv", "markdown", "latex"],
        Option(
            "--format",
            help="Output format: text to read, json for everything, the others for the table.",
        ),
    ] = "text",
    everything: Everything = False,
) -> None:
    """Print which run is best and whether that is significant, then the means with their intervals.
    A letter after a mean names a run that is significantly worse. With --baseline, the table has
    the difference of each run from the baseline, its interval, the adjusted p-value, and the
    queries won, tied and lost. The figures are those of benchmark run, which also writes a report.
    Exit code 3: the means are over different queries.

    \b
    Examples:
      trectools-plus compare bm25.run dense.run --qrels qrels.txt
      trectools-plus compare bm25=a.run mine=b.run --qrels qrels.txt --baseline bm25 -m nDCG@10,AP
      trectools-plus compare runs/*.run --qrels qrels.txt --to paper.tex --to figures.csv
      trectools-plus compare a.run b.run --qrels qrels.txt --format latex --label tab:main
      trectools-plus compare a.run b.run --qrels qrels.txt --test t_test --format json
    """
    reporting.check_suffixes(*(to or ()), known=reporting.COMPARISON_SUFFIXES)
    scored = scoring.score(qrels, runs)
    of_files = {name: run.path or "" for name, run in scored.runs.items()}
    baselines = formats.name_baselines(split_list(baseline or ""), of_files)
    comparing = benchmark.Comparing.of(settings, baselines)
    primary = settings.get("primary_measure")
    compared = benchmark.make_comparisons(scored.evaluation, comparing, Path(qrels).name, primary)
    if scored.exclusions is not None:
        compared.report.manifest.config["exclude"] = scored.exclusions.record
    layout = paper.layout()
    reporting.write_comparisons(compared, *(to or ()), layout=layout)
    if output_format == "json":
        write_document(reporting.comparisons_document(compared))
    elif output_format == "text":
        notes = not Verbosity.current.quiet
        reporting.print_report(compared.report, sys.stdout, full=everything, notes=notes)
    else:
        table = reporting.table_as_text(compared.report, output_format, layout=layout)
        typer.echo(table, nl=False)
    print_notes(compared.evaluation)
