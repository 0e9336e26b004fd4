"""Rendering a benchmark's report: JSON, Markdown, console. Nothing here computes a figure."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "reporting.comparison": ["Layout"],
        "reporting.export": ["write_table"],
        "reporting.files": ["write_sweep_report"],
        "reporting.plots": ["write_plots"],
    },
    internal={
        "extraction.inputs": ["PREDICTIONS_FILE"],
        "reporting.benchmark": ["print_report", "render_markdown"],
        "reporting.document": ["Bullets", "html_table", "markdown", "print_blocks"],
        "reporting.export": [
            "COMPARISON_SUFFIXES",
            "check_suffixes",
            "render_comparisons_latex",
            "write_comparisons",
            "evaluation_document",
            "frame_as_csv",
            "render_json",
            "table_as_frame",
            "table_as_text",
        ],
        "reporting.extraction": [
            "check_extraction_folder",
            "check_sweep_folder",
            "comparison_blocks",
            "comparison_document",
            "extraction_blocks",
            "extraction_sweep_blocks",
            "write_extraction",
            "write_sweep",
        ],
        "reporting.files": [
            "multilingual_blocks",
            "sweep_blocks",
            "write_multilingual",
            "write_reports",
        ],
        "reporting.gate": [
            "MARKER",
            "PullRequest",
            "append_step_summary",
            "contrast_blocks",
            "contrast_document",
            "find_pull_request",
            "gate_blocks",
            "gate_document",
            "post_comment",
            "render_gate_markdown",
            "render_refusal_markdown",
        ],
        "reporting.judgments": [
            "agreement_blocks",
            "agreement_document",
            "check_judgment_folder",
            "judgment_blocks",
            "write_judgment_report",
        ],
        "reporting.page": ["render_html"],
        "reporting.plots": ["can_draw", "plot_differences", "plot_evaluation", "plot_report"],
        "reporting.verify": ["Verification"],
    },
)
