"""Intervals, tests, power, agreement: functions of arrays that know nothing of queries."""

from trectools_plus.statistics.agreement import Agreement
from trectools_plus.statistics.bootstrap import (
    Intervals,
    bootstrap_differences,
    bootstrap_intervals,
    bootstrap_means,
)
from trectools_plus.statistics.correction import adjust_p_values
from trectools_plus.statistics.groups import group_letters, indistinguishable_groups
from trectools_plus.statistics.kappa import cohens_kappa
from trectools_plus.statistics.krippendorff import krippendorffs_alpha
from trectools_plus.statistics.paired import (
    PAIRED_TESTS,
    PairedComparison,
    PairedTest,
    compare_columns,
    compare_paired,
)
from trectools_plus.statistics.power import (
    power_of_t_test,
    queries_needed,
    smallest_detectable_difference,
)
from trectools_plus.statistics.rank_biased_overlap import rank_biased_overlap
from trectools_plus.statistics.rank_correlation import kendall_tau, tau_ap
from trectools_plus.statistics.reproducibility import (
    delta_relative_improvement,
    effect_ratio,
    kendall_tau_union,
    root_mean_square_error,
    truncated_overlap,
)
from trectools_plus.statistics.size import SizeAdvice, advise_on_size
from trectools_plus.statistics.systems import SystemComparisons, compare_systems, pairs_of
from trectools_plus.statistics.tukey import randomised_tukey
from trectools_plus.statistics.unpaired import UnpairedComparison, compare_unpaired

__all__ = [
    "PAIRED_TESTS",
    "Agreement",
    "Intervals",
    "PairedComparison",
    "PairedTest",
    "SizeAdvice",
    "SystemComparisons",
    "UnpairedComparison",
    "adjust_p_values",
    "advise_on_size",
    "bootstrap_differences",
    "bootstrap_intervals",
    "bootstrap_means",
    "cohens_kappa",
    "compare_columns",
    "compare_paired",
    "compare_systems",
    "compare_unpaired",
    "delta_relative_improvement",
    "effect_ratio",
    "group_letters",
    "indistinguishable_groups",
    "kendall_tau",
    "kendall_tau_union",
    "krippendorffs_alpha",
    "pairs_of",
    "power_of_t_test",
    "queries_needed",
    "randomised_tukey",
    "rank_biased_overlap",
    "root_mean_square_error",
    "smallest_detectable_difference",
    "tau_ap",
    "truncated_overlap",
]
