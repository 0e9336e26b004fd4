"""Comparison of retrieval modes on one set of queries: run, compare, report."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "benchmark.gate": ["GateRules", "run_gate"],
        "benchmark.multilingual": ["run_multilingual"],
        "benchmark.report.model": ["BenchmarkReport"],
        "benchmark.sweep.variants": ["load_sweep_config"],
        "benchmark.sweep.runner": ["run_sweep"],
        "reporting.verify": ["verify_report"],
    },
    internal={
        "benchmark.compare.compare_reports": ["compare_reports"],
        "benchmark.compare.comparisons": ["Comparisons", "make_comparisons"],
        "benchmark.gate": ["DEFAULT_MEASURES", "GateResult", "parse_drop"],
        "benchmark.multilingual": ["PARALLEL_SETS", "multilingual_report_schema"],
        "benchmark.report.folder": ["ListedReport", "ReportFolder", "list_reports"],
        "benchmark.report.model": ["report_json_schema"],
        "benchmark.report.verdict": ["load_report"],
        "benchmark.run.config": ["BenchmarkConfig", "Comparing", "FetchSettings"],
        "benchmark.run.config_file": [
            "ConfigOptions",
            "compare_vectors_options",
            "load_config",
            "load_fetch_settings",
        ],
        "benchmark.run.dataset": [
            "load_collection",
            "open_collection",
            "open_corpus",
        ],
        "benchmark.run.output_folder": ["refuse_overwriting_in"],
        "benchmark.run.runner": ["BenchmarkResult", "input_notes", "run_benchmark"],
        "benchmark.sweep.runner": ["SweepReport", "SweepResult"],
        "benchmark.sweep.variants": ["SweepConfig"],
        "statistics.comparison": ["Comparison"],
    },
)
