"""Pieces of a run that are as they should be: what may be scored without looking at the whole.

A piece of whole queries is clean if no rule forbids scoring it. Those rules look at rows, or at
queries, or ask whether something is so in most queries; in a whole run whose queries stand
together some piece breaks a rule that forbids scoring if the run does. A piece that is not clean
says nothing of what is wrong: the whole run has to be looked at for that.
"""

from __future__ import annotations

from trectools_plus.formats.columns import scan_columns
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.formats.source import Source
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.run_view import RunView


def clean_view(path: str, data: bytes) -> RunView | None:
    """Look at a piece of a run.

    Args:
        path: The run's file.
        data: Lines of whole queries.

    Returns:
        The piece's rows; ``None`` if it is not clean, or has comments or lines that are no rows.
    """
    columns = scan_columns(Source(path, data), N_FIELDS)
    if columns.misshapen.height or columns.comments.height or columns.facts.long_lines:
        return None
    view = RunView.of_file(columns)
    if view.n_rows == 0 or view.blocks.interleaved:
        return None
    findings = check_view(view, forbidding_only=True)
    return None if any(finding.blocks_scoring for finding in findings) else view
