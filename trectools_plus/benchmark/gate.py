"""The regression gate: a report held against an earlier one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trectools_plus.benchmark.compare.compare import (
    ADJUSTED_TEST,
    DEFAULT_CORRECTION,
    EQUAL,
    adjust,
    alpha_of,
    resampling_of,
)
from trectools_plus.benchmark.compare.compare_reports import (
    QueryChange,
    note_undefined,
)
from trectools_plus.benchmark.compare.preconditions import refuse_incomparable
from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.report.folder import ReportFolder, ScoreBook
from trectools_plus.errors import IncomparableError, InputError, UsageError

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure


DEFAULT_MEASURES = ("R@10",)
DEFAULT_DROP = 0.05


@dataclass(frozen=True, slots=True)
class GateRules:
    """What a gate lets pass.

    Attributes:
        measures: Names of measures.
        max_drop: How much a mean may get worse: a share of the baseline's, or with ``absolute`` in
            the measure's own unit.
        absolute: Whether ``max_drop`` is absolute.
        require_significant: Whether only a significant drop beyond ``max_drop`` fails.
    """

    measures: tuple[str, ...] = DEFAULT_MEASURES
    max_drop: float = DEFAULT_DROP
    absolute: bool = False
    require_significant: bool = False


@dataclass(frozen=True, slots=True)
class GateEntry:
    """One measure of one mode, now and before.

    Attributes:
        mode: The mode.
        label: Its name in tables.
        measure: Canonical name.
        baseline: The mean before.
        current: The mean now.
        drop: How much worse it is, in the unit of the rules; negative when it is better.
        p_adjusted: Of the randomisation test, by Holm over the gate's entries; ``None`` without
            per-query values.
        significant: Whether that is at most 1 - confidence; ``None`` likewise.
        failed: Whether the gate fails for it.
        higher: Whether it is so much better that the baseline should be raised.
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


@dataclass(frozen=True, slots=True)
class GateResult:
    """What the gate says.

    Attributes:
        rules: What it lets pass.
        entries: Measures by modes.
        notes: What else to know.
        current: The report under test.
        baseline: The one it is held against.
    """

    rules: GateRules
    entries: list[GateEntry]
    notes: list[str]
    current: BenchmarkReport
    baseline: BenchmarkReport

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not any(entry.failed for entry in self.entries)


def run_gate(
    current: str | Path, baseline: str | Path, rules: GateRules | None = None
) -> GateResult:
    """Hold a report against a baseline, mode by mode.

    Args:
        current: The report under test: its JSON, or its folder.
        baseline: The report that it is held against.
        rules: What may pass; R@10 may lose 5% of its baseline by default.

    Returns:
        Every entry, failed or not.

    Raises:
        InputError: If a report cannot be read, is empty, or per-query values are needed and absent.
        UsageError: If a measure is not known, or both reports are the same file.
        IncomparableError: If the data differ, a mode of the baseline is not in the current report,
            a mean is undefined or leaves nothing to lose, or both reports define a measure for no
            query in common.
    """
    rules = rules or GateRules()
    _check_rules(rules)
    ours, theirs = ReportFolder(current), ReportFolder(baseline)
    if ours.path.samefile(theirs.path):
        raise UsageError("a report cannot be its own baseline", where=str(current))
    refuse_incomparable(ours.report, theirs.report, (str(current), str(baseline)))
    _refuse_missing_modes(ours, theirs)
    asked = _parsed(rules.measures)
    names = [measure.name for measure in asked]
    books = ScoreBook(ours, asked), ScoreBook(theirs, asked)
    cases = [(mode, name) for mode in theirs.report.modes for name in names]
    means = [_means(books, case) for case in cases]
    pairs = [_pair_values(books, case) for case in cases]
    shared = [
        _share_queries(ours.report, theirs.report, case, pair)
        for case, pair in zip(cases, pairs, strict=True)
    ]
    means = [both or mean for mean, both in zip(means, shared, strict=True)]
    if rules.require_significant:
        _refuse_unknown_values(pairs, ours, theirs)
    defined = [None if pair is None else pair.drop_nulls() for pair in pairs]
    tests = check_changes(defined, ours.report.manifest.config)
    entries = [
        _judge(books[0], case, mean, pair, p_value, rules)
        for case, mean, pair, p_value in zip(cases, means, defined, tests, strict=True)
    ]
    notes = _notes(ours, theirs, pairs)
    for (mode, name), pair, both in zip(cases, pairs, shared, strict=True):
        if pair is not None and both is not None:
            label = ours.report.modes[mode].label
            notes += [
                note_undefined(label, name, pair, ("current", "baseline")),
                f"{name} of {label} is judged by the means over the "
                f"{pair.drop_nulls().height} queries that both define",
            ]
    return GateResult(rules, entries, notes, ours.report, theirs.report)


