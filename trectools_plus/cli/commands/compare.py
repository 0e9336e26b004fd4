"""``trectools-plus compare``: runs compared query by query, as a table with significance."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import benchmark, formats, reporting
from trectools_plus.cli.options.common import (
    Everything,
    TableOptions,
)
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import ScoringOptions, split_measures
from trectools_plus.cli.printing import print_notes, write_as, write_document
from trectools_plus.cli.verbosity import is_quiet
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

_PLOTS = (".pdf", ".svg", ".png")
_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("primary_measure", "test", "correction", "interval"),
    *("confidence", "resamples", "seed"),
)


@with_groups
def compare_runs(
    *,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run files, or NAME=FILE; without NAME=, a run is named after its file. - is "
            "standard input. Names of measures may follow.",
        ),
    ],
    qrels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Judgments: TREC or BEIR qrels, or another format of eval.  [default: the first "
            "file, as in eval]",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Compare every other run with this run, or with several, comma-separated.  "
            "[default: compare every pair]",
        ),
    ] = None,
    to: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Also write the table to a file ending in .tex, .md, .html, .csv or .parquet, or "
            "everything to one ending in .json; repeatable.",
        ),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Also draw the means into a file ending in .pdf, .svg or .png (extra plots); "
            "repeatable.",
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "json", "csv", "markdown", "latex"],
        typer.Option(
            "--format",
            help="Output format: text to read, json for everything, the others for the table.",
        ),
    ] = "text",
    scoring: ScoringOptions,
    settings: Annotated[Given, _SETTINGS],
    paper: TableOptions,
    everything: Everything = False,
    per_query: Annotated[
        bool,
        typer.Option(
            "--per-query",
            help="Also print the runs side by side for every query, the worst difference first.",
        ),
    ] = False,
    worst: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="The number of queries of --per-query."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Also print the means of the groups of queries with the same value of this field "
            "of the topics; without tests.",
        ),
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="FILE", help="The topics with the field of --by.")
    ] = None,
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
      trectools-plus compare qrels.txt runs/*.run --to paper.tex --to figures.csv
      trectools-plus compare a.run b.run --qrels qrels.txt --format latex --label tab:main
      trectools-plus compare a.run b.run --qrels qrels.txt --test t_test --format json
      trectools-plus compare a.run b.run --qrels qrels.txt --per-query --worst 10
      trectools-plus compare a.run b.run --qrels qrels.txt --by category --topics topics.jsonl
    """
    details = _Details(per_query, worst, by, topics)
    details.check(output_format)
    files, names = split_measures(runs, scoring.measure)
    if qrels is None:
        if len(files) < 2 or "=" in files[0]:
            raise UsageError("no judgments given", where="--qrels", remedy="add --qrels FILE")
        qrels, *files = files
    reporting.check_suffixes(*(to or ()))
    for path in plot or ():
        if path.suffix.lower() not in _PLOTS:
            what = f"unsupported plot format: {path.suffix or 'a file without suffix'}"
            raise UsageError(what, where=str(path), remedy=f"use {', '.join(_PLOTS)}")
    evaluation, tables, _, exclusions = scoring.score(qrels, files, names)
    of_files = {name: run.path or "" for name, run in tables.items()}
    baselines = formats.name_baselines(split_list(baseline or ""), of_files)
    comparing = benchmark.Comparing.of(settings, baselines)
    primary = settings.get("primary_measure")
    found = benchmark.make_comparisons(evaluation, comparing, Path(qrels).name, primary)
    if exclusions is not None:
        found.report.manifest.config["exclude"] = exclusions.record
    reporting.write_comparisons(found, *(to or ()), layout=paper.layout())
    for path in plot or ():
        found.plot().savefig(path)
    _print(found, output_format, paper, details.of(found), everything=everything)
    print_notes(found.evaluation)


@dataclass(frozen=True)
class _Details:
    """The options for tables of queries and of groups of queries."""

    per_query: bool
    worst: int | None
    by: str | None
    topics: str | None

    def check(self, output_format: str) -> None:
        """Check that the options fit together.

        Raises:
            UsageError: If they do not.
        """
        if self.worst is not None and not self.per_query:
            raise UsageError("--worst selects queries of --per-query", remedy="add --per-query")
        if (self.by is None) != (self.topics is None):
            raise UsageError(
                "--by and --topics are used together", remedy="add --by FIELD and --topics FILE"
            )
        if output_format == "csv" and self.per_query and self.by is not None:
            raise UsageError(
                "a CSV table has either queries or groups of queries",
                remedy="omit --per-query or --by",
            )

    def of(self, found: benchmark.Comparisons) -> dict[str, list[benchmark.SideBySide]]:
        """Return the tables by their key in JSON."""
        tables = {}
        if self.per_query:
            tables["per_query"] = benchmark.list_queries(found, self.worst)
        if self.by is not None and self.topics is not None:
            topics = formats.read_topics(self.topics)
            tables["groups_of_queries"] = benchmark.list_groups(found, topics, self.by)
        return tables


def _print(
    found: benchmark.Comparisons,
    output_format: Literal["text", "json", "csv", "markdown", "latex"],
    paper: TableOptions,
    details: Mapping[str, list[benchmark.SideBySide]],
    *,
    everything: bool,
) -> None:
    """Print the result in the format; a CSV table of queries replaces that of the means."""
    table, layout = reporting.report_table(found.report), paper.layout()
    if output_format == "json":
        sides = {key: reporting.side_by_side_document(tables) for key, tables in details.items()}
        write_document(reporting.comparisons_document(found) | sides)
        return
    write_as(
        output_format,
        text=lambda: reporting.print_report(
            found.report, sys.stdout, full=everything, notes=not is_quiet()
        ),
        markdown=lambda: reporting.table_as_markdown(table, layout),
        latex=lambda: reporting.table_as_latex(table, layout),
        csv=lambda: None if details else reporting.table_as_csv(table),
    )
    for tables in details.values():
        typer.echo(reporting.render_side_by_side(tables, output_format), nl=False)
