"""The regression gate: a report compared with an earlier one.

A gate is the comparisons of all modes and measures, as one family, and three rules for each: the
tolerated drop, its significance, and non-inferiority.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report_folder import ReportFolder, read_report_topics
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.two_reports import note_undefined, read_scores, refuse_incomparable
from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError, InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.definitions.builtin import Judged
from trectools_plus.measures.evaluation import JUDGED, score_runs
from trectools_plus.measures.judged import (
    has_few_judged,
    has_nonrelevant,
    notes_on_judges,
    notes_on_unjudged,
)
from trectools_plus.measures.parser import parse_measures
from trectools_plus.statistics.arrays import EQUAL, FloatArray, Resampling
from trectools_plus.statistics.comparison import Comparison, ConfidenceInterval, ends_of
from trectools_plus.statistics.paired_tests import non_inferiority_interval
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
class GateEntry:
    """One measure of one mode, in the current report and in the baseline.

    Attributes:
        label: The name of the mode in tables.
        comparison: Current minus baseline, over the queries that both reports define. Its p-value
            is adjusted by Holm over the gate's entries.
        scores: The scores of these queries.
        ci: The interval of the mean difference: the t-interval at the level of Holm's test, or,
            with a margin of non-inferiority, that of
            :func:`~trectools_plus.statistics.paired_tests.non_inferiority_interval` for this
            entry alone, because all entries must pass. ``None`` for too few queries or changes.
        drop: How much worse the mean is: a fraction of the baseline's mean, or with ``absolute`` a
            difference in the measure's unit; negative if it is better.
        margin: The margin of non-inferiority in the measure's unit; ``None`` if not required.
        non_inferior: True if the interval excludes a drop of ``margin`` or more; ``None`` if not
            required.
        undecided: True if the interval includes both the margin and no change.
        failed: True if the gate fails for this entry.
        higher: True if the mean is so much better that the baseline should be raised.
        condensed: The means of the baseline and of the current report without the unjudged
            documents of both, if these may explain a failure.
        decidable: False if the entry fails only with the unjudged documents: then it neither fails
            nor passes.
    """

    label: str
    comparison: Comparison
    scores: PairedScores
    ci: ConfidenceInterval | None
    drop: float
    margin: float | None
    non_inferior: bool | None
    undecided: bool
    failed: bool
    higher: bool
    condensed: tuple[float, float] | None = None
    decidable: bool = True

    @property
    def mode(self) -> str:
        """The mode."""
        return self.comparison.baseline

    @property
    def measure(self) -> str:
        """The measure's name as requested."""
        return self.comparison.measure

    @property
    def baseline(self) -> float:
        """The mean in the baseline."""
        return self.scores.means[0]

    @property
    def current(self) -> float:
        """The mean in the current report."""
        return self.scores.means[1]

    @property
    def fallen(self) -> list[QueryChange]:
        """Queries that got worse, worst first."""
        return self.scores.changes(only_losses=True)


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

    def check(self) -> None:
        """Check the limits.

        Raises:
            UsageError: If one is out of range, there is no measure, or two cannot be combined.
        """
        if not self.measures:
            raise UsageError("no measure to compare with the baseline", where="--measure")
        if self.max_drop is not None and not 0 <= self.max_drop < 1:
            raise UsageError(f"expected a drop of at least 0 and below 1 but got {self.max_drop}")
        if self.non_inferior is not None and not 0 < self.non_inferior < 1:
            raise UsageError(
                f"expected a margin above 0 and below 1 but got {self.non_inferior:g}",
                where="--non-inferior",
                remedy="pass the largest drop that does not matter in practice, for example 5%",
            )
        if self.non_inferior is not None and self.require_significant:
            raise UsageError(
                "--require-significant and --non-inferior cannot be combined",
                remedy="use --require-significant to fail on a proven drop only, or "
                "--non-inferior to pass only if a drop is excluded",
            )

    def judge(
        self, label: str, scores: PairedScores, comparison: Comparison, confidence: float
    ) -> GateEntry:
        """Apply the three rules: the limit of the drop, its significance, and non-inferiority.

        Args:
            label: The name of the mode in tables.
            scores: The scores of the baseline and the current report.
            comparison: Their comparison.
            confidence: The level of the interval of non-inferiority.
        """
        baseline, current = scores.means
        sign = 1.0 if scores.higher_is_better else -1.0
        unit = 1.0 if self.absolute else abs(baseline)
        drop = sign * (baseline - current) / unit
        drop = 0.0 if abs(drop) <= EQUAL else drop
        is_beyond = self.max_drop is not None and drop > self.max_drop + EQUAL
        limit = (self.non_inferior if self.max_drop is None else self.max_drop) or 0.0
        ci, margin, non_inferior, undecided = comparison.ci, None, None, False
        if self.non_inferior is not None:
            margin, ci = self.non_inferior * unit, _interval_alone(scores, confidence)
            ends = sorted(sign * end for end in ends_of(ci) if end is not None)
            worst, best = ends or (-math.inf, math.inf)
            non_inferior = worst > -margin + EQUAL
            undecided = not non_inferior and best > -margin
        return GateEntry(
            label,
            comparison,
            scores,
            ci,
            drop,
            margin,
            non_inferior,
            undecided,
            failed=non_inferior is False
            or (is_beyond and (comparison.significant or not self.require_significant)),
            higher=drop < -EQUAL and (-drop > limit + EQUAL or comparison.significant),
        )


