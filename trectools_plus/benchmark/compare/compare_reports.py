"""Comparison of two reports: every mode of one with the same mode of the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import (
    add_probabilities,
    check_test,
    decide_families,
    make_comparison,
    name_method,
)
from trectools_plus.benchmark.compare.method import EQUAL, choose_method
from trectools_plus.benchmark.compare.preconditions import find_changes, refuse_incomparable
from trectools_plus.benchmark.report import Comparison
from trectools_plus.benchmark.report.folder import ReportFolder, ReportScores
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PER_QUERY_FILE
from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import IncomparableError, InputError
from trectools_plus.statistics import PairedComparison, check_rope, compare_columns
from trectools_plus.statistics.arrays import IntervalOptions
from trectools_plus.text import plural

_MOST_CHANGED = 10


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query's value in two reports.

    Attributes:
        query_id: The query.
        before: Its value in the first report.
        after: Its value in the second report.
    """

    query_id: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class LatencyDifference:
    """Mean milliseconds per query, B minus A, over the queries timed in both reports.

    Attributes:
        n: Number of queries.
        a: Mean of A.
        b: Mean of B.
        difference: B minus A.
        low: Lower end of its interval; ``None`` for a single query, or equal differences.
        high: Upper end.
    """

    n: int
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None


def compare_latency(
    a: ReportFolder, b: ReportFolder, pair: tuple[str, str], options: IntervalOptions
) -> LatencyDifference | None:
    """Compare the latency of a mode, B minus A, over the queries timed in both reports.

    Args:
        a: Report A.
        b: Report B.
        pair: The mode in A and in B.
        options: Settings of the interval.

    Returns:
        ``None`` if a report has no latencies, or no query is in both.
    """
    if a.latency is None or b.latency is None:
        return None
    first, second = (
        source.latency.filter(run=mode).select("query_id", "latency_ms")
        for source, mode in ((a, pair[0]), (b, pair[1]))
        if source.latency is not None
    )
    both = first.join(second, on="query_id", suffix="_b")
    if not both.height:
        return None
    before, after = both["latency_ms"].to_numpy(), both["latency_ms_b"].to_numpy()
    found = compare_columns(after - before, tests=(), **options)[0]
    assert found.difference is not None
    return LatencyDifference(
        both.height,
        float(before.mean()),
        float(after.mean()),
        found.difference,
        found.low,
        found.high,
    )


@dataclass(frozen=True, slots=True)
class ModeContrast:
    """One mode, or two that are compared with each other, in both reports.

    Attributes:
        label: Its name; ``NAME (A) and NAME (B)`` if they differ.
        modes: The mode in A and in B.
        means: Per measure, the mean in A and in B.
        counts: Per measure, the number of queries in each mean.
        comparisons: B minus A, per measure, with tests.
        changed: Per measure, the queries that changed most, largest change first.
        latency: ``None`` if a report has no latencies.
    """

    label: str
    modes: tuple[str, str]
    means: dict[str, tuple[float | None, float | None]]
    counts: dict[str, tuple[int, int]]
    comparisons: list[Comparison]
    changed: dict[str, list[QueryChange]]
    latency: LatencyDifference | None


