"""The regression gate: a report compared with an earlier one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from trectools_plus.benchmark.compare.compare import adjust
from trectools_plus.benchmark.compare.compare_reports import (
    QueryChange,
    note_undefined,
    pair_values,
)
from trectools_plus.benchmark.compare.method import (
    ADJUSTED_TEST,
    DEFAULT_CORRECTION,
    EQUAL,
    alpha_of,
)
from trectools_plus.benchmark.compare.preconditions import refuse_incomparable
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder, ReportScores
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics import compare_columns

DEFAULT_MEASURES = ("R@10",)
DEFAULT_DROP = 0.05


@dataclass(frozen=True, slots=True)
class GateRules:
    """The limits of a gate.

    Attributes:
        measures: Names of measures.
        max_drop: How much worse a mean may be: a fraction of the baseline's mean, or with
            ``absolute`` a difference in the measure's unit.
        absolute: True if ``max_drop`` is a difference, not a fraction.
        require_significant: True if a drop beyond ``max_drop`` fails only if it is significant.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    max_drop: float = DEFAULT_DROP
    absolute: bool = False
    require_significant: bool = False


@dataclass(frozen=True, slots=True)
class GateEntry:
    """One measure of one mode, in the current report and in the baseline.

    Attributes:
        mode: The mode.
        label: Its name in tables.
        measure: Canonical name.
        baseline: The mean in the baseline.
        current: The mean in the current report.
        drop: How much worse the mean is: a fraction of the baseline's mean, or with ``absolute`` a
            difference in the measure's unit; negative if it is better.
        p_adjusted: The p-value of the randomisation test, adjusted by Holm over the gate's
            entries; ``None`` without per-query values.
        significant: True if ``p_adjusted`` is at most 1 - confidence; ``None`` without
            ``p_adjusted``.
        failed: True if the gate fails for this entry.
        higher: True if the mean is so much better that the baseline should be raised.
        fallen: Queries that got worse, worst first; ``None`` without per-query values.
    """

    mode: str
    label: str
    measure: str
    baseline: float
    current: float
    drop: float
    p_adjusted: float | None
    significant: bool | None
    failed: bool
    higher: bool
    fallen: list[QueryChange] | None


@dataclass(frozen=True, slots=True, repr=False)
class GateResult(Displayed):
    """The result of a gate.

    Attributes:
        rules: The limits.
        entries: One per mode and measure.
        notes: Remarks on the comparison.
        current: The report under test.
        baseline: The report that it is compared with.
    """

    _entries: ClassVar = "entries"
    _columns: ClassVar = ("label", "measure", "baseline", "current", "drop", "p_adjusted", "failed")

    rules: GateRules
    entries: list[GateEntry]
    notes: list[str]
    current: BenchmarkReport
    baseline: BenchmarkReport

    @property
    def passed(self) -> bool:
        """True if no entry failed."""
        return not any(entry.failed for entry in self.entries)


def run_gate(
    current: str | Path, baseline: str | Path, rules: GateRules | None = None
) -> GateResult:
    """Compare a report with a baseline, mode by mode.

    Args:
        current: The report under test: its JSON, or its folder.
        baseline: The report that it is compared with.
        rules: The limits; by default R@10 may lose 5% of its baseline.

    Returns:
        One entry per mode of the baseline and measure, failed or not.

    Raises:
        InputError: If a report cannot be read, is empty, or per-query values are needed and absent.
        UsageError: If a measure is unknown, or both reports are the same file.
        IncomparableError: If the data differ, a mode of the baseline is not in the current report,
            a mean is undefined or 0 in the baseline, or no query has a value of a measure in both
            reports.
    """
    rules = rules or GateRules()
    if not rules.measures:
        raise UsageError("no measure to compare with the baseline", where="--measure")
    if not 0 <= rules.max_drop < 1:
        raise UsageError(f"expected a drop of at least 0 and below 1 but got {rules.max_drop}")
    current_source, baseline_source = ReportFolder(current), ReportFolder(baseline)
    if current_source.path.samefile(baseline_source.path):
        raise UsageError("a report cannot be its own baseline", where=str(current))
    refuse_incomparable(
        current_source.report, baseline_source.report, (str(current), str(baseline))
    )
    _refuse_missing_modes(current_source, baseline_source)
    measures = parse_measures(rules.measures)
    names = [measure.requested_name for measure in measures]
    scores = ReportScores(current_source, measures), ReportScores(baseline_source, measures)
    cases = [(mode, name) for mode in baseline_source.report.modes for name in names]
    means = [_means(scores, case) for case in cases]
    pairs = [
        pair_values(scores, (mode, mode), name, ("current", "baseline")) for mode, name in cases
    ]
    shared_means = [
        _means_over_shared_queries(current_source.report, baseline_source.report, case, pair)
        for case, pair in zip(cases, pairs, strict=True)
    ]
    means = [over_shared or mean for mean, over_shared in zip(means, shared_means, strict=True)]
    if rules.require_significant:
        _refuse_unknown_values(pairs, current_source, baseline_source)
    defined = [None if pair is None else pair.drop_nulls() for pair in pairs]
    tests = _test_changes(defined, current_source.report.manifest.config)
    entries = [
        _make_entry(scores[0], case, mean, pair, p_value, rules)
        for case, mean, pair, p_value in zip(cases, means, defined, tests, strict=True)
    ]
    notes = _notes(current_source, baseline_source, pairs)
    for (mode, name), pair, over_shared in zip(cases, pairs, shared_means, strict=True):
        if pair is not None and over_shared is not None:
            label = current_source.report.modes[mode].label
            notes += [
                note_undefined(label, name, pair, ("current", "baseline")),
                f"{name} of {label} is compared over the {pair.drop_nulls().height} queries that "
                "both reports define",
            ]
    return GateResult(rules, entries, notes, current_source.report, baseline_source.report)


