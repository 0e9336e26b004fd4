"""Comparison of retrieval modes on one set of queries: run, compare, report."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "benchmark.gate": ["GateRules", "run_gate"],
        "benchmark.multilingual": ["run_multilingual"],
        "benchmark.report": ["BenchmarkReport"],
        "benchmark.run.config_file": ["load_sweep_config"],
        "benchmark.sweep": ["run_sweep"],
        "reporting.verify": ["verify_report"],
    },
    internal={
        "benchmark.two_reports": ["compare_reports"],
        "benchmark.comparisons": ["Comparisons", "make_comparisons"],
        "benchmark.gate": ["DEFAULT_MEASURES", "GateResult", "parse_drop"],
        "benchmark.multilingual": ["PARALLEL_SETS", "MultilingualReport"],
        "benchmark.report_folder": ["ListedReport", "ReportFolder", "list_reports"],
        "benchmark.report": ["report_json_schema"],
        "benchmark.verdict": ["load_report"],
        "benchmark.run.config": ["BenchmarkConfig", "Comparing", "FetchSettings"],
        "benchmark.run.config_file": [
            "ConfigOptions",
            "SweepConfig",
            "compare_vectors_options",
            "load_config",
            "load_fetch_settings",
        ],
        "benchmark.run.dataset": ["load_collection", "open_collection", "open_corpus"],
        "benchmark.run.output_folder": ["refuse_overwriting_in"],
        "benchmark.run.runner": ["BenchmarkResult", "input_notes", "run_benchmark"],
        "benchmark.sweep": ["SweepReport", "SweepResult"],
        "statistics.comparison": ["Comparison"],
    },
)