@dataclass(frozen=True, slots=True, repr=False)
class Contrast(Displayed):
    """The comparison of two reports.

    Attributes:
        names: Names of A and B.
        queries: Number of queries in the means.
        confidence: Confidence level of the intervals and tests, between 0 and 1.
        modes: One entry per mode that both reports contain.
        notes: Modes in only one report, and measures that are undefined for some queries in only
            one report.
        settings: The differences between the configurations: by dotted name the value in A and in
            B, ``None`` if it is not set.
        packages: Different versions, in the same form.
        higher_is_better: The direction of each measure.
        headline_measures: The headline measures of A that both reports contain, the primary one
            first; if there is none, the first measure.
        config: The configuration of A.
        noun: The word for what is compared: ``run`` or ``mode``.
    """

    names: tuple[str, str]
    queries: int
    confidence: float
    modes: list[ModeContrast]
    notes: list[str]
    settings: dict[str, tuple[Any, Any]]
    packages: dict[str, tuple[Any, Any]]
    higher_is_better: dict[str, bool]
    headline_measures: list[str]
    config: dict[str, Any]
    noun: str = "mode"

    def primary(self, mode: ModeContrast) -> Comparison:
        """Return the comparison of a mode on the first headline measure."""
        measure = self.headline_measures[0]
        return next(entry for entry in mode.comparisons if entry.measure == measure)

    def _content(self) -> TextTable:
        rows = []
        for mode in self.modes:
            for one in mode.comparisons:
                values = (one.difference, one.p_adjusted, one.significant)
                means = mode.means[one.measure]
                rows.append([mode.label, one.measure, *map(as_cell, (*means, *values))])
        queries = plural(self.queries, "query", "queries")
        caption = f"B − A: {self.names[1]} − {self.names[0]}, {queries}"
        header = [
            self.noun.capitalize(),
            "Measure",
            "A",
            "B",
            "Difference",
            "Adjusted p",
            "Significant",
        ]
        return TextTable.of(header, rows, caption=caption)


def compare_reports(
    first: str | Path,
    second: str | Path,
    *,
    test: str | None = None,
    interval: str | None = None,
    rope: float | None = None,
) -> Contrast:
    """Compare two reports query by query: B minus A, for every mode and measure of both.

    Two reports of a single mode each are compared even if the names of the modes differ. The
    family of a measure is all modes that are compared on it.

    Args:
        first: Report A: its JSON, or its folder.
        second: Report B.
        test: The test that decides, adjusted by Holm: ``randomisation``, ``t_test`` (the paired
            t-test), ``paired_bootstrap``, ``wilcoxon`` or ``sign_test``; by default the studentised
            bootstrap with single-step max-t, whose intervals agree with it.
        interval: The method of the intervals if a test is named, and of the intervals of latencies:
            ``auto``, ``percentile``, ``bca`` or ``t``; that of report A if ``None``.
        rope: Half the width of the region of practical equivalence, in the unit of the measures:
            each comparison then has the probability that B is better than A by more than this. If
            ``None``, that of report A, which may have none.

    Returns:
        For each mode, the comparisons with the means and the queries that changed most; also the
        settings and packages that differ.

    Raises:
        InputError: If a report or its values per query cannot be read.
        IncomparableError: If the reports are based on different data or queries, or have no mode
            or measure in common.
        UsageError: If the test is unknown, or ``rope`` is out of range.
    """
    correction, chosen = choose_method(None, test)
    check_test(chosen)
    check_rope(rope or 0.0)
    a, b = ReportFolder(first), ReportFolder(second)
    names = str(first), str(second)
    refuse_incomparable(a.report, b.report, names)
    pairs = _pair_modes(a, b, names)
    measures = [
        name
        for name in a.report.measure_names
        if b.report.find_measure(name) is not None and not a.report.is_sum(name)
    ]
    if not measures:
        raise IncomparableError("the reports have no measure in common", where=" and ".join(names))
    scores = ReportScores(a, measures), ReportScores(b, measures)
    tables: dict[tuple[tuple[str, str], str], pl.DataFrame] = {}
    for pair in pairs:
        for name in measures:
            table = pair_values(scores, pair, name, ("a", "b"))
            if table is None:
                source = a if a.per_query is None else b
                raise InputError(
                    "the values per query are missing",
                    where=str(source.folder / PER_QUERY_FILE),
                    remedy="keep the files of a benchmark together",
                )
            tables[pair, name] = table
    options = resampling_of(a.report.manifest.config)
    if interval is not None:
        options["interval"] = interval
    if rope is None:
        rope = a.report.manifest.config.get("rope")
    found = _compare(tables, a, (correction, chosen), options, rope)
    undefined = [
        note_undefined(_label(a, b, pair), name, table, ("a", "b"))
        for (pair, name), table in tables.items()
    ]
    contrasts = [
        ModeContrast(
            label=_label(a, b, pair),
            modes=pair,
            means={
                name: (scores[0].mean(pair[0], name), scores[1].mean(pair[1], name))
                for name in measures
            },
            counts={
                name: (
                    tables[pair, name]["a"].drop_nulls().len(),
                    tables[pair, name]["b"].drop_nulls().len(),
                )
                for name in measures
            },
            comparisons=[found[pair, name] for name in measures],
            changed={name: most_changed(tables[pair, name]) for name in measures},
            latency=compare_latency(a, b, pair, options),
        )
        for pair in pairs
    ]
    ours, theirs = a.report.manifest, b.report.manifest
    return Contrast(
        names,
        ours.dataset.queries,
        a.report.confidence,
        contrasts,
        [*_notes(a, b, pairs, names), *(note for note in undefined if note)],
        find_changes(ours.config, theirs.config),
        find_changes(ours.packages, theirs.packages),
        {name: a.report.higher_is_better(name) for name in measures},
        [name for name in a.report.headline_measures if name in measures] or measures[:1],
        ours.config,
        a.report.noun,
    )


