"""The regression gate: a report compared with an earlier one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import ClassVar, NamedTuple

from trectools_plus.benchmark.compare.compare_reports import (
    StoredFigures,
    list_figures,
    note_undefined,
    pair_scores,
    refuse_incomparable,
)
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder, read_report_topics
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import FloatArray, Measure
from trectools_plus.measures.definitions.builtin import Judged
from trectools_plus.measures.evaluation import JUDGED, score_runs
from trectools_plus.measures.judged import (
    has_few_judged,
    has_nonrelevant,
    notes_on_judges,
    notes_on_unjudged,
)
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics import queries_needed
from trectools_plus.statistics.arrays import IntervalOptions, Resampling
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

    def check(self) -> None:
        """Check the limits.

        Raises:
            UsageError: If one is out of range, there is no measure, or two cannot be combined.
        """
        if not self.measures:
            raise UsageError("no measure to compare with the baseline", where="--measure")
        if self.max_drop is not None and not 0 <= self.max_drop < 1:
            raise UsageError(f"expected a drop of at least 0 and below 1 but got {self.max_drop}")
        if self.non_inferior is None:
            return
        if not 0 < self.non_inferior < 1:
            raise UsageError(
                f"expected a margin above 0 and below 1 but got {self.non_inferior:g}",
                where="--non-inferior",
                remedy="pass the largest drop that does not matter in practice, for example 5%",
            )
        if self.require_significant:
            raise UsageError(
                "--require-significant and --non-inferior cannot be combined",
                remedy="use --require-significant to fail on a proven drop only, or "
                "--non-inferior to pass only if a drop is excluded",
            )


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
    rules.check()
    after, before = ReportFolder(current), ReportFolder(baseline)
    if after.path.samefile(before.path):
        raise UsageError("a report cannot be its own baseline", where=str(current))
    refuse_incomparable(after.report, before.report, (str(current), str(baseline)))
    if missing := [mode for mode in before.report.modes if mode not in after.report.modes]:
        raise IncomparableError(
            f"modes of the baseline are missing in the current report: {', '.join(missing)}",
            where=str(after.path),
            remedy="compare the same modes, or make a new baseline",
        )
    measures, modes = parse_measures(rules.measures), [*before.report.modes]
    tables = [list_figures(source, modes, measures) for source in (before, after)]
    cases = [
        _pair(measure, *(table[mode, measure.requested_name] for table in tables))
        for mode, measure in product(modes, measures)
    ]
    _refuse_missing_values(rules, cases)
    resampling = resampling_of(after.report.manifest.config)
    entries = _judge(rules, resampling, cases)
    judged, notes = _list_judged(before, after)
    notes = [*_list_notes(after, before), *notes]
    try:
        condensed = _condense((before, after), cases, entries, judged)
        again = _judge(rules, resampling, condensed)
    except InputError as error:
        notes.append(f"the means without unjudged documents are not known: {error}")
    else:
        for place, case in enumerate(condensed):
            if case is not cases[place]:
                fails = _fails_again(rules, entries[place], again[place])
                entries[place] = replace(
                    entries[place], condensed=case.means, failed=fails, decidable=fails
                )
    notes += [note for case in cases for note in case.notes]
    return GateResult(
        rules, entries, notes, after.report, before.report, judged, _find_texts(after, entries)
    )


def _find_texts(source: ReportFolder, entries: Sequence[GateEntry]) -> dict[str, str]:
    """Return the texts of the queries that got worse, as far as they are known."""
    worse = {query.query_id for entry in entries for query in entry.fallen or ()}
    texts = {one.query_id: one.text or "" for one in source.report.failing_queries}
    with suppress(TrectoolsPlusError):
        topics = read_report_topics(source)
        texts |= {} if topics is None else topics.to_dict()
    return {query_id: text for query_id, text in texts.items() if text and query_id in worse}


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


class _Case(NamedTuple):
    """One mode and measure of both reports.

    Attributes:
        measure: The measure.
        current: The figures of the current report.
        pair: The scores of the queries with a value in both reports, if they are known per query.
        means: The baseline's mean and the current one, over the same queries.
        notes: Notes on these queries.
    """

    measure: Measure
    current: StoredFigures
    pair: PairedScores | None
    means: tuple[float, float]
    notes: Sequence[str] = ()


def _pair(measure: Measure, before: StoredFigures, after: StoredFigures) -> _Case:
    """Return both means of a measure, over the queries with a value in both reports.

    If a mode no longer answers its worst queries, the mean of a measure that is undefined
    without results gets better. So means over different queries are not compared.
    """
    name = before.measure
    for figures, where in ((after, "the current report"), (before, "the baseline")):
        if figures.mean is None or not math.isfinite(figures.mean):
            raise IncomparableError(
                f"{name} of {figures.mode} is undefined in {where}",
                remedy="use a measure that is defined for at least one query",
            )
    if before.mean == 0:
        raise IncomparableError(
            f"{name} of {before.mode} is 0 in the baseline and cannot get worse",
            remedy="leave out that mode or measure, or make a new baseline",
        )
    both = pair_scores(before, after)
    shared = None if both is None else both.shared
    counts = (before.queries, after.queries) if both is None else both.counts
    known = counts[0] if shared is None else len(shared.ids)
    if counts == (known, known):
        return _Case(measure, after, shared, (before.mean or 0.0, after.mean or 0.0))
    if both is None or shared is None or not known:
        raise IncomparableError(
            f"{name} of {after.label} is defined for {counts[0]} queries in the baseline and for "
            f"{counts[1]} in the current report, but not for the same ones",
            remedy="use a measure that is defined for every query, for example RR@10",
        )
    queries = (
        f"{name} of {after.label} is compared over the {known} queries that both reports define"
    )
    return _Case(measure, after, shared, shared.means, (note_undefined(after.label, both), queries))


def _refuse_missing_values(rules: GateRules, cases: Sequence[_Case]) -> None:
    """Refuse rules that need values per query that are absent."""
    needs = {
        "--require-significant": rules.require_significant,
        "--non-inferior": rules.non_inferior is not None,
    }
    option = next((name for name, is_needed in needs.items() if is_needed), None)
    if option and any(case.pair is None for case in cases):
        raise InputError(
            f"{option} needs the per-query values of both reports",
            remedy="keep per_query.parquet beside BenchmarkReport.json",
        )


def _judge(
    rules: GateRules, resampling: IntervalOptions, cases: Sequence[_Case]
) -> list[GateEntry]:
    """Test the changes as one family, by the paired t-test with Holm, and apply the rules.

    With a margin of non-inferiority, each change has the interval for itself alone.
    """
    tested = [case.pair for case in cases if case.pair is not None and case.pair.ids]
    compared = iter(compare_scores(tested, Method(resampling), one_family=True) if tested else ())
    entries = []
    for case in cases:
        comparison = next(compared) if case.pair is not None and case.pair.ids else None
        ci = None if comparison is None else comparison.ci
        if comparison is not None and case.pair is not None and rules.non_inferior is not None:
            ci = _interval_alone(case.pair, resampling["confidence"])
        entries.append(_apply(rules, resampling, case, comparison, ci))
    return entries


def _apply(
    rules: GateRules,
    resampling: IntervalOptions,
    case: _Case,
    comparison: Comparison | None,
    ci: ConfidenceInterval | None,
) -> GateEntry:
    """Apply the three rules: the limit of the drop, its significance, and non-inferiority."""
    (baseline, current), figures, pair = case.means, case.current, case.pair
    sign = 1.0 if figures.higher_is_better else -1.0
    unit = 1.0 if rules.absolute else abs(baseline)
    drop = sign * (baseline - current) / unit
    significant = None if comparison is None else comparison.significant
    is_beyond = rules.max_drop is not None and drop > rules.max_drop + EQUAL
    limit = (rules.non_inferior if rules.max_drop is None else rules.max_drop) or 0.0
    margin = non_inferior = None
    is_undecided = is_beyond and significant is False
    if rules.non_inferior is not None:
        margin = rules.non_inferior * unit
        known = sorted(sign * end for end in ends_of(ci) if end is not None)
        worst, best = known or (-math.inf, math.inf)
        non_inferior = worst > -margin + EQUAL
        is_undecided = not non_inferior and best > -margin
    needed = None
    if is_undecided and pair is not None and pair.ids:
        size = limit * unit if margin is None else margin
        needed = _count_queries(pair, size, resampling["confidence"], one_sided=margin is not None)
    is_proven = significant is True or not rules.require_significant
    return GateEntry(
        mode=figures.mode,
        label=figures.label,
        measure=figures.measure,
        baseline=baseline,
        current=current,
        drop=0.0 if abs(drop) <= EQUAL else drop,
        ci=ci,
        p_adjusted=None if comparison is None else comparison.p_adjusted,
        significant=significant,
        margin=margin,
        non_inferior=non_inferior,
        queries=None if comparison is None else comparison.n,
        undecided=is_undecided,
        queries_needed=needed,
        failed=non_inferior is False or (is_beyond and is_proven),
        higher=drop < -EQUAL and (-drop > limit + EQUAL or significant is True),
        fallen=None if comparison is None or pair is None else pair.changes(only_losses=True),
    )


def _count_queries(
    pair: PairedScores, difference: float, confidence: float, *, one_sided: bool
) -> int | None:
    """Return the number of queries that detect a difference with a probability of 80%.

    With a true difference of 0, non-inferiority is shown if a difference of the margin is
    detected on one side, at the level of one end of the interval.
    """
    level = alpha_of(confidence) / (2 if one_sided else 1)
    if pair.spread and difference:
        with suppress(UsageError):  # more than a billion
            return queries_needed(difference, pair.spread, level=level, one_sided=one_sided)
    return None


def _interval_alone(pair: PairedScores, confidence: float) -> ConfidenceInterval | None:
    sign = 1.0 if pair.higher_is_better else -1.0
    interval = non_inferiority_interval(sign * pair.after, sign * pair.before, confidence)
    if interval is None:
        return None
    low, high = sorted((sign * interval[0], sign * interval[1]))
    return report_interval((low, high), Resampling(confidence=confidence), interval[2])


def _condense(
    sources: Sequence[ReportFolder],
    cases: Sequence[_Case],
    entries: Sequence[GateEntry],
    judged: Mapping[str, tuple[float, float]],
) -> list[_Case]:
    """Score failures that unjudged documents may explain again, without these documents.

    Args:
        sources: The baseline and the current report.
        cases: The modes and measures.
        entries: Their entries.
        judged: The shares of judged documents by mode.

    Raises:
        InputError: If runs or judgments are missing, or not those of the report.
    """
    condensed = []
    for case, entry in zip(cases, entries, strict=True):
        measure, mode, chosen = case.measure, entry.mode, case
        may_explain = has_few_judged(judged.get(mode, ()))
        sees_them = measure.sees_unjudged or isinstance(measure, Judged)
        if entry.failed and may_explain and not sees_them and case.pair is not None:
            values = [_score_judged(one, mode, measure, case.pair.ids) for one in sources]
            pair = replace(case.pair, before=values[0], after=values[1])
            if pair.means[0]:  # a mean of 0 has no share that it can lose
                chosen = case._replace(pair=pair, means=pair.means)
        condensed.append(chosen)
    return condensed


def _fails_again(rules: GateRules, entry: GateEntry, again: GateEntry) -> bool:
    """Return whether an entry also fails without unjudged documents.

    A mean that was inferior, and then is neither inferior nor shown to be non-inferior, does not.
    """
    is_within = rules.max_drop is None or again.drop <= rules.max_drop + EQUAL
    lacks_proof = again.margin is not None and again.undecided and not entry.undecided
    return again.failed and not (lacks_proof and is_within)


def _score_judged(
    source: ReportFolder, mode: str, measure: Measure, query_ids: Sequence[str]
) -> FloatArray:
    """Score a run without unjudged documents; a query without any other document counts 0."""
    qrels = source.read_qrels()
    judged = qrels.frame.select("query_id", "doc_id")
    rows = source.read_run(mode).frame.join(judged, on=["query_id", "doc_id"], how="semi")
    averaging = source.report.manifest.averaging._replace(missing="zero")
    bound = source.bind_measures([measure])
    scores = score_runs(qrels, {mode: Run(rows, mode)}, bound, averaging)
    place = {query_id: row for row, query_id in enumerate(scores.query_ids[mode])}
    return scores.values(mode, measure.name)[[place[query_id] for query_id in query_ids]]


def _list_judged(
    baseline: ReportFolder, current: ReportFolder
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return the shares of judged documents by mode, and notes on judgments and shares."""
    try:
        qrels = current.read_qrels()
        notes, is_pooled = notes_on_judges(qrels), has_nonrelevant(qrels)
    except InputError:
        notes, is_pooled = [], current.report.pool is not None
    by_mode: dict[str, tuple[float, float]] = {}
    for mode in baseline.report.modes if is_pooled else ():
        modes = (baseline.report.modes[mode], current.report.modes[mode])
        before, after = (one.diagnostics.judged.get(JUDGED) for one in modes)
        if before is not None and after is not None:
            by_mode[mode] = before, after
            label = modes[1].label
            notes += notes_on_unjudged({f"{label} (baseline)": before, f"{label} (current)": after})
    return by_mode, notes


def _list_notes(current: ReportFolder, baseline: ReportFolder) -> Iterator[str]:
    lacking = [str(one.path) for one in (current, baseline) if one.per_query is None]
    if lacking:
        yield (
            f"no per_query.parquet beside {' and '.join(lacking)}: queries cannot be listed, and "
            "significance is not tested"
        )
    new = [mode for mode in current.report.modes if mode not in baseline.report.modes]
    if new:
        yield f"modes that are not in the baseline are not compared: {', '.join(new)}"
