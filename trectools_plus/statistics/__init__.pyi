# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.statistics.agreement import Agreement as Agreement
from trectools_plus.statistics.agreement import cohens_kappa as cohens_kappa
from trectools_plus.statistics.agreement import krippendorffs_alpha as krippendorffs_alpha
from trectools_plus.statistics.arrays import Resampling as Resampling
from trectools_plus.statistics.intervals import Intervals as Intervals
from trectools_plus.statistics.intervals import bootstrap_intervals as bootstrap_intervals
from trectools_plus.statistics.intervals import mean_intervals as mean_intervals
from trectools_plus.statistics.intervals import wilson_intervals as wilson_intervals
from trectools_plus.statistics.paired import PairedComparison as PairedComparison
from trectools_plus.statistics.paired import compare_columns as compare_columns
from trectools_plus.statistics.paired import paired_difference as paired_difference
from trectools_plus.statistics.paired_tests import PAIRED_TESTS as PAIRED_TESTS
from trectools_plus.statistics.power import power_of_t_test as power_of_t_test
from trectools_plus.statistics.power import queries_needed as queries_needed
from trectools_plus.statistics.power import (
    smallest_detectable_difference as smallest_detectable_difference,
)
from trectools_plus.statistics.systems import Winner as Winner
from trectools_plus.statistics.systems import adjust_p_values as adjust_p_values
from trectools_plus.statistics.systems import indistinguishable_groups as indistinguishable_groups
from trectools_plus.statistics.systems import kendall_tau as kendall_tau
from trectools_plus.statistics.systems import pairs_of as pairs_of
from trectools_plus.statistics.systems import select_winner as select_winner

__all__ = [
    "Resampling",
    "bootstrap_intervals",
    "cohens_kappa",
    "kendall_tau",
    "krippendorffs_alpha",
    "paired_difference",
    "queries_needed",
    "select_winner",
]