def state_verdict(contrast: Contrast) -> str:
    """State the result on the first headline measure, one sentence per mode."""
    sentences = []
    for mode in contrast.modes:
        entry = contrast.primary(mode)
        over = f"over {plural(entry.n, 'query', 'queries')}"
        if entry.difference is None:
            sentences.append(f"{mode.label}: {entry.measure} is undefined in A or B.")
            continue
        size = f"{abs(entry.difference):.4f} on {entry.measure}"
        better = (entry.difference > 0) == contrast.higher_is_better[entry.measure]
        if entry.significant:
            word = "better" if better else "worse"
            sentences.append(f"{mode.label}: B is significantly {word} than A by {size} {over}.")
        elif abs(entry.difference) <= EQUAL:
            sentences.append(f"{mode.label}: A and B are equal on {entry.measure} {over}.")
        else:
            word = "ahead" if better else "behind"
            state = "borderline" if entry.borderline else "not significant"
            sentences.append(
                f"{mode.label}: B is {word} by {size}, but the difference is {state} {over}."
            )
    return " ".join(sentences)


def _pair_modes(a: ReportFolder, b: ReportFolder, names: tuple[str, str]) -> list[tuple[str, str]]:
    common = [(mode, mode) for mode in a.report.modes if mode in b.report.modes]
    if common:
        return common
    if len(a.report.modes) == len(b.report.modes) == 1:
        return [(next(iter(a.report.modes)), next(iter(b.report.modes)))]
    raise IncomparableError(
        f"the reports have no mode in common: {', '.join(a.report.modes)} and "
        f"{', '.join(b.report.modes)}",
        where=" and ".join(names),
        remedy="to compare modes with each other, give their runs to one `benchmark run`",
    )


def _label(a: ReportFolder, b: ReportFolder, pair: tuple[str, str]) -> str:
    labels = a.report.modes[pair[0]].label, b.report.modes[pair[1]].label
    return labels[0] if labels[0] == labels[1] else f"{labels[0]} (A) and {labels[1]} (B)"


def pair_values(
    scores: tuple[ReportScores, ReportScores],
    modes: tuple[str, str],
    measure: str,
    columns: tuple[str, str],
) -> pl.DataFrame | None:
    """Return the values of two reports per query; ``None`` without per-query values.

    Args:
        scores: The reports.
        modes: The mode in each report.
        measure: The measure.
        columns: The columns after ``query_id``; undefined values are null.

    Raises:
        IncomparableError: If the reports have different queries.
    """
    first, second = (
        one_report.values(mode, measure) for one_report, mode in zip(scores, modes, strict=True)
    )
    if first is None or second is None:
        return None
    differing = set(first["query_id"]) ^ set(second["query_id"])
    if differing:
        raise IncomparableError(
            f"{measure} of {modes[0]} is averaged over different queries: {len(differing)} are in "
            f"only one report, for example {min(differing)}"
        )
    return pl.DataFrame(
        {"query_id": first["query_id"], columns[0]: first["value"], columns[1]: second["value"]}
    )