def parse_drop(text: str) -> float:
    """``5%`` or ``0.05`` as 0.05.

    Raises:
        UsageError: If it is no number from 0 to under 1, such as ``5``, which might mean either.
    """
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1:
        raise UsageError(
            f"expected a share such as 5% or 0.05, from 0 to under 100%, but got '{text}'",
            where="--max-drop",
        )
    return value


def _check_rules(rules: GateRules) -> None:
    if not rules.measures:
        raise UsageError("no measure to hold against the baseline", where="--measure")
    if not 0 <= rules.max_drop < 1:
        raise UsageError(f"expected a drop from 0 to under 1 but got {rules.max_drop}")


def _parsed(measures: Sequence[str]) -> list[Measure]:
    from trectools_plus.measures.parser import parse_measures

    return parse_measures(measures)


def _refuse_missing_modes(ours: ReportFolder, theirs: ReportFolder) -> None:
    missing = [mode for mode in theirs.report.modes if mode not in ours.report.modes]
    if missing:
        raise IncomparableError(
            f"the baseline holds {', '.join(missing)}, the current report does not",
            where=str(ours.path),
            remedy="compare the same modes, or make a new baseline",
        )


def _means(books: tuple[ScoreBook, ScoreBook], case: tuple[str, str]) -> tuple[float, float]:
    """The means now and before, both something to compare."""
    current, baseline = (book.mean(*case) for book in books)
    mode, measure = case
    for mean, name in ((current, "the current report"), (baseline, "the baseline")):
        if mean is None or not math.isfinite(mean):
            raise IncomparableError(
                f"{measure} of {mode} is undefined in {name}",
                remedy="hold a measure against the baseline that is defined for some query",
            )
    assert current is not None
    assert baseline is not None
    if baseline == 0:
        raise IncomparableError(
            f"{measure} of {mode} is 0 in the baseline, so nothing could be lost",
            remedy="leave that mode or measure out, or make a new baseline",
        )
    return current, baseline


def _pair_values(books: tuple[ScoreBook, ScoreBook], case: tuple[str, str]) -> pl.DataFrame | None:
    """``query_id, current, baseline``, undefined ones null; ``None`` where not known."""
    current, baseline = (book.values(*case) for book in books)
    if current is None or baseline is None:
        return None
    if current["query_id"].to_list() != baseline["query_id"].to_list():
        differing = set(current["query_id"]) ^ set(baseline["query_id"])
        raise IncomparableError(
            f"{case[1]} of {case[0]} is averaged over other queries: {len(differing)} are in one "
            f"report only, such as {min(differing)}"
        )
    return pl.DataFrame(
        {
            "query_id": current["query_id"],
            "current": current["value"],
            "baseline": baseline["value"],
        }
    )


