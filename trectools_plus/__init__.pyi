# The public names: what type checkers see, and where `__init__.py` imports each from when it is
# first used. A name is public if it is imported "as" itself or assigned here.

from trectools_plus.benchmark.compare.compare import compare as compare
from trectools_plus.benchmark.compare.compare_reports import compare_reports as compare_reports
from trectools_plus.benchmark.compare_vectors import (
    compare_vectors_options as compare_vectors_options,
)
from trectools_plus.benchmark.evaluate import evaluate as evaluate
from trectools_plus.benchmark.gate import GateRules as GateRules
from trectools_plus.benchmark.gate import run_gate as run_gate
from trectools_plus.benchmark.merge import merge_run as merge_run
from trectools_plus.benchmark.multilingual import run_multilingual as run_multilingual
from trectools_plus.benchmark.overfitting import check_overfitting as check_overfitting
from trectools_plus.benchmark.run.config import BenchmarkConfig as BenchmarkConfig
from trectools_plus.benchmark.run.hpo import load_hpo_collection as load_hpo_collection
from trectools_plus.benchmark.run.runner import run_benchmark as run_benchmark
from trectools_plus.benchmark.verify import verify_report as verify_report
from trectools_plus.errors import TrectoolsPlusError as TrectoolsPlusError
from trectools_plus.extraction.comparison import compare_extractions as compare_extractions
from trectools_plus.extraction.extractor import Extractor as Extractor
from trectools_plus.extraction.report import read_extraction_report as read_extraction_report
from trectools_plus.extraction.runner import ExtractionOptions as ExtractionOptions
from trectools_plus.extraction.runner import run_extraction as run_extraction
from trectools_plus.extraction.settings import ExtractionSettings as ExtractionSettings
from trectools_plus.extraction.sweep import SweepOptions as SweepOptions
from trectools_plus.extraction.sweep import run_sweep
from trectools_plus.formats.collection import Collection as Collection
from trectools_plus.formats.collection import load_collection as load_collection
from trectools_plus.formats.corpus import read_corpus as read_corpus
from trectools_plus.formats.qrels import write_qrels as write_qrels
from trectools_plus.formats.run import write_run as write_run
from trectools_plus.formats.tables import Corpus as Corpus
from trectools_plus.formats.tables import Qrels as Qrels
from trectools_plus.formats.tables import Run as Run
from trectools_plus.formats.tables import Topics as Topics
from trectools_plus.formats.topics import read_topics as read_topics
from trectools_plus.measures.parser import explain as explain
from trectools_plus.measures.providers.user import BaseMeasure as BaseMeasure
from trectools_plus.measures.scoring.bounds import residual_bounds as residual_bounds
from trectools_plus.measures.scoring.bounds import tie_bounds as tie_bounds
from trectools_plus.ontology.hpo import load_ontology as load_ontology
from trectools_plus.ontology.ontology import Ontology as Ontology
from trectools_plus.reporting.comparison import report_table as report_table
from trectools_plus.reporting.export import write_table as write_table
from trectools_plus.reporting.files import write_reports as write_reports
from trectools_plus.reporting.ir_metadata import ir_metadata_header as ir_metadata_header
from trectools_plus.reporting.plots.figures import write_plots as write_plots
from trectools_plus.reporting.results.extraction import write_extraction as write_extraction
from trectools_plus.reporting.results.multilingual import write_multilingual as write_multilingual
from trectools_plus.retrieval.backends.embedded.backend import build_indexes as build_indexes
from trectools_plus.retrieval.backends.embedded.backend import build_retrievers as build_retrievers
from trectools_plus.retrieval.fetch.fetch import fetch as fetch
from trectools_plus.retrieval.fusion import fuse_runs as fuse_runs
from trectools_plus.retrieval.index.parts import TextParts as TextParts
from trectools_plus.retrieval.index.vector import MultiVectorRetriever as MultiVectorRetriever
from trectools_plus.retrieval.ontology_terms import corpus_of as corpus_of
from trectools_plus.statistics.agreement import cohens_kappa as cohens_kappa
from trectools_plus.statistics.agreement import krippendorffs_alpha as krippendorffs_alpha
from trectools_plus.statistics.bootstrap import bootstrap_intervals as bootstrap_intervals
from trectools_plus.statistics.correction import adjust_p_values as adjust_p_values
from trectools_plus.statistics.paired import compare_paired as compare_paired
from trectools_plus.statistics.power import advise_on_size as advise_on_size
from trectools_plus.statistics.power import queries_needed as queries_needed
from trectools_plus.statistics.power import (
    smallest_detectable_difference as smallest_detectable_difference,
)
from trectools_plus.statistics.rankings import kendall_tau as kendall_tau
from trectools_plus.statistics.rankings import rank_biased_overlap as rank_biased_overlap
from trectools_plus.statistics.rankings import tau_ap as tau_ap
from trectools_plus.statistics.reproducibility import (
    delta_relative_improvement as delta_relative_improvement,
)
from trectools_plus.statistics.reproducibility import effect_ratio as effect_ratio
from trectools_plus.statistics.reproducibility import kendall_tau_union as kendall_tau_union
from trectools_plus.statistics.reproducibility import (
    root_mean_square_error as root_mean_square_error,
)
from trectools_plus.statistics.reproducibility import truncated_overlap as truncated_overlap
from trectools_plus.statistics.systems import compare_systems as compare_systems
from trectools_plus.statistics.systems import indistinguishable_groups as indistinguishable_groups
from trectools_plus.statistics.systems import randomised_tukey as randomised_tukey
from trectools_plus.testsets.agreement import compare_grades as compare_grades
from trectools_plus.testsets.conversion import convert_test_set as convert_test_set
from trectools_plus.testsets.loading import list_test_sets as list_test_sets
from trectools_plus.testsets.loading import load_test_set as load_test_set
from trectools_plus.testsets.model import TestSet as TestSet
from trectools_plus.testsets.refreshing import refresh_test_set as refresh_test_set
from trectools_plus.testsets.splitting import split_test_set as split_test_set
from trectools_plus.testsets.validation import validate_test_sets as validate_test_sets
from trectools_plus.validation.engine import validate_qrels as validate_qrels
from trectools_plus.validation.engine import validate_run
from trectools_plus.validation.loading import load_qrels as load_qrels
from trectools_plus.validation.loading import load_run as load_run

__version__: str
__all__: list[str]

sweep_extraction = run_sweep
validate = validate_run