def _compare(
    tables: dict[tuple[tuple[str, str], str], pl.DataFrame],
    a: ReportFolder,
    method: tuple[str, str],
    options: IntervalOptions,
    rope: float | None,
) -> dict[tuple[tuple[str, str], str], Comparison]:
    cases = list(tables)
    differences = np.column_stack(
        [(tables[case]["b"] - tables[case]["a"]).fill_null(np.nan).to_numpy() for case in cases]
    )
    count = len({pair for pair, _ in cases})
    family = f"{plural(count, 'comparison')} on one measure: {plural(count, 'mode')}, B and A"
    facts = name_method(*method, family)
    found: dict[tuple[tuple[str, str], str], PairedComparison] = {}
    adjusted: dict[tuple[tuple[str, str], str], float] = {}
    columns = [
        [place for place, case in enumerate(cases) if case[1] == measure]
        for measure in dict.fromkeys(name for _, name in cases)
    ]
    families = decide_families([differences[:, one] for one in columns], facts, **options)
    for one, (comparisons, p_values) in zip(columns, families, strict=True):
        of_measure = [cases[column] for column in one]
        found |= zip(of_measure, comparisons, strict=True)
        adjusted |= zip(of_measure, p_values.tolist(), strict=True)
    entries = {
        case: make_comparison(
            (*case[0], case[1]),
            found[case],
            adjusted[case],
            options["resamples"],
            facts,
            pairs=sum(measure == case[1] for _, measure in cases),
            higher_is_better=a.report.higher_is_better(case[1]),
        )
        for case in cases
    }
    if rope is None:
        return entries
    return {
        case: add_probabilities(
            entry, found[case], rope, higher_is_better=a.report.higher_is_better(entry.measure)
        )
        for case, entry in entries.items()
    }


def _notes(
    a: ReportFolder, b: ReportFolder, pairs: list[tuple[str, str]], names: tuple[str, str]
) -> list[str]:
    notes = []
    for place, (source, name) in enumerate(((a, names[0]), (b, names[1]))):
        paired = {pair[place] for pair in pairs}
        alone = [mode for mode in source.report.modes if mode not in paired]
        if alone:
            notes.append(f"only in {name}: {', '.join(alone)}")
    return notes


def most_changed(table: pl.DataFrame) -> list[QueryChange]:
    """Return the queries with the largest changes, from columns ``query_id, a, b``."""
    change = (pl.col("b") - pl.col("a")).abs()
    found = (
        table.drop_nulls()
        .with_columns(change.alias("change"))
        .filter(pl.col("change") > EQUAL)
        .sort(["change", "query_id"], descending=[True, False])
    )
    rows = found.select("query_id", "a", "b").head(_MOST_CHANGED).iter_rows()
    return [QueryChange(*row) for row in rows]


def note_undefined(mode: str, measure: str, pair: pl.DataFrame, names: tuple[str, str]) -> str:
    """Return a note if a measure is undefined for a query in only one report; else empty.

    The two means are then over different queries, and their difference is not the mean difference
    of the pairs.

    Args:
        mode: The mode's name in tables.
        measure: The measure.
        pair: One column per report, named by ``names``; undefined values are null.
        names: The columns.
    """
    alone = pair.filter(pl.col(names[0]).is_null() != pl.col(names[1]).is_null()).height
    if not alone:
        return ""
    both = pair.drop_nulls().height
    return (
        f"{measure} of {mode} is undefined for {alone} of {pair.height} queries in one report "
        "only: the two means are over different queries, the test is over the "
        f"{both} that both define"
    )
