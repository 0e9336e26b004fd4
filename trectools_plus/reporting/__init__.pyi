# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.extraction.inputs import PREDICTIONS_FILE as PREDICTIONS_FILE
from trectools_plus.reporting.benchmark import print_report as print_report
from trectools_plus.reporting.benchmark import render_markdown as render_markdown
from trectools_plus.reporting.comparison import Layout as Layout
from trectools_plus.reporting.document import Bullets as Bullets
from trectools_plus.reporting.document import html_table as html_table
from trectools_plus.reporting.document import markdown as markdown
from trectools_plus.reporting.document import print_blocks as print_blocks
from trectools_plus.reporting.export import COMPARISON_SUFFIXES as COMPARISON_SUFFIXES
from trectools_plus.reporting.export import check_suffixes as check_suffixes
from trectools_plus.reporting.export import evaluation_document as evaluation_document
from trectools_plus.reporting.export import frame_as_csv as frame_as_csv
from trectools_plus.reporting.export import (
    render_comparisons_latex as render_comparisons_latex,
)
from trectools_plus.reporting.export import render_json as render_json
from trectools_plus.reporting.export import table_as_frame as table_as_frame
from trectools_plus.reporting.export import table_as_text as table_as_text
from trectools_plus.reporting.export import write_comparisons as write_comparisons
from trectools_plus.reporting.export import write_table as write_table
from trectools_plus.reporting.extraction import (
    check_extraction_folder as check_extraction_folder,
)
from trectools_plus.reporting.extraction import check_sweep_folder as check_sweep_folder
from trectools_plus.reporting.extraction import comparison_blocks as comparison_blocks
from trectools_plus.reporting.extraction import comparison_document as comparison_document
from trectools_plus.reporting.extraction import extraction_blocks as extraction_blocks
from trectools_plus.reporting.extraction import (
    extraction_sweep_blocks as extraction_sweep_blocks,
)
from trectools_plus.reporting.extraction import write_extraction as write_extraction
from trectools_plus.reporting.extraction import write_sweep as write_sweep
from trectools_plus.reporting.files import multilingual_blocks as multilingual_blocks
from trectools_plus.reporting.files import sweep_blocks as sweep_blocks
from trectools_plus.reporting.files import write_multilingual as write_multilingual
from trectools_plus.reporting.files import write_reports as write_reports
from trectools_plus.reporting.files import write_sweep_report as write_sweep_report
from trectools_plus.reporting.gate import MARKER as MARKER
from trectools_plus.reporting.gate import PullRequest as PullRequest
from trectools_plus.reporting.gate import append_step_summary as append_step_summary
from trectools_plus.reporting.gate import contrast_blocks as contrast_blocks
from trectools_plus.reporting.gate import contrast_document as contrast_document
from trectools_plus.reporting.gate import find_pull_request as find_pull_request
from trectools_plus.reporting.gate import gate_blocks as gate_blocks
from trectools_plus.reporting.gate import gate_document as gate_document
from trectools_plus.reporting.gate import post_comment as post_comment
from trectools_plus.reporting.gate import render_gate_markdown as render_gate_markdown
from trectools_plus.reporting.gate import render_refusal_markdown as render_refusal_markdown
from trectools_plus.reporting.judgments import agreement_blocks as agreement_blocks
from trectools_plus.reporting.judgments import agreement_document as agreement_document
from trectools_plus.reporting.judgments import (
    check_judgment_folder as check_judgment_folder,
)
from trectools_plus.reporting.judgments import judgment_blocks as judgment_blocks
from trectools_plus.reporting.judgments import (
    write_judgment_report as write_judgment_report,
)
from trectools_plus.reporting.page import render_html as render_html
from trectools_plus.reporting.plots import can_draw as can_draw
from trectools_plus.reporting.plots import plot_differences as plot_differences
from trectools_plus.reporting.plots import plot_evaluation as plot_evaluation
from trectools_plus.reporting.plots import plot_report as plot_report
from trectools_plus.reporting.plots import write_plots as write_plots
from trectools_plus.reporting.verify import Verification as Verification

__all__ = [
    "Layout",
    "write_plots",
    "write_sweep_report",
    "write_table",
]
