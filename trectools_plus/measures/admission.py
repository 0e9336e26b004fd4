"""The one door to scoring: every table is checked here before any library sees it."""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.base import Measure

_NOTHING_JUDGED = "P105"


def refuse_unscorable(qrels: Qrels, runs: Sequence[Run], measures: Sequence[Measure] = ()) -> None:
    """Check qrels and runs, alone and together, and refuse what would give a wrong figure.

    Depth and missing queries are no reason to refuse: measures have their own cutoffs, and missing
    queries are counted.

    Args:
        qrels: The judgments.
        runs: The runs.
        measures: What they are to be scored with; see :func:`refuse_strange`.

    Raises:
        CheckFailedError: If a rule that scoring depends on is broken; the findings are named.
    """
    from trectools_plus.validation import check_qrels, check_run, refuse_errors

    refuse_errors(check_qrels(qrels))
    for run in runs:
        refuse_errors(check_run(run))
        refuse_strange(run, qrels, measures)


def refuse_strange(run: Run, qrels: Qrels, measures: Sequence[Measure]) -> None:
    """Refuse a run whose ids do not meet those of the qrels.

    That nothing is judged does not matter where a measure says something of unjudged documents: it
    looks itself whether it knows their ids.

    Raises:
        CheckFailedError: If they do not.
    """
    from trectools_plus.validation import check_pair, refuse_errors

    lenient = any(measure.sees_unjudged for measure in measures)
    findings = check_pair(run, qrels)
    refuse_errors(one for one in findings if not (lenient and one.code == _NOTHING_JUDGED))
