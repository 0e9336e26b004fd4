"""The regression gate: a report compared with an earlier one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from trectools_plus.benchmark.compare.compare_reports import (
    note_undefined,
    pair_scores,
    refuse_incomparable,
)
from trectools_plus.benchmark.condensed import JudgedShares
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import (
    ReportFolder,
    ReportScores,
    read_report_topics,
)
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.display import Displayed
from trectools_plus.errors import (
    IncomparableError,
    InputError,
    TrectoolsPlusError,
    UsageError,
)
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics import queries_needed
from trectools_plus.statistics.arrays import Resampling
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.statistics.method import EQUAL, alpha_of
from trectools_plus.statistics.non_inferiority import non_inferiority_interval
from trectools_plus.statistics.scores import (
    Method,
    PairedScores,
    QueryChange,
    compare_scores,
    report_interval,
)

DEFAULT_MEASURES = ("R@10",)
DEFAULT_DROP = 0.05


@dataclass(frozen=True, slots=True)
class GateRules:
    """The limits of a gate.

    Attributes:
        measures: Names of measures.
        max_drop: How much worse a mean may be: a fraction of the baseline's mean, or with
            ``absolute`` a difference in the measure's unit. ``None`` is 5% without
            ``non_inferior``, and no limit with it.
        absolute: True if ``max_drop`` and ``non_inferior`` are differences, not fractions.
        require_significant: True if a drop beyond ``max_drop`` fails only if it is significant.
        non_inferior: The margin of non-inferiority, in the form of ``max_drop``: a mean fails
            unless the interval of its difference from the baseline excludes a drop of this size.
            ``None`` does not require it. With ``max_drop``, both conditions must hold; it cannot be
            combined with ``require_significant``.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    max_drop: float | None = None
    absolute: bool = False
    require_significant: bool = False
    non_inferior: float | None = None

    def __post_init__(self) -> None:
        if self.max_drop is None and self.non_inferior is None:
            object.__setattr__(self, "max_drop", DEFAULT_DROP)


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
        ci: The interval of the mean difference, current minus baseline: the t-interval at the level
            of Holm's test, or, with a margin of non-inferiority, that of
            :func:`~trectools_plus.statistics.non_inferiority.non_inferiority_interval` for this
            entry alone, because all entries must pass. ``None`` without per-query values, for too
            few queries or changes, and for a sum.
        p_adjusted: The p-value of the paired t-test, adjusted by Holm over the gate's entries;
            ``None`` without per-query values, and for fewer than two queries.
        significant: True if ``p_adjusted`` is at most 1 - confidence; ``None`` without per-query
            values.
        margin: The margin of non-inferiority in the measure's unit; ``None`` if not required.
        non_inferior: True if the interval excludes a drop of ``margin`` or more; ``None`` if not
            required.
        queries: The number of queries with a value in both reports; ``None`` without per-query
            values.
        undecided: True if the data show neither that the mean passes nor that it fails: the
            interval contains the margin of non-inferiority, or, without a margin, the drop is
            beyond ``max_drop`` but not significant.
        queries_needed: If ``undecided``, the number of queries that would decide with a probability
            of 80% at the observed spread: to show non-inferiority if there is no true difference,
            or to detect a true drop of ``max_drop``. ``None`` otherwise, and if there is no such
            number.
        failed: True if the gate fails for this entry.
        higher: True if the mean is so much better that the baseline should be raised.
        fallen: Queries that got worse, worst first; ``None`` without per-query values.
        condensed: The means of the baseline and of the current report without the unjudged
            documents of both, if these may be the reason for a failure; otherwise ``None``.
        decidable: False if the entry fails only with the unjudged documents: then it neither fails
            nor passes.
    """

    mode: str
    label: str
    measure: str
    baseline: float
    current: float
    drop: float
    ci: ConfidenceInterval | None
    p_adjusted: float | None
    significant: bool | None
    margin: float | None
    non_inferior: bool | None
    queries: int | None
    undecided: bool
    queries_needed: int | None
    failed: bool
    higher: bool
    fallen: list[QueryChange] | None
    condensed: tuple[float, float] | None = None
    decidable: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class GateResult(Displayed):
    """The result of a gate.

    Attributes:
        rules: The limits.
        entries: One per mode and measure.
        notes: Remarks on the comparison.
        current: The report under test.
        baseline: The report that it is compared with.
        judged: The shares of judged documents among the first ten, in the baseline and in the
            current report, by mode; empty if no document is judged as not relevant.
        texts: The texts of the queries that got worse, as far as they are known.
    """

    _entries: ClassVar = "entries"
    _columns: ClassVar = ("label", "measure", "baseline", "current", "drop", "p_adjusted", "failed")

    rules: GateRules
    entries: list[GateEntry]
    notes: list[str]
    current: BenchmarkReport
    baseline: BenchmarkReport
    judged: dict[str, tuple[float, float]]
    texts: dict[str, str]

    @property
    def passed(self) -> bool:
        """True if every entry is decidable, and none failed."""
        return not any(entry.failed or not entry.decidable for entry in self.entries)

    @property
    def decidable(self) -> bool:
        """False if an entry is not decidable, and none failed."""
        return self.passed or any(entry.failed for entry in self.entries)


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
    _check_rules(rules)
    current_source, baseline_source = ReportFolder(current), ReportFolder(baseline)
    if current_source.path.samefile(baseline_source.path):
        raise UsageError("a report cannot be its own baseline", where=str(current))
    refuse_incomparable(
        current_source.report, baseline_source.report, (str(current), str(baseline))
    )
    _refuse_missing_modes(current_source, baseline_source)
    measures = parse_measures(rules.measures)
    names = [measure.requested_name for measure in measures]
    stored = ReportScores(current_source, measures), ReportScores(baseline_source, measures)
    cases = [(mode, name) for mode in baseline_source.report.modes for name in names]
    means = [_means(stored, case) for case in cases]
    pairs = [pair_scores((stored[1], stored[0]), (mode, mode), name) for mode, name in cases]
    shared_means = [
        _means_over_shared_queries(current_source.report, baseline_source.report, case, pair)
        for case, pair in zip(cases, pairs, strict=True)
    ]
    means = [over_shared or mean for mean, over_shared in zip(means, shared_means, strict=True)]
    sources = current_source, baseline_source
    if rules.require_significant:
        _refuse_unknown_values("--require-significant", pairs, sources)
    if rules.non_inferior is not None:
        _refuse_unknown_values("--non-inferior", pairs, sources)
        _refuse_sums(stored[0], names)
    alone = rules.non_inferior is not None
    changes = _test_changes(pairs, current_source.report.manifest.config, alone=alone)
    entries = [
        _make_entry(stored[0], case, mean, change, rules)
        for case, mean, change in zip(cases, means, changes, strict=True)
    ]
    shares = JudgedShares.of(baseline_source, current_source)
    notes = [*_notes(current_source, baseline_source, pairs), *shares.notes]
    try:
        entries = _fail_without_unjudged(entries, pairs, measures, shares, (stored[0], rules))
    except InputError as error:
        notes.append(f"the means without unjudged documents are not known: {error}")
    for (mode, name), pair, over_shared in zip(cases, pairs, shared_means, strict=True):
        if pair is not None and over_shared is not None:
            label = current_source.report.modes[mode].label
            notes += [
                note_undefined(label, pair),
                f"{name} of {label} is compared over the {len(pair.shared.ids)} queries that "
                "both reports define",
            ]
    reports = current_source.report, baseline_source.report
    texts = _find_texts(current_source, entries)
    return GateResult(rules, entries, notes, *reports, shares.by_mode, texts)


def parse_drop(text: str, where: str = "--max-drop") -> float:
    """Parse ``5%`` or ``0.05`` as 0.05.

    Args:
        text: The share.
        where: The option, for the error message.

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
            where=where,
        )
    return value


