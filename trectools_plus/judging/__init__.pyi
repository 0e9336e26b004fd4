# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.judging.combined import CombinedMean as CombinedMean
from trectools_plus.judging.combined import combine_judgments as combine_judgments
from trectools_plus.judging.endpoint import FunctionLabeller as FunctionLabeller
from trectools_plus.judging.endpoint import Labeller as Labeller
from trectools_plus.judging.endpoint import ModelLabeller as ModelLabeller
from trectools_plus.judging.endpoint import read_prompt as read_prompt
from trectools_plus.judging.estimates import JudgedBy as JudgedBy
from trectools_plus.judging.estimates import estimate as estimate
from trectools_plus.judging.estimates import select_labels as select_labels
from trectools_plus.judging.estimates import write_judgments as write_judgments
from trectools_plus.judging.extending import extend_plan as extend_plan
from trectools_plus.judging.labelling import Labelling as Labelling
from trectools_plus.judging.labelling import LabelOptions as LabelOptions
from trectools_plus.judging.labelling import LabelSummary as LabelSummary
from trectools_plus.judging.labelling import raise_if_stopped as raise_if_stopped
from trectools_plus.judging.labels import Label as Label
from trectools_plus.judging.labels import write_qrels as write_qrels
from trectools_plus.judging.pilot import Pilot as Pilot
from trectools_plus.judging.pilot import plan_people as plan_people
from trectools_plus.judging.plan import JudgmentPlan as JudgmentPlan
from trectools_plus.judging.plan import PlanFolder as PlanFolder
from trectools_plus.judging.plan import PlanOptions as PlanOptions
from trectools_plus.judging.plan import find_plan as find_plan
from trectools_plus.judging.plan import make_plan as make_plan
from trectools_plus.judging.report import JudgmentReport as JudgmentReport
from trectools_plus.judging.report import record_estimate as record_estimate
from trectools_plus.judging.values import LabelAgreement as LabelAgreement
from trectools_plus.judging.verification import verify_plan as verify_plan
from trectools_plus.retrieval.backends.http_client import RequestLimits as RequestLimits
from trectools_plus.retrieval.backends.http_client import read_key as read_key

__all__ = [
    "JudgmentReport",
    "PlanFolder",
    "PlanOptions",
    "combine_judgments",
    "estimate",
    "make_plan",
    "verify_plan",
]
