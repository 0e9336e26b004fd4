"""Scores of the files of a command line, whatever their format."""

from __future__ import annotations

from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.output import Scores


def score_files(arguments: Arguments) -> tuple[Scores, list[str]]:
    """Score a run file.

    Args:
        arguments: The command line.

    Returns:
        The values to print; and notes, see
        :func:`~trectools_plus.trec_eval.output.notes_on_files`.

    Raises:
        FindingsError: If a file has errors at which trec_eval stops or that it misreads.
        CheckFailedError: If judgments of several judges are malformed or contradict each other, or
            no query has both results and judgments, as in trec_eval.
        InputError: If a file cannot be read.
    """
    # Most command lines need one of these modules.
    if arguments.judgments == "qrels":
        from trectools_plus.trec_eval.scoring import score_graded_files

        scores, notes = score_graded_files(arguments)
    else:
        from trectools_plus.trec_eval.judges import score_judges

        scores, notes = score_judges(arguments)
    if arguments.zscores is not None:
        from trectools_plus.trec_eval.zscores import standardise

        scores = standardise(scores, arguments.zscores)
    return scores, notes
