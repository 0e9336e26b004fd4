"""Comparison of retrieval modes on one set of queries: run, compare, report."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "benchmark.compare.comparisons": ["Comparisons"],
        "benchmark.gate": ["GateResult", "GateRules", "run_gate"],
        "benchmark.multilingual": ["run_multilingual"],
        "benchmark.report.folder": ["list_reports"],
        "benchmark.report.model": ["BenchmarkReport", "report_json_schema"],
        "benchmark.run.config_file": ["compare_vectors_options", "load_config"],
        "benchmark.run.dataset": ["load_hpo_collection"],
        "benchmark.run.runner": ["BenchmarkResult"],
        "benchmark.sweep.variants": ["load_sweep_config"],
        "benchmark.sweep.runner": ["SweepReport", "SweepResult", "run_sweep"],
        "reporting.verification.verify": ["verify_report"],
        "statistics.comparison": ["Comparison"],
    },
    internal={
        "benchmark.compare.compare_reports": ["compare_reports"],
        "benchmark.compare.comparisons": ["make_comparisons"],
        "benchmark.gate": ["DEFAULT_MEASURES", "parse_drop"],
        "benchmark.multilingual": ["PARALLEL_SETS", "multilingual_report_schema"],
        "benchmark.report.folder": ["ListedReport", "ReportFolder"],
        "benchmark.report.verdict": ["load_report"],
        "benchmark.run.config": ["BenchmarkConfig", "Comparing", "FetchSettings"],
        "benchmark.run.config_file": [
            "ConfigOptions",
            "load_fetch_settings",
            "load_search_settings",
        ],
        "benchmark.run.dataset": ["load_collection", "open_collection", "open_corpus"],
        "benchmark.run.output_folder": ["refuse_overwriting_in"],
        "benchmark.run.runner": ["input_notes", "run_benchmark"],
        "benchmark.sweep.variants": ["SweepConfig"],
    },
)