def _find_texts(source: ReportFolder, entries: Sequence[GateEntry]) -> dict[str, str]:
    """Return the texts of the queries that got worse; empty if the topics are not available."""
    worse = {query.query_id for entry in entries for query in entry.fallen or ()}
    texts = {one.query_id: one.text or "" for one in source.report.failing_queries}
    with suppress(TrectoolsPlusError):
        topics = read_report_topics(source)
        texts |= {} if topics is None else topics.to_dict()
    return {query_id: text for query_id, text in texts.items() if text and query_id in worse}


def _check_rules(rules: GateRules) -> None:
    if not rules.measures:
        raise UsageError("no measure to compare with the baseline", where="--measure")
    if rules.max_drop is not None and not 0 <= rules.max_drop < 1:
        raise UsageError(f"expected a drop of at least 0 and below 1 but got {rules.max_drop}")
    if rules.non_inferior is None:
        return
    if not 0 < rules.non_inferior < 1:
        raise UsageError(
            f"expected a margin above 0 and below 1 but got {rules.non_inferior:g}",
            where="--non-inferior",
            remedy="pass the largest drop that does not matter in practice, for example 5%",
        )
    if rules.require_significant:
        raise UsageError(
            "--require-significant and --non-inferior cannot be combined",
            remedy="use --require-significant to fail on a proven drop only, or --non-inferior to "
            "pass only if a drop is excluded",
        )


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
    pair: PairedScores | None,
) -> tuple[float, float] | None:
    """Return the means over the queries with a value in both reports.

    If a mode no longer answers its worst queries, the mean of a measure that is undefined without
    results gets better. So means over different queries are not compared.

    Returns:
        The current mean and the baseline's; ``None`` if the means are over the same queries.
    """
    mode, measure = case
    if pair is not None:
        both = pair.shared
        counts = list(pair.counts[::-1])
        if counts == [len(both.ids)] * 2:
            return None
        if both.ids:
            baseline, current = both.means
            return current, baseline
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
    option: str, pairs: Sequence[PairedScores | None], sources: tuple[ReportFolder, ReportFolder]
) -> None:
    if any(pair is None for pair in pairs):
        lacking = [str(one.folder) for one in sources if one.per_query is None]
        raise InputError(
            f"{option} needs the per-query values of both reports",
            where=" and ".join(lacking),
            remedy="keep per_query.parquet beside BenchmarkReport.json",
        )


