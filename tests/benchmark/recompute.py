"""Recompute every number of a benchmark's report with NumPy and SciPy only.

The script reads the runs and ``qrels.txt`` beside ``BenchmarkReport.json`` and imports nothing of
the package. Each number in the report must be recomputed, or be named in ``GIVEN``.

Usage: ``python recompute.py FOLDER``
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

EXACT = 1e-9
DRAWS = 15_000
GIVEN = (
    r"schema_version",
    # Settings, and what only the machine and the search knew.
    r"manifest\.config\..*",
    r"manifest\.(seed|python|platform|blas_threads)",
    r"manifest\.dataset\.documents",
    r"manifest\.dataset\.findings\..*",
    r"modes\.\w+\.latency_ms\..*",
    r"modes\.\w+\.diagnostics\.findings\..*",
    # Ties are counted in the scores of the search; the run files order them without ties.
    r"modes\.\w+\.run\.ties\..*",
)
"""Paths of numbers that the folder alone doesn't determine."""


class Recomputed:
    """The recomputed numbers by path: a value, and how far the report's may be from it."""

    def __init__(self) -> None:
        self.expected: dict[str, tuple[float | None, float]] = {}

    def add(self, path: str, value: Any, tolerance: float = EXACT) -> None:
        self.expected[path] = (None if value is None else float(value), tolerance)


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the ranking of each query; scores decrease without ties."""
    rows: dict[str, list[tuple[float, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        rows.setdefault(query_id, []).append((float(score), doc_id))
    found = {}
    for query_id, pairs in rows.items():
        pairs.sort(reverse=True)
        assert all(one[0] > two[0] for one, two in itertools.pairwise(pairs))
        found[query_id] = [doc_id for _, doc_id in pairs]
    return found


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Return the grades of the judged documents of each query."""
    grades: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, grade = line.split()
        grades.setdefault(query_id, {})[doc_id] = int(grade)
    return grades


def discounted(gains: list[int]) -> float:
    """Return the discounted cumulative gain, with linear gain."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(ranking: list[str], grades: dict[str, int], cutoff: int) -> float:
    """Return nDCG with linear gain; negative grades count as 0."""
    gains = [max(0, grades.get(doc_id, 0)) for doc_id in ranking[:cutoff]]
    ideal = sorted((max(0, grade) for grade in grades.values()), reverse=True)[:cutoff]
    return discounted(gains) / discounted(ideal)


def average_precision(ranking: list[str], grades: dict[str, int], cutoff: int) -> float:
    """Return AP, divided by all relevant documents."""
    hits, total = 0, 0.0
    for rank, doc_id in enumerate(ranking[:cutoff], start=1):
        if grades.get(doc_id, 0) > 0:
            hits += 1
            total += hits / rank
    return total / sum(grade > 0 for grade in grades.values())


def reciprocal_rank(ranking: list[str], grades: dict[str, int], cutoff: int) -> float:
    """Return 1 / rank of the first relevant document."""
    ranks = (r for r, doc_id in enumerate(ranking[:cutoff], 1) if grades.get(doc_id, 0) > 0)
    return 1 / next(ranks, math.inf)


def recall(ranking: list[str], grades: dict[str, int], cutoff: int) -> float:
    """Return the share of relevant documents that were found."""
    hits = sum(grades.get(doc_id, 0) > 0 for doc_id in ranking[:cutoff])
    return hits / sum(grade > 0 for grade in grades.values())


def hit(ranking: list[str], grades: dict[str, int], cutoff: int) -> float:
    """Return 1 if a relevant document was found."""
    return float(any(grades.get(doc_id, 0) > 0 for doc_id in ranking[:cutoff]))


MEASURES: dict[str, Callable[[list[str], dict[str, int], int], float]] = {
    "nDCG": ndcg,
    "AP": average_precision,
    "RR": reciprocal_rank,
    "R": recall,
    "HitRate": hit,
}


def score(run: dict[str, list[str]], qrels: dict[str, dict[str, int]], label: str) -> np.ndarray:
    """Return the measure for each query with a relevant document, in the order of their ids."""
    name, cutoff = label.split("@")
    judged = sorted(one for one, grades in qrels.items() if max(grades.values()) > 0)
    return np.array([MEASURES[name](run.get(one, []), qrels[one], int(cutoff)) for one in judged])


def numbers(document: Any, path: str = "") -> Iterator[tuple[str, float | None]]:
    """Yield path and value of each number, and of each null, which may stand for a number."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from numbers(value, f"{path}.{key}" if path else key)
    elif isinstance(document, list):
        for place, value in enumerate(document):
            yield from numbers(value, f"{path}.{place}")
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield path, document


