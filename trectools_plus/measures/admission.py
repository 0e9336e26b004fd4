"""The one door to scoring: every table is checked here before any library sees it."""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.formats.tables import Qrels, Run


def refuse_unscorable(qrels: Qrels, runs: Sequence[Run]) -> None:
    """Check qrels and runs, alone and together, and refuse what would give a wrong figure.

    Depth and missing queries are no reason to refuse: measures have their own cutoffs, and missing
    queries are counted.

    Raises:
        CheckFailedError: If a rule that scoring depends on is broken; the findings are named.
    """
    from trectools_plus.validation import check_pair, check_qrels, check_run, refuse_errors

    refuse_errors(check_qrels(qrels))
    for run in runs:
        refuse_errors([*check_run(run), *check_pair(run, qrels)])