def _share_queries(
    ours: BenchmarkReport, theirs: BenchmarkReport, case: tuple[str, str], pair: pl.DataFrame | None
) -> tuple[float, float] | None:
    """The means over the queries that both reports define, where those are not all that one does.

    A measure that is undefined for some queries gets better when a mode no longer answers those
    that it answers badly, so means over different queries are not compared.

    Returns:
        The means now and before; ``None`` where the reports' means are over the same queries.
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
        found = [one.modes[mode].measures.get(measure) for one in (ours, theirs)]
        counts = [0 if one is None else one.n for one in found]
        if counts[0] == counts[1]:
            return None
    raise IncomparableError(
        f"{measure} of {ours.modes[mode].label} is defined for {counts[0]} queries in the current "
        f"report and for {counts[1]} others in the baseline: the means cannot be compared",
        remedy="name a measure that is defined for every query, such as RR@10",
    )


def _refuse_unknown_values(
    pairs: list[pl.DataFrame | None], ours: ReportFolder, theirs: ReportFolder
) -> None:
    if any(pair is None for pair in pairs):
        lacking = [str(one.folder) for one in (ours, theirs) if one.per_query is None]
        raise InputError(
            "--require-significant needs the values per query of both reports",
            where=" and ".join(lacking),
            remedy="keep per_query.parquet beside BenchmarkReport.json",
        )


def _judge(
    book: ScoreBook,
    case: tuple[str, str],
    means: tuple[float, float],
    pair: pl.DataFrame | None,
    p_value: tuple[float, bool] | None,
    rules: GateRules,
) -> GateEntry:
    mode, measure = case
    current, baseline = means
    sign = 1.0 if book.higher_is_better(measure) else -1.0
    drop = sign * (baseline - current) / (1.0 if rules.absolute else abs(baseline))
    significant = None if p_value is None else p_value[1]
    beyond = drop > rules.max_drop + EQUAL
    better = drop < -EQUAL
    return GateEntry(
        mode=mode,
        label=book.label(mode),
        measure=measure,
        baseline=baseline,
        current=current,
        drop=float(np.where(abs(drop) <= EQUAL, 0.0, drop)),
        p_adjusted=None if p_value is None else p_value[0],
        significant=significant,
        failed=beyond and (significant is True or not rules.require_significant),
        higher=better and (-drop > rules.max_drop + EQUAL or significant is True),
        fallen=None if pair is None else find_fallen(pair, sign),
    )


def _notes(ours: ReportFolder, theirs: ReportFolder, pairs: list[pl.DataFrame | None]) -> list[str]:
    notes = []
    if any(pair is None for pair in pairs):
        lacking = [str(one.path) for one in (ours, theirs) if one.per_query is None]
        notes.append(
            f"no per_query.parquet beside {' and '.join(lacking)}: queries cannot be named, "
            "nothing is tested"
        )
    new = [mode for mode in ours.report.modes if mode not in theirs.report.modes]
    if new:
        notes.append(f"not in the baseline, so not held against it: {', '.join(new)}")
    fields = [one.report.manifest.dataset.contents.get("query_fields") for one in (ours, theirs)]
    if None not in fields and fields[0] != fields[1]:
        notes.append("queries have other fields than before, so a stratum may hold other queries")
    if ours.report.manifest.experiment_id == theirs.report.manifest.experiment_id:
        notes.append("both reports are of the same experiment")
    return notes


def check_changes(
    pairs: Sequence[pl.DataFrame | None], config: Mapping[str, Any]
) -> list[tuple[float, bool] | None]:
    """Randomisation tests of several changes as one family, adjusted by Holm.

    Args:
        pairs: ``current`` and ``baseline`` per query; ``None`` is not tested.
        config: Level, resamples and seed, as in a manifest.

    Returns:
        The adjusted p-value and whether it is at most 1 - confidence; ``None`` where not tested.
    """
    from trectools_plus.statistics import compare_columns

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


def find_fallen(pair: pl.DataFrame, sign: float) -> list[QueryChange]:
    """Queries that got worse, the one that lost most first.

    Args:
        pair: ``query_id, current, baseline``.
        sign: -1 where less is better, else 1.
    """
    lost = sign * (pl.col("baseline") - pl.col("current"))
    fallen = (
        pair.with_columns(lost.alias("lost"))
        .filter(pl.col("lost") > EQUAL)
        .sort(["lost", "query_id"], descending=[True, False])
    )
    columns = ["query_id", "baseline", "current"]
    return [QueryChange(*row) for row in fallen.select(columns).iter_rows()]
