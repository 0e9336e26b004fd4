"""Statistical functions of arrays: intervals, tests, corrections, power, agreement."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "statistics.agreement": ["cohens_kappa", "krippendorffs_alpha"],
        "statistics.arrays": ["Resampling"],
        "statistics.intervals": ["bootstrap_intervals"],
        "statistics.paired": ["paired_difference"],
        "statistics.power": ["queries_needed"],
        "statistics.systems": ["kendall_tau", "select_winner"],
    },
    internal={
        "statistics.agreement": ["Agreement"],
        "statistics.intervals": ["Intervals", "mean_intervals", "wilson_intervals"],
        "statistics.paired": ["PairedComparison", "compare_columns"],
        "statistics.paired_tests": ["PAIRED_TESTS"],
        "statistics.power": ["power_of_t_test", "smallest_detectable_difference"],
        "statistics.systems": ["Winner", "adjust_p_values", "indistinguishable_groups", "pairs_of"],
    },
)
