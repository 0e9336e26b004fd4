# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.benchmark.comparisons import Comparisons as Comparisons
from trectools_plus.benchmark.comparisons import make_comparisons as make_comparisons
from trectools_plus.benchmark.gate import DEFAULT_MEASURES as DEFAULT_MEASURES
from trectools_plus.benchmark.gate import GateResult as GateResult
from trectools_plus.benchmark.gate import GateRules as GateRules
from trectools_plus.benchmark.gate import parse_drop as parse_drop
from trectools_plus.benchmark.gate import run_gate as run_gate
from trectools_plus.benchmark.multilingual import PARALLEL_SETS as PARALLEL_SETS
from trectools_plus.benchmark.multilingual import MultilingualReport as MultilingualReport
from trectools_plus.benchmark.multilingual import run_multilingual as run_multilingual
from trectools_plus.benchmark.report import BenchmarkReport as BenchmarkReport
from trectools_plus.benchmark.report import report_json_schema as report_json_schema
from trectools_plus.benchmark.report_folder import ListedReport as ListedReport
from trectools_plus.benchmark.report_folder import ReportFolder as ReportFolder
from trectools_plus.benchmark.report_folder import list_reports as list_reports
from trectools_plus.benchmark.run.config import BenchmarkConfig as BenchmarkConfig
from trectools_plus.benchmark.run.config import Comparing as Comparing
from trectools_plus.benchmark.run.config import FetchSettings as FetchSettings
from trectools_plus.benchmark.run.config_file import ConfigOptions as ConfigOptions
from trectools_plus.benchmark.run.config_file import SweepConfig as SweepConfig
from trectools_plus.benchmark.run.config_file import (
    compare_vectors_options as compare_vectors_options,
)
from trectools_plus.benchmark.run.config_file import load_config as load_config
from trectools_plus.benchmark.run.config_file import load_fetch_settings as load_fetch_settings
from trectools_plus.benchmark.run.config_file import load_sweep_config as load_sweep_config
from trectools_plus.benchmark.run.dataset import load_collection as load_collection
from trectools_plus.benchmark.run.dataset import open_collection as open_collection
from trectools_plus.benchmark.run.dataset import open_corpus as open_corpus
from trectools_plus.benchmark.run.output_folder import (
    refuse_overwriting_in as refuse_overwriting_in,
)
from trectools_plus.benchmark.run.runner import BenchmarkResult as BenchmarkResult
from trectools_plus.benchmark.run.runner import input_notes as input_notes
from trectools_plus.benchmark.run.runner import run_benchmark as run_benchmark
from trectools_plus.benchmark.sweep import SweepReport as SweepReport
from trectools_plus.benchmark.sweep import SweepResult as SweepResult
from trectools_plus.benchmark.sweep import run_sweep as run_sweep
from trectools_plus.benchmark.two_reports import compare_reports as compare_reports
from trectools_plus.benchmark.verdict import load_report as load_report
from trectools_plus.reporting.verify import verify_report as verify_report
from trectools_plus.statistics.comparison import Comparison as Comparison

__all__ = [
    "BenchmarkReport",
    "GateRules",
    "load_sweep_config",
    "run_gate",
    "run_multilingual",
    "run_sweep",
    "verify_report",
]