def add_interval(
    to: Recomputed, path: str, ci: dict[str, Any] | None, values: np.ndarray, *, binary: bool
) -> None:
    """Add the ends of an interval of the mean, by the method that the report names."""
    if ci is None:
        return
    level = ci["level"]
    spread = values.std(ddof=1) / math.sqrt(len(values))
    tail = (1 - level) / 2
    # The standard error of a quantile of resampled means, for the resamples of both sides.
    density = stats.norm.pdf(stats.norm.ppf(tail)) / spread if spread else math.inf
    noise = math.sqrt(tail * (1 - tail) * (1 / ci["resamples"] + 1 / DRAWS)) / density
    method = ci["method"].lower()
    if "wilson" in method:
        assert binary, path
        found = stats.binomtest(int(values.sum()), len(values)).proportion_ci(level, "wilson")
        low, high, noise = found.low, found.high, EXACT
    elif "student" in method:
        low, high = stats.t.interval(level, len(values) - 1, values.mean(), spread)
        noise = EXACT
    else:
        found = stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=DRAWS,
            confidence_level=level,
            method="BCa" if "bca" in method else "percentile",
            rng=np.random.default_rng(7),
        ).confidence_interval
        low, high = found.low, found.high
    # Means of 0 and 1 are multiples of 1 / n, so that a quantile may move by one of them.
    step = 1 / len(values) if set(np.unique(values)) <= {-1.0, 0.0, 1.0} and noise > EXACT else 0.0
    to.add(f"{path}.low", low, 6 * noise + step)
    to.add(f"{path}.high", high, 6 * noise + step)
    to.add(f"{path}.level", level)
    to.add(f"{path}.resamples", ci["resamples"])


def holm(p_values: list[float], alpha: float) -> tuple[list[float], list[float]]:
    """Return p-values adjusted by Holm's method, and the level at which it tests each."""
    order = np.argsort(p_values)
    adjusted, levels = [0.0] * len(p_values), [0.0] * len(p_values)
    highest, level, stopped = 0.0, 0.0, False
    for place, index in enumerate(order):
        remaining = len(p_values) - place
        highest = max(highest, min(1.0, remaining * p_values[index]))
        adjusted[index] = highest
        level = level if stopped else alpha / remaining
        stopped = stopped or highest > alpha
        levels[index] = level
    return adjusted, levels


def detectable(deviation: float, queries: int, critical: float) -> float:
    """Return the difference at which t exceeds a critical value with a probability of 80%."""
    low, high = 0.0, 10.0
    for _ in range(200):
        middle = (low + high) / 2
        shift = middle * math.sqrt(queries)
        power = stats.nct.sf(critical, queries - 1, shift)
        power += np.nan_to_num(stats.nct.cdf(-critical, queries - 1, shift))  # NaN: negligible
        low, high = (middle, high) if power < 0.8 else (low, middle)
    return low * deviation


def level_reached(target: dict[str, Any], mean: float) -> str:
    """Return the highest level of a target that a mean reaches."""
    if target["strong"] is not None and mean >= target["strong"]:
        return "strong"
    if mean >= target["competitive"]:
        return "competitive"
    if target["baseline"] is None:
        return "below_competitive"
    return "baseline" if mean >= target["baseline"] else "below_baseline"