def parse_drop(text: str) -> float:
    """Parse ``5%`` or ``0.05`` as 0.05.

    Raises:
        UsageError: If it is not at least 0 and below 1. ``5`` is ambiguous, so it is an error.
    """
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise UsageError(
            "expected a share of at least 0 and below 100%, for example 5% or 0.05, but got "
            f"'{text}'",
            where="--max-drop",
        )
    return value


def _refuse_missing_modes(current_source: ReportFolder, baseline_source: ReportFolder) -> None:
    missing = [
        mode for mode in baseline_source.report.modes if mode not in current_source.report.modes
    ]
    if missing:
        raise IncomparableError(
            f"modes of the baseline are missing in the current report: {', '.join(missing)}",
            where=str(current_source.path),
            remedy="compare the same modes, or make a new baseline",
        )


def _means(scores: tuple[ReportScores, ReportScores], case: tuple[str, str]) -> tuple[float, float]:
    """Return the current mean and the baseline's; refuse undefined ones and a baseline of 0."""
    mode, measure = case
    means: list[float] = []
    for one_report, name in zip(scores, ("the current report", "the baseline"), strict=True):
        mean = one_report.mean(mode, measure)
        if mean is None or not math.isfinite(mean):
            raise IncomparableError(
                f"{measure} of {mode} is undefined in {name}",
                remedy="use a measure that is defined for at least one query",
            )
        means.append(mean)
    current, baseline = means
    if baseline == 0:
        raise IncomparableError(
            f"{measure} of {mode} is 0 in the baseline and cannot get worse",
            remedy="leave out that mode or measure, or make a new baseline",
        )
    return current, baseline


def _means_over_shared_queries(
    current_report: BenchmarkReport,
    baseline_report: BenchmarkReport,
    case: tuple[str, str],
    pair: pl.DataFrame | None,
) -> tuple[float, float] | None:
    """Return the means over the queries with a value in both reports.

    If a mode no longer answers its worst queries, the mean of a measure that is undefined without
    results gets better. So means over different queries are not compared.

    Returns:
        The current mean and the baseline's; ``None`` if the means are over the same queries.
    """
    mode, measure = case
    if pair is not None:
        both = pair.drop_nulls()
        columns = [pair["current"], pair["baseline"]]
        if all(column.drop_nulls().len() == both.height for column in columns):
            return None
        if both.height:
            current, baseline = (
                math.fsum(both[name].to_list()) / both.height for name in ("current", "baseline")
            )
            return current, baseline
        counts = [column.drop_nulls().len() for column in columns]
    else:
        found = [
            one.modes[mode].measures.get(one.find_measure(measure) or measure)
            for one in (current_report, baseline_report)
        ]
        counts = [0 if one is None else one.n for one in found]
        if counts[0] == counts[1]:
            return None
    raise IncomparableError(
        f"{measure} of {current_report.modes[mode].label} is defined for {counts[0]} queries in "
        f"the current report and for {counts[1]} in the baseline, but not for the same ones: the "
        "means cannot be compared",
        remedy="use a measure that is defined for every query, for example RR@10",
    )


