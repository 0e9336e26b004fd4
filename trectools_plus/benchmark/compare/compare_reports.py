"""Comparison of two reports: every mode of one with the same mode of the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder, ReportScores
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import PER_QUERY_FILE
from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import IncomparableError, InputError
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.statistics.method import DEFAULT_TEST, EQUAL, TEST_ALIASES, check_method
from trectools_plus.statistics.scores import Method, PairedScores, QueryChange, compare_scores
from trectools_plus.text import plural

_MOST_CHANGED = 10
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
        latency: Milliseconds per query, B minus A, over the queries timed in both reports; ``None``
            if a report has no latencies, or no query is in both.
        latency_means: The mean milliseconds in A and in B.
    """

    label: str
    modes: tuple[str, str]
    means: dict[str, tuple[float | None, float | None]]
    scores: dict[str, PairedScores]
    comparisons: list[Comparison]
    latency: Comparison | None
    latency_means: tuple[float, float] | None

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
    modes: list[ComparedMode]
    notes: list[str]
    settings: dict[str, tuple[Any, Any]]
    packages: dict[str, tuple[Any, Any]]
    higher_is_better: dict[str, bool]
    headline_measures: list[str]
    config: dict[str, Any]
    noun: str = "mode"

    def primary(self, mode: ComparedMode) -> Comparison:
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
        settings and packages that differ.

    Raises:
        InputError: If a report or its values per query cannot be read.
        IncomparableError: If the reports are based on different data or queries, or have no mode
            or measure in common.
        UsageError: If the test is unknown.
    """
    test = TEST_ALIASES.get(test, test)
    check_method(test)
    a, b = ReportFolder(first), ReportFolder(second)
    names = str(first), str(second)
    refuse_incomparable(a.report, b.report, names)
    pairs = _pair_modes(a.report, b.report, names)
    measures = [
        name
        for name in a.report.measure_names
        if b.report.find_measure(name) is not None and not a.report.is_sum(name)
    ]
    if not measures:
        raise IncomparableError("the reports have no measure in common", where=" and ".join(names))
    for source in (a, b):
        if source.per_query is None:
            raise InputError(
                "the values per query are missing",
                where=str(source.folder / PER_QUERY_FILE),
                remedy="keep the files of a benchmark together",
            )
    stored = ReportScores(a, measures), ReportScores(b, measures)
    scores = [one for pair in pairs for name in measures
              if (one := pair_scores(stored, pair, name)) is not None]  # fmt: skip
    config, count = a.report.manifest.config, plural(len(pairs), "comparison")
    family = f"{count} on one measure: {plural(len(pairs), 'mode')}, B and A"
    method = Method(resampling_of(config), test, family=family)
    compared = compare_scores(scores, method)
    modes, notes = [], []
    for place, source in enumerate((a, b)):
        alone = [
            mode for mode in source.report.modes if mode not in {pair[place] for pair in pairs}
        ]
        notes += [f"only in {names[place]}: {', '.join(alone)}"] if alone else []
    for place, pair in enumerate(pairs):
        labels = [one.label(mode) for one, mode in zip(stored, pair, strict=True)]
        label = labels[0] if labels[0] == labels[1] else f"{labels[0]} (A) and {labels[1]} (B)"
        latency = _pair_latency(a, b, pair)
        chunk = slice(place * len(measures), (place + 1) * len(measures))
        notes += filter(None, (note_undefined(label, one) for one in scores[chunk]))
        modes.append(
            ComparedMode(
                label=label,
                modes=pair,
                means={
                    name: (stored[0].mean(pair[0], name), stored[1].mean(pair[1], name))
                    for name in measures
                },
                scores=dict(zip(measures, scores[chunk], strict=True)),
                comparisons=compared[chunk],
                latency=None if latency is None else compare_scores([latency], method)[0],
                latency_means=None if latency is None else latency.means,
            )
        )
    ours, theirs = a.report.manifest, b.report.manifest
    return ReportComparison(
        names=names,
        queries=ours.dataset.queries,
        confidence=a.report.confidence,
        modes=modes,
        notes=notes,
        settings=_find_changes(config, theirs.config),
        packages=_find_changes(ours.packages, theirs.packages),
        higher_is_better={name: a.report.higher_is_better(name) for name in measures},
        headline_measures=[name for name in a.report.headline_measures if name in measures]
        or measures[:1],
        config=config,
        noun=a.report.noun,
    )


def _pair_modes(
    a: BenchmarkReport, b: BenchmarkReport, names: tuple[str, str]
) -> list[tuple[str, str]]:
    """Match the modes by name; if both reports have only one, these match even if they differ."""
    pairs = [(name, name) for name in a.modes if name in b.modes]
    if pairs:
        return pairs
    if len(a.modes) == len(b.modes) == 1:
        return [(next(iter(a.modes)), next(iter(b.modes)))]
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
        over = f"over {plural(entry.n, 'query', 'queries')}"
        if entry.difference is None:
            sentences.append(f"{mode.label}: {entry.measure} is undefined in A or B.")
            continue
        size = f"{abs(entry.difference):.4f} on {entry.measure}"
        better = (entry.difference > 0) == compared.higher_is_better[entry.measure]
        if entry.significant:
            word = "better" if better else "worse"
            sentences.append(f"{mode.label}: B is significantly {word} than A by {size} {over}.")
        elif abs(entry.difference) <= EQUAL:
            sentences.append(f"{mode.label}: A and B are equal on {entry.measure} {over}.")
        else:
            word = "ahead" if better else "behind"
            sentences.append(f"{mode.label}: B is {word} by {size}, not significant {over}.")
    return " ".join(sentences)


def pair_scores(
    stored: tuple[ReportScores, ReportScores], modes: tuple[str, str], measure: str
) -> PairedScores | None:
    """Return the scores of two reports per query; ``None`` without per-query values.

    Args:
        stored: The reports; that of the baseline first.
        modes: The mode in each report.
        measure: The measure.

    Raises:
        IncomparableError: If the reports have different queries.
    """
    first, second = (one.values(mode, measure) for one, mode in zip(stored, modes, strict=True))
    if first is None or second is None:
        return None
    differing = set(first["query_id"]) ^ set(second["query_id"])
    if differing:
        raise IncomparableError(
            f"{measure} of {modes[0]} is averaged over different queries: {len(differing)} are in "
            f"only one report, for example {min(differing)}"
        )
    before, after = (
        one["value"].cast(pl.Float64).fill_null(np.nan).to_numpy() for one in (first, second)
    )
    higher = stored[0].higher_is_better(measure)
    return PairedScores(*modes, measure, first["query_id"].to_list(), before, after, higher)


def _pair_latency(a: ReportFolder, b: ReportFolder, pair: tuple[str, str]) -> PairedScores | None:
    if a.latency is None or b.latency is None:
        return None
    first, second = (
        table.filter(run=mode).select("query_id", "latency_ms")
        for table, mode in ((a.latency, pair[0]), (b.latency, pair[1]))
    )
    both = first.join(second, on="query_id", suffix="_b")
    if not both.height:
        return None
    before, after = both["latency_ms"].to_numpy(), both["latency_ms_b"].to_numpy()
    query_ids = both["query_id"].to_list()
    return PairedScores(*pair, "latency_ms", query_ids, before, after, higher_is_better=False)


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
    first_data, second_data = first.manifest.dataset, second.manifest.dataset
    found = []
    if first_data.version != second_data.version:
        found.append(f"different dataset versions ({first_data.version} and {second_data.version})")
    for kind, description in _DIFFERENCES.items():
        a, b = first_data.contents.get(kind), second_data.contents.get(kind)
        if a is not None and b is not None and a != b:
            found.append(f"{description} (sha256 {a[:8]} and {b[:8]})")
    if "qrels" not in first_data.contents or "qrels" not in second_data.contents:
        found.append("a report has no hash of its qrels")
    if first_data.queries != second_data.queries:
        found.append(f"means over {first_data.queries} and {second_data.queries} queries")
    one, other = first.manifest.averaging, second.manifest.averaging
    if one.missing != other.missing:
        found.append(f"queries without results count as {one.missing} and {other.missing}")
    modes = (mode for report in (first, second) for mode in report.modes.values())
    has_such = any(mode.diagnostics.queries_without_relevant for mode in modes)
    if one.no_relevant != other.no_relevant and has_such:
        found.append(
            "queries without a relevant document count as "
            f"{one.no_relevant} and {other.no_relevant} (no_relevant)"
        )
    if found:
        raise IncomparableError(
            f"the reports cannot be compared: {'; '.join(found)}",
            where=" and ".join(names),
            remedy="make both with the same data and settings",
        )


def _find_changes(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Find the differences between two configurations, or two lists of versions.

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