def _refuse_sums(scores: ReportScores, measures: Sequence[str]) -> None:
    sums = [name for name in measures if scores.is_sum(name)]
    if sums:
        raise UsageError(
            f"{sums[0]} is a sum over the queries and has no interval",
            where="--non-inferior",
            remedy="use a measure that is averaged over queries, or --max-drop",
        )


class _Change(NamedTuple):
    """The change of one entry.

    Attributes:
        scores: The scores of the queries with a value in both reports, at least one.
        comparison: Current minus baseline.
        level: The confidence level.
    """

    scores: PairedScores
    comparison: Comparison
    level: float


def _make_entry(
    scores: ReportScores,
    case: tuple[str, str],
    means: tuple[float, float],
    change: _Change | None,
    rules: GateRules,
) -> GateEntry:
    mode, measure = case
    current, baseline = means
    sign = 1.0 if scores.higher_is_better(measure) else -1.0
    unit = 1.0 if rules.absolute else abs(baseline)
    drop = sign * (baseline - current) / unit
    significant = None if change is None else change.comparison.significant
    ci = None if change is None or scores.is_sum(measure) else change.comparison.ci
    beyond = rules.max_drop is not None and drop > rules.max_drop + EQUAL
    tolerance = (rules.non_inferior if rules.max_drop is None else rules.max_drop) or 0.0
    margin = non_inferior = None
    undecided = beyond and significant is False
    if rules.non_inferior is not None:
        margin = rules.non_inferior * unit
        worst, best = _ends_from_worst(change, sign)
        non_inferior = worst > -margin + EQUAL
        undecided = not non_inferior and best > -margin
    needed = None
    if undecided and change is not None and not scores.is_sum(measure):
        limit = tolerance * unit if margin is None else margin
        needed = _count_queries(change, limit, one_sided=margin is not None)
    return GateEntry(
        mode=mode,
        label=scores.label(mode),
        measure=measure,
        baseline=baseline,
        current=current,
        drop=0.0 if abs(drop) <= EQUAL else drop,
        ci=ci,
        p_adjusted=None if change is None else change.comparison.p_adjusted,
        significant=significant,
        margin=margin,
        non_inferior=non_inferior,
        queries=None if change is None else change.comparison.n,
        undecided=undecided,
        queries_needed=needed,
        failed=non_inferior is False
        or (beyond and (significant is True or not rules.require_significant)),
        higher=drop < -EQUAL and (-drop > tolerance + EQUAL or significant is True),
        fallen=None if change is None else change.scores.changes(only_losses=True),
    )


