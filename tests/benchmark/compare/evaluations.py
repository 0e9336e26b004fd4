"""Evaluations of given values, and their comparison with the defaults of ``compare``."""

import numpy as np

from trectools_plus.benchmark.compare import refuse_different_queries
from trectools_plus.choices import Averaging
from trectools_plus.measures import Counts, Evaluation, parse_measures
from trectools_plus.statistics import pairs_of
from trectools_plus.statistics.comparison import check_method, describe_family
from trectools_plus.statistics.scores import Method, PairedScores, compare_scores


def evaluation_of(values, measure="nDCG@10"):
    """Return an evaluation of one measure with these values per query."""
    return Evaluation(
        parse_measures([measure]),
        Averaging(),
        {name: [f"q{index}" for index in range(len(row))] for name, row in values.items()},
        {name: Counts(len(row), len(row), len(row), 0, 0) for name, row in values.items()},
        [],
        {name: np.array(row, dtype=float)[:, None] for name, row in values.items()},
    )


def compare_evaluation(
    evaluation,
    baseline=None,
    *,
    correction="holm",
    test="t_test",
    **options,
):
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
