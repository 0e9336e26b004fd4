"""``trectools-plus eval``: scores as text, CSV, JSON or Parquet."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trectools_plus import measures, reporting
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import ScoringOptions, split_measures
from trectools_plus.cli.printing import print_notes, write_document, write_frame, write_text
from trectools_plus.errors import UsageError
from trectools_plus.text import printable

if TYPE_CHECKING:
    import polars as pl

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
_UNDEFINED = "–"
_IN_TOP = re.compile(r"in_?top", re.IGNORECASE)
"""Begins the names of recall as a fraction of counts, for example ``inTop3``: 2/3."""


@with_groups
def evaluate_runs(
    *,
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
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Output the value of every query too.")
    ] = False,
    scoring: ScoringOptions,
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
    files, names = split_measures(runs, scoring.measure)
    if not files:
        raise UsageError(
            "no run is given", where="RUN", remedy=f"write eval {qrels} RUN -m {','.join(names)}"
        )
    evaluation, named, judged, exclusions = scoring.score(qrels, files, names)
    intervals = reporting.evaluation_intervals(evaluation) if ci else {}
    if output_format == "json":
        document = reporting.evaluation_document(
            qrels, named, evaluation, per_query=per_query, intervals=intervals
        )
        if exclusions is not None:
            document["exclude"] = exclusions.record
        write_document(document, output=output)
    elif output_format == "table":
        queries = measures.JudgedQueries.of(judged) if per_query else None
        write_text(as_table(evaluation, intervals, queries), output)
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
    if by_suffix not in (None, "table", named or by_suffix):
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
    from trectools_plus.statistics.comparison import ends_of

    rows = []
    for name in evaluation.run_names:
        for measure in evaluation.measure_names:
            mean, n = _or_none(evaluation.mean(name, measure)), evaluation.n(name, measure)
            row: dict[str, Any] = {"run": name, "measure": measure, "mean": mean, "n": n}
            if intervals:
                low, high = ends_of(intervals[name][measure])
                row |= {"low": low, "high": high}
            rows.append(row | evaluation.counts[name].as_dict())
    import polars as pl

    floats = ("mean", *(("low", "high") if intervals else ()))
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64))


def as_table(
    evaluation: measures.Evaluation,
    intervals: reporting.MeanIntervals,
    judged: measures.JudgedQueries | None = None,
) -> Iterator[str]:
    """Yield the lines of a table: the means, one column per run, and the numbers of queries.

    Columns that exceed the width follow in further blocks.

    Args:
        evaluation: The scores.
        intervals: The intervals of the means to show; may be empty.
        judged: The judgments, if the values of each query are to come before the means.
    """
    runs = evaluation.run_names
    for run in runs if judged is not None else ():
        cells = [_query_cells(evaluation, run, measure, judged) for measure in evaluation.measures]
        table = zip(evaluation.query_ids[run], *cells, strict=True)
        yield printable(run)
        yield from _lines(["query", *evaluation.measure_names], table)
        yield ""
    rows = [
        [_label(measure), *(_mean_cell(evaluation, intervals, run, measure) for run in runs)]
        for measure in evaluation.measures
    ]
    counts = [evaluation.counts[name] for name in runs]
    counted = (
        "without results, counted 0"
        if evaluation.averaging.missing == "zero"
        else "left out: no result"
    )
    rows += [
        ["queries averaged over", *(f"{c.n_scored:,} of {c.n_qrels:,}" for c in counts)],
        [counted, *(f"{c.n_missing:,}" for c in counts)],
    ]
    yield from _lines(["measure", *runs], rows)


def _label(measure: measures.Measure) -> str:
    """Return the name as requested, followed by the canonical name if that differs, and "sum"."""
    further = [] if measure.requested_name == measure.name else [measure.name]
    further += ["sum"] if measure.aggregate == "sum" else []
    return f"{measure.requested_name} ({', '.join(further)})" if further else measure.requested_name


def _query_cells(
    evaluation: measures.Evaluation,
    run: str,
    measure: measures.Measure,
    judged: measures.JudgedQueries | None,
) -> list[str]:
    """Return the values of a measure for each query; those of ``inTop3`` as fractions."""
    values = evaluation.values_as_list(run, measure.requested_name)
    if judged is None or not _IN_TOP.match(measure.requested_name):
        return list(map(_figure, values))
    relevant = judged.count_relevant(measure.relevance_level)
    counts = [relevant.get(query_id, 0) for query_id in evaluation.query_ids[run]]
    pairs = zip(values, counts, strict=True)
    return [f"{round(value * count)}/{count}" for value, count in pairs]


def _lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    from trectools_plus.display import TextTable

    names = [*map(_short, header)]
    return TextTable.of(names, [[*map(_short, cells)] for cells in rows], right=names[1:]).lines()


def _short(cell: str) -> str:
    """Return a cell without its start if it is long."""
    cell = printable(cell)
    return cell if len(cell) <= _LONGEST_NAME else f"…{cell[1 - _LONGEST_NAME :]}"


def _mean_cell(
    evaluation: measures.Evaluation,
    intervals: reporting.MeanIntervals,
    run: str,
    measure: measures.Measure,
) -> str:
    name = measure.requested_name
    value, n = evaluation.mean(run, name), evaluation.n(run, name)
    is_sum = measure.aggregate == "sum" and not math.isnan(value)
    figure = f"{value:,.0f}" if is_sum else _figure(value)
    interval = reporting.show_ci(intervals[run][name]) if intervals else ""
    count = "" if n == evaluation.counts[run].n_scored else f"(n={n:,})"
    return " ".join(filter(None, (figure, interval, count)))


def _figure(value: float) -> str:
    return _UNDEFINED if math.isnan(value) else f"{value:,.4f}"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
