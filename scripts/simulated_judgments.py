"""The simulation of judgments of people and models for ``scripts/simulate``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from trectools_plus import Evaluation, Qrels, Run, evaluate
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.judging.combined import combine_judgments
from trectools_plus.statistics import cohens_kappa
from trectools_plus.validation.loading import load_qrels, load_run

SEED = 20
Grades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class JudgedRuns:
    """Runs with grades of people, as {query: {document: grade}}, for their first ten results."""

    runs: Mapping[str, Run]
    grades: Grades
    favoured: str


@dataclass(frozen=True)
class Judge:
    """A model's probability of calling a relevant, another, or a favoured document relevant.

    The first two vary among queries, with standard deviations of 0.15 and 0.075.
    """

    relevant: float
    other: float
    favoured: float | None = None


JUDGES = {
    "kappa 0.7": Judge(0.87, 0.10),
    "kappa 0.4": Judge(0.75, 0.27),
    "noise": Judge(0.5, 0.5),
    "favours a run": Judge(0.8, 0.15, 0.7),
}
JUDGED_MEASURES = ("P@10", "nDCG@10", "RR@10")


def read_robust() -> JudgedRuns:
    """Read the runs of Robust 2003 in the shared test data; grades of 1 and 2 are relevant."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRECTOOLS_PLUS_SHARED_DATA") or default) / "robust03"
    qrels = load_qrels(folder / "qrels.txt.gz").to_dict()
    names = ("humR03dc", "oce03noXbmD", "aplrob03a")
    runs = {name: load_run(folder / f"input.{name}.gz") for name in names}
    return _pooled(runs, lambda query, document: int(qrels.get(query, {}).get(document, 0) > 0))


def make_collection(seed: int = SEED) -> JudgedRuns:
    """Make 100 queries with 60 documents each, and three runs.

    A query has a share of relevant documents from Beta(1, 4). A run orders documents by
    2 · relevant + noise with a standard deviation of 1.2, 1.6 and 2.4; the runs share half of its
    variance.
    """
    rng = np.random.default_rng(seed)
    scores: dict[str, dict[str, dict[str, float]]] = {name: {} for name in ("a", "b", "c")}
    relevant = {}
    for query in range(100):
        is_relevant = rng.random(60) < rng.beta(1.0, 4.0)
        shared = rng.normal(size=60)
        for by_query, noise in zip(scores.values(), (1.2, 1.6, 2.4), strict=True):
            found = 2.0 * is_relevant + noise * np.sqrt(0.5) * (shared + rng.normal(size=60))
            by_query[f"q{query}"] = {f"d{place}": float(score) for place, score in enumerate(found)}
        relevant[f"q{query}"] = is_relevant
    runs = {name: Run.from_dict(by_query, name) for name, by_query in scores.items()}
    return _pooled(runs, lambda query, document: int(relevant[query][int(document[1:])]))


def _pooled(runs: Mapping[str, Run], relevance: Callable[[str, str], int]) -> JudgedRuns:
    grades: dict[str, dict[str, int]] = {}
    for run in runs.values():
        top = rank_documents(run.frame).filter(pl.col("rank") <= 10).sort("query_id", "doc_id")
        for query, document in top.select("query_id", "doc_id").iter_rows():
            grades.setdefault(query, {})[document] = relevance(query, document)
    return JudgedRuns(runs, dict(sorted(grades.items())), list(runs)[-1])


def _judge(collection: JudgedRuns, judge: Judge, seed: int) -> dict[str, dict[str, int]]:
    rng = np.random.default_rng(seed)
    ranked = rank_documents(collection.runs[collection.favoured].frame).filter(pl.col("rank") <= 10)
    favoured = set(ranked.select("query_id", "doc_id").iter_rows())
    labels: dict[str, dict[str, int]] = {}
    for query, grades in collection.grades.items():
        relevant = np.clip(judge.relevant + rng.normal(0, 0.15), 0.05, 0.99)
        other = np.clip(judge.other + rng.normal(0, 0.075), 0.005, 0.9)
        labels[query] = {}
        for document, grade in grades.items():
            chance = relevant if grade else other
            if judge.favoured is not None and not grade and (query, document) in favoured:
                chance = judge.favoured
            labels[query][document] = int(rng.random() < chance)
    return labels


