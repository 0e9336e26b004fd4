"""Comparison of two reports: every mode of one with the same mode of the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PER_QUERY_FILE
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.statistics.arrays import EQUAL
from trectools_plus.statistics.comparison import (
    DEFAULT_TEST,
    TEST_ALIASES,
    Comparison,
)
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores
from trectools_plus.text import plural

_NEAR = 1e-9
"""Tolerance for a mean and the mean of its per-query values: the last bits of a sum."""
_PARTS = ("qrels", "topics", "corpus", "ontology", "annotations")
_Reports = tuple[ReportFolder, ReportFolder]


@dataclass(frozen=True, slots=True)
class ComparedMode:
    """One mode, or two that are compared with each other, in both reports.

    Attributes:
        label: Its name; ``NAME (A) and NAME (B)`` if they differ.
        modes: The mode in A and in B.
        scores: The scores of A and B on each measure.
        comparisons: B minus A on each measure, with tests.
    """

    label: str
    modes: tuple[str, str]
    scores: list[PairedScores]
    comparisons: list[Comparison]

    @property
    def means(self) -> dict[str, tuple[float | None, float | None]]:
        """Per measure, the mean in A and in B."""
        return {one.measure: (_mean(one.before), _mean(one.after)) for one in self.scores}


@dataclass(frozen=True, slots=True, repr=False)
class ReportComparison(Displayed):
    """The comparison of two reports.

    Attributes:
        names: Names of A and B.
        report: Report A.
        modes: One entry per mode that both reports contain.
        notes: Modes in only one report, and measures that are undefined for some queries in only
            one report.
        settings: The differences between the configurations: by dotted name the value in A and in
            B, ``None`` if it is not set.
        headline_measures: The headline measures of A that both reports contain, the primary one
            first; if there is none, the first measure.
    """

    _entries: ClassVar = "modes"
    _columns: ClassVar = ("label", "means")

    names: tuple[str, str]
    report: BenchmarkReport
    modes: list[ComparedMode]
    notes: list[str]
    settings: dict[str, tuple[Any, Any]]
    headline_measures: list[str]


def compare_reports(
    first: str | Path, second: str | Path, *, test: str = DEFAULT_TEST
) -> ReportComparison:
    """Compare two reports query by query: B minus A, for every mode and measure of both.

    Two reports of a single mode each are compared even if the names of the modes differ. The
    family of a measure is all modes that are compared on it.

    Args:
        first: Report A: its JSON, or its folder.
        second: Report B.
        test: The test that decides, adjusted by Holm: ``t_test``, ``paired_bootstrap``,
            ``randomisation`` or ``wilcoxon``.

    Returns:
        For each mode, the comparisons with the means and the queries that changed most; also the
        settings that differ.

    Raises:
        InputError: If a report or its values per query cannot be read.
        IncomparableError: If the reports are based on different data or queries, or have no mode
            or measure in common.
        UsageError: If the test is unknown.
    """
    test = TEST_ALIASES.get(test, test)
    sources, names = (ReportFolder(first), ReportFolder(second)), (str(first), str(second))
    a, b = (source.report for source in sources)
    refuse_incomparable(sources)
    pairs = _pair_modes(a, b)
    measures = [name for name in a.measure_names if b.find_measure(name)]
    if not measures:
        raise IncomparableError("the reports have no measure in common", where=" and ".join(names))
    scores = read_scores(sources, pairs, measures)
    family = (
        f"{plural(len(pairs), 'comparison')} on one measure: {plural(len(pairs), 'mode')}, B and A"
    )
    compared = compare_scores(scores, Method(resampling_of(a.manifest.config), test, family=family))
    modes, notes = [], []
    for name, report, paired in zip(names, (a, b), zip(*pairs, strict=True), strict=True):
        if others := [mode for mode in report.modes if mode not in paired]:
            notes.append(f"only in {name}: {', '.join(others)}")
    for place, pair in enumerate(pairs):
        part = slice(place * len(measures), (place + 1) * len(measures))
        labels = [report.modes[mode].label for report, mode in zip((a, b), pair, strict=True)]
        label = labels[0] if labels[0] == labels[1] else f"{labels[0]} (A) and {labels[1]} (B)"
        modes.append(ComparedMode(label, pair, scores[part], compared[part]))
        notes += filter(None, (note_undefined(label, one) for one in scores[part]))
    before, after = _flatten(a.manifest.config), _flatten(b.manifest.config)
    settings = {name: (before.get(name), after.get(name)) for name in {**before, **after}}
    return ReportComparison(
        names,
        a,
        modes,
        notes=notes,
        settings={name: pair for name, pair in settings.items() if pair[0] != pair[1]},
        headline_measures=[one for one in a.headline_measures if one in measures] or measures[:1],
    )


def _flatten(part: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in part.items():
        inside = isinstance(value, Mapping)
        flat |= _flatten(value, f"{prefix}{key}.") if inside else {f"{prefix}{key}": value}
    return flat


def _pair_modes(a: BenchmarkReport, b: BenchmarkReport) -> list[tuple[str, str]]:
    """Match the modes by name; if both reports have only one, these match even if they differ."""
    pairs = [(name, name) for name in a.modes if name in b.modes]
    if not pairs and len(a.modes) == len(b.modes) == 1:
        pairs = [*zip(a.modes, b.modes, strict=True)]
    if not pairs:
        raise IncomparableError(
            f"the reports have no mode in common: {', '.join(a.modes)} and {', '.join(b.modes)}",
            remedy="to compare modes with each other, give their runs to one `benchmark run`",
        )
    return pairs


def state_verdict(compared: ReportComparison) -> str:
    """State the result on the first headline measure, one sentence per mode."""
    sentences, measure = [], compared.headline_measures[0]
    is_higher_better = compared.report.higher_is_better(measure)
    for mode in compared.modes:
        entry = next(entry for entry in mode.comparisons if entry.measure == measure)
        difference = entry.difference
        on = f"on {measure} over {plural(entry.n, 'query', 'queries')}"
        if difference is None:
            sentence = f"{measure} is undefined in A or B"
        elif abs(difference) <= EQUAL:
            sentence = f"A and B are equal {on}"
        else:
            side = "better" if (difference > 0) == is_higher_better else "worse"
            proof = "significant" if entry.significant else "not significant"
            sentence = f"B is {side} than A by {abs(difference):.4f} {on}; {proof}"
        sentences.append(f"{mode.label}: {sentence}.")
    return " ".join(sentences)


def read_scores(
    sources: _Reports, pairs: Sequence[tuple[str, str]], measures: Sequence[str | Measure]
) -> list[PairedScores]:
    """Return the scores of modes in two reports, also on measures that the reports lack.

    Args:
        sources: The reports. Further measures are scored from the runs beside them.
        pairs: A mode of each report.
        measures: The measures, or their names in any spelling.

    Returns:
        The scores of each pair and measure: the first pair on all measures, then the next one.

    Raises:
        UsageError: If a measure is not in a report and the runs are not beside it.
        InputError: If the values per query are missing, or are not those of the report.
        IncomparableError: If the reports have different queries.
    """
    tables = [_read_values(source, measures) for source in sources]
    scores = []
    for pair, one in product(pairs, measures):
        if isinstance(one, str):
            name, higher = one, sources[0].report.higher_is_better(one)
        else:
            name, higher = one.requested_name, bool(one.higher_is_better)
        parts = [table[mode, name] for table, mode in zip(tables, pair, strict=True)]
        ids, other_ids = (part["query_id"].to_list() for part in parts)
        if differing := {*ids} ^ {*other_ids}:
            raise IncomparableError(
                f"{name} of {pair[0]} is averaged over different queries: {len(differing)} are in "
                f"only one report, for example {min(differing)}"
            )
        before, after = (part["value"].fill_null(np.nan).to_numpy() for part in parts)
        scores.append(PairedScores(*pair, name, ids, before, after, higher))
    return scores


_Values = dict[tuple[str, str], pl.DataFrame]
"""Columns ``query_id, value`` sorted by query, by mode and measure."""


def _group_values(table: pl.DataFrame) -> _Values:
    table = table.with_columns(pl.col("value").cast(pl.Float64))
    return {
        (str(mode), str(measure)): part.select("query_id", "value").sort("query_id")
        for (mode, measure), part in table.group_by("run", "measure")
    }


def _read_values(source: ReportFolder, measures: Sequence[str | Measure]) -> _Values:
    """Return the values per query by mode and requested measure."""
    report, path = source.report, source.files.file(PER_QUERY_FILE)
    assert source.per_query is not None
    values = _group_values(source.per_query)
    for (mode, result), name in product(report.modes.items(), report.measure_names):
        reported, mean = result.measures[name].mean, None
        if (mode, name) in values:
            mean = _mean(values[mode, name]["value"].drop_nulls().to_numpy())
        if (mean is None) != (reported is None) or not abs((mean or 0) - (reported or 0)) < _NEAR:
            raise InputError(
                f"the per-query values are not those of the report: their mean of {name} for "
                f"{mode} is {mean}, but the report has {reported}",
                where=str(path),
                remedy="keep the files of one benchmark together",
            )
    named = {one if isinstance(one, str) else one.requested_name: one for one in measures}
    labels = {name: report.find_measure(name) for name in named}
    if further := [name for name, label in labels.items() if label is None]:
        try:
            values |= _group_values(source.score([named[name] for name in further]).per_query())
        except InputError as error:
            raise UsageError(
                f"{further[0]} is not in the report, and cannot be scored from the runs beside it "
                f"({error})",
                where=str(source.path),
                remedy=f"use one of {', '.join(report.measure_names)}, or keep the runs and qrels",
            ) from error
    return {
        (mode, name): values[mode, label or name]
        for mode, (name, label) in product(report.modes, labels.items())
    }


def _mean(values: FloatArray) -> float | None:
    defined = values[~np.isnan(values)]
    return math.fsum(defined) / len(defined) if len(defined) else None


def note_undefined(mode: str, scores: PairedScores) -> str:
    """Return a note if a measure is undefined for a query in only one report; else empty.

    The two means are then over different queries, and their difference is not the mean difference
    of the pairs.

    Args:
        mode: The mode's name in tables.
        scores: The scores in both reports.
    """
    alone = int((np.isnan(scores.before) != np.isnan(scores.after)).sum())
    if not alone:
        return ""
    return (
        f"{scores.measure} of {mode} is undefined for {alone} of {len(scores.ids)} queries in one "
        "report only: the means of the reports are over different queries, the comparison "
        f"is over the {len(scores.shared.ids)} that both define"
    )


def refuse_incomparable(sources: _Reports) -> None:
    """Check that two reports are based on the same data.

    Judgments, texts of queries and documents are compared by the hashes of their contents, so
    names and formats of files do not matter; ontologies and annotations by the hashes of their
    files. A part that only one report has is not compared, for example the corpus, where given
    runs were scored.

    Raises:
        IncomparableError: If the data differ; it lists all differences.
    """
    first, second = (_list_facts(source.report) for source in sources)
    differences = [
        f"different {name} ({first[name]} and {second[name]})"
        for name in first
        if None not in (first[name], second[name]) and first[name] != second[name]
    ]
    if differences:
        raise IncomparableError(
            f"the reports cannot be compared: {'; '.join(differences)}",
            where=" and ".join(str(source.path) for source in sources),
            remedy="make both with the same data and settings",
        )


def _list_facts(report: BenchmarkReport) -> dict[str, object]:
    """Return what reports must have in common, by name; ``None`` is compared with nothing."""
    data, averaging = report.manifest.dataset, report.manifest.averaging
    without = any(mode.diagnostics.queries_without_relevant for mode in report.modes.values())
    hashes = {name: data.contents.get(name) for name in _PARTS}
    if hashes["qrels"] is None:
        raise IncomparableError("a report has no hash of its qrels")
    return {
        **{name: digest and digest[:12] for name, digest in hashes.items()},
        "versions of the dataset": str(data.version),
        "numbers of queries": data.queries,
        "values of missing": averaging.missing,
        "values of no_relevant": averaging.no_relevant if without else None,
    }
