"""The public function ``compare``: systems from scores or files, compared query by query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack, overload

from trectools_plus.arguments import checked
from trectools_plus.benchmark.compare.compare import compare_evaluation
from trectools_plus.benchmark.compare.method import ADJUSTED_TEST, DEFAULT_CORRECTION
from trectools_plus.benchmark.report import Comparison
from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, Evaluation, evaluate
from trectools_plus.measures.parser import match_name
from trectools_plus.statistics.arrays import IntervalOptions
from trectools_plus.validation.inputs import Input, as_qrels, is_path


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons(Displayed, Sequence[Comparison]):
    """The result of :func:`compare`: a sequence of comparisons, with the means of the systems.

    Each :class:`Comparison` is one pair of systems on one measure. It has the mean difference
    (``contrast`` minus ``baseline``), its interval ``ci``, five paired tests, the adjusted p-value
    and ``significant``. Pairs are in the order of the systems, and each has all measures.

    Attributes:
        evaluation: The scores of all systems, per query.
        entries: The comparisons.
    """

    evaluation: Evaluation
    entries: tuple[Comparison, ...]

    @property
    def systems(self) -> list[str]:
        """The names of the systems, in the given order."""
        return self.evaluation.run_names

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """The mean by system and measure; ``nan`` if the measure is undefined for all queries."""
        return {
            system: {
                measure: self.evaluation.mean(system, measure)
                for measure in self.evaluation.measure_names
            }
            for system in self.systems
        }

    @checked
    def find(self, baseline: str, contrast: str, measure: str) -> Comparison:
        """Return the comparison of two systems on a measure, in any spelling.

        Raises:
            UsageError: If there is no such comparison.
        """
        canonical = {one.requested_name: one.name for one in self.evaluation.measures}
        wanted = (baseline, contrast, match_name(measure, canonical))
        for entry in self.entries:
            if (entry.baseline, entry.contrast, entry.measure) == wanted:
                return entry
        pairs = dict.fromkeys(f"{entry.contrast} − {entry.baseline}" for entry in self.entries)
        raise UsageError(
            f"there is no comparison {contrast} − {baseline} on {measure}",
            remedy=f"the pairs are {', '.join(pairs) or 'none'}; the measures are "
            f"{', '.join(self.evaluation.measure_names)}",
        )

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.entries)

    @overload
    def __getitem__(self, index: int) -> Comparison: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Comparison, ...]: ...

    def __getitem__(self, index: int | slice) -> Comparison | tuple[Comparison, ...]:
        return self.entries[index]

    def _text(self) -> str:
        measures = ", ".join(self.evaluation.measure_names)
        return f"<Comparisons of {', '.join(self.systems)} on {measures}: {len(self)} entries>"


def compare(
    qrels: Evaluation | Input,
    runs: Input | Iterable[Input] | Mapping[str, Input] = (),
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    baseline: str | Sequence[str] | None = None,
    correction: str = DEFAULT_CORRECTION,
    test: str = ADJUSTED_TEST,
    rope: float | None = None,
    **options: Unpack[IntervalOptions],
) -> Comparisons:
    """Compare systems query by query on every measure, with intervals and tests.

    ``compare(qrels, {"bm25": run, "dpr": "dpr.run"}, ["nDCG@10"])`` scores the runs first;
    ``compare(evaluation)`` compares runs that :func:`evaluate` has scored.

    Each difference has five paired tests. The p-values of one of them are adjusted for the family:
    all comparisons on the same measure. A difference is significant if its adjusted
    p-value is at most 1 - ``confidence``.

    Args:
        qrels: The judgments, in any form that :func:`evaluate` accepts; or an :class:`Evaluation`.
        runs: One or several runs, in any form that :func:`evaluate` accepts, by name or as a list.
            Runs in a list have the names of their tags, which must be different.
        measures: Names of measures, or measures.
        baseline: Compare each other system with this one, or with each of several; by default
            compare every pair.
        correction: ``holm``, ``bonferroni``, ``benjamini_hochberg``; ``max_t``, with simultaneous
            intervals that agree with the significance; or, for every pair only, ``tukey_hsd``: the
            randomised Tukey HSD test.
        test: The test whose p-values are adjusted: ``randomisation``, ``t_test``,
            ``paired_bootstrap``, ``wilcoxon`` or ``sign_test``.
        rope: Half the width of the region of practical equivalence, in the unit of the measures:
            each comparison then has ``bayes``, the probability that the contrast is better than the
            baseline by more than this, equivalent, or worse. ``None`` leaves it out.
        **options: ``interval``, the method of the intervals: ``auto``, ``percentile``, ``bca`` or
            ``t``; ``confidence``, their level between 0 and 1 (0.95); ``resamples``, their number
            (10,000); ``seed`` of the draws (42).

    Returns:
        The comparisons and the means of all systems.

    Raises:
        FindingsError: If a file has an error that makes scores wrong or ambiguous.
        UsageError: If an argument has another type, the baseline is not one of the systems, or an
            option is out of range.
        IncomparableError: If the means are over different queries (``missing="drop"``).
    """
    if isinstance(qrels, Evaluation):
        if runs != () or measures is not DEFAULT_MEASURES:
            raise UsageError(
                "an evaluation already has runs and measures",
                remedy="write compare(evaluation, baseline=…), or compare(qrels, runs, measures)",
            )
        evaluation = qrels
    else:
        judged = qrels if is_path(qrels) else as_qrels(qrels, "an Evaluation")
        evaluation = evaluate(judged, runs, measures)
    entries = compare_evaluation(
        evaluation, baseline, correction=correction, test=test, rope=rope, **options
    )
    return Comparisons(evaluation, tuple(entries))
