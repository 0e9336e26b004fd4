"""``trectools-plus compare``: runs compared query by query, as a table with significance."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import benchmark, formats, measures, reporting, validation
from trectools_plus.choices import (
    DEFAULT_MEASURES,
    MISSING_HELP,
    NO_RELEVANT_HELP,
    Averaging,
    Missing,
    NoRelevant,
    Panel,
)
from trectools_plus.cli.options.common import (
    USUAL_MEASURES,
    Columns,
    Everything,
    Exclude,
    Scheduler,
    StrictInput,
    TableOptions,
    measure_option,
)
from trectools_plus.cli.options.from_models import Given, SettingOptions
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import RunArgument, parse_runs, split_measures
from trectools_plus.cli.printing import print_notes, write_document
from trectools_plus.cli.verbosity import is_quiet, show_progress
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

_PLOTS = (".pdf", ".svg", ".png")
_SETTINGS = SettingOptions(
    benchmark.BenchmarkConfig,
    *("primary_measure", "test", "correction", "interval"),
    *("confidence", "resamples", "seed", "ontology", "annotations"),
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
    measure: Annotated[list[str] | None, measure_option(USUAL_MEASURES)] = None,
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
            help="Also draw the means of the measures into a file ending in .pdf, .svg or .png "
            "(extra plots); repeatable.",
        ),
    ] = None,
    output_format: Annotated[
        Literal["text", "json", "csv", "markdown", "latex"],
        typer.Option(
            "--format",
            help="Output format: text to read, json for everything, the others for the table.",
        ),
    ] = "text",
    missing: Annotated[
        Missing,
        typer.Option(help=MISSING_HELP, rich_help_panel=Panel.FIGURES),
    ] = "zero",
    no_relevant: Annotated[
        NoRelevant,
        typer.Option(help=NO_RELEVANT_HELP, rich_help_panel=Panel.FIGURES),
    ] = "zero",
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
    columns: Columns = None,
    exclude: Exclude = None,
    strict_input: StrictInput = False,
    scheduler: Scheduler = None,
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
    files, names = split_measures(runs, measure)
    judgments, given_runs = _split(qrels, files)
    chosen = measures.parse_measures(names if names or measure else DEFAULT_MEASURES)
    given = {name: value for name, value in settings.items() if value is not None}
    ontology, annotations = given.pop("ontology", None), given.pop("annotations", None)
    if ontology is not None or annotations is not None:
        measures.check_files_used(chosen, ontology, annotations)
        chosen = measures.bind_files(chosen, ontology, annotations)
    reporting.check_suffixes(*(to or ()))
    _check_plots(plot or ())
    paths = [run.path for run in given_runs]
    left_out = None if exclude is None else validation.Exclusions.of(exclude)
    with use_scheduler(scheduler), show_progress() as progress:
        opened = measures.open_files(
            judgments,
            paths,
            chosen,
            strict_input=strict_input,
            columns=formats.column_names(columns),
            exclude=left_out,
            progress=progress,
        )
        tables = formats.name_runs_of_files(
            opened.runs, paths, given=[run.name for run in given_runs]
        )
        of_files = {name: run.path or "" for name, run in tables.items()}
        baselines = formats.name_baselines(split_list(baseline or ""), of_files)
        averaging = Averaging(missing, no_relevant)
        notes = [*measures.notes_on_judges(opened.qrels), *opened.notes]
        evaluation = measures.score_runs(opened.qrels, tables, chosen, averaging, notes=notes)
    comparing = benchmark.Comparing.of(given, baselines)
    primary = given.get("primary_measure")
    found = benchmark.make_comparisons(evaluation, comparing, Path(judgments).name, primary)
    if left_out is not None:
        found.report.manifest.config["exclude"] = left_out.record
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


def _check_plots(paths: Sequence[Path]) -> None:
    """Check the suffixes of plots.

    Raises:
        UsageError: If one is unknown.
    """
    for path in paths:
        if path.suffix.lower() not in _PLOTS:
            raise UsageError(
                f"unsupported plot format: {path.suffix or 'a file without suffix'}",
                where=str(path),
                remedy=f"use {', '.join(_PLOTS)}",
            )


def _split(qrels: str | None, runs: list[str]) -> tuple[str, list[RunArgument]]:
    """Return the judgments and the runs; without ``--qrels``, the first file is the former.

    Raises:
        UsageError: If there are no judgments or no run, or standard input is named twice.
    """
    files = list(runs)
    if qrels is None:
        if len(files) < 2 or "=" in files[0]:
            raise UsageError("no judgments given", where="--qrels", remedy="add --qrels FILE")
        qrels = files.pop(0)
    given = parse_runs(files, "RUN")
    if [qrels, *(run.path for run in given)].count("-") > 1:
        raise UsageError("standard input can be read only once", remedy="name a file instead of -")
    return qrels, given


def _print(
    found: benchmark.Comparisons,
    output_format: Literal["text", "json", "csv", "markdown", "latex"],
    paper: TableOptions,
    details: Mapping[str, list[benchmark.SideBySide]],
    *,
    everything: bool,
) -> None:
    """Print the result in the format; a CSV table of queries replaces that of the means."""
    table = reporting.report_table(found.report)
    if output_format == "json":
        document = reporting.comparisons_document(found)
        write_document(
            document
            | {key: reporting.side_by_side_document(tables) for key, tables in details.items()}
        )
        return
    if output_format == "text":
        reporting.print_report(found.report, sys.stdout, full=everything, notes=not is_quiet())
    elif output_format == "markdown":
        typer.echo(reporting.table_as_markdown(table, paper.layout()), nl=False)
    elif output_format == "latex":
        typer.echo(reporting.table_as_latex(table, paper.layout()), nl=False)
    elif not details:
        typer.echo(reporting.table_as_csv(table), nl=False)
    for tables in details.values():
        typer.echo(reporting.render_side_by_side(tables, output_format), nl=False)
