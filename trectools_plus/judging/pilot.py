"""The number of queries that people must judge for intervals of some width, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.judging.estimates.checks import check_order
from trectools_plus.judging.estimates.combined import (
    WORTHWHILE,
    combine_judgments,
    people_needed,
    simultaneous_level,
)
from trectools_plus.judging.labelling import relevant_level
from trectools_plus.judging.labels import LABELS_FILE, group_models, read_labels
from trectools_plus.judging.people import read_people
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.values import PlanValues, values_of
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE, FloatArray
from trectools_plus.statistics.method import EQUAL
from trectools_plus.text import plural

MIN_PILOT = 10
"""The smallest number of queries of people to plan with."""


@dataclass(frozen=True, slots=True)
class NeededQueries:
    """The number of queries that people must judge.

    Attributes:
        measure: The measure.
        runs: One run for its mean, or two for their difference.
        width: The width of the interval now, from the judgments of people alone; ``None`` if all
            values are equal.
        without: The number of queries without the model; ``None`` if all of the plan are too few.
        needed: The number with each model, in the same way.
        correlation: Between people and each model; ``None`` if all values of one are equal.
    """

    measure: str
    runs: tuple[str, ...]
    width: float | None
    without: int | None
    needed: dict[str, int | None]
    correlation: dict[str, float | None]

    def helps(self, model: str) -> bool | None:
        """Return whether a model is worth a tenth more queries; ``None`` if all are too few."""
        needed = self.needed[model]
        if needed is None:
            return None
        return self.without is None or self.without >= WORTHWHILE * needed


@dataclass(frozen=True, slots=True)
class Pilot:
    """The queries that people must judge, from those that they have judged.

    Attributes:
        width: The wished width of the intervals.
        confidence: The level of the intervals of means. Those of differences are simultaneous: each
            of k pairs has the level 1 - (1 - confidence) / k, as in the estimate.
        pairs: The number of pairs of runs.
        people: The number of queries that people have judged.
        models: The number of queries that each model has judged.
        total: The number of queries of the plan, without those that people could not judge.
        needed: The numbers for each measure, run, and pair of runs.
    """

    width: float
    confidence: float
    pairs: int
    people: int
    models: dict[str, int]
    total: int
    needed: tuple[NeededQueries, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        content = asdict(self)
        for row, needed in zip(content["needed"], self.needed, strict=True):
            row["helps"] = {model: needed.helps(model) for model in self.models}
        return content


def plan_people(
    folder: PlanFolder,
    width: float,
    measures: Sequence[str] | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Pilot:
    """Estimate how many queries people must judge, for queries like those of the plan.

    Args:
        folder: The plan, with judgments of people and, if any, models. Models that have not
            judged all queries of people are left out.
        width: The wished difference between the ends of an interval.
        measures: Names of measures; those of the plan if ``None``.
        confidence: The level of the intervals.

    Raises:
        UsageError: If a measure looks deeper than the pool, or an option is out of range.
        CheckFailedError: If people have judged fewer than :data:`MIN_PILOT` queries, or none of the
            models has judged all of these.
    """
    if not width > 0.0:
        raise UsageError(f"expected a width above 0 but got {width}", where="--width")
    labels_of_people = read_people(folder.path)
    labels_of_models = read_labels(folder.path / LABELS_FILE)
    parsed = folder.parse_measures(measures, relevant_level(folder, labels_of_models))
    people = values_of(folder, labels_of_people, parsed)
    judged = plural(len(people.queries), "query", "queries")
    if len(people.queries) < MIN_PILOT:
        if (broken := check_order(folder, labels_of_people)) is not None:
            raise CheckFailedError(broken, where=str(folder.path))
        raise CheckFailedError(
            f"people have judged {judged}, but a pilot needs {MIN_PILOT}",
            where=str(folder.path),
            remedy=f"continue with: review serve {folder.path}",
        )
    models = {
        name: values_of(folder, labels, parsed)
        for name, labels in group_models(labels_of_models).items()
    }
    lacking = {
        name: [one for one in people.queries if one not in found.queries]
        for name, found in models.items()
    }
    finished = {name: found for name, found in models.items() if not lacking[name]}
    if models and not finished:
        name, missing = next(iter(lacking.items()))
        raise CheckFailedError(
            f"{name} has not judged {plural(len(missing), 'query', 'queries')} of the "
            f"{judged} that people have judged, for example {missing[0]}",
            where=str(folder.path),
            remedy=f"continue with: judge label {folder.path} --resume",
        )
    total = len(folder.plan.queries) - len(people.complete.left_out)
    return Pilot(
        width=width,
        confidence=confidence,
        pairs=math.comb(len(folder.plan.runs), 2),
        people=len(people.queries),
        models={name: len(found.queries) for name, found in finished.items()},
        total=total,
        needed=tuple(
            _need(measure, runs, people, finished, (width, confidence, total))
            for measure in people.values
            for runs in _subjects(list(people.values[measure]))
        ),
    )


def _subjects(runs: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each run, and each pair of runs."""
    yield from ((run,) for run in runs)
    yield from combinations(runs, 2)


def _need(
    measure: str,
    runs: tuple[str, ...],
    people: PlanValues,
    models: dict[str, PlanValues],
    wished: tuple[float, float, int],
) -> NeededQueries:
    width, confidence, total = wished
    if len(runs) > 1:
        confidence = simultaneous_level(confidence, math.comb(len(people.values[measure]), 2))
    y = _values(people, measure, runs)
    if np.ptp(y) <= EQUAL:
        nothing = dict.fromkeys(models)
        return NeededQueries(measure, runs, None, None, {**nothing}, {**nothing})
    # A model that says the same of every query has no weight.
    (alone,) = combine_judgments(y, np.zeros(total), np.arange(len(y)), confidence=confidence)
    _, without = people_needed(y, np.zeros(total), np.arange(len(y)), width, confidence=confidence)
    needed: dict[str, int | None] = {}
    correlation: dict[str, float | None] = {}
    for name, found in models.items():
        usable = [one not in people.complete.left_out for one in found.queries]
        kept = [one for one in found.queries if one not in people.complete.left_out]
        rows = np.array([kept.index(query_id) for query_id in people.queries])
        f = _values(found, measure, runs)[usable]
        needed[name], _ = people_needed(y, f, rows, width, confidence=confidence)
        (both,) = combine_judgments(y, f, rows, confidence=confidence)
        correlation[name] = None if np.isnan(both.correlation) else both.correlation
    return NeededQueries(measure, runs, alone.people.width, without, needed, correlation)


def _values(found: PlanValues, measure: str, runs: tuple[str, ...]) -> FloatArray:
    """Return the values of a run, or the difference of two."""
    first, *second = (found.values[measure][run] for run in runs)
    return first - second[0] if second else first
