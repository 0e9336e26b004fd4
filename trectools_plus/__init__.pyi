# Public names and where they are imported from on first use: see lazy_names.py.

from trectools_plus.benchmark import BenchmarkConfig as BenchmarkConfig
from trectools_plus.benchmark import compare_reports as compare_reports
from trectools_plus.benchmark import load_report as load_report
from trectools_plus.benchmark import run_benchmark as run_benchmark
from trectools_plus.benchmark.compare.comparisons import compare as compare
from trectools_plus.benchmark.evaluate import evaluate as evaluate
from trectools_plus.benchmark.run.dataset import load_collection as load_collection
from trectools_plus.errors import TrectoolsPlusError as TrectoolsPlusError
from trectools_plus.formats import Collection as Collection
from trectools_plus.formats import Corpus as Corpus
from trectools_plus.formats import Qrels as Qrels
from trectools_plus.formats import Run as Run
from trectools_plus.formats import Topics as Topics
from trectools_plus.formats import load_corpus as load_corpus
from trectools_plus.formats import write_qrels as write_qrels
from trectools_plus.formats import write_run as write_run
from trectools_plus.measures import BaseMeasure as BaseMeasure
from trectools_plus.measures import BaseMetric as BaseMetric
from trectools_plus.measures import Evaluation as Evaluation
from trectools_plus.measures import explain as explain
from trectools_plus.ontology import Ontology as Ontology
from trectools_plus.ontology import load_ontology as load_ontology
from trectools_plus.reporting import write_reports as write_reports
from trectools_plus.retrieval import fuse as fuse
from trectools_plus.retrieval.fetch import fetch as fetch
from trectools_plus.testsets import TestSet as TestSet
from trectools_plus.testsets import load_test_set as load_test_set
from trectools_plus.testsets import validate_test_sets as validate_test_sets
from trectools_plus.validation import load_qrels as load_qrels
from trectools_plus.validation import load_run as load_run
from trectools_plus.validation import load_topics as load_topics
from trectools_plus.validation import validate as validate
from trectools_plus.validation import validate_qrels as validate_qrels
from trectools_plus.validation import validate_run as validate_run
from trectools_plus.validation import validate_topics as validate_topics

__version__: str
__all__ = [
    "BaseMeasure",
    "BaseMetric",
    "BenchmarkConfig",
    "Collection",
    "Corpus",
    "Evaluation",
    "Ontology",
    "Qrels",
    "Run",
    "TestSet",
    "Topics",
    "TrectoolsPlusError",
    "compare",
    "compare_reports",
    "evaluate",
    "explain",
    "fetch",
    "fuse",
    "load_collection",
    "load_corpus",
    "load_ontology",
    "load_qrels",
    "load_report",
    "load_run",
    "load_test_set",
    "load_topics",
    "run_benchmark",
    "validate",
    "validate_qrels",
    "validate_run",
    "validate_test_sets",
    "validate_topics",
    "write_qrels",
    "write_reports",
    "write_run",
]
