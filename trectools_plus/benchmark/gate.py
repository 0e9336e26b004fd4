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
from trectools_plus.measures.evaluation import JUDGED, Evaluation, score_runs
from trectools_plus.measures.judged import (
    has_few_judged,
    has_nonrelevant,
    notes_on_judges,
    notes_on_unjudged,
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
    gate = _Gate(after, before, rules)
    entries = gate.make_entries()
    judged, notes = _list_judged(before, after)
    notes = [*_list_notes(after, before), *notes]
    try:
        entries = gate.fail_without_unjudged(entries, judged)
    except InputError as error:
        notes.append(f"the means without unjudged documents are not known: {error}")
    worse = {query.query_id for entry in entries for query in entry.fallen or ()}
    texts = {one.query_id: one.text or "" for one in after.report.failing_queries}
    with suppress(TrectoolsPlusError):
        topics = read_report_topics(after)
        texts |= {} if topics is None else topics.to_dict()
    texts = {query_id: text for query_id, text in texts.items() if text and query_id in worse}
    notes += gate.notes
    return GateResult(rules, entries, notes, after.report, before.report, judged, texts)


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
        baseline: Those of the baseline.
        pair: The scores in the baseline and in the current report, if they have them per query.
        means: The current mean and the baseline's, over the same queries.
    """

    measure: Measure
    current: StoredFigures
    baseline: StoredFigures
    pair: PairedScores | None
    means: tuple[float, float]


class _Gate:
    """The modes and measures of a gate.

    Args:
        current: The current report.
        baseline: The report that it is compared with.
        rules: The limits.

    Attributes:
        cases: Each mode of the baseline with each measure.
        notes: Notes on means over the queries that both reports define.
    """

    def __init__(self, current: ReportFolder, baseline: ReportFolder, rules: GateRules) -> None:
        self._sources, self._rules = (current, baseline), rules
        self._resampling = resampling_of(current.report.manifest.config)
        self.notes: list[str] = []
        measures, modes = parse_measures(rules.measures), [*baseline.report.modes]
        tables = [list_figures(source, modes, measures) for source in (current, baseline)]
        self.cases = []
        for mode, measure in product(modes, measures):
            after, before = (table[mode, measure.requested_name] for table in tables)
            pair = pair_scores(before, after)
            means = self._means(after, before, pair)
            self.cases.append(_Case(measure, after, before, pair, means))

    def _means(
        self, current: StoredFigures, baseline: StoredFigures, pair: PairedScores | None
    ) -> tuple[float, float]:
        """Return the current mean and the baseline's, over the queries with a value in both.

        If a mode no longer answers its worst queries, the mean of a measure that is undefined
        without results gets better. So means over different queries are not compared.
        """
        measure, label = baseline.measure, current.label
        for one, name in ((current, "the current report"), (baseline, "the baseline")):
            if one.mean is None or not math.isfinite(one.mean):
                raise IncomparableError(
                    f"{measure} of {one.mode} is undefined in {name}",
                    remedy="use a measure that is defined for at least one query",
                )
        if baseline.mean == 0:
            raise IncomparableError(
                f"{measure} of {baseline.mode} is 0 in the baseline and cannot get worse",
                remedy="leave out that mode or measure, or make a new baseline",
            )
        counts = (current.queries, baseline.queries) if pair is None else pair.counts[::-1]
        shared = counts[0] if pair is None else len(pair.shared.ids)
        if counts == (shared, shared):
            return current.mean or 0.0, baseline.mean or 0.0
        if pair is None or not shared:
            raise IncomparableError(
                f"{measure} of {label} is defined for {counts[0]} queries in the current report "
                f"and for {counts[1]} in the baseline, but not for the same ones: the means "
                "cannot be compared",
                remedy="use a measure that is defined for every query, for example RR@10",
            )
        self.notes += [
            note_undefined(label, pair),
            f"{measure} of {label} is compared over the {shared} queries that both reports define",
        ]
        before, after = pair.shared.means
        return after, before

    def make_entries(self) -> list[GateEntry]:
        """Apply the rules to each mode and measure.

        Raises:
            InputError: If a rule needs values per query that are absent.
            UsageError: If a rule needs the interval of a sum.
        """
        needs = {
            "--require-significant": self._rules.require_significant,
            "--non-inferior": self._rules.non_inferior is not None,
        }
        option = next((name for name, is_needed in needs.items() if is_needed), None)
        if option and any(case.pair is None for case in self.cases):
            raise InputError(
                f"{option} needs the per-query values of both reports",
                remedy="keep per_query.parquet beside BenchmarkReport.json",
            )
        return self._judge(self.cases)

    def _judge(self, cases: Sequence[_Case]) -> list[GateEntry]:
        """Test the changes as one family, by the paired t-test with Holm, and apply the rules.

        With a margin of non-inferiority, each change has the interval for itself alone.
        """
        pairs = [None if case.pair is None else case.pair.shared for case in cases]
        tested = [pair for pair in pairs if pair is not None and pair.ids]
        method = Method(self._resampling)
        found = iter(compare_scores(tested, method, one_family=True) if tested else ())
        entries = []
        for case, pair in zip(cases, pairs, strict=True):
            comparison = next(found) if pair is not None and pair.ids else None
            if comparison is not None and pair is not None and self._rules.non_inferior is not None:
                ci = _interval_alone(pair, self._resampling["confidence"])
                comparison = comparison.model_copy(update={"ci": ci})
            entries.append(self._apply(case, pair, comparison))
        return entries

    def _apply(
        self, case: _Case, pair: PairedScores | None, comparison: Comparison | None
    ) -> GateEntry:
        """Apply the three rules: the limit of the drop, its significance, and non-inferiority."""
        (current, baseline), rules, figures = case.means, self._rules, case.current
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
            ends = ends_of(None if comparison is None else comparison.ci)
            known = sorted(sign * end for end in ends if end is not None)
            worst, best = known or (-math.inf, math.inf)
            non_inferior = worst > -margin + EQUAL
            is_undecided = not non_inferior and best > -margin
        needed = None
        if is_undecided and pair is not None and pair.ids:
            needed = self._count_queries(pair, limit * unit if margin is None else margin)
        is_proven = significant is True or not rules.require_significant
        return GateEntry(
            mode=figures.mode,
            label=figures.label,
            measure=figures.measure,
            baseline=baseline,
            current=current,
            drop=0.0 if abs(drop) <= EQUAL else drop,
            ci=None if comparison is None else comparison.ci,
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

    def _count_queries(self, pair: PairedScores, difference: float) -> int | None:
        """Return the number of queries that detect a difference with a probability of 80%.

        With a true difference of 0, non-inferiority is shown if a difference of the margin is
        detected on one side, at the level of one end of the interval.
        """
        one_sided = self._rules.non_inferior is not None
        level = alpha_of(self._resampling["confidence"]) / (2 if one_sided else 1)
        if pair.spread and difference:
            with suppress(UsageError):  # more than a billion
                return queries_needed(difference, pair.spread, level=level, one_sided=one_sided)
        return None

    def fail_without_unjudged(
        self, entries: Sequence[GateEntry], judged: Mapping[str, tuple[float, float]]
    ) -> list[GateEntry]:
        """Check failures that unjudged documents may explain again, without these documents.

        Args:
            entries: The entries of all cases.
            judged: The shares of judged documents by mode.

        Returns:
            The entries; a failure that is gone is not decidable.

        Raises:
            InputError: If runs or judgments are missing, or not those of the report.
        """
        doubted = [
            place
            for place, (entry, case) in enumerate(zip(entries, self.cases, strict=True))
            if entry.failed
            and case.pair is not None
            and entry.mode in judged
            and has_few_judged(judged[entry.mode])
            and not (case.measure.sees_unjudged or isinstance(case.measure, Judged))
        ]
        if not doubted:
            return [*entries]
        modes = dict.fromkeys(entries[place].mode for place in doubted)
        measures = {self.cases[place].measure.name: self.cases[place].measure for place in doubted}
        scores = [_score_condensed(one, [*modes], [*measures.values()]) for one in self._sources]
        cases, found = [*self.cases], [*entries]
        for place in doubted:
            case = cases[place]
            after, before = (_values_of(one, case) for one in scores)
            assert case.pair is not None
            pair = replace(case.pair.shared, before=before, after=after)
            cases[place] = case._replace(pair=pair, means=pair.means[::-1])
        # A mean of 0 has no share that it can lose.
        both = zip(cases, self.cases, strict=True)
        defined = [case if case.means[1] else old for case, old in both]
        again = self._judge(defined)
        for place in doubted:
            entry, other = entries[place], again[place]
            if defined[place] is not cases[place]:
                continue
            limit = self._rules.max_drop
            is_within = limit is None or other.drop <= limit + EQUAL
            # An inferior mean that is no longer inferior, but not shown to be non-inferior.
            lacks_proof = other.margin is not None and other.undecided and not entry.undecided
            fails = other.failed and not (lacks_proof and is_within)
            condensed = other.baseline, other.current
            found[place] = replace(entry, condensed=condensed, failed=fails, decidable=fails)
        return found


def _interval_alone(pair: PairedScores, confidence: float) -> ConfidenceInterval | None:
    sign = 1.0 if pair.higher_is_better else -1.0
    interval = non_inferiority_interval(sign * pair.after, sign * pair.before, confidence)
    if interval is None:
        return None
    low, high = sorted((sign * interval[0], sign * interval[1]))
    return report_interval((low, high), Resampling(confidence=confidence), interval[2])


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


def _score_condensed(
    source: ReportFolder, modes: Sequence[str], measures: Sequence[Measure]
) -> Evaluation:
    """Score runs without unjudged documents; a query without any other document counts 0."""
    qrels = source.read_qrels()
    judged = qrels.frame.select("query_id", "doc_id")
    frames = {mode: source.read_run(mode).frame for mode in modes}
    runs = {
        mode: Run(frame.join(judged, on=["query_id", "doc_id"], how="semi"), mode)
        for mode, frame in frames.items()
    }
    averaging = source.report.manifest.averaging._replace(missing="zero")
    return score_runs(qrels, runs, source.bind_measures(measures), averaging)


def _values_of(scores: Evaluation, case: _Case) -> FloatArray:
    """Return the scores of the queries that both reports define."""
    assert case.pair is not None
    mode = case.current.mode
    place = {query_id: row for row, query_id in enumerate(scores.query_ids[mode])}
    rows = [place[query_id] for query_id in case.pair.shared.ids]
    return scores.values(mode, case.measure.name)[rows]


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
    manifests = [one.report.manifest for one in (current, baseline)]
    fields = [one.dataset.contents.get("query_fields") for one in manifests]
    if None not in fields and fields[0] != fields[1]:
        yield "the fields of queries changed, so a stratum may have different queries"
    if manifests[0].experiment_id == manifests[1].experiment_id:
        yield "both reports are of the same experiment"
