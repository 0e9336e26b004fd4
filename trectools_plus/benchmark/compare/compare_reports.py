"""Comparison of two reports: every mode of one with the same mode of the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PER_QUERY_FILE
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.statistics.method import DEFAULT_TEST, EQUAL, TEST_ALIASES, check_method
from trectools_plus.statistics.scores import Method, PairedScores, QueryChange, compare_scores
from trectools_plus.text import plural

_MOST_CHANGED = 10
_NEAR = 1e-9
"""Tolerance for a mean and the mean of its per-query values: the last bits of a sum."""
_DIFFERENCES = {
    "qrels": "different qrels",
    "topics": "different queries",
    "corpus": "different documents",
    "ontology": "different ontologies",
    "annotations": "different annotations",
}


@dataclass(frozen=True, slots=True)
class ComparedMode:
    """One mode, or two that are compared with each other, in both reports.

    Attributes:
        label: Its name; ``NAME (A) and NAME (B)`` if they differ.
        modes: The mode in A and in B.
        means: Per measure, the mean in A and in B.
        scores: Per measure, the scores of A and B.
        comparisons: B minus A, per measure, with tests.
    """

    label: str
    modes: tuple[str, str]
    means: dict[str, tuple[float | None, float | None]]
    scores: dict[str, PairedScores]
    comparisons: list[Comparison]

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Per measure, the number of queries in each mean."""
        return {name: scores.counts for name, scores in self.scores.items()}

    @property
    def changed(self) -> dict[str, list[QueryChange]]:
        """Per measure, the queries that changed most, largest change first."""
        return {name: scores.changes()[:_MOST_CHANGED] for name, scores in self.scores.items()}


