# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.measures.definitions.base import Definition as Definition
from trectools_plus.measures.definitions.base import Measure as Measure
from trectools_plus.measures.definitions.max_ont_sim import bind_files as bind_files
from trectools_plus.measures.definitions.max_ont_sim import check_files_used as check_files_used
from trectools_plus.measures.evaluation import DEFAULT_MEASURES as DEFAULT_MEASURES
from trectools_plus.measures.evaluation import Counts as Counts
from trectools_plus.measures.evaluation import Evaluation as Evaluation
from trectools_plus.measures.evaluation import evaluate as evaluate
from trectools_plus.measures.evaluation import score_runs as score_runs
from trectools_plus.measures.exclusions import Exclusions as Exclusions
from trectools_plus.measures.judged import JudgedQueries as JudgedQueries
from trectools_plus.measures.judged import notes_on_judges as notes_on_judges
from trectools_plus.measures.parser import ALIASES as ALIASES
from trectools_plus.measures.parser import explain as explain
from trectools_plus.measures.parser import measure_labels as measure_labels
from trectools_plus.measures.parser import parse_measure as parse_measure
from trectools_plus.measures.parser import parse_measures as parse_measures
from trectools_plus.measures.parser import split_names as split_names
from trectools_plus.measures.providers.libraries import UNDEFINED as UNDEFINED
from trectools_plus.measures.providers.libraries import ir_measures_labels as ir_measures_labels
from trectools_plus.measures.providers.user import BaseMeasure as BaseMeasure
from trectools_plus.measures.providers.user import BaseMetric as BaseMetric
from trectools_plus.measures.scoring import open_files as open_files

__all__ = [
    "parse_measures",
]
