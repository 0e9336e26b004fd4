# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.judging.agreement import LabelAgreement as LabelAgreement
from trectools_plus.judging.labels import Label as Label
from trectools_plus.judging.pilot import Pilot as Pilot
from trectools_plus.judging.pilot import plan_people as plan_people
from trectools_plus.judging.plan import DEFAULT_DEPTH as DEFAULT_DEPTH
from trectools_plus.judging.plan import DEFAULT_PEOPLE as DEFAULT_PEOPLE
from trectools_plus.judging.plan import JudgmentPlan as JudgmentPlan
from trectools_plus.judging.plan import PlanFolder as PlanFolder
from trectools_plus.judging.plan import PlanOptions as PlanOptions
from trectools_plus.judging.plan import find_plan as find_plan
from trectools_plus.judging.plan import make_plan as make_plan

__all__ = ["JudgmentPlan", "Label", "PlanFolder", "PlanOptions", "make_plan"]
