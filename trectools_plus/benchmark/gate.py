"""The regression gate: a report compared with an earlier one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

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
    sources = ReportFolder(current), ReportFolder(baseline)
    if sources[0].path.samefile(sources[1].path):
        raise UsageError("a report cannot be its own baseline", where=str(current))
    reports = sources[0].report, sources[1].report
    refuse_incomparable(*reports, (str(current), str(baseline)))
    missing = [mode for mode in reports[1].modes if mode not in reports[0].modes]
    if missing:
        raise IncomparableError(
            f"modes of the baseline are missing in the current report: {', '.join(missing)}",
            where=str(sources[0].path),
            remedy="compare the same modes, or make a new baseline",
        )
    gate = _Gate(sources, rules)
    entries = gate.make_entries()
    shares = JudgedShares.of(sources[1], sources[0])
    notes = [*_notes(sources, is_tested=None not in gate.pairs), *shares.notes]
    try:
        entries = gate.fail_without_unjudged(entries, shares)
    except InputError as error:
        notes.append(f"the means without unjudged documents are not known: {error}")
    worse = {query.query_id for entry in entries for query in entry.fallen or ()}
    texts = {one.query_id: one.text or "" for one in reports[0].failing_queries}
    with suppress(TrectoolsPlusError):
        topics = read_report_topics(sources[0])
        texts |= {} if topics is None else topics.to_dict()
    texts = {query_id: text for query_id, text in texts.items() if text and query_id in worse}
    return GateResult(rules, entries, [*notes, *gate.notes], *reports, shares.by_mode, texts)


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


class _Gate:
    """The modes and measures of a gate.

    Args:
        sources: The current report and the baseline.
        rules: The limits.

    Attributes:
        pairs: The scores of each mode and measure in the baseline and in the current report;
            ``None`` without values per query.
        notes: Notes on means over the queries that both reports define.
    """

    def __init__(self, sources: tuple[ReportFolder, ReportFolder], rules: GateRules) -> None:
        self._reports, self._rules = (sources[0].report, sources[1].report), rules
        self._measures = parse_measures(rules.measures)
        self._stored = [ReportScores(source, self._measures) for source in sources]
        self._config = sources[0].report.manifest.config
        self._cases = [
            (mode, measure.requested_name)
            for mode in self._reports[1].modes
            for measure in self._measures
        ]
        current, baseline = self._stored
        self.pairs = [
            pair_scores((baseline, current), (mode, mode), name) for mode, name in self._cases
        ]
        self.notes: list[str] = []

    def make_entries(self) -> list[GateEntry]:
        """Apply the rules to each mode and measure."""
        means = [
            self._means(case, pair) for case, pair in zip(self._cases, self.pairs, strict=True)
        ]
        needs = {
            "--require-significant": self._rules.require_significant,
            "--non-inferior": self._rules.non_inferior is not None,
        }
        option = next((name for name, needed in needs.items() if needed), None)
        if option and None in self.pairs:
            raise InputError(
                f"{option} needs the per-query values of both reports",
                remedy="keep per_query.parquet beside BenchmarkReport.json",
            )
        sums = [name for _, name in self._cases if self._stored[0].is_sum(name)]
        if self._rules.non_inferior is not None and sums:
            raise UsageError(
                f"{sums[0]} is a sum over the queries and has no interval",
                where="--non-inferior",
                remedy="use a measure that is averaged over queries, or --max-drop",
            )
        changes = self._test(self.pairs)
        return [self._entry(*one) for one in zip(self._cases, means, changes, strict=True)]

    def _means(self, case: tuple[str, str], pair: PairedScores | None) -> tuple[float, float]:
        """Return the current mean and the baseline's, over the queries with a value in both.

        If a mode no longer answers its worst queries, the mean of a measure that is undefined
        without results gets better. So means over different queries are not compared.
        """
        mode, measure = case
        means = [scores.mean(mode, measure) for scores in self._stored]
        for mean, name in zip(means, ("the current report", "the baseline"), strict=True):
            if mean is None or not math.isfinite(mean):
                raise IncomparableError(
                    f"{measure} of {mode} is undefined in {name}",
                    remedy="use a measure that is defined for at least one query",
                )
        current, baseline = (mean or 0.0 for mean in means)
        if baseline == 0:
            raise IncomparableError(
                f"{measure} of {mode} is 0 in the baseline and cannot get worse",
                remedy="leave out that mode or measure, or make a new baseline",
            )
        counts = [scores.count(mode, measure) for scores in self._stored]
        counts = counts if pair is None else list(pair.counts[::-1])
        shared = counts[0] if pair is None else len(pair.shared.ids)
        if counts == [shared] * 2:
            return current, baseline
        label = self._stored[0].label(mode)
        if pair is None or not shared:
            raise IncomparableError(
                f"{measure} of {label} is defined for {counts[0]} queries in the current report "
                f"and for {counts[1]} in the baseline, but not for the same ones: the means "
                "cannot be compared",
                remedy="use a measure that is defined for every query, for example RR@10",
            )
        both = (
            f"{measure} of {label} is compared over the {shared} queries that both reports define"
        )
        self.notes += [note_undefined(label, pair), both]
        baseline, current = pair.shared.means
        return current, baseline

    def _test(self, pairs: Sequence[PairedScores | None]) -> list[_Change | None]:
        """Test several changes as one family, by the paired t-test with Holm.

        With a margin of non-inferiority, each change has the interval for itself alone.
        """
        shared = [None if pair is None else pair.shared for pair in pairs]
        method = Method(resampling_of(self._config))
        tested = [pair for pair in shared if pair is not None and pair.ids]
        compared = iter(compare_scores(tested, method, one_family=True) if tested else [])
        level = method.options["confidence"]
        changes: list[_Change | None] = []
        for pair in shared:
            if pair is None or not pair.ids:
                changes.append(None)
                continue
            comparison = next(compared)
            if self._rules.non_inferior is not None:
                ci = _interval_alone(pair, level)
                comparison = comparison.model_copy(update={"ci": ci})
            changes.append(_Change(pair, comparison, level))
        return changes

    def _entry(
        self, case: tuple[str, str], means: tuple[float, float], change: _Change | None
    ) -> GateEntry:
        (mode, measure), (current, baseline), rules = case, means, self._rules
        scores, is_sum = self._stored[0], self._stored[0].is_sum(measure)
        sign = 1.0 if scores.higher_is_better(measure) else -1.0
        unit = 1.0 if rules.absolute else abs(baseline)
        drop = sign * (baseline - current) / unit
        comparison = None if change is None else change.comparison
        significant = None if comparison is None else comparison.significant
        beyond = rules.max_drop is not None and drop > rules.max_drop + EQUAL
        limit = (rules.non_inferior if rules.max_drop is None else rules.max_drop) or 0.0
        margin = non_inferior = None
        undecided = beyond and significant is False
        if rules.non_inferior is not None:
            margin = rules.non_inferior * unit
            ends = ends_of(None if comparison is None else comparison.ci)
            worst, best = sorted(sign * end for end in ends if end is not None) or (
                -math.inf,
                math.inf,
            )
            non_inferior = worst > -margin + EQUAL
            undecided = not non_inferior and best > -margin
        needed = None
        if undecided and change is not None and not is_sum:
            difference = limit * unit if margin is None else margin
            needed = _count_queries(change, difference, one_sided=margin is not None)
        is_proven = significant is True or not rules.require_significant
        return GateEntry(
            mode=mode,
            label=scores.label(mode),
            measure=measure,
            baseline=baseline,
            current=current,
            drop=0.0 if abs(drop) <= EQUAL else drop,
            ci=None if comparison is None or is_sum else comparison.ci,
            p_adjusted=None if comparison is None else comparison.p_adjusted,
            significant=significant,
            margin=margin,
            non_inferior=non_inferior,
            queries=None if comparison is None else comparison.n,
            undecided=undecided,
            queries_needed=needed,
            failed=non_inferior is False or (beyond and is_proven),
            higher=drop < -EQUAL and (-drop > limit + EQUAL or significant is True),
            fallen=None if change is None else change.scores.changes(only_losses=True),
        )

    def fail_without_unjudged(
        self, entries: Sequence[GateEntry], shares: JudgedShares
    ) -> list[GateEntry]:
        """Check failures that unjudged documents may explain again, without these documents.

        Args:
            entries: The entries of all cases.
            shares: The judgments.

        Returns:
            The entries; a failure that is gone is not decidable.

        Raises:
            InputError: If runs or judgments are missing, or not those of the report.
        """
        measures = self._measures * len(self._reports[1].modes)
        cases = zip(entries, self.pairs, measures, strict=True)
        checked = {
            place: (pair, measure)
            for place, (entry, pair, measure) in enumerate(cases)
            if entry.failed and pair is not None and shares.may_explain(entry.mode, measure)
        }
        if not checked:
            return [*entries]
        condensed = dict(
            zip(checked, shares.condense(*zip(*checked.values(), strict=True)), strict=True)
        )
        changes = self._test([condensed.get(place, pair) for place, pair in enumerate(self.pairs)])
        found = [*entries]
        for place, pair in condensed.items():
            baseline, current = pair.means
            if not baseline:
                continue
            entry = found[place]
            again = self._entry(self._cases[place], (current, baseline), changes[place])
            limit = self._rules.max_drop
            is_within = limit is None or again.drop <= limit + EQUAL
            # An inferior mean that is no longer inferior, but not shown to be non-inferior.
            lacks_proof = again.margin is not None and again.undecided and not entry.undecided
            fails = again.failed and not (lacks_proof and is_within)
            found[place] = replace(
                entry, condensed=(baseline, current), failed=fails, decidable=fails
            )
        return found


def _count_queries(change: _Change, difference: float, *, one_sided: bool) -> int | None:
    """Return the number of queries that detect a difference with a probability of 80%.

    Args:
        change: The paired differences, whose spread is used.
        difference: In the measure's unit. With a true difference of 0, non-inferiority is shown if
            a difference of the margin is detected on one side.
        one_sided: Use the level of one end of the interval.
    """
    spread, level = change.scores.spread, alpha_of(change.level) / (2 if one_sided else 1)
    if spread and difference:
        with suppress(UsageError):  # more than a billion
            return queries_needed(difference, spread, level=level, one_sided=one_sided)
    return None


def _interval_alone(pair: PairedScores, confidence: float) -> ConfidenceInterval | None:
    sign = 1.0 if pair.higher_is_better else -1.0
    interval = non_inferiority_interval(sign * pair.after, sign * pair.before, confidence)
    if interval is None:
        return None
    low, high = sorted((sign * interval[0], sign * interval[1]))
    return report_interval((low, high), Resampling(confidence=confidence), interval[2])


def _notes(sources: tuple[ReportFolder, ReportFolder], *, is_tested: bool) -> list[str]:
    notes = []
    if not is_tested:
        lacking = [str(one.path) for one in sources if one.per_query is None]
        notes.append(
            f"no per_query.parquet beside {' and '.join(lacking)}: queries cannot be listed, and "
            "significance is not tested"
        )
    current, baseline = (source.report for source in sources)
    new = [mode for mode in current.modes if mode not in baseline.modes]
    if new:
        notes.append(f"modes that are not in the baseline are not compared: {', '.join(new)}")
    fields = [one.manifest.dataset.contents.get("query_fields") for one in (current, baseline)]
    if None not in fields and fields[0] != fields[1]:
        notes.append("the fields of queries changed, so a stratum may have different queries")
    if current.manifest.experiment_id == baseline.manifest.experiment_id:
        notes.append("both reports are of the same experiment")
    return notes
