"""Facts about a run: its size, depth, scores, ties and order."""

from __future__ import annotations

from pydantic import ConfigDict

from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Run
from trectools_plus.models import Model
from trectools_plus.validation.loading import describe_view
from trectools_plus.validation.views.runs import RunView


class DepthInfo(Model):
    """Results per query."""

    model_config = ConfigDict(frozen=True)

    min: int
    median: float
    max: int


class RunInfo(Model):
    """Facts about a run.

    Attributes:
        path: The file as the user named it.
        tag: The run's tag.
        queries: Number of queries.
        rows: Number of rows.
        depth: Results per query.
        lowest_score: The lowest score of all rows.
        highest_score: The highest score of all rows.
        ties_64: Number of adjacent results of a ranking with equal 64-bit scores.
        ties_32: Number of adjacent results with equal 32-bit scores, including ``ties_64``.
        first_rank: The lowest rank in the file; 1 and 0 are both common.
        ranks_follow_scores: Whether the ranks of every query ascend when its rows are in the order
            of the evaluation: by score, not by rank.
        rows_follow_ranks: Whether the rows of every query are in the order of their ranks.
    """

    model_config = ConfigDict(frozen=True)

    path: str | None
    tag: str
    queries: int
    rows: int
    depth: DepthInfo
    lowest_score: float
    highest_score: float
    ties_64: int
    ties_32: int
    first_rank: int
    ranks_follow_scores: bool
    rows_follow_ranks: bool


def describe_run(run: Run) -> RunInfo:
    """Describe a run without errors (see ``validation.load_run``).

    Args:
        run: The run.

    Returns:
        Numbers of queries, results and ties, and the depth.

    Raises:
        InputError: If the run has no rows.
    """
    if not run.frame.height:
        raise InputError("the run has no rows", where=run.path)
    facts = describe_view(RunView.of_table(run))
    return RunInfo(**facts | {"path": run.path, "tag": run.name})
