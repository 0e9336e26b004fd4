"""Comparison of the runs of an evaluation with the defaults of ``compare``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from trectools_plus.benchmark.compare.compare import refuse_different_queries
from trectools_plus.measures.evaluation import Evaluation
from trectools_plus.statistics.arrays import IntervalOptions
from trectools_plus.statistics.comparison import Comparison, check_method, describe_family
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores
from trectools_plus.statistics.systems import pairs_of


def compare_evaluation(
    evaluation: Evaluation,
    baseline: str | Sequence[str] | None = None,
    *,
    correction: str = "holm",
    test: str = "t_test",
    **options: Unpack[IntervalOptions],
) -> list[Comparison]:
    """Compare every pair of runs, or each run with the baselines, on every measure."""
    names = list(evaluation.run_names)
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or ())
    check_method(test, correction)
    refuse_different_queries(evaluation)
    pairs = pairs_of(len(names), [names.index(name) for name in baselines])
    family = describe_family(len(pairs), len(names), baselines)
    method = Method(options, test, correction, family)
    scores = [
        PairedScores(
            names[one],
            names[two],
            measure,
            evaluation.query_ids[names[one]],
            evaluation.values(names[one], measure),
            evaluation.values(names[two], measure),
            evaluation.definition(measure).higher_is_better,
        )
        for one, two in pairs
        for measure in evaluation.measure_names
    ]
    return compare_scores(scores, method) if scores else []
