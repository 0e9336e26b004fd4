# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.judging.labels import Label as Label
from trectools_plus.judging.plan import JudgmentPlan as JudgmentPlan
from trectools_plus.judging.plan import PlanFolder as PlanFolder
from trectools_plus.judging.plan import PlanOptions as PlanOptions
from trectools_plus.judging.plan import make_plan as make_plan

__all__ = ["JudgmentPlan", "Label", "PlanFolder", "PlanOptions", "make_plan"]
