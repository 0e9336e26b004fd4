# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.validation.engine import Choices as Choices
from trectools_plus.validation.engine import check_pair as check_pair
from trectools_plus.validation.engine import open_qrels as open_qrels
from trectools_plus.validation.engine import open_run as open_run
from trectools_plus.validation.engine import report_view as report_view
from trectools_plus.validation.engine import validate_qrels as validate_qrels
from trectools_plus.validation.engine import validate_run as validate_run
from trectools_plus.validation.findings import FileReport as FileReport
from trectools_plus.validation.findings import Finding as Finding
from trectools_plus.validation.findings import FindingsError as FindingsError
from trectools_plus.validation.findings import Fix as Fix
from trectools_plus.validation.findings import Severity as Severity
from trectools_plus.validation.findings import as_document as as_document
from trectools_plus.validation.findings import refuse_errors as refuse_errors
from trectools_plus.validation.findings import render_github as render_github
from trectools_plus.validation.findings import render_text as render_text
from trectools_plus.validation.fixing import FixSummary as FixSummary
from trectools_plus.validation.fixing import fix_qrels as fix_qrels
from trectools_plus.validation.fixing import fix_run as fix_run
from trectools_plus.validation.fixing import split_fix_values as split_fix_values
from trectools_plus.validation.inputs import validate as validate
from trectools_plus.validation.loading import ConvertedTable as ConvertedTable
from trectools_plus.validation.loading import convert_qrels as convert_qrels
from trectools_plus.validation.loading import convert_run as convert_run
from trectools_plus.validation.loading import describe_file as describe_file
from trectools_plus.validation.loading import load_qrels as load_qrels
from trectools_plus.validation.loading import load_run as load_run
from trectools_plus.validation.loading import load_topics as load_topics
from trectools_plus.validation.registry import Rule as Rule
from trectools_plus.validation.rules.pairs import read_document_ids as read_document_ids
from trectools_plus.validation.rules.topics import CATALOGUE as CATALOGUE
from trectools_plus.validation.topics import validate_topics as validate_topics
from trectools_plus.validation.views.kinds import QrelsView as QrelsView
from trectools_plus.validation.views.kinds import RunView as RunView

__all__ = ["FindingsError", "fix_qrels", "fix_run"]
