# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.judging.estimate import estimate as estimate
from trectools_plus.judging.estimate import write_judgments as write_judgments
from trectools_plus.judging.labels import Label as Label
from trectools_plus.judging.plan import JudgmentPlan as JudgmentPlan
from trectools_plus.judging.plan import PlanFolder as PlanFolder
from trectools_plus.judging.plan import PlanOptions as PlanOptions
from trectools_plus.judging.plan import make_plan as make_plan
from trectools_plus.judging.report import JudgmentReport as JudgmentReport
from trectools_plus.judging.verification import verify_plan as verify_plan

__all__ = [
    "JudgmentPlan",
    "JudgmentReport",
    "Label",
    "PlanFolder",
    "PlanOptions",
    "estimate",
    "make_plan",
    "verify_plan",
]
