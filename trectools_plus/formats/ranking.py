"""The canonical ranking, the basis of all measures, tie counts and fusions.

trec_eval (``form_res_rels.c``) ignores the rank column: it sorts by score, highest first, and
breaks ties by document id in descending byte order. Version 9 stores scores as 32-bit floats, so
scores that are equal after rounding to 32 bits are ties; version 10 compares 64-bit floats.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

ScorePrecision = Literal[32, 64]

_SIGN = np.int64(1) << 31
_LARGEST = np.finfo(np.float32).max


def rank_documents(frame: pl.DataFrame, precision: ScorePrecision = 32) -> pl.DataFrame:
    """Order each query's documents as trec_eval does, and number them from 1.

    Args:
        frame: A run's frame: ``query_id, doc_id, score`` and any other columns.
        precision: 32 for trec_eval 9 and pytrec_eval, 64 for trec_eval 10.

    Returns:
        The same rows with new ranks 1, 2, …: queries in the order of their first row, documents by
        descending score, then by descending document id (as bytes of UTF-8).
    """
    score: npt.NDArray[np.floating] = frame["score"].to_numpy()
    if precision == 32:
        with np.errstate(over="ignore"):
            score = score.astype(np.float32)
    block = frame["query_id"].rle_id().to_numpy()
    starts = np.flatnonzero(np.r_[len(block) > 0, block[1:] != block[:-1]])
    if frame["query_id"].gather(starts).n_unique() < len(starts):  # a query has several blocks
        first_row = pl.col("row").min().over("query_id")
        order = frame.select("query_id").with_row_index("row").select(first_row.arg_sort())
        return rank_documents(frame[order.to_series()], precision)
    # Most runs are ordered, or nearly. Checking this is several times faster than sorting.
    unordered = ~(score[1:] < score[:-1]) & (block[1:] == block[:-1])
    if unordered.any():
        rows = np.flatnonzero(np.isin(block, block[1:][unordered]))
        columns = {
            "row": rows,
            "block": block[rows],
            "score": score[rows],
            "doc_id": frame["doc_id"].gather(rows),
        }
        ranked = pl.DataFrame(columns).sort(
            "block", "score", "doc_id", descending=[False, True, True]
        )
        places = np.arange(len(block))
        places[rows] = ranked["row"].to_numpy()
        frame = frame[places]
    before = np.repeat(starts, np.diff(starts, append=len(block)))
    return frame.with_columns(rank=pl.Series(np.arange(1, len(block) + 1) - before))


def separate_ties(frame: pl.DataFrame) -> pl.DataFrame:
    """Lower tied scores to the next smaller 32-bit floats until no query has equal scores.

    Tools break ties differently: trec_eval orders tied documents by descending id, ``ir_measures``
    computes RR@k with ascending ids, and others use the order of the file. Reciprocal rank fusion
    produces many ties. A file without ties has the same ranking in every tool. The canonical
    ranking does not change. Untied scores change only if a lowered score above reaches them.

    Args:
        frame: A run's frame, with finite scores; they are rounded to 32 bits.

    Returns:
        Rows in canonical order, ranks from 1, scores strictly descending within each query.
    """
    ranked = rank_documents(frame)
    scores = separate_scores(ranked["score"].to_numpy(), ranked["rank"].to_numpy())
    return ranked.with_columns(score=pl.Series(scores))


def separate_scores(
    scores: npt.NDArray[np.float64], rank: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the scores of :func:`separate_ties` for documents in the canonical order.

    Args:
        scores: The finite scores.
        rank: The ranks, from 1 for each query.
    """
    query = np.cumsum(rank == 1)
    # With scores counted in steps of 32-bit floats, s[i] = min(s[i], s[i-1] - 1). After adding
    # the rank to each step, this is a running minimum. Each query is below the one before it.
    below = query << 34
    bits = scores.clip(-_LARGEST, _LARGEST).astype(np.float32).view(np.uint32).astype(np.int64)
    steps = np.where(bits < _SIGN, bits, _SIGN - bits)  # neighbours differ by 1, and 0.0 is 0
    lowest = np.minimum.accumulate(steps + rank - below) + below - rank
    too_low = lowest < -np.int64(_LARGEST.view(np.int32))
    bits = np.where(too_low, 0, np.where(lowest >= 0, lowest, _SIGN - lowest)).astype(np.uint32)
    separate = bits.view(np.float32).astype(np.float64)
    if too_low.any():
        # Nothing is lower than the lowest 32-bit float: for such a query, keep only the order.
        crowded = np.isin(query, query[too_low])
        separate = np.where(crowded, -rank.astype(np.float64), separate)
    return separate
