"""Rendering a benchmark's report: JSON, Markdown, console. Nothing here computes a figure."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "reporting.comparison": ["Layout"],
        "reporting.export": ["write_table"],
        "reporting.plots": ["write_plots"],
        "reporting.results.sweep": ["write_sweep_report"],
    },
    internal={
        "extraction.inputs": ["PREDICTIONS_FILE"],
        "reporting.document": ["Bullets", "html_table", "markdown", "print_blocks"],
        "reporting.export": [
            "COMPARISON_SUFFIXES",
            "check_suffixes",
            "comparisons_document",
            "render_comparisons_json",
            "render_comparisons_latex",
            "write_comparisons",
            "frame_as_csv",
            "render_json",
            "table_as_frame",
            "table_as_text",
        ],
        "reporting.files": ["write_reports"],
        "reporting.github": [
            "PullRequest",
            "append_step_summary",
            "find_pull_request",
            "post_comment",
        ],
        "reporting.html.page": ["render_html"],
        "reporting.plots": ["can_draw", "plot_differences", "plot_evaluation", "plot_report"],
        "reporting.results.benchmark": ["print_report", "render_markdown"],
        "reporting.results.compare_reports": ["contrast_blocks", "contrast_document"],
        "reporting.results.evaluation": ["evaluation_document"],
        "reporting.results.extraction": [
            "check_extraction_folder",
            "check_sweep_folder",
            "comparison_blocks",
            "comparison_document",
            "extraction_blocks",
            "extraction_sweep_blocks",
            "write_extraction",
            "write_sweep",
        ],
        "reporting.results.gate": [
            "MARKER",
            "gate_blocks",
            "gate_document",
            "render_gate_markdown",
            "render_refusal_markdown",
        ],
        "reporting.results.judgments": [
            "check_judgment_folder",
            "judgment_blocks",
            "write_judgment_report",
        ],
        "reporting.results.multilingual": ["multilingual_blocks", "write_multilingual"],
        "reporting.results.sweep": ["sweep_blocks"],
        "reporting.results.testsets": ["agreement_blocks", "agreement_document"],
        "reporting.verification.verify": ["Verification"],
    },
)
