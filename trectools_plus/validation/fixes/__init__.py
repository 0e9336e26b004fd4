"""Write fixed copies of files: safe fixes by default, others by name."""

from trectools_plus.validation.fixes.engine import fix_qrels, fix_run, split_fix_values
from trectools_plus.validation.fixes.summary import Change, FixSummary
from trectools_plus.validation.fixes.topics import fix_topics
from trectools_plus.validation.fixing import Applied, FixOptions

__all__ = [
    "Applied",
    "Change",
    "FixOptions",
    "FixSummary",
    "fix_qrels",
    "fix_run",
    "fix_topics",
    "split_fix_values",
]