def _refuse_unknown_values(
    pairs: list[pl.DataFrame | None], current_source: ReportFolder, baseline_source: ReportFolder
) -> None:
    if any(pair is None for pair in pairs):
        lacking = [
            str(one.folder) for one in (current_source, baseline_source) if one.per_query is None
        ]
        raise InputError(
            "--require-significant needs the per-query values of both reports",
            where=" and ".join(lacking),
            remedy="keep per_query.parquet beside BenchmarkReport.json",
        )


def _make_entry(
    one_report: ReportScores,
    case: tuple[str, str],
    means: tuple[float, float],
    pair: pl.DataFrame | None,
    p_value: tuple[float, bool] | None,
    rules: GateRules,
) -> GateEntry:
    mode, measure = case
    current, baseline = means
    sign = 1.0 if one_report.higher_is_better(measure) else -1.0
    drop = sign * (baseline - current) / (1.0 if rules.absolute else abs(baseline))
    significant = None if p_value is None else p_value[1]
    beyond = drop > rules.max_drop + EQUAL
    better = drop < -EQUAL
    return GateEntry(
        mode=mode,
        label=one_report.label(mode),
        measure=measure,
        baseline=baseline,
        current=current,
        drop=0.0 if abs(drop) <= EQUAL else drop,
        p_adjusted=None if p_value is None else p_value[0],
        significant=significant,
        failed=beyond and (significant is True or not rules.require_significant),
        higher=better and (-drop > rules.max_drop + EQUAL or significant is True),
        fallen=None if pair is None else _find_fallen(pair, sign),
    )


def _notes(
    current_source: ReportFolder, baseline_source: ReportFolder, pairs: list[pl.DataFrame | None]
) -> list[str]:
    notes = []
    if any(pair is None for pair in pairs):
        lacking = [
            str(one.path) for one in (current_source, baseline_source) if one.per_query is None
        ]
        notes.append(
            f"no per_query.parquet beside {' and '.join(lacking)}: queries cannot be listed, and "
            "significance is not tested"
        )
    new = [mode for mode in current_source.report.modes if mode not in baseline_source.report.modes]
    if new:
        notes.append(f"modes that are not in the baseline are not compared: {', '.join(new)}")
    fields = [
        one.report.manifest.dataset.contents.get("query_fields")
        for one in (current_source, baseline_source)
    ]
    if None not in fields and fields[0] != fields[1]:
        notes.append("the fields of queries changed, so a stratum may have different queries")
    if (
        current_source.report.manifest.experiment_id
        == baseline_source.report.manifest.experiment_id
    ):
        notes.append("both reports are of the same experiment")
    return notes


def _test_changes(
    pairs: Sequence[pl.DataFrame | None], config: Mapping[str, Any]
) -> list[tuple[float, bool] | None]:
    """Test several changes by randomisation as one family, adjusted by Holm.

    Args:
        pairs: ``current`` and ``baseline`` per query; ``None`` is not tested.
        config: The configuration of a manifest.

    Returns:
        The adjusted p-value and whether it is significant; ``None`` where not tested.
    """
    resampling = resampling_of(config)
    tested = [index for index, pair in enumerate(pairs) if pair is not None and pair.height]
    comparisons = []
    for index in tested:
        pair = pairs[index]
        assert pair is not None
        comparisons += compare_columns(
            (pair["current"] - pair["baseline"]).to_numpy(),
            tests=(ADJUSTED_TEST,),
            **resampling,
        )
    found: list[tuple[float, bool] | None] = [None] * len(pairs)
    for index, p_value in zip(tested, adjust(comparisons, DEFAULT_CORRECTION), strict=True):
        found[index] = (float(p_value), bool(p_value <= alpha_of(resampling["confidence"])))
    return found


def _find_fallen(pair: pl.DataFrame, sign: float) -> list[QueryChange]:
    """Return the queries that got worse, largest loss first.

    Args:
        pair: ``query_id, current, baseline``.
        sign: -1 if lower is better, else 1.
    """
    lost = sign * (pl.col("baseline") - pl.col("current"))
    fallen = (
        pair.with_columns(lost.alias("lost"))
        .filter(pl.col("lost") > EQUAL)
        .sort(["lost", "query_id"], descending=[True, False])
    )
    columns = ["query_id", "baseline", "current"]
    return [QueryChange(*row) for row in fallen.select(columns).iter_rows()]
