"""A check of whether a system is better on its tuning queries than on held-out queries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Unpack

import polars as pl

from trectools_plus.benchmark.compare.compare_reports import StoredFigures, list_figures
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics.arrays import ResamplingOptions
from trectools_plus.statistics.paired import UnpairedComparison, unpaired_difference
from trectools_plus.statistics.systems import adjust_p_values
from trectools_plus.testsets.model import TestSet
from trectools_plus.text import listed

LEAST_QUERIES = 2


@dataclass(frozen=True, slots=True)
class PartContrast:
    """The comparison of one mode on used and held-out queries.

    Attributes:
        mode: The mode.
        measure: The measure.
        comparison: Used minus held out.
        p_adjusted: The permutation test's p-value, adjusted (Holm) for all modes and measures.
        flagged: True if ``p_adjusted`` is at most 1 minus the confidence level.
        better_used: True if the mode is better on the used queries, as after overfitting; False if
            it is not, so that a difference only means that the held-out queries are easier.
    """

    mode: str
    measure: str
    comparison: UnpairedComparison
    p_adjusted: float
    flagged: bool
    better_used: bool


@dataclass(frozen=True, slots=True, repr=False)
class OverfittingCheck(Displayed):
    """The result of the check.

    Attributes:
        contrasts: One entry per mode and measure.
        notes: Remarks, a sentence each.
    """

    _entries: ClassVar = "contrasts"
    _columns: ClassVar = ("mode", "measure", "p_adjusted", "flagged")

    contrasts: tuple[PartContrast, ...]
    notes: tuple[str, ...]

    @property
    def flagged(self) -> bool:
        """True if any mode differs significantly between the parts."""
        return any(one.flagged for one in self.contrasts)


def check_overfitting(
    reports: Sequence[str | Path],
    used: TestSet,
    held_out: TestSet,
    *,
    measures: Sequence[str] | None = None,
    **resampling: Unpack[ResamplingOptions],
) -> OverfittingCheck:
    """Compare each mode's values on the used queries with those on the held-out ones.

    The queries differ, so the values are not paired: the check uses a two-sample permutation test
    and Welch's interval of the difference. With small parts, only large differences are detected.

    Args:
        reports: A report on all queries, or reports on the parts, each with its
            ``per_query.parquet``.
        used: The part that was used for development.
        held_out: The other part.
        measures: Names; by default the first measure of the reports.
        **resampling: ``confidence`` of the intervals between 0 and 1 (0.95), number of
            permutations ``resamples`` (10,000), and ``seed`` (42); a p-value of at most 1 -
            ``confidence`` is flagged.

    Returns:
        One contrast per mode and measure with its p-values and flag, and notes.

    Raises:
        InputError: If a report or its values per query cannot be read.
        UsageError: If a measure is not in the reports, or a part has too few queries with values.
        IncomparableError: If the parts share a query id, or two reports contain different values
            for one query.
    """
    options = resampling_of(resampling)
    parts = {
        name: [query.query_id for query in part.queries]
        for name, part in (("used", used), ("held-out", held_out))
    }
    shared = sorted(set(parts["used"]) & set(parts["held-out"]))
    if shared:
        raise IncomparableError(
            f"the parts share {len(shared)} query ids: {', '.join(shared[:3])}",
            remedy="use the two parts of one split",
        )
    sources = [ReportFolder(path) for path in reports]
    first = sources[0].report
    wanted = first.measure_names[:1] if measures is None else parse_measures(measures)
    tables = [list_figures(one, [*one.report.modes], wanted) for one in sources]
    cases = dict.fromkeys(case for table in tables for case in table)
    values = {case: _join([table[case] for table in tables if case in table]) for case in cases}
    compared = [
        unpaired_difference(*(_sample(table, *part) for part in parts.items()), **resampling)
        for table in values.values()
    ]
    adjusted = adjust_p_values([one.p_permutation for one in compared])
    contrasts = []
    for (mode, name), one, p in zip(values, compared, adjusted, strict=True):
        label = first.find_measure(name) or name
        is_higher = next(table[mode, name] for table in tables if (mode, name) in table)
        is_better = one.difference > 0 if is_higher.higher_is_better else one.difference < 0
        is_flagged = bool(p <= 1.0 - options["confidence"])
        contrasts.append(PartContrast(mode, label, one, float(p), is_flagged, is_better))
    known = {query_id for table in values.values() for query_id in table["query_id"]}
    return OverfittingCheck(tuple(contrasts), tuple(_list_notes(known, parts)))


def _join(figures: Sequence[StoredFigures]) -> pl.DataFrame:
    """Return the defined values of a mode and measure in all reports."""
    tables = [one.values for one in figures if one.values is not None]
    if len(tables) < len(figures):
        raise InputError(
            "the values per query are missing", remedy="keep per_query.parquet beside the report"
        )
    table = pl.concat(tables).drop_nulls("value").unique(maintain_order=True)
    if table["query_id"].is_duplicated().any():
        raise IncomparableError(
            "the reports have different values for one query and mode",
            remedy="use one report on all queries, or one on each part",
        )
    return table


def _sample(values: pl.DataFrame, part: str, query_ids: Sequence[str]) -> list[float]:
    sample = values.filter(pl.col("query_id").is_in(query_ids))["value"].to_list()
    if len(sample) < LEAST_QUERIES:
        raise UsageError(
            f"expected at least {LEAST_QUERIES} queries of the {part} part with values, but the "
            f"reports have {len(sample)} of {len(query_ids)}",
            remedy="hold out more queries, or use a report on all queries of both parts",
        )
    return [float(value) for value in sample]


def _list_notes(known: Collection[str], parts: Mapping[str, list[str]]) -> Iterator[str]:
    for part, query_ids in parts.items():
        missing = [query_id for query_id in query_ids if query_id not in known]
        if missing:
            yield f"{len(missing)} queries of the {part} part have no value: {listed(missing, 3)}"
