"""Scores of the files of a command line, whatever their format, and z-scores (``-Z``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trectools_plus.errors import CheckFailedError
from trectools_plus.formats.files.content import read_file
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.output import Scores, Table

MISSING = -1_000_000.0
"""trec_eval's value where no mean is given, or the deviation is 0 and the value is not the mean."""
_COLUMNS = "query_id measure mean deviation"


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
        scores = standardise(scores, arguments.zscores)
    return scores, notes


def standardise(scores: Scores, path: str) -> Scores:
    """Return the values of all queries as z-scores, as ``convert_zscores.c``; texts stay.

    Args:
        scores: The values.
        path: A file with a line for each query and measure: query_id, the name in the output, mean
            and standard deviation.

    Raises:
        CheckFailedError: If a line is malformed or repeated.
        InputError: If the file cannot be read.
    """
    means = _read_means(path)
    values: dict[str, Table] = dict(scores.values)
    for requested in scores.requested:
        name = requested.measure.name
        if name not in values or requested.measure.average == "text":
            continue
        moments = [
            [means.get((query_id, line), (np.nan, np.nan)) for line in requested.names]
            for query_id in scores.query_ids
        ]
        mean, deviation = np.moveaxis(np.array(moments), 2, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            standard = (values[name] - mean) / deviation
        without = np.where(values[name] == mean, 0.0, MISSING)
        standard = np.where(deviation == 0, without, standard)
        values[name] = np.where(np.isnan(deviation), MISSING, standard)
    return replace(scores, values=values, are_zscores=True)


def _read_means(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    means = {}
    for number, line in enumerate(read_file(path).lines(), 1):
        words = line.decode("utf-8", "surrogateescape").split()
        try:
            query_id, name, mean, deviation = words
            key, value = (query_id, name), (float(mean), float(deviation))
        except ValueError as error:
            raise CheckFailedError(
                f"expected {_COLUMNS} but got {' '.join(words)!r}",
                where=f"{path}:{number}",
                remedy="write four columns, separated by blanks",
            ) from error
        if key in means:
            raise CheckFailedError(
                f"{name} of query {query_id} is given twice",
                where=f"{path}:{number}",
                remedy="keep one of the lines",
            )
        means[key] = value
    return means
