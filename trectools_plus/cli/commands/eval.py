"""``trectools-plus eval``: scores as text, CSV, JSON or Parquet."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus import formats, measures, reporting, validation
from trectools_plus.blas import load_numpy_without_threads
from trectools_plus.choices import (
    DEFAULT_MEASURES,
    MISSING_HELP,
    NO_RELEVANT_HELP,
    Averaging,
    Missing,
    NoRelevant,
)
from trectools_plus.cli.options.common import (
    USUAL_MEASURES,
    AnnotationsFile,
    Columns,
    Exclude,
    OntologyFile,
    Scheduler,
    StrictInput,
    measure_option,
)
from trectools_plus.cli.options.runs import parse_runs, split_measures
from trectools_plus.cli.printing import WIDTH, print_notes, write_frame, write_json, write_text
from trectools_plus.cli.verbosity import show_progress
from trectools_plus.distributed import use_scheduler
from trectools_plus.errors import UsageError
from trectools_plus.text import printable

if TYPE_CHECKING:
    import polars as pl

    from trectools_plus.statistics import comparison as statistics

_CountRelevant = Callable[[int], Mapping[str, int]]
_Format = Literal["table", "json", "csv", "parquet", "markdown", "latex"]
_SUFFIXES: dict[str, _Format] = {
    "": "table",
    ".txt": "table",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".md": "markdown",
    ".tex": "latex",
}
_LONGEST_NAME = 40
_LEAST = 8
_UNDEFINED = "–"
_IN_TOP = re.compile(r"in_?top", re.IGNORECASE)
"""Begins the names of recall as a fraction of counts, for example ``inTop3``: 2/3."""


def evaluate_runs(
    qrels: Annotated[
        str,
        typer.Argument(
            metavar="QRELS",
            help="TREC or BEIR qrels: a file or an address (s3://…); - is standard input.",
        ),
    ],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run files or addresses, or NAME=FILE; without NAME=, a run is named after its "
            "file. - is standard input. Names of measures may follow.",
        ),
    ],
    measure: Annotated[list[str] | None, measure_option(USUAL_MEASURES)] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Output the value of every query too.")
    ] = False,
    missing: Annotated[
        Missing,
        typer.Option(help=MISSING_HELP),
    ] = "zero",
    no_relevant: Annotated[
        NoRelevant,
        typer.Option(help=NO_RELEVANT_HELP),
    ] = "zero",
    columns: Columns = None,
    exclude: Exclude = None,
    strict_input: StrictInput = False,
    ontology: OntologyFile = None,
    annotations: AnnotationsFile = None,
    scheduler: Scheduler = None,
    ci: Annotated[
        bool, typer.Option("--ci", help="Output the 95% interval of every mean too.")
    ] = False,
    output_format: Annotated[
        _Format | None,
        typer.Option(
            "--format",
            help="Output format: table to read, markdown and latex for papers, the others for "
            "programs.  [default: that of the suffix of --output, else table]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file instead of stdout."
        ),
    ] = None,
) -> None:
    """The files are validated first. Input is refused only if a figure would be wrong or ambiguous;
    a note on stderr names all other findings. A table of several systems is several runs. Means are
    over all queries of the qrels; the table shows their number.

    \b
    Examples:
      trectools-plus eval qrels.txt bm25.run
      trectools-plus eval qrels.txt bm25.run hybrid.run -m nDCG@10 -m MRR@10
      trectools-plus eval qrels.txt bm25.run mine=hybrid.run nDCG@10 AP
      trectools-plus eval qrels.txt bm25.run --per-query --format csv > scores.csv
      trectools-plus eval qrels.txt bm25.run --per-query -o scores.parquet
      trectools-plus eval qrels.txt bm25.run dense.run --ci -o table.tex
      trectools-plus eval qrels.txt runs/*.run --scheduler tcp://10.0.0.1:8786
      trectools-plus eval s3://trec/qrels.txt s3://trec/bm25.run
      trectools-plus eval qrels.txt hits.csv --columns query=q,doc_id=_id,score=_score
      trectools-plus eval qrels.txt a.run -m "MaxOntSim(formula='lin')@10" --ontology hp.obo
    """
    output_format = _choose_format(output_format, output)
    if per_query and output_format in ("markdown", "latex"):
        raise UsageError(
            f"the format {output_format} has means only",
            where="--per-query",
            remedy="use --format table, csv, json or parquet",
        )
    if output_format == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError(
            "cannot print parquet to a terminal", where="--format", remedy="add --output FILE"
        )
    files, names = split_measures(runs, measure)
    if not files:
        raise UsageError(
            "no run is given", where="RUN", remedy=f"write eval {qrels} RUN -m {','.join(names)}"
        )
    given = parse_runs(files, "RUN")
    paths = [run.path for run in given]
    if [qrels, *paths].count("-") > 1:
        raise UsageError("standard input can be read only once", remedy="name a file instead of -")
    chosen = measures.parse_measures(names if names or measure else DEFAULT_MEASURES)
    if ontology is not None or annotations is not None:
        measures.check_files_used(chosen, ontology, annotations)
        chosen = measures.bind_files(chosen, ontology, annotations)
    averaging = Averaging(missing, no_relevant)
    left_out = None if exclude is None else validation.Exclusions.of(exclude)
    with use_scheduler(scheduler), show_progress() as progress:
        load_numpy_without_threads()
        opened = measures.open_files(
            qrels,
            paths,
            chosen,
            strict_input=strict_input,
            columns=formats.column_names(columns),
            exclude=left_out,
            progress=progress,
        )
        named = formats.name_runs_of_files(opened.runs, paths, given=[run.name for run in given])
        evaluation = measures.score_runs(opened.qrels, named, chosen, averaging, notes=opened.notes)
    count_relevant = partial(_count_relevant, opened.qrels)
    intervals = reporting.evaluation_intervals(evaluation) if ci else {}
    if output_format == "json":
        document = reporting.evaluation_document(
            qrels, named, evaluation, per_query=per_query, intervals=intervals
        )
        if left_out is not None:
            document["exclude"] = left_out.record
        write_json(document, output)
    elif output_format == "table":
        shown = as_table(evaluation, intervals, count_relevant if per_query else None)
        write_text(shown, output)
    elif output_format == "csv" or output_format == "parquet":
        write_frame(as_frame(evaluation, intervals, per_query=per_query), output_format, output)
    else:
        text = reporting.evaluation_for_paper(evaluation, intervals, output_format)
        write_text(iter(text.splitlines()), output)
    print_notes(evaluation)


def _choose_format(named: _Format | None, output: Path | None) -> _Format:
    """Return the format of the output: the named one, or that of the suffix of the file.

    Raises:
        UsageError: If they contradict, or the suffix is unknown and no format is named.
    """
    suffix = "" if output is None else output.suffix.lower()
    by_suffix = _SUFFIXES.get(suffix)
    if named is None and by_suffix is None:
        raise UsageError(
            f"unknown format '{suffix}'",
            where=str(output),
            remedy=f"use {', '.join(filter(None, _SUFFIXES))}, or add --format",
        )
    if named is not None and by_suffix not in (None, "table", named):
        raise UsageError(
            f"--format {named} contradicts the suffix {suffix}",
            where=str(output),
            remedy="leave out --format, or change the suffix",
        )
    return named or by_suffix or "table"


def as_frame(
    evaluation: measures.Evaluation, intervals: reporting.MeanIntervals, *, per_query: bool
) -> pl.DataFrame:
    """Return a long table: one row per run and measure, and per query if ``per_query``."""
    if per_query:
        return evaluation.per_query()
    rows = [
        {
            "run": name,
            "measure": measure,
            "mean": _or_none(evaluation.mean(name, measure)),
            "n": evaluation.n(name, measure),
            **(_ends(intervals[name][measure]) if intervals else {}),
            **evaluation.counts[name].as_dict(),
        }
        for name in evaluation.run_names
        for measure in evaluation.measure_names
    ]
    import polars as pl

    floats = ("mean", *(("low", "high") if intervals else ()))
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64))


def _ends(interval: statistics.ConfidenceInterval | None) -> dict[str, float | None]:
    return {
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
    }


def as_table(
    evaluation: measures.Evaluation,
    intervals: reporting.MeanIntervals,
    count_relevant: _CountRelevant | None = None,
) -> Iterator[str]:
    """Yield the lines of a table: the means, one column per run, and the numbers of queries.

    Columns that exceed the width follow in further blocks.

    Args:
        evaluation: The scores.
        intervals: The intervals of the means to show; may be empty.
        count_relevant: Returns the number of relevant documents of each query for a relevance
            level; if given, the values of each query come before the means.
    """
    if count_relevant is not None:
        for name in evaluation.run_names:
            yield from _query_lines(evaluation, name, count_relevant)
            yield ""
    labels = [_label(measure) for measure in evaluation.measures]
    rows = [
        [label, *(_mean_cell(evaluation, intervals, run, measure) for run in evaluation.run_names)]
        for label, measure in zip(labels, evaluation.measures, strict=True)
    ]
    counts = [evaluation.counts[name] for name in evaluation.run_names]
    counted = (
        "without results, counted 0"
        if evaluation.averaging.missing == "zero"
        else "left out: no result"
    )
    rows += [
        ["queries averaged over", *(f"{c.n_scored:,} of {c.n_qrels:,}" for c in counts)],
        [counted, *(f"{c.n_missing:,}" for c in counts)],
    ]
    yield from _lines(["measure", *evaluation.run_names], rows, sections=[len(labels)])


def _label(measure: measures.Measure) -> str:
    """Return the name as requested, followed by the canonical name if that differs, and "sum"."""
    further = [] if measure.requested_name == measure.name else [measure.name]
    further += ["sum"] if measure.aggregate == "sum" else []
    return f"{measure.requested_name} ({', '.join(further)})" if further else measure.requested_name


def _query_lines(
    evaluation: measures.Evaluation, run: str, count_relevant: _CountRelevant
) -> Iterator[str]:
    queries = evaluation.query_ids[run]
    columns = []
    for measure, name in zip(evaluation.measures, evaluation.measure_names, strict=True):
        values = evaluation.values_as_list(run, name)
        if _IN_TOP.match(measure.requested_name):
            relevant = count_relevant(measure.relevance_level)
            counts = [relevant.get(query_id, 0) for query_id in queries]
            pairs = zip(values, counts, strict=True)
            columns.append([f"{round(value * count)}/{count}" for value, count in pairs])
        else:
            columns.append([_figure(value) for value in values])
    yield printable(run)
    rows = zip(queries, *columns, strict=True)
    yield from _lines(["query", *evaluation.measure_names], rows)


def _count_relevant(qrels: formats.Qrels | measures.JudgedQueries, level: int) -> dict[str, int]:
    return measures.JudgedQueries.of(qrels).count_relevant(level)


def _lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, sections: Collection[int] = ()
) -> Iterator[str]:
    """Yield the lines of a table; columns that exceed the width follow below.

    Args:
        header: The names of the columns.
        rows: The cells.
        sections: The numbers of the rows after which there is a line.
    """
    from trectools_plus.display import Cell, TableColumn, TextTable, make_row

    first, *others = map(_short, header)
    columns = [TableColumn(Cell(name), right=True, least=_LEAST) for name in others]
    table = [[printable(row[0]), *map(_short, row[1:])] for row in rows]
    widths = [
        max(_LEAST, *map(len, column))
        for column in zip(others, *(row[1:] for row in table), strict=True)
    ]
    room = WIDTH - sum(2 + width for width in widths)
    made = [
        make_row([_short(label, room), *cells], ends_section=number in sections)
        for number, (label, *cells) in enumerate(table, 1)
    ]
    return TextTable.of([first, *columns], made).lines(WIDTH, ruled=True)


def _short(cell: str, room: int = 0) -> str:
    """Return a cell without its start if it is longer than 40 characters and than the room."""
    cell, longest = printable(cell), max(room, _LONGEST_NAME)
    return cell if len(cell) <= longest else f"…{cell[1 - longest :]}"


def _mean_cell(
    evaluation: measures.Evaluation,
    intervals: reporting.MeanIntervals,
    run: str,
    measure: measures.Measure,
) -> str:
    value = evaluation.mean(run, measure.requested_name)
    is_sum = measure.aggregate == "sum" and not math.isnan(value)
    figure = f"{value:,.0f}" if is_sum else _figure(value)
    if intervals:
        shown = reporting.show_ci(intervals[run][measure.requested_name])
        figure = f"{figure} {shown}".rstrip()
    n = evaluation.n(run, measure.requested_name)
    return figure if n == evaluation.counts[run].n_scored else f"{figure} (n={n:,})"


def _figure(value: float) -> str:
    return _UNDEFINED if math.isnan(value) else f"{value:,.4f}"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