@dataclass(frozen=True, slots=True, repr=False)
class ReportComparison(Displayed):
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
        higher_is_better: The direction of each measure.
        headline_measures: The headline measures of A that both reports contain, the primary one
            first; if there is none, the first measure.
        config: The configuration of A.
        noun: The word for what is compared: ``run`` or ``mode``.
    """

    _entries: ClassVar = "modes"
    _columns: ClassVar = ("label", "means")

    names: tuple[str, str]
    queries: int
    confidence: float
    modes: list[ComparedMode]
    notes: list[str]
    settings: dict[str, tuple[Any, Any]]
    higher_is_better: dict[str, bool]
    headline_measures: list[str]
    config: dict[str, Any]
    noun: str = "mode"

    def primary(self, mode: ComparedMode) -> Comparison:
        """Return the comparison of a mode on the first headline measure."""
        measure = self.headline_measures[0]
        return next(entry for entry in mode.comparisons if entry.measure == measure)


def compare_reports(
    first: str | Path,
    second: str | Path,
    *,
    test: str = DEFAULT_TEST,
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
    check_method(test)
    sources, names = [ReportFolder(first), ReportFolder(second)], (str(first), str(second))
    a, b = (source.report for source in sources)
    refuse_incomparable(a, b, names)
    pairs = _pair_modes(a, b, names)
    measures = [name for name in a.measure_names if b.find_measure(name)]
    if not measures:
        raise IncomparableError("the reports have no measure in common", where=" and ".join(names))
    for source in sources:
        source.files.file(PER_QUERY_FILE)
    tables = [
        list_figures(source, list(modes), measures)
        for source, modes in zip(sources, zip(*pairs, strict=True), strict=True)
    ]
    config, count = a.manifest.config, plural(len(pairs), "comparison")
    family = f"{count} on one measure: {plural(len(pairs), 'mode')}, B and A"
    method = Method(resampling_of(config), test, family=family)
    figures = [
        (tables[0][pair[0], name], tables[1][pair[1], name]) for pair in pairs for name in measures
    ]
    scores = [one for pair in figures if (one := pair_scores(*pair)) is not None]
    compared = compare_scores(scores, method)
    modes = []
    for place, pair in enumerate(pairs):
        part = slice(place * len(measures), (place + 1) * len(measures))
        labels = [one.label for one in figures[part][0]]
        means = [(before.mean, after.mean) for before, after in figures[part]]
        modes.append(
            ComparedMode(
                label=labels[0] if len({*labels}) == 1 else f"{labels[0]} (A) and {labels[1]} (B)",
                modes=pair,
                means=dict(zip(measures, means, strict=True)),
                scores=dict(zip(measures, scores[part], strict=True)),
                comparisons=compared[part],
            )
        )
    notes = [
        f"only in {name}: {', '.join(alone)}"
        for name, report, paired in zip(names, (a, b), zip(*pairs, strict=True), strict=True)
        if (alone := [mode for mode in report.modes if mode not in paired])
    ]
    notes += [
        note
        for mode in modes
        for one in mode.scores.values()
        if (note := note_undefined(mode.label, one))
    ]
    return ReportComparison(
        names=names,
        queries=a.manifest.dataset.queries,
        confidence=a.confidence,
        modes=modes,
        notes=notes,
        settings=_find_changes(config, b.manifest.config),
        higher_is_better={name: a.higher_is_better(name) for name in measures},
        headline_measures=[name for name in a.headline_measures if name in measures]
        or measures[:1],
        config=config,
        noun=a.noun,
    )


def _pair_modes(
    a: BenchmarkReport, b: BenchmarkReport, names: tuple[str, str]
) -> list[tuple[str, str]]:
    """Match the modes by name; if both reports have only one, these match even if they differ."""
    pairs = [(name, name) for name in a.modes if name in b.modes]
    if not pairs and len(a.modes) == len(b.modes) == 1:
        pairs = [*zip(a.modes, b.modes, strict=True)]
    if pairs:
        return pairs
    raise IncomparableError(
        f"the reports have no mode in common: {', '.join(a.modes)} and {', '.join(b.modes)}",
        where=" and ".join(names),
        remedy="to compare modes with each other, give their runs to one `benchmark run`",
    )


def state_verdict(compared: ReportComparison) -> str:
    """State the result on the first headline measure, one sentence per mode."""
    sentences = []
    for mode in compared.modes:
        entry = compared.primary(mode)
        on = f"on {entry.measure} over {plural(entry.n, 'query', 'queries')}"
        difference = entry.difference
        if difference is None:
            said = f"{entry.measure} is undefined in A or B"
        elif abs(difference) <= EQUAL:
            said = f"A and B are equal {on}"
        else:
            is_better = (difference > 0) == compared.higher_is_better[entry.measure]
            word = "significantly " if entry.significant else ""
            word += "better" if is_better else "worse"
            said = f"B is {word} than A by {abs(difference):.4f}"
            said += "" if entry.significant else ", not significant"
            said += f" {on}"
        sentences.append(f"{mode.label}: {said}.")
    return " ".join(sentences)


class StoredFigures(NamedTuple):
    """One measure of one mode in a report, or scored from the runs beside it.

    Attributes:
        mode: The mode.
        label: Its name in tables.
        measure: The measure, as it was asked for.
        mean: The mean; ``None`` if undefined.
        queries: Number of queries in the mean.
        higher_is_better: The direction of the measure.
        values: Columns ``query_id, value`` sorted by query; ``None`` without per-query values.
    """

    mode: str
    label: str
    measure: str
    mean: float | None
    queries: int
    higher_is_better: bool
    values: pl.DataFrame | None


def list_figures(
    source: ReportFolder, modes: Sequence[str], measures: Sequence[str | Measure]
) -> dict[tuple[str, str], StoredFigures]:
    """Return the figures of a report, also of measures that it does not contain.

    Args:
        source: The report. Further measures are scored from the runs beside it.
        modes: The modes.
        measures: The measures, or their names in any spelling.

    Returns:
        By mode and by the name that a measure was requested by.

    Raises:
        UsageError: If a measure is not in the report and the runs are not beside it.
        InputError: If the mean of the per-query values is not the mean in the report.
    """
    report = source.report
    named = {one if isinstance(one, str) else one.requested_name: one for one in measures}
    labels = {name: report.find_measure(name) for name in named}
    further = [name for name, label in labels.items() if label is None]
    tables, scored = {False: source.per_query}, None
    if further:
        try:
            scored = source.score([named[name] for name in further])
        except InputError as error:
            raise UsageError(
                f"{further[0]} is not in the report, and cannot be scored from the runs "
                f"beside it ({error})",
                where=str(source.path),
                remedy=f"use one of {', '.join(report.measure_names)}, or keep the runs and qrels",
            ) from error
        tables[True] = scored.per_query()
    figures = {}
    for mode, (name, label) in product(modes, labels.items()):
        if label is not None:
            result, higher = report.modes[mode].measures[label], report.higher_is_better(label)
            mean, queries = result.mean, result.n
        else:
            assert scored is not None
            measure = scored.definition(name)
            mean, queries = none_if_nan(scored.mean(mode, name)), scored.n(mode, name)
            higher = measure.higher_is_better
        table = tables[label is None]
        values = None
        if table is not None:
            found = table.filter(run=mode, measure=label or name)
            values = found.select("query_id", "value").sort("query_id")
            _refuse_other_values(source, (mode, name, mean), values)
        shown = report.modes[mode].label
        figures[mode, name] = StoredFigures(mode, shown, name, mean, queries, higher, values)
    return figures


def _refuse_other_values(
    source: ReportFolder, case: tuple[str, str, float | None], values: pl.DataFrame
) -> None:
    mode, measure, reported = case
    defined = values["value"].drop_nulls().to_list()
    mean = math.fsum(defined) / len(defined) if defined else None
    if (mean is None) != (reported is None) or abs((mean or 0) - (reported or 0)) > _NEAR:
        raise InputError(
            f"the per-query values are not those of the report: their mean of {measure} for "
            f"{mode} is {mean}, but the report has {reported}",
            where=str(source.folder / PER_QUERY_FILE),
            remedy="keep the files of one benchmark together",
        )


def pair_scores(before: StoredFigures, after: StoredFigures) -> PairedScores | None:
    """Return the scores of two reports per query; ``None`` without per-query values.

    Args:
        before: The figures of the baseline.
        after: The figures that are compared with them.

    Raises:
        IncomparableError: If the reports have different queries.
    """
    if before.values is None or after.values is None:
        return None
    ids = [[*one.values["query_id"]] for one in (before, after) if one.values is not None]
    if differing := {*ids[0]} ^ {*ids[1]}:
        raise IncomparableError(
            f"{before.measure} of {before.mode} is averaged over different queries: "
            f"{len(differing)} are in only one report, for example {min(differing)}"
        )
    first, second = (
        one["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for one in (before.values, after.values)
    )
    return PairedScores(
        before.mode, after.mode, before.measure, ids[0], first, second, before.higher_is_better
    )


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
        "report only: the two means are over different queries, the test is over the "
        f"{len(scores.shared.ids)} that both define"
    )


def refuse_incomparable(
    first: BenchmarkReport, second: BenchmarkReport, names: tuple[str, str]
) -> None:
    """Check that two reports are based on the same data.

    Judgments, texts of queries and documents are compared by the hashes of their contents, so
    names and formats of files do not matter; ontologies and annotations by the hashes of their
    files. A part that only one report has is not compared, for example the corpus, where given
    runs were scored.

    Args:
        first: A report.
        second: Another report.
        names: Their names in messages.

    Raises:
        IncomparableError: If the data differ; it lists all differences.
    """
    if found := [*_list_differences(first, second)]:
        raise IncomparableError(
            f"the reports cannot be compared: {'; '.join(found)}",
            where=" and ".join(names),
            remedy="make both with the same data and settings",
        )


def _list_differences(first: BenchmarkReport, second: BenchmarkReport) -> Iterator[str]:
    """Yield the differences between the data of two reports."""
    a, b = first.manifest.dataset, second.manifest.dataset
    if a.version != b.version:
        yield f"different dataset versions ({a.version} and {b.version})"
    for kind, description in _DIFFERENCES.items():
        hashes = a.contents.get(kind), b.contents.get(kind)
        if None not in hashes and hashes[0] != hashes[1]:
            yield f"{description} (sha256 {str(hashes[0])[:8]} and {str(hashes[1])[:8]})"
    if "qrels" not in a.contents or "qrels" not in b.contents:
        yield "a report has no hash of its qrels"
    if a.queries != b.queries:
        yield f"means over {a.queries} and {b.queries} queries"
    one, other = first.manifest.averaging, second.manifest.averaging
    if one.missing != other.missing:
        yield f"queries without results count as {one.missing} and {other.missing}"
    modes = (*first.modes.values(), *second.modes.values())
    has_such = any(mode.diagnostics.queries_without_relevant for mode in modes)
    if one.no_relevant != other.no_relevant and has_such:
        yield (
            "queries without a relevant document count as "
            f"{one.no_relevant} and {other.no_relevant} (no_relevant)"
        )


def _find_changes(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Find the differences between two configurations.

    Returns:
        By dotted name, for example ``retrieval.k1``, the value in each; ``None`` if it is not set.
    """
    a, b = _flatten(first), _flatten(second)
    names = dict.fromkeys([*a, *b])
    return {name: (a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)}


def _flatten(part: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in part.items():
        if isinstance(value, Mapping):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
