"""The number of queries that people must judge for intervals of some width, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.judging.combined import (
    WORTHWHILE,
    combine_judgments,
    people_needed,
    simultaneous_level,
)
from trectools_plus.judging.labelling import relevant_level
from trectools_plus.judging.labels import LABELS_FILE, group_models, read_labels, read_people
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.judging.report import check_order
from trectools_plus.judging.values import PlanValues, values_of
from trectools_plus.statistics.arrays import DEFAULT_CONFIDENCE, FloatArray, none_if_nan
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
        helps: Whether each model is worth a tenth more queries; ``None`` if all are too few.
    """

    measure: str
    runs: tuple[str, ...]
    width: float | None
    without: int | None
    needed: dict[str, int | None]
    correlation: dict[str, float | None]
    helps: dict[str, bool | None]


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
        CheckFailedError: If people have judged fewer than :data:`MIN_PILOT` queries.
    """
    if not width > 0.0:
        raise UsageError(f"expected a width above 0 but got {width}", where="--width")
    of_people, of_models = read_people(folder.path), read_labels(folder.path / LABELS_FILE)
    parsed = folder.parse_measures(measures, relevant_level(folder, of_models))
    people = values_of(folder, of_people, parsed)
    queries, left_out = people.queries, people.left_out
    if len(queries) < MIN_PILOT:
        judged = plural(len(queries), "query", "queries")
        few = f"people have judged {judged}, but a pilot needs {MIN_PILOT}"
        raise CheckFailedError(
            check_order(folder, of_people) or few,
            where=str(folder.path),
            remedy="continue with: review serve PLAN",
        )
    groups = group_models(label for label in of_models if label.query_id not in left_out)
    values = {name: values_of(folder, labels, parsed) for name, labels in groups.items()}
    models = {
        name: of_model for name, of_model in values.items() if {*queries} <= {*of_model.queries}
    }
    runs = [(run,) for run in folder.runs]
    pilot = Pilot(
        width=width,
        confidence=confidence,
        pairs=math.comb(len(runs), 2),
        people=len(queries),
        models={name: len(of_model.queries) for name, of_model in models.items()},
        total=len(folder.plan.queries) - len(left_out),
        needed=(),
    )
    needed = [
        _need(pilot, measure, subject, people, models)
        for measure in people.values
        for subject in (*runs, *combinations(folder.runs, 2))
    ]
    return replace(pilot, needed=tuple(needed))


def _need(
    pilot: Pilot,
    measure: str,
    runs: tuple[str, ...],
    people: PlanValues,
    models: Mapping[str, PlanValues],
) -> NeededQueries:
    level = simultaneous_level(pilot.confidence, pilot.pairs if len(runs) > 1 else 1)
    y = _values(people, measure, runs)
    # A model that says the same of every query has no weight.
    nothing, first = np.zeros(pilot.total), [*range(len(y))]
    without_model = combine_judgments(y, nothing, first, confidence=level)
    _, without = people_needed(y, nothing, first, pilot.width, level)
    needed: dict[str, int | None] = {}
    correlation: dict[str, float | None] = {}
    helps: dict[str, bool | None] = {}
    for name, of_model in models.items():
        f, rows = _values(of_model, measure, runs), [*map(of_model.queries.index, people.queries)]
        number, _ = people_needed(y, f, rows, pilot.width, level)
        needed[name] = number
        enough = without is None or without >= WORTHWHILE * (number or 0)
        helps[name] = None if number is None else enough
        correlation[name] = none_if_nan(combine_judgments(y, f, rows).correlation)
    width = none_if_nan(without_model.people.width)
    return NeededQueries(measure, runs, width, without, needed, correlation, helps)


def _values(plan_values: PlanValues, measure: str, runs: tuple[str, ...]) -> FloatArray:
    """Return the values of a run, or the difference of two."""
    first, *second = (plan_values.values[measure][run] for run in runs)
    return first - second[0] if second else first