def _interval_alone(scores: PairedScores, confidence: float) -> ConfidenceInterval | None:
    sign = 1.0 if scores.higher_is_better else -1.0
    interval = non_inferiority_interval(sign * scores.after, sign * scores.before, confidence)
    if interval is None:
        return None
    low, high = sorted((sign * interval[0], sign * interval[1]))
    return report_interval((low, high), Resampling(confidence=confidence), interval[2])


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
        texts: The texts of the queries, as far as they are known.
    """

    _entries: ClassVar = "entries"
    _columns: ClassVar = ("label", "measure", "baseline", "current", "drop", "failed")

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
        InputError: If a report or its values per query cannot be read, or it is empty.
        UsageError: If a measure is unknown, or both reports are the same file.
        IncomparableError: If the data differ, a mode of the baseline is not in the current report,
            a mean is undefined or 0 in the baseline, or no query has a value of a measure in both
            reports.
    """
    rules = rules or GateRules()
    if rules.max_drop is None and rules.non_inferior is None:
        rules = replace(rules, max_drop=DEFAULT_DROP)
    rules.check()
    after, before = ReportFolder(current), ReportFolder(baseline)
    if after.path.samefile(before.path):
        raise UsageError("a report cannot be its own baseline", where=str(current))
    refuse_incomparable((after, before))
    modes = after.report.modes
    if missing := [mode for mode in before.report.modes if mode not in modes]:
        raise IncomparableError(
            f"modes of the baseline are missing in the current report: {', '.join(missing)}",
            where=str(after.path),
            remedy="compare the same modes, or make a new baseline",
        )
    pairs = [(mode, mode) for mode in before.report.modes]
    measures = parse_measures(rules.measures)
    scores = read_scores((before, after), pairs, measures)
    shared = [_share(one) for one in scores]
    entries = _judge(rules, after.report, shared)
    notes = []
    if new := [mode for mode in modes if mode not in before.report.modes]:
        notes.append(f"modes that are not in the baseline are not compared: {', '.join(new)}")
    judged, on_judges = _list_judged(before, after)
    undefined = [note_undefined(e.label, one) for e, one in zip(entries, scores, strict=True)]
    notes += [*on_judges, *filter(None, undefined)]
    try:
        condensed = [
            _condense((before, after), entry, measure, judged.get(entry.mode, ()))
            for entry, measure in zip(entries, measures * len(pairs), strict=True)
        ]
    except InputError as error:
        notes.append(f"the means without unjudged documents are not known: {error}")
    else:
        again = _judge(rules, after.report, condensed)
        entries = [
            entry if other.scores is entry.scores else _decide(rules, entry, other)
            for entry, other in zip(entries, again, strict=True)
        ]
    texts: dict[str, str] = {}
    with suppress(TrectoolsPlusError):
        topics = read_report_topics(after)
        texts = {} if topics is None else topics.to_dict()
    return GateResult(rules, entries, notes, after.report, before.report, judged, texts)