def _values(collection: JudgedRuns, grades: Grades) -> np.ndarray:
    """Return measures of two runs and their differences, shape (queries, columns)."""
    found = evaluate(Qrels.from_dict(grades), dict(collection.runs), measures=JUDGED_MEASURES)
    best, favoured = (
        np.column_stack(
            [_by_query(found, name, measure, collection.grades) for measure in JUDGED_MEASURES]
        )
        for name in (next(iter(collection.runs)), collection.favoured)
    )
    return np.column_stack([best, favoured, best[:, 1] - favoured[:, 1]])


def _by_query(found: Evaluation, run: str, measure: str, queries: Iterable[str]) -> list[float]:
    """Return one value per query; 0 for a query without a relevant document."""
    by_query = dict(zip(found.query_ids[run], found.values(run, measure).tolist(), strict=True))
    return [by_query.get(query, 0.0) for query in queries]


def simulate_judgments(draws: int) -> Mapping[str, Mapping[str, float | str]]:
    """Simulate intervals from people, a model, and both; the answers of the model are fixed.

    A row summarises seven figures: three measures of the best run and of the favoured run, and the
    difference of their nDCG@10.
    """
    rows = {}
    for collection_name, collection in {"Robust": read_robust(), "made": make_collection()}.items():
        people = _values(collection, collection.grades)
        for place, (judge_name, judge) in enumerate(JUDGES.items()):
            labels = _judge(collection, judge, SEED + place)
            model = _values(collection, labels)
            kappa = _kappa(collection.grades, labels)
            for size in (20, 30, 50):
                found = _simulate_combined(people, model, size, draws)
                rows[f"{collection_name}, {judge_name} ({kappa:.2f}), n = {size}"] = found
    return rows


def _kappa(grades: Grades, labels: Grades) -> float:
    one = [grade for query in grades for grade in grades[query].values()]
    two = [labels[query][document] for query in grades for document in grades[query]]
    return cohens_kappa(one, two, resamples=1).value


def _simulate_combined(
    people: np.ndarray, model: np.ndarray, size: int, draws: int
) -> dict[str, float | str]:
    """Return the shares of intervals that cover, and mean widths, over all columns."""
    rng = np.random.default_rng(SEED)
    total, columns = people.shape
    truth = people.mean(axis=0)
    covered = np.zeros((3, columns))
    widths = np.zeros((3, columns))
    for _ in range(draws):
        drawn = rng.integers(0, total, total)
        y, f = people[drawn], model[drawn]
        for column in range(columns):
            one = combine_judgments(y[:size, column], f[:, column], np.arange(size))
            for row, shown in enumerate((one.people, one.combined, one.model)):
                covered[row, column] += shown.low <= truth[column] + 1e-12 and (
                    truth[column] - 1e-12 <= shown.high
                )
                widths[row, column] += shown.width
    covered, widths = covered / draws, widths / draws
    correlation = np.array(
        [np.corrcoef(people[:, column], model[:, column])[0, 1] for column in range(columns)]
    )
    predicted = 1.0 / (1.0 - np.maximum(correlation, 0.0) ** 2 * (1.0 - size / total))
    effective = (widths[0] / widths[1]) ** 2
    is_rr = np.arange(columns) % len(JUDGED_MEASURES) == JUDGED_MEASURES.index("RR@10")
    return {
        "people": _range(covered[0]),
        "combined": _range(covered[1, ~is_rr]),
        "combined, RR": _range(covered[1, is_rr]),
        "largest loss": f"{100.0 * max(covered[0] - covered[1]):.1f}",
        "model alone": _range(covered[2]),
        "favoured run": _range(covered[2, len(JUDGED_MEASURES) : -1]),
        "width": f"{min(widths[1] / widths[0]):.2f}-{max(widths[1] / widths[0]):.2f}",
        "effective": f"{min(effective):.2f}-{max(effective):.2f} n",
        "of predicted": f"{min(effective / predicted):.2f}-{max(effective / predicted):.2f}",
    }


def _range(shares: np.ndarray) -> str:
    """Show the lowest and the highest share in percent."""
    return f"{100.0 * shares.min():.1f}-{100.0 * shares.max():.1f}"
