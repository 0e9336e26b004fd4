"""What pytrec_eval does not give: relstring is a text, and it knows no ``-N`` for utility."""

from __future__ import annotations

import numpy as np

from trectools_plus.measures.base import FloatArray
from trectools_plus.measures.judged import JudgedRun
from trectools_plus.trec_eval.judging import relevant_counts
from trectools_plus.trec_eval.parameters import Asked

_HIGHEST_DIGIT = 9


def relevance_strings(asked: Asked, run: JudgedRun) -> list[str]:
    """The grades of the first documents, a character each (``m_relstring.c``).

    A digit for grades 0 to 9, ``>`` above, ``-`` for a document that is not in the qrels, ``.``
    for one with a negative grade.

    Args:
        asked: relstring, with its length.
        run: The rankings.

    Returns:
        A text per query, shorter where fewer documents were retrieved.
    """
    length = max(int(asked.numbers[0]), 0)
    length = min(length, int(run.retrieved.max(initial=0)))
    signs = np.full((len(run.retrieved), length), "-", "U1")
    shown = run.within(length)
    grade = run.grade[shown]
    digits = np.clip(grade, 0, _HIGHEST_DIGIT).astype("U1")
    signs[run.query[shown], run.rank[shown] - 1] = np.where(
        grade < 0, ".", np.where(grade > _HIGHEST_DIGIT, ">", digits)
    )
    return [
        "".join(row[:kept])
        for row, kept in zip(signs.tolist(), run.retrieved.tolist(), strict=True)
    ]


def utility(asked: Asked, run: JudgedRun, level: int, collection_size: int) -> FloatArray:
    """A weighted sum over the four cells of retrieved and relevant (``m_utility.c``).

    Args:
        asked: utility, with the weights of: relevant retrieved, other retrieved, relevant not
            retrieved, other not retrieved.
        run: The rankings.
        level: The lowest grade that is relevant.
        collection_size: Documents in the collection.

    Returns:
        One value per query.
    """
    hit, noise, missed, rejected = asked.numbers
    relevant, found = relevant_counts(run, level)
    retrieved = run.retrieved
    value: FloatArray = (
        hit * found
        + noise * (retrieved - found)
        + missed * (relevant - found)
        + rejected * (collection_size + found - retrieved - relevant)
    )
    return value
