"""Statistical functions of arrays: intervals, tests, corrections, power, agreement."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "statistics.agreement": ["Agreement", "cohens_kappa", "krippendorffs_alpha"],
        "statistics.arrays": ["Resampling"],
        "statistics.intervals": ["Intervals", "bootstrap_intervals", "mean_intervals"],
        "statistics.paired": [
            "PairedComparison",
            "UnpairedComparison",
            "compare_columns",
            "paired_difference",
            "unpaired_difference",
        ],
        "statistics.power": ["power_of_t_test", "queries_needed", "smallest_detectable_difference"],
        "statistics.selection": ["Winner", "select_winner"],
        "statistics.systems": [
            "adjust_p_values",
            "indistinguishable_groups",
            "kendall_tau",
            "tau_ap",
        ],
    },
    internal={
        "statistics.intervals": ["wilson_intervals"],
        "statistics.paired_tests": ["PAIRED_TESTS"],
        "statistics.systems": ["group_letters", "pairs_of", "variance_of_means"],
    },
)