class Checker:
    """Recomputes a report from its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = json.loads((folder / "BenchmarkReport.json").read_text(encoding="utf-8"))
        self.qrels = read_qrels(folder / "qrels.txt")
        self.queries = sorted(one for one, found in self.qrels.items() if max(found.values()) > 0)
        self.modes = self.report["modes"]
        self.runs = {
            name: read_run(folder / one["run"]["path"]) for name, one in self.modes.items()
        }
        self.measures = list(self.report["best_mode"])
        self.values = {
            (mode, label): score(run, self.qrels, label)
            for mode, run in self.runs.items()
            for label in self.measures
        }
        self.alpha = 1 - self.report["manifest"]["config"]["confidence"]
        self.found = Recomputed()
        self.claims: list[str] = []

    def claim(self, path: str, reported: Any, recomputed: Any) -> None:
        """Compare a statement that is not a number."""
        if reported != recomputed:
            self.claims.append(f"{path}: {reported}, recomputed {recomputed}")

    def mean(self, mode: str, label: str) -> float:
        return math.fsum(self.values[mode, label]) / len(self.queries)

    def add_run(self, path: str, run: dict[str, list[str]]) -> None:
        self.found.add(f"{path}.queries", len(run))
        self.found.add(f"{path}.results", sum(map(len, run.values())))
        self.found.add(f"{path}.depth", max(map(len, run.values())))

    def add_figures(self) -> None:
        self.found.add("manifest.dataset.queries", len(self.queries))
        for mode, result in self.modes.items():
            self.add_run(f"modes.{mode}.run", self.runs[mode])
            for label, figures in result["measures"].items():
                path = f"modes.{mode}.measures.{label}"
                values = self.values[mode, label]
                self.found.add(f"{path}.mean", values.mean())
                self.found.add(f"{path}.median", np.median(values))
                self.found.add(f"{path}.std", values.std(ddof=1))
                self.found.add(f"{path}.n", len(values))
                self.found.add(f"{path}.definition.cutoff", int(label.split("@")[1]))
                self.found.add(f"{path}.definition.relevance_level", 1)
                binary = label.startswith("HitRate")
                add_interval(self.found, f"{path}.ci", figures["ci"], values, binary=binary)
                self.add_target(path, figures, label)
            judged = [
                np.mean([one in self.qrels[query] for one in self.runs[mode][query][:10]])
                for query in self.queries
            ]
            self.found.add(f"modes.{mode}.diagnostics.judged.Judged@10", np.mean(judged))

    def add_target(self, path: str, figures: dict[str, Any], label: str) -> None:
        target = figures["target"]
        if target is None:
            return
        configured = self.report["manifest"]["config"]["targets"][label]
        for level in ("baseline", "baseline_high", "competitive", "strong"):
            if target[level] is not None:
                self.found.add(f"{path}.target.{level}", configured[level])
        self.claim(
            f"{path}.target.status", target["status"], level_reached(target, figures["mean"])
        )
        for key, end in (("status_low", "low"), ("status_high", "high")):
            expected = level_reached(target, figures["ci"][end])
            self.claim(f"{path}.target.{key}", target[key], expected)

    def add_difference(self, path: str, entry: dict[str, Any], values: np.ndarray) -> None:
        """Add the figures of one comparison, from the differences of its queries."""
        n = len(values)
        self.found.add(f"{path}.n", n)
        self.found.add(f"{path}.difference", values.mean())

    def add_family(self, entries: dict[str, dict[str, Any]], family: list[np.ndarray]) -> None:
        """Add intervals and adjusted p-values of the pairs of a family, by path."""
        tested = [stats.ttest_1samp(values, 0) for values in family]
        p_values, levels = holm([one.pvalue for one in tested], self.alpha)
        for place, (path, entry) in enumerate(entries.items()):
            interval = tested[place].confidence_interval(1 - levels[place])
            self.found.add(f"{path}.ci.low", interval.low)
            self.found.add(f"{path}.ci.high", interval.high)
            self.found.add(f"{path}.ci.level", 1 - levels[place])
            self.found.add(f"{path}.ci.resamples", 0)
            self.found.add(f"{path}.p_adjusted", p_values[place])
            self.claim(path, entry["significant"], p_values[place] <= self.alpha)

    def add_detectable(self, path: str, entry: dict[str, Any], values: np.ndarray) -> None:
        """Add the detectable difference: that of Bonferroni's level."""
        n, spread = len(values), values.std(ddof=1)
        family = [one for one in self.report["comparisons"] if one["measure"] == entry["measure"]]
        critical = stats.t.isf(self.alpha / len(family) / 2, n - 1)
        self.found.add(path, detectable(spread, n, critical), 1e-6)

    def add_comparisons(self) -> None:
        entries: dict[str, dict[str, dict[str, Any]]] = {}
        families: dict[str, list[np.ndarray]] = {}
        for place, entry in enumerate(self.report["comparisons"]):
            path = f"comparisons.{place}"
            label = entry["measure"]
            values = self.values[entry["contrast"], label] - self.values[entry["baseline"], label]
            values = np.where(np.abs(values) < 1e-12, 0.0, values)
            self.add_difference(path, entry, values)
            wins, losses = int((values > 0).sum()), int((values < 0).sum())
            self.found.add(f"{path}.wins", wins)
            self.found.add(f"{path}.losses", losses)
            self.found.add(f"{path}.ties", len(values) - wins - losses)
            self.found.add(f"{path}.effect_size", values.mean() / values.std(ddof=1))
            self.add_detectable(f"{path}.detectable_difference", entry, values)
            self.add_tests(path, values)
            entries.setdefault(label, {})[path] = entry
            families.setdefault(label, []).append(values)
        for label, of_measure in entries.items():
            self.add_family(of_measure, families[label])

    def add_tests(self, path: str, values: np.ndarray) -> None:
        student = stats.ttest_1samp(values, 0)
        self.found.add(f"{path}.t_test.p", student.pvalue)
        self.found.add(f"{path}.t_test.t", student.statistic)

    def add_best(self) -> None:
        report = self.report
        for label in self.measures:
            means = {mode: self.mean(mode, label) for mode in self.modes}
            top = max(means.values())
            leaders = [mode for mode, mean in means.items() if top - mean < 1e-12]
            best = leaders[0] if len(leaders) == 1 else None
            self.claim(f"best_mode.{label}", report["best_mode"][label], best)
            decided = [
                entry["significant"]
                for entry in report["comparisons"]
                if entry["measure"] == label and best in (entry["baseline"], entry["contrast"])
            ]
            proven = best is not None and all(decided)
            self.claim(
                f"best_mode_significant.{label}", report["best_mode_significant"][label], proven
            )
        verdict = report["verdict"]
        label, best, second = (verdict[key] for key in ("measure", "best", "second"))
        self.claim("verdict.best", best, report["best_mode"][label])
        self.claim("best_overall.mode", report["best_overall"]["mode"], best)
        self.found.add("verdict.value", self.mean(best, label))
        differences = self.values[best, label] - self.values[second, label]
        self.found.add("verdict.difference", differences.mean())
        self.found.add("verdict.queries", len(self.queries))
        entry = next(
            one
            for one in report["comparisons"]
            if one["measure"] == label and {one["baseline"], one["contrast"]} == {best, second}
        )
        # The interval of the comparison, whose ends are recomputed, in the direction of the best.
        sign, ends = (1, ("low", "high")) if entry["contrast"] == best else (-1, ("high", "low"))
        for end, other in zip(("low", "high"), ends, strict=True):
            self.found.add(f"verdict.ci.{end}", sign * entry["ci"][other])
        for key in ("level", "resamples"):
            self.found.add(f"verdict.ci.{key}", entry["ci"][key])
        self.found.add("verdict.p_adjusted", entry["p_adjusted"])
        rounded = f"{self.mean(best, label):.3f}, {differences.mean():+.3f}"
        self.claim("verdict.text", rounded in verdict["text"], True)

    def add_failing(self) -> None:
        label = (
            self.report["failing_queries"][0]["measure"] if self.report["failing_queries"] else ""
        )
        failing = [
            query
            for place, query in enumerate(self.queries)
            if label and all(self.values[mode, label][place] == 0 for mode in self.modes)
        ]
        listed = [one["query_id"] for one in self.report["failing_queries"]]
        self.claim("failing_queries", sorted(listed), failing)
        for place, one in enumerate(self.report["failing_queries"]):
            for mode, run in self.runs.items():
                path = f"failing_queries.{place}"
                self.found.add(f"{path}.values.{mode}", 0.0)
                grades = self.qrels[one["query_id"]]
                reciprocal = reciprocal_rank(run[one["query_id"]], grades, 10**6)
                if reciprocal:
                    self.found.add(f"{path}.first_relevant_rank.{mode}", round(1 / reciprocal))
                else:
                    reported = one["first_relevant_rank"][mode]
                    self.claim(f"{path}.first_relevant_rank.{mode}", reported, None)

    def check(self) -> tuple[int, list[str]]:
        """Return how many numbers were compared, and each that differs or was not recomputed."""
        self.add_figures()
        self.add_comparisons()
        self.add_best()
        self.add_failing()
        problems = list(self.claims)
        given = re.compile("|".join(f"({one})" for one in GIVEN))
        compared = 0
        for path, reported in numbers(self.report):
            if given.fullmatch(path):
                continue
            expected = self.found.expected.get(path)
            if expected is None:
                problems.append(f"{path}: {reported} was not recomputed")
                continue
            value, tolerance = expected
            compared += 1
            if value is None or reported is None or abs(value - reported) > tolerance:
                problems.append(f"{path}: {reported}, recomputed {value}")
        return compared, problems


if __name__ == "__main__":
    count, differences = Checker(Path(sys.argv[1])).check()
    print("\n".join([*differences, f"{count} numbers compared, {len(differences)} problems"]))
    sys.exit(bool(differences))