def _fail_without_unjudged(
    entries: Sequence[GateEntry],
    pairs: Sequence[PairedScores | None],
    measures: Sequence[Measure],
    shares: JudgedShares,
    rules: tuple[ReportScores, GateRules],
) -> list[GateEntry]:
    """Check failures that unjudged documents may explain again, without these documents.

    Args:
        entries: The entries, of which each mode has one per measure.
        pairs: Their scores.
        measures: The measures.
        shares: The judgments.
        rules: The scores of the current report, and the limits.

    Returns:
        The entries; a failure that is gone is not decidable.

    Raises:
        InputError: If runs or judgments are missing, or not those of the report.
    """
    checked = {
        place: (pair, measure)
        for place, (entry, pair) in enumerate(zip(entries, pairs, strict=True))
        if entry.failed and pair is not None
        if shares.may_explain(entry.mode, measure := measures[place % len(measures)])
    }
    if not checked:
        return [*entries]
    failing, of_measures = zip(*checked.values(), strict=True)
    condensed = dict(zip(checked, shares.condense(failing, of_measures), strict=True))
    family = [condensed.get(place, pair) for place, pair in enumerate(pairs)]
    config = shares.sources[1].report.manifest.config
    changes = _test_changes(family, config, alone=rules[1].non_inferior is not None)
    found = [*entries]
    for place, pair in condensed.items():
        baseline, current = pair.means
        if not baseline:
            continue
        case = found[place].mode, found[place].measure
        again = _make_entry(rules[0], case, (current, baseline), changes[place], rules[1])
        fails = again.failed and not _only_lacks_proof(again, found[place], rules[1])
        found[place] = replace(
            found[place], condensed=(baseline, current), failed=fails, decidable=fails
        )
    return found


def _only_lacks_proof(again: GateEntry, entry: GateEntry, rules: GateRules) -> bool:
    """Return whether an inferior mean is no longer inferior, but not shown to be non-inferior."""
    is_within = rules.max_drop is None or again.drop <= rules.max_drop + EQUAL
    return again.margin is not None and again.undecided and not entry.undecided and is_within


def _ends_from_worst(change: _Change | None, sign: float) -> tuple[float, float]:
    """Return the worst and the best difference in the interval, negative if the mean is worse.

    Without an interval, for few queries or changes, nothing is shown.
    """
    low, high = (None, None) if change is None else ends_of(change.comparison.ci)
    if low is None or high is None:
        return -math.inf, math.inf
    return (low, high) if sign > 0 else (-high, -low)


def _count_queries(change: _Change, difference: float, *, one_sided: bool) -> int | None:
    """Return the number of queries that detect a difference with a probability of 80%.

    Args:
        change: The paired differences, whose spread is used.
        difference: In the measure's unit. With a true difference of 0, non-inferiority is shown if
            a difference of the margin is detected on one side.
        one_sided: Use the level of one end of the interval.
    """
    spread, level = change.scores.spread, alpha_of(change.level)
    if not spread or not difference:
        return None
    with suppress(UsageError):  # more than a billion
        return queries_needed(
            difference, spread, level=level / 2 if one_sided else level, one_sided=one_sided
        )
    return None


def _notes(
    current_source: ReportFolder,
    baseline_source: ReportFolder,
    pairs: Sequence[PairedScores | None],
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
    pairs: Sequence[PairedScores | None], config: Mapping[str, Any], *, alone: bool
) -> list[_Change | None]:
    """Test several changes as one family, by the paired t-test with Holm.

    Args:
        pairs: The scores of the baseline and the current report; ``None`` is not tested.
        config: The configuration of a manifest.
        alone: Give each change its interval of non-inferiority, not that of the family.

    Returns:
        The changes with their intervals and adjusted p-values; ``None`` where not tested.
    """
    shared = [None if pair is None else pair.shared for pair in pairs]
    tested = [pair for pair in shared if pair is not None and pair.ids]
    method = Method(resampling_of(config))
    compared = iter(compare_scores(tested, method, one_family=True) if tested else [])
    changes: list[_Change | None] = []
    for pair in shared:
        if pair is None or not pair.ids:
            changes.append(None)
            continue
        comparison, confidence = next(compared), method.options["confidence"]
        if alone:
            ci = _interval_alone(pair, confidence)
            comparison = comparison.model_copy(update={"ci": ci})
        changes.append(_Change(pair, comparison, confidence))
    return changes


def _interval_alone(pair: PairedScores, confidence: float) -> ConfidenceInterval | None:
    sign = 1.0 if pair.higher_is_better else -1.0
    interval = non_inferiority_interval(sign * pair.after, sign * pair.before, confidence)
    if interval is None:
        return None
    ends = sorted((sign * interval[0], sign * interval[1]))
    return report_interval((ends[0], ends[1]), Resampling(confidence=confidence), interval[2])
