"""An evaluation as text, CSV or Parquet."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from trectools_plus.measures import Definition, Evaluation

WIDTH = 100
_LONGEST_NAME = 40
_UNDEFINED = "–"
_TREC_MEAN = "(its mean also counts queries without a relevant document, as 0)"
_TREC_SUM = (
    "(query by query, with -q; its line for all is the sum, over queries without a relevant "
    "document too)"
)


def as_frame(evaluation: Evaluation, *, per_query: bool) -> pl.DataFrame:
    """Long table: one row per run, measure and, if asked for, query."""
    if per_query:
        return evaluation.per_query
    rows = [
        {
            "run": name,
            "measure": measure,
            "mean": _or_none(evaluation.mean(name, measure)),
            "n": evaluation.n(name, measure),
            **evaluation.counts[name].as_dict(),
        }
        for name in evaluation.run_names
        for measure in evaluation.measure_names
    ]
    return pl.DataFrame(rows, schema_overrides={"mean": pl.Float64})


def as_table(evaluation: Evaluation, *, per_query: bool) -> Iterator[str]:
    """Means with a column per run, and the queries behind them; as many blocks as fit the width."""
    if per_query:
        for name in evaluation.run_names:
            yield from _query_lines(evaluation, name)
            yield ""
    labels = [_label(evaluation.definition(name)) for name in evaluation.measure_names]
    rows = [
        [label, *(_mean_cell(evaluation, run, measure) for run in evaluation.run_names)]
        for label, measure in zip(labels, evaluation.measure_names, strict=True)
    ]
    counts = [evaluation.counts[name] for name in evaluation.run_names]
    counted = (
        "without results, counted 0" if evaluation.missing == "zero" else "left out: no result"
    )
    rows += [
        [],
        ["queries averaged over", *(f"{c.n_scored:,} of {c.n_qrels:,}" for c in counts)],
        [counted, *(f"{c.n_missing:,}" for c in counts)],
    ]
    yield from _blocks(["measure", *evaluation.run_names], rows)


def definition_lines(definition: Definition) -> Iterator[str]:
    """A definition as a list of its parts, wrapped to the width."""
    yield _label(definition)
    yield ""
    whole = "none: the whole ranking"
    parts = {
        "formula": definition.formula,
        "gain": definition.gain,
        "cutoff": whole if definition.cutoff is None else f"rank {definition.cutoff}",
        "denominator": definition.denominator,
        "relevant": f"grade {definition.relevance_level} or more",
        "ties": definition.ties,
        "averaged over": definition.averaged_over,
        "provider": definition.provider,
        "trec_eval": definition.trec_eval_call or "no call prints this figure",
        "": definition.trec_eval_call and (_TREC_SUM if definition.trec_eval_sums else _TREC_MEAN),
    }
    for key, text in parts.items():
        lines = textwrap.wrap(text or "", WIDTH - 17, break_on_hyphens=False)
        for index, line in enumerate(lines):
            yield f"  {key if index == 0 else '':<15}{line}"


def _query_lines(evaluation: Evaluation, run: str) -> Iterator[str]:
    columns = [evaluation.values(run, name).tolist() for name in evaluation.measure_names]
    rows = [
        [query, *(_figure(value) for value in values)]
        for query, values in zip(evaluation.query_ids[run], zip(*columns, strict=True), strict=True)
    ]
    yield run
    yield from _blocks(["query", *evaluation.measure_names], rows)


def _blocks(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table with as many columns side by side as fit, the others below; [] is a rule."""
    cells = [[_short(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[i]) for row in cells if row) for i in range(len(header))]
    widths[1:] = [max(width, 8) for width in widths[1:]]
    start = 1
    while start < len(header):
        end, used = start + 1, widths[0] + 2 + widths[start]
        while end < len(header) and used + 2 + widths[end] <= WIDTH:
            used += 2 + widths[end]
            end += 1
        if start > 1:
            yield ""
        for index, row in enumerate(cells):
            if not row or index == 1:
                yield "-" * used
            if row:
                right = (f"{row[i]:>{widths[i]}}" for i in range(start, end))
                yield "  ".join([f"{row[0]:<{widths[0]}}", *right])
        start = end


def _short(cell: str) -> str:
    return cell if len(cell) <= _LONGEST_NAME else f"…{cell[1 - _LONGEST_NAME :]}"


def _label(definition: Definition) -> str:
    return f"{definition.name} ({definition.alias})" if definition.alias else definition.name


def _mean_cell(evaluation: Evaluation, run: str, measure: str) -> str:
    figure = _figure(evaluation.mean(run, measure))
    n = evaluation.n(run, measure)
    return figure if n == evaluation.counts[run].n_scored else f"{figure} (n={n})"


def _figure(value: float) -> str:
    return _UNDEFINED if math.isnan(value) else f"{value:.4f}"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
