"""Estimate means and differences of runs from judgments of people and of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.judging.combined import (
    MIN_PEOPLE,
    CombinedMean,
    MeanInterval,
    combine_judgments,
)
from trectools_plus.judging.labelling import relevant_level
from trectools_plus.judging.labels import (
    LABELS_FILE,
    Label,
    group_models,
    read_labels,
    read_people,
    write_qrels,
)
from trectools_plus.judging.plan import PLAN_FILE, PlanFolder
from trectools_plus.judging.report import (
    JudgmentCounts,
    JudgmentReport,
    LeftOutQuery,
    PopulationEstimate,
    RunEstimate,
    ShownInterval,
    check_asked,
    check_order,
    describe_doubts,
    describe_earlier,
    describe_missing_intervals,
    list_earlier,
    state_result,
)
from trectools_plus.judging.values import find_agreement, merge_labels, nan_as_null, values_of
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    DEFAULT_SEED,
    FloatArray,
    Resampling,
    none_if_nan,
)
from trectools_plus.text import plural


def estimate(
    folder: PlanFolder,
    *,
    people: Sequence[Label] | None = None,
    measures: Sequence[str] | None = None,
    runs: Sequence[str] | None = None,
    model: str | None = None,
    relevant: int | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = DEFAULT_SEED,
) -> JudgmentReport:
    """Estimate each run and each pair of runs from the judgments of a plan.

    Args:
        folder: The plan.
        people: The labels of people; those of the review page if ``None``.
        measures: Names of measures; those of the plan if ``None``.
        runs: Names of runs of the plan; all if ``None``.
        model: The model, if several have judged the plan.
        relevant: The lowest relevant grade of measures whose names do not state one; ``None`` for
            the lowest grade that the model's prompt calls relevant.
        confidence: The level of the intervals.
        seed: The seed of the draws for the intervals of agreement.

    Returns:
        The report. It depends only on the plan and its judgments.

    Raises:
        UsageError: If a measure looks deeper than the pool, a run is not one of the plan, or
            several models have judged and none is named.
        CheckFailedError: If people or the model have judged too little to estimate anything.
    """
    shown = _choose_runs(folder, runs)
    where = str(folder.path)
    by_people = read_people(folder.path) if people is None else people
    all_labels = read_labels(folder.path / LABELS_FILE)
    labels = choose_model(all_labels, model, where)
    level = relevant_level(folder, labels) if relevant is None else relevant
    parsed = folder.parse_measures(measures or None, level)
    if (unasked := check_asked(folder, labels)) is not None:
        raise CheckFailedError(
            unasked, where=where, remedy=f"run: trectools-plus judge label {where} --resume"
        )
    of_people, of_model = values_of(folder, by_people, parsed), values_of(folder, labels, parsed)
    n, left_out = len(of_people.queries), of_people.left_out
    refusal = check_order(folder, by_people)
    if refusal is None and n < MIN_PEOPLE:
        refusal = (
            f"people have judged {plural(n, 'query', 'queries')} completely, and {MIN_PEOPLE} are "
            "needed to combine them with the model, or two for an interval"
        )
    if n < 2:
        raise CheckFailedError(
            refusal or "", where=where, remedy=f"judge more with: review serve {where}"
        )
    judged = [of_model.queries.index(query_id) for query_id in [*of_people.queries, *left_out]]
    unknown = np.full(len(left_out), np.nan)
    estimates: list[RunEstimate] = []
    pairs: list[tuple[str, str]] = []
    for measure in parsed:
        name = measure.requested_name
        values = {
            run: (np.append(of_people.values[name][run], unknown), of_model.values[name][run])
            for run in shown
        }
        subject = _Measured(name, values, judged, refusal is None, confidence)
        if not estimates:
            pairs = subject.orient(1 if measure.definition.higher_is_better else -1)
        estimates += [subject.estimate(run) for run in shown]
        estimates += [subject.estimate(*pair) for pair in pairs]
    resampling = Resampling(confidence=confidence, seed=seed)
    agreement = find_agreement(folder, [*by_people, *labels], resampling)
    report = JudgmentReport(
        version=version("trectools-plus"),
        created_at=max(label.time for label in [*by_people, *labels]),
        result="",
        model=labels[0].judge,
        plan_sha256=sha256_file(folder.path / PLAN_FILE),
        labels_sha256={"people": hash_labels(by_people), "model": hash_labels(labels)},
        measures=[measure.requested_name for measure in parsed],
        relevant=level,
        runs=shown,
        confidence=confidence,
        seed=seed,
        counts=JudgmentCounts(
            queries=len(folder.plan.queries) - len(left_out),
            planned=folder.plan.people,
            people=n,
            left_out=[
                LeftOutQuery(query_id=query_id, reason=left_out[query_id]) for query_id in left_out
            ],
            pairs=folder.plan.pooled,
            missing_people=of_people.missing,
            missing_model=sum(label.grade is None for label in labels),
        ),
        agreement=next(
            (nan_as_null(asdict(pair)) for pair in agreement if pair.kind == "model"), None
        ),
        refusal=refusal,
        estimates=estimates,
        warnings=describe_doubts(folder, by_people, n, labels, all_labels),
    )
    earlier = list_earlier(folder, report.look)
    gaps = describe_missing_intervals(estimates) if refusal is None else []
    more = {
        "result": state_result(report),
        "earlier": earlier,
        "warnings": [*report.warnings, *gaps, *describe_earlier(earlier)],
    }
    return report.model_copy(update=more)


JudgedBy = Literal["people", "model", "both"]
QRELS_FILES: Mapping[JudgedBy, str] = {"people": "people.qrels", "model": "model.qrels"}


def write_judgments(
    folder: PlanFolder,
    model: str | None,
    target: str | Path,
    people: Sequence[Label] | None = None,
) -> None:
    """Write ``people.qrels`` and ``model.qrels``; their second column says who judged.

    Grades of several people are merged; see docs/review.md.

    Raises:
        InputError: If a file cannot be written.
    """
    for by, name in QRELS_FILES.items():
        write_qrels(select_labels(folder, by, model, people), Path(target) / name)


def select_labels(
    folder: PlanFolder,
    by: JudgedBy = "both",
    model: str | None = None,
    people: Sequence[Label] | None = None,
) -> list[Label]:
    """Return one label for each judged pair of a plan.

    Args:
        folder: The plan.
        by: Whose labels: the merged ones of ``people``, those of a ``model``, or ``both``: those of
            people, and those of the model for pairs that no person has answered.
        model: The model, if several have judged the plan.
        people: The labels of people; those of the review page if ``None``.

    Raises:
        CheckFailedError: If nobody has judged.
        UsageError: If several models have judged and none is named, or the named one has not.
    """
    labels: list[Label] = []
    if by != "model":
        answers = read_people(folder.path) if people is None else people
        merged = merge_labels(answers)
        labels = [
            label.model_copy(update={"grade": merged[query_id][doc_id]})
            for (query_id, doc_id), label in {label.pair: label for label in answers}.items()
        ]
    of_models = [] if by == "people" else read_labels(folder.path / LABELS_FILE)
    if of_models or by == "model" or (by == "both" and model is not None):
        answered = {label.pair for label in labels}
        chosen = choose_model(of_models, model, str(folder.path))
        labels += [label for label in chosen if label.pair not in answered]
    if not any(label.grade is not None for label in labels):
        raise CheckFailedError(
            "there are no grades yet",
            where=str(folder.path),
            remedy="let people or a model judge: review serve, judge label",
        )
    return labels


def choose_model(labels: Sequence[Label], model: str | None, where: str) -> list[Label]:
    """Return the first answers of a model; if it was asked in several ways, in the last one.

    Raises:
        CheckFailedError: If no model has judged.
        UsageError: If several have and none is named, or the named one has not.
    """
    groups = group_models(label for label in labels if not label.repeat)
    if not groups:
        raise CheckFailedError(
            "no model has judged the plan",
            where=where,
            remedy=f"run first: trectools-plus judge label {where} --endpoint URL --model NAME",
        )
    chosen = [name for name in groups if model in (None, name, groups[name][0].annotator)]
    if len({groups[name][0].annotator for name in chosen}) != 1:
        raise UsageError(
            f"{plural(len(groups), 'model')} judged the plan, but not {model or 'only one'}",
            where=where,
            remedy=f"name one with --model: {', '.join(groups)}",
        )
    return groups[chosen[-1]]


def hash_labels(labels: Sequence[Label]) -> str:
    """Return the hash of labels with all that is known of them, in any order."""
    return sha256_text("\n".join(sorted(label.model_dump_json() for label in labels)))


def _choose_runs(folder: PlanFolder, runs: Sequence[str] | None) -> list[str]:
    """Return the runs of a plan with these names; all without any.

    Raises:
        UsageError: If one is not in the plan.
    """
    known = [run.name for run in folder.plan.runs]
    if unknown := [name for name in runs or () if name not in known]:
        raise UsageError(
            f"not a run of the plan, so its documents were not all pooled: {', '.join(unknown)}",
            where=str(folder.path),
            remedy=f"name some of {', '.join(known)}, or extend the plan",
        )
    return [name for name in known if not runs or name in runs]


@dataclass(frozen=True, slots=True)
class _Measured:
    """The values of a measure.

    Attributes:
        measure: The name of the measure.
        values: The values of each run, by people and by the model.
        judged: The row in the model's values of each of those by people.
        combines: Whether people judged enough, and in the order of the plan.
        confidence: The level of the intervals.
    """

    measure: str
    values: Mapping[str, tuple[FloatArray, FloatArray]]
    judged: Sequence[int]
    combines: bool
    confidence: float

    def estimate(self, run: str, baseline: str | None = None) -> RunEstimate:
        """Estimate the mean of a run, or its difference to another."""
        people, model = self.values[run]
        together, is_share = 1, all(np.nanmax(abs(y - 0.5)) <= 0.5 for y, _ in self.values.values())
        if baseline is not None:
            minus = self.values[baseline]
            people, model = people - minus[0], model - minus[1]
            together, is_share = math.comb(len(self.values), 2), False
        mean = combine_judgments(
            people, model, self.judged, confidence=self.confidence, together=together
        )
        return RunEstimate(
            measure=self.measure,
            run=run,
            baseline=baseline,
            correlation=none_if_nan(mean.correlation),
            estimates=[_as_population(mean, self.combines, is_share)],
        )

    def orient(self, sign: int) -> list[tuple[str, str]]:
        """Return all pairs of runs, the better run first: best pairs first."""

        def quality(run: str, baseline: str | None = None) -> float:
            first = self.estimate(run, baseline).estimates[0]
            return sign * (first.combined or first.people).mean

        order = sorted(self.values, key=quality, reverse=True)
        return [
            (run, other) if quality(run, other) >= 0.0 else (other, run)
            for run, other in combinations(order, 2)
        ]


def _as_population(mean: CombinedMean, combines: bool, is_share: bool) -> PopulationEstimate:
    """Return a mean as in a report; a mean of shares and its interval are in [0, 1]."""
    combined = mean.combined if combines else None
    if is_share and combined is not None and not 0.0 <= combined.mean <= 1.0:
        combined = None
    return PopulationEstimate(
        people=_shown(mean.people, is_share),
        model=_shown(mean.model, is_share),
        combined=None if combined is None else _shown(combined, is_share),
        weight=None if combined is None else mean.weight,
        effective=None if combined is None else mean.effective,
    )


def _shown(interval: MeanInterval, is_share: bool) -> ShownInterval:
    low, high = none_if_nan(interval.low), none_if_nan(interval.high)
    if is_share and low is not None and high is not None:
        low, high = max(low, 0.0), min(high, 1.0)
    return ShownInterval(mean=interval.mean, low=low, high=high)