def _judge(
    rules: GateRules, report: BenchmarkReport, scores: Sequence[PairedScores]
) -> list[GateEntry]:
    """Test the changes as one family, by the paired t-test with Holm, and apply the rules."""
    resampling = resampling_of(report.manifest.config)
    compared = compare_scores(scores, Method(resampling), one_family=True)
    return [
        rules.judge(report.modes[one.baseline].label, one, comparison, resampling["confidence"])
        for one, comparison in zip(scores, compared, strict=True)
    ]


def _condense(
    sources: Sequence[ReportFolder], entry: GateEntry, measure: Measure, judged: Sequence[float]
) -> PairedScores:
    """Score a failure that unjudged documents may explain again, without these documents."""
    sees_them = measure.sees_unjudged or isinstance(measure, Judged)
    if not entry.failed or sees_them or not has_few_judged(judged):
        return entry.scores
    before, after = (_score_judged(one, entry, measure) for one in sources)
    condensed = replace(entry.scores, before=before, after=after)
    # A mean of 0 has no share that it can lose.
    return condensed if condensed.means[0] else entry.scores


def _score_judged(source: ReportFolder, entry: GateEntry, measure: Measure) -> FloatArray:
    """Score a run without unjudged documents; a query without any other document counts 0."""
    qrels, mode = source.read_qrels(), entry.mode
    judged = qrels.frame.select("query_id", "doc_id")
    rows = source.read_run(mode).frame.join(judged, on=["query_id", "doc_id"], how="semi")
    averaging = source.report.manifest.averaging._replace(missing="zero")
    bound = source.bind_measures([measure])
    scores = score_runs(qrels, {mode: Run(rows, mode)}, bound, averaging)
    place = {query_id: row for row, query_id in enumerate(scores.query_ids[mode])}
    return scores.values(mode, measure.name)[[place[query_id] for query_id in entry.scores.ids]]


def _decide(rules: GateRules, entry: GateEntry, again: GateEntry) -> GateEntry:
    """Return a failed entry with its result on judged documents alone.

    A mean that was inferior, and then is neither inferior nor shown to be non-inferior, does not
    fail there.
    """
    is_within = rules.max_drop is None or again.drop <= rules.max_drop + EQUAL
    fails = again.failed and not (again.undecided and not entry.undecided and is_within)
    return replace(entry, condensed=again.scores.means, failed=fails, decidable=fails)


def _share(scores: PairedScores) -> PairedScores:
    """Return the scores of the queries with a value in both reports.

    If a mode no longer answers its worst queries, the mean of a measure that is undefined
    without results gets better. So means over different queries are not compared.
    """
    name, shared, (before, after) = scores.measure, scores.shared, scores.counts
    if not shared.ids:
        raise IncomparableError(
            f"{name} of {scores.baseline} is undefined for every query: it has {before} values in "
            f"the baseline and {after} in the current report, but not for the same queries",
            remedy="use a measure that is defined for every query, for example RR@10",
        )
    if scores.means[0] == 0:
        raise IncomparableError(
            f"{name} of {scores.baseline} is 0 in the baseline and cannot get worse",
            remedy="leave out that mode or measure, or make a new baseline",
        )
    return shared


def parse_drop(text: str, where: str = "--max-drop") -> float:
    """Parse ``5%`` or ``0.05`` as 0.05.

    Args:
        text: The share.
        where: The option, for the error message.

    Raises:
        UsageError: If it is not at least 0 and below 1. ``5`` is ambiguous, so it is an error.
    """
    value = math.nan
    with suppress(ValueError):
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    if not 0 <= value < 1:
        raise UsageError(
            "expected a share of at least 0 and below 100%, for example 5% or 0.05, but got "
            f"'{text}'",
            where=where,
        )
    return value


def _list_judged(
    baseline: ReportFolder, current: ReportFolder
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return the shares of judged documents by mode, and notes on judgments and shares."""
    by_mode: dict[str, tuple[float, float]] = {}
    try:
        qrels = current.read_qrels()
    except InputError:
        return {}, []
    notes = notes_on_judges(qrels)
    for mode in baseline.report.modes if has_nonrelevant(qrels) else ():
        modes = (baseline.report.modes[mode], current.report.modes[mode])
        before, after = (one.diagnostics.judged.get(JUDGED) for one in modes)
        if before is not None and after is not None:
            by_mode[mode] = before, after
            label = modes[1].label
            notes += notes_on_unjudged({f"{label} (baseline)": before, f"{label} (current)": after})
    return by_mode, notes
