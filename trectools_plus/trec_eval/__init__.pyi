# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.trec_eval.arguments import parse_arguments as parse_arguments
from trectools_plus.trec_eval.command import score_files as score_files
from trectools_plus.trec_eval.inputs import read_input as read_input
from trectools_plus.trec_eval.output import help_lines as help_lines
from trectools_plus.trec_eval.output import output_lines as output_lines
from trectools_plus.trec_eval.scoring import score as score

__all__ = [
    "output_lines",
    "parse_arguments",
    "read_input",
    "score",
]
