# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.judging.judgments import export_qrels as export_qrels
from trectools_plus.judging.store import read_store as read_store
from trectools_plus.service.app import create_app as create_app
from trectools_plus.service.metrics import read_snapshots as read_snapshots
from trectools_plus.service.metrics import render_metrics as render_metrics
from trectools_plus.service.metrics import write_textfile as write_textfile
from trectools_plus.service.models import Limits as Limits
from trectools_plus.service.models import ServiceSettings as ServiceSettings
from trectools_plus.service.review.app import ReviewOptions as ReviewOptions
from trectools_plus.service.review.app import review_app as review_app
from trectools_plus.service.review.app import run_review as run_review
from trectools_plus.service.review.material import import_judgments as import_judgments
from trectools_plus.service.review.summary import PlanSummary as PlanSummary
from trectools_plus.service.review.summary import Remark as Remark
from trectools_plus.service.review.summary import ReviewSummary as ReviewSummary
from trectools_plus.service.review.summary import summarise_plan as summarise_plan
from trectools_plus.service.review.summary import summarise_review as summarise_review
from trectools_plus.service.server import read_key as read_key
from trectools_plus.service.server import run_server as run_server

__all__ = [
    "create_app",
    "review_app",
]
