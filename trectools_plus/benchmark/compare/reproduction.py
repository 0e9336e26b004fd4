"""Comparison of an experiment with its reproduction, or with its replication on other queries.

The measures are those of Breuer, Ferro, Fuhr, Maistro, Sakai, Schaer and Soboroff, How to Measure
the Reproducibility of System-oriented IR Experiments, SIGIR 2020, as ``repro_eval`` computes them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trectools_plus.benchmark.analyses.similarity import find_similarity
from trectools_plus.benchmark.compare.compare_reports import (
    pair_names,
    refuse_different_averaging,
    refuse_incomparable,
)
from trectools_plus.benchmark.report.figures import Similarity
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.dataset import hash_qrels
from trectools_plus.display import Displayed, TextTable, as_cell
from trectools_plus.errors import IncomparableError, InputError, UsageError
from trectools_plus.formats.files.closed import read_json
from trectools_plus.formats.files.opening import is_address
from trectools_plus.formats.run_names import name_runs
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import (
    DEFAULT_MEASURES,
    Averaging,
    Evaluation,
    refuse_unscorable,
    score_runs,
)
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.providers.stored import StoredMeasure
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import Comparison
from trectools_plus.statistics.method import EQUAL
from trectools_plus.statistics.paired import unpaired_t_test
from trectools_plus.statistics.rankings import (
    DEFAULT_DEPTH,
    delta_relative_improvement,
    effect_ratio,
    kendall_tau_union,
    root_mean_square_error,
    truncated_overlap,
)
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores
from trectools_plus.text import plural
from trectools_plus.validation.inputs import Input, as_qrels, as_run, as_runs, is_path

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure

TRUNCATED_P = 0.95
"""Persistence of the truncated RBO, as in ``repro_eval`` 0.5."""
_REPLICATION = "use --replication to compare effects on different queries or judgments"


@dataclass(frozen=True, slots=True)
class RankingSimilarity:
    """The similarity of the rankings of a mode in A and in B, averaged over queries.

    Attributes:
        rbo: RBO_EXT of the first 100 documents, p = 0.9, between 0 and 1.
        rbo_truncated: The RBO of ``repro_eval``: truncated at 1,000 documents, p = 0.95.
        tau: Kendall's tau Union of the first 1,000 documents, between −1 and 1, over the queries
            with at least two results in A and B.
        n: Number of queries that A or B answers.
        n_tau: Number of queries of ``tau``.
    """

    rbo: float | None
    rbo_truncated: float | None
    tau: float | None
    n: int
    n_tau: int


@dataclass(frozen=True, slots=True)
class ScoreReproduction:
    """One measure of a mode in A and in B.

    Attributes:
        measure: The measure.
        mean_a: Mean in A.
        mean_b: Mean in B.
        n_a: Number of queries in the mean of A.
        n_b: Number of queries in the mean of B.
        comparison: B minus A, query by query; ``None`` for a replication.
        rmse: Root mean square error over queries; ``None`` for a replication.
        p_value: Of the t-test, not adjusted: paired, or unpaired for a replication.
        effect_ratio: The improvement over the baseline in B, divided by that in A; ``None`` without
            a baseline, for the baseline, or if there is no improvement in A.
        delta_relative_improvement: The relative improvement over the baseline in A, minus that in
            B; ``None`` as above.
    """

    measure: str
    mean_a: float | None
    mean_b: float | None
    n_a: int
    n_b: int
    comparison: Comparison | None
    rmse: float | None
    p_value: float | None
    effect_ratio: float | None
    delta_relative_improvement: float | None


@dataclass(frozen=True, slots=True)
class ModeReproduction:
    """A mode, or a run, in A and in B.

    Attributes:
        label: Its name; ``NAME (A) and NAME (B)`` if they differ.
        modes: The mode in A and in B.
        is_baseline: Whether it is the baseline.
        rankings: The similarity of the rankings; ``None`` for a replication.
        scores: One entry per measure, the primary measure first.
    """

    label: str
    modes: tuple[str, str]
    is_baseline: bool
    rankings: RankingSimilarity | None
    scores: list[ScoreReproduction]


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction(Displayed):
    """The comparison of an experiment A with its reproduction or replication B.

    Attributes:
        names: Names of A and B.
        replication: Whether B has other queries or judgments, so that only effects are compared.
        queries: Number of scored queries of A and of B.
        baseline: Label of the baseline; ``None`` without one.
        modes: One entry per mode of A and B.
        similarity: Rank-biased overlap of each two runs of A and B; ``None`` for a replication.
        notes: Remarks, a sentence each: modes in only one of them, missing figures.
        higher_is_better: The direction of each measure.
        noun: The word for what is compared: ``run`` or ``mode``.
    """

    names: tuple[str, str]
    replication: bool
    queries: tuple[int, int]
    baseline: str | None
    modes: list[ModeReproduction]
    similarity: Similarity | None
    notes: list[str]
    higher_is_better: dict[str, bool]
    noun: str = "mode"

    @property
    def test(self) -> str:
        """The name of the t-test."""
        return "unpaired t-test" if self.replication else "paired t-test"

    def _text(self) -> str:
        """The result in one sentence."""
        return f"<Reproduction: {state_reproduction(self)}>"

    def _content(self) -> TextTable:
        """The figures of the first measure, a row per mode."""
        header = [
            self.noun.capitalize(),
            "A",
            "B",
            "RBO",
            "tau",
            "RMSE",
            "p",
            "Effect ratio",
            "ΔRI",
        ]
        rows = []
        for mode in self.modes:
            one, rankings = mode.scores[0], mode.rankings
            figures = [
                one.mean_a,
                one.mean_b,
                None if rankings is None else rankings.rbo,
                None if rankings is None else rankings.tau,
                one.rmse,
                one.p_value,
                one.effect_ratio,
                one.delta_relative_improvement,
            ]
            rows.append([mode.label, *map(as_cell, figures)])
        return TextTable.of(header, rows, caption=state_reproduction(self))


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """An experiment.

    Attributes:
        name: Its name in messages.
        labels: The names of its runs in tables.
        runs: Its runs.
        qrels: The judgments.
        baseline: The baseline run; ``None`` without one.
        report: The report; ``None`` for given runs.
    """

    name: str
    labels: dict[str, str]
    runs: dict[str, Run]
    qrels: Qrels
    baseline: str | None
    report: ReportFolder | None


def compare_reproduction(
    original: Input,
    reproduction: Input,
    *,
    qrels: Input | tuple[Input, Input] | None = None,
    measures: Iterable[str | Measure] | None = None,
    baseline: Input | tuple[Input, Input] | None = None,
    replication: bool = False,
) -> Reproduction:
    """Measure how well B reproduces A, mode by mode.

    Modes are matched by name; a single mode of A and of B are compared even if the names differ.
    For each mode, the rankings are compared (RBO, Kendall's tau Union), and for each measure the
    scores of the queries (RMSE, paired t-test) and, with a baseline, the improvement over it
    (effect ratio, delta relative improvement). In a replication, the queries differ, so only the
    means (unpaired t-test) and the improvements are compared.

    Args:
        original: A: a report, its folder, or one or several runs in any form.
        reproduction: B, in the same forms.
        qrels: The judgments of given runs; two in a tuple if those of A and B differ. By default
            those of the report, if the other experiment is one.
        measures: Names or measures; by default the headline measures of the report, or the
            defaults of ``eval``.
        baseline: A mode or run of A and B, or a further run; two in a tuple if they differ. By
            default the baseline of the report A, if B has it too.
        replication: B has other queries or judgments.

    Returns:
        The figures; see :class:`Reproduction`.

    Raises:
        InputError: If a report, a run or judgments cannot be read.
        UsageError: If judgments are missing, a baseline or a measure does not exist, or two runs
            have the same name.
        IncomparableError: If the queries or judgments differ and this is no replication, or if
            there is no mode in common.
    """
    reports = [_open_report(source) for source in (original, reproduction)]
    chosen = _judgments_of(reports, qrels)
    baselines = baseline if isinstance(baseline, tuple) else (baseline, baseline)
    first, second = (
        _open_side((name, source), report, judged, base)
        for name, source, report, judged, base in zip(
            "AB", (original, reproduction), reports, chosen, baselines, strict=True
        )
    )
    if baseline is None:
        first, second = _use_baseline_of_report(first, second)
    _refuse_different(first, second, replication=replication)
    bound = _choose_measures(reports, measures)
    scores = (
        score_runs(first.qrels, first.runs, bound[0], _averaging(first, second)),
        score_runs(second.qrels, second.runs, bound[1], _averaging(second, first)),
    )
    names = [one for one in scores[0].compared_names if one in scores[1].compared_names]
    if not names:
        raise IncomparableError(
            "no measure can be compared: all are sums", where=f"{first.name} and {second.name}"
        )
    pairs = _pair(first, second)
    similarity = None if replication else _find_similarity(first, second, pairs)
    with_baseline = first.baseline is not None and second.baseline is not None
    found = [
        ModeReproduction(
            label=_label(first, second, pair),
            modes=pair,
            is_baseline=pair == (first.baseline, second.baseline),
            rankings=None
            if similarity is None
            else _compare_rankings(first, second, pair, similarity),
            scores=[
                _compare_scores((first, second), scores, pair, name, replication=replication)
                for name in names
            ],
        )
        for pair in pairs
    ]
    queries = [
        len(one.query_ids[side.baseline or next(iter(side.runs))])
        for one, side in zip(scores, (first, second), strict=True)
    ]
    return Reproduction(
        names=(first.name, second.name),
        replication=replication,
        queries=(queries[0], queries[1]),
        baseline=_label(first, second, pairs[0]) if with_baseline else None,
        modes=found,
        similarity=similarity,
        notes=_notes(first, second, pairs, found),
        higher_is_better={name: scores[0].definition(name).higher_is_better for name in names},
        noun=next((one.report.noun for one in reports if one is not None), "run"),
    )


def state_reproduction(found: Reproduction) -> str:
    """State how well B reproduces A in one sentence, on the primary measure.

    Args:
        found: From :func:`compare_reproduction`.
    """
    if found.replication:
        return _state_replication(found)
    over = f"over {plural(found.queries[0], 'query', 'queries')}"
    modes = (
        f"all {len(found.modes)} {found.noun}s" if len(found.modes) > 1 else found.modes[0].label
    )
    if all(_is_exact(mode) for mode in found.modes):
        return f"B reproduces {modes} of A exactly: the rankings are equal {over}."
    mode = max(_improved(found), key=lambda mode: mode.scores[0].rmse or 0.0)
    one, rankings = mode.scores[0], mode.rankings
    overlap = "" if rankings is None or rankings.rbo is None else f", RBO {rankings.rbo:.3f}"
    among = (
        f" for {mode.label}, the {found.noun} that differs most,"
        if len(_improved(found)) > 1
        else ""
    )
    return (
        f"B has {_show(one.mean_b)} on {one.measure}{among} instead of {_show(one.mean_a)} {over} "
        f"(RMSE {_show(one.rmse)}, {found.test} p {_show_p(one.p_value)}{overlap})"
        f"{_state_effect(found, mode)}."
    )


def _state_replication(found: Reproduction) -> str:
    compared = _improved(found)
    higher = found.higher_is_better[compared[0].scores[0].measure]
    mode = (max if higher else min)(compared, key=lambda mode: mode.scores[0].mean_a or 0.0)
    one = mode.scores[0]
    name = f" for {mode.label}" if len(compared) > 1 else ""
    return (
        f"B has {_show(one.mean_b)} on {one.measure}{name} over "
        f"{plural(found.queries[1], 'query', 'queries')}, and A {_show(one.mean_a)} over "
        f"{found.queries[0]:,} ({found.test} p {_show_p(one.p_value)})"
        f"{_state_effect(found, mode)}."
    )


def _improved(found: Reproduction) -> list[ModeReproduction]:
    """Return the modes that are not the baseline, or the only mode."""
    return [mode for mode in found.modes if not mode.is_baseline] or found.modes


def _state_effect(found: Reproduction, mode: ModeReproduction) -> str:
    ratio = mode.scores[0].effect_ratio
    if found.baseline is None or ratio is None:
        return ""
    return f"; its improvement over {found.baseline} is {_show(ratio, 2)} times that in A"


def _is_exact(mode: ModeReproduction) -> bool:
    equal = mode.rankings is not None and (mode.rankings.rbo or 0.0) >= 1.0 - EQUAL
    return equal and all((one.rmse or 0.0) <= EQUAL for one in mode.scores)


def _show(value: float | None, decimals: int = 3) -> str:
    return "no value" if value is None else f"{value:.{decimals}f}".replace("-", "−")


def _show_p(value: float | None) -> str:
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _open_report(source: Input) -> ReportFolder | None:
    """Return the report, or ``None`` if the source is a run."""
    if not is_path(source):
        return None
    path = Path(os.fsdecode(source))
    if path.is_dir():
        return ReportFolder(path)
    if path.suffix != ".json" or not path.is_file():
        return None
    try:
        content = read_json(path)
    except InputError:
        return None
    is_report = isinstance(content, dict) and {"manifest", "schema_version"} <= content.keys()
    return ReportFolder(path) if is_report else None


def _judgments_of(
    reports: Sequence[ReportFolder | None], given: Input | tuple[Input, Input] | None
) -> list[Qrels]:
    """Return the judgments of A and of B."""
    if given is not None and all(report is not None for report in reports):
        raise UsageError(
            "both are reports, which have judgments",
            where="--qrels",
            remedy="leave it out, or give run files",
        )
    sides = given if isinstance(given, tuple) else (given, given)
    loaded: dict[int, Qrels] = {}
    found: list[Qrels | None] = []
    for report, one in zip(reports, sides, strict=True):
        if report is not None:
            found.append(report.read_qrels())
        elif one is not None:
            found.append(loaded.setdefault(id(one), as_qrels(one)))
        else:
            found.append(None)
    shared = next((one for one in found if one is not None), None)
    if shared is None:
        raise UsageError(
            "runs need judgments", where="--qrels", remedy="give the qrels of the runs"
        )
    return [shared if one is None else one for one in found]


def _open_side(
    named: tuple[str, Input], report: ReportFolder | None, qrels: Qrels, baseline: Input | None
) -> _Side:
    letter, source = named
    name = os.fsdecode(source) if is_path(source) else letter
    if report is not None:
        runs = report.read_runs()
        labels = {mode: result.label for mode, result in report.report.modes.items()}
    else:
        runs = as_runs(source)
        labels = {run: run for run in runs}
        name = next((run.path for run in runs.values() if run.path), name)
    chosen = None
    if isinstance(baseline, str) and baseline in runs:
        chosen = baseline
    elif baseline is not None:
        if isinstance(baseline, str) and not (is_address(baseline) or Path(baseline).is_file()):
            raise UsageError(
                f"the baseline '{baseline}' is neither a mode ({', '.join(runs)}) nor a file",
                where=name,
                remedy="give --baseline twice, for A and for B, with a mode or a run file each",
            )
        added = as_run(baseline)
        (chosen,) = name_runs([added])
        chosen = f"{chosen} (baseline)" if chosen in runs else chosen
        runs = {**runs, chosen: added}
        labels = {**labels, chosen: chosen}
    given = [run for key, run in runs.items() if report is None or key not in report.report.modes]
    refuse_unscorable(qrels, given)
    return _Side(name, labels, runs, qrels, chosen, report)


def _use_baseline_of_report(first: _Side, second: _Side) -> tuple[_Side, _Side]:
    """Use the first baseline of a report that both sides have."""
    for side in (first, second):
        if side.report is None:
            continue
        for mode in side.report.report.manifest.config.get("baseline") or ():
            if mode in first.runs and mode in second.runs:
                return replace(first, baseline=mode), replace(second, baseline=mode)
    return first, second


def _refuse_different(first: _Side, second: _Side, *, replication: bool) -> None:
    """Check that both are over the same queries and judgments; in a replication, only the settings.

    Raises:
        IncomparableError: If not.
    """
    names = first.name, second.name
    if replication:
        if first.report is not None and second.report is not None:
            refuse_different_averaging(first.report.report, second.report.report, names)
        return
    if first.report is not None and second.report is not None:
        try:
            refuse_incomparable(first.report.report, second.report.report, names)
        except IncomparableError as error:
            error.remedy = f"{error.remedy}, or {_REPLICATION}"
            raise
    if hash_qrels(first.qrels) != hash_qrels(second.qrels):
        raise IncomparableError(
            "A and B have different judgments", where=" and ".join(names), remedy=_REPLICATION
        )


def _choose_measures(
    reports: Sequence[ReportFolder | None], requested: Iterable[str | Measure] | None
) -> tuple[list[Measure], list[Measure]]:
    """Return the requested measures, those of a report, or the default ones, for A and for B.

    Measures over an ontology use that of the report of A or B, or of the other one.
    """
    known = [one for one in reports if one is not None]
    if not known:
        measures = parse_measures(DEFAULT_MEASURES if requested is None else requested)
        return measures, measures
    if requested is None:
        named = [one for one in _shared_headlines(known) if not isinstance(one, StoredMeasure)]
        named = named or parse_measures(DEFAULT_MEASURES)
    else:
        named = parse_measures(requested)
    first, second = ((one or known[0]).bind_measures(named) for one in reports)
    return list(first), list(second)


def _shared_headlines(reports: Sequence[ReportFolder]) -> list[Measure]:
    """Return the headline measures of the first report that all reports have."""
    with reports[0].closed():
        names = reports[0].report.headline_measures
        both = [name for name in names if all(one.report.find_measure(name) for one in reports)]
        return parse_measures(both) if both else []


def _averaging(side: _Side, other: _Side) -> Averaging:
    """Return the treatment of queries in a report; in that of the other side for run files."""
    known = (one.report.report.manifest for one in (side, other) if one.report is not None)
    return next((manifest.averaging for manifest in known), Averaging())


def _pair(first: _Side, second: _Side) -> list[tuple[str, str]]:
    """Match the runs of A and B: the baselines first, then the others by name."""
    others = [[name for name in side.runs if name != side.baseline] for side in (first, second)]
    pairs = pair_names(*others)
    if first.baseline is not None and second.baseline is not None:
        pairs = [(first.baseline, second.baseline), *pairs]
    if not pairs:
        raise IncomparableError(
            f"A and B have no mode in common: {', '.join(first.runs)} and {', '.join(second.runs)}",
            where=f"{first.name} and {second.name}",
            remedy="name the runs alike, for example hybrid=my.run",
        )
    return pairs


def _label(first: _Side, second: _Side, pair: tuple[str, str]) -> str:
    one, other = first.labels[pair[0]], second.labels[pair[1]]
    # A run file called hybrid.run is the mode hybrid, whatever its label.
    return one if one == other or pair[0] == pair[1] else f"{one} (A) and {other} (B)"


def _queries(first: _Side, second: _Side) -> JudgedQueries:
    """Return the judgments of the queries in the means."""
    no_relevant = _averaging(first, second).no_relevant
    return JudgedQueries.from_qrels(first.qrels).counted(no_relevant)


def _find_similarity(first: _Side, second: _Side, pairs: Sequence[tuple[str, str]]) -> Similarity:
    """Compare each two of the matched runs of A and B."""
    queries = _queries(first, second)
    runs = {f"A: {one}": first.runs[one] for one, _ in pairs}
    runs |= {f"B: {other}": second.runs[other] for _, other in pairs}
    return find_similarity(queries, runs)


def _compare_rankings(
    first: _Side, second: _Side, pair: tuple[str, str], similarity: Similarity
) -> RankingSimilarity:
    queries = _queries(first, second)
    one, other = (
        _list_documents(queries, run) for run in (first.runs[pair[0]], second.runs[pair[1]])
    )
    answered = [query for query in range(len(queries.query_ids)) if query in one or query in other]
    nothing: list[str] = []
    lists = [(one.get(query, nothing), other.get(query, nothing)) for query in answered]
    truncated = [truncated_overlap(*rankings, p=TRUNCATED_P) for rankings in lists]
    taus = [kendall_tau_union(*rankings) for rankings in lists]
    defined = [tau for tau in taus if not math.isnan(tau)]
    places = [
        similarity.modes.index(f"{letter}: {mode}") for letter, mode in zip("AB", pair, strict=True)
    ]
    return RankingSimilarity(
        rbo=similarity.rbo[places[0]][places[1]],
        rbo_truncated=_mean(truncated),
        tau=_mean(defined),
        n=len(answered),
        n_tau=len(defined),
    )


def _list_documents(queries: JudgedQueries, run: Run) -> dict[int, list[str]]:
    """Return the documents of each answered query, from the top."""
    ranked = queries.rank(run).filter(pl.col("rank") <= DEFAULT_DEPTH).sort("query", "rank")
    grouped = ranked.group_by("query", maintain_order=True).agg("doc_id")
    return dict(grouped.iter_rows())


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _compare_scores(
    sides: tuple[_Side, _Side],
    scores: tuple[Evaluation, Evaluation],
    pair: tuple[str, str],
    measure: str,
    *,
    replication: bool,
) -> ScoreReproduction:
    means = [none_if_nan(one.mean(mode, measure)) for one, mode in zip(scores, pair, strict=True)]
    before, after = (one.values(mode, measure) for one, mode in zip(scores, pair, strict=True))
    counts = tuple(int((~np.isnan(values)).sum()) for values in (before, after))
    comparison = rmse = p_value = None
    if replication:
        if min(counts) > 1:
            samples = (values[~np.isnan(values)] for values in (before, after))
            p_value = none_if_nan(unpaired_t_test(*samples))
    else:
        _refuse_different_queries(scores, pair)
        higher = scores[0].definition(measure).higher_is_better
        ids = scores[0].query_ids[pair[0]]
        paired = PairedScores(*pair, measure, ids, before, after, higher)
        comparison = compare_scores([paired], Method({"interval": "t"}, tests=("t_test",)))[0]
        if comparison.n > 1 and comparison.t_test is not None:
            p_value = comparison.t_test.p
        if comparison.n:
            rmse = root_mean_square_error(paired.shared.before, paired.shared.after)
    ratio, change = _compare_effects(sides, scores, pair, measure)
    return ScoreReproduction(
        measure=measure,
        mean_a=means[0],
        mean_b=means[1],
        n_a=counts[0],
        n_b=counts[1],
        comparison=comparison,
        rmse=rmse,
        p_value=p_value,
        effect_ratio=ratio,
        delta_relative_improvement=change,
    )


def _refuse_different_queries(scores: tuple[Evaluation, Evaluation], pair: tuple[str, str]) -> None:
    first, second = (one.query_ids[mode] for one, mode in zip(scores, pair, strict=True))
    if first != second:
        differing = set(first) ^ set(second)
        raise IncomparableError(
            f"A and B are averaged over different queries: {len(differing)} are in only one of "
            f"them, for example {min(differing)}",
            remedy="use missing=zero, which counts a query without results as 0",
        )


def _compare_effects(
    sides: tuple[_Side, _Side],
    scores: tuple[Evaluation, Evaluation],
    pair: tuple[str, str],
    measure: str,
) -> tuple[float | None, float | None]:
    """Return effect ratio and delta relative improvement, if there is a baseline."""
    arrays: list[FloatArray] = []
    for side, one, mode in zip(sides, scores, pair, strict=True):
        if side.baseline is None or mode == side.baseline:
            return None, None
        improved, baseline = one.values(mode, measure), one.values(side.baseline, measure)
        defined = ~np.isnan(improved) & ~np.isnan(baseline)
        if not defined.any():
            return None, None
        arrays += [improved[defined], baseline[defined]]
    return none_if_nan(effect_ratio(*arrays)), none_if_nan(delta_relative_improvement(*arrays))


def _notes(
    first: _Side,
    second: _Side,
    pairs: Sequence[tuple[str, str]],
    found: Sequence[ModeReproduction],
) -> list[str]:
    notes = []
    for place, side in enumerate((first, second)):
        paired = {pair[place] for pair in pairs}
        alone = [side.labels[name] for name in side.runs if name not in paired]
        if alone:
            notes.append(f"Only in {'AB'[place]}: {', '.join(alone)}.")
    if first.baseline is None or second.baseline is None:
        notes.append(
            "There is no effect ratio and no delta relative improvement, because no baseline is "
            "given (--baseline)."
        )
    elif any(
        one.effect_ratio is None for mode in found if not mode.is_baseline for one in mode.scores
    ):
        notes.append(
            "An effect ratio is missing where A has no improvement over the baseline, or a measure "
            "is undefined."
        )
    rankings = [mode.rankings for mode in found if mode.rankings is not None]
    if any(one.n_tau < one.n for one in rankings):
        notes.append("Kendall's tau is over the queries with two results or more in A and B.")
    return notes
