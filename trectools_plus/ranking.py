"""The one canonical ranking that every measure, tie count and fusion starts from.

trec_eval (``form_res_rels.c``) ignores the rank column: it sorts by score, highest first, and
breaks ties by document id in descending byte order. Version 9 holds scores as 32-bit floats, so
scores that differ only beyond that are ties; version 10 compares 64 bits.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

ScorePrecision = Literal[32, 64]


def rank_documents(frame: pl.DataFrame, precision: ScorePrecision = 32) -> pl.DataFrame:
    """Order each query's documents as trec_eval does, and number them from 1.

    Args:
        frame: A run's frame: ``query_id, doc_id, score`` and any further columns.
        precision: 32 for trec_eval 9 and pytrec_eval, 64 for trec_eval 10.

    Returns:
        The same rows, queries in the order of their first row, documents by falling score and
        then falling document id (bytes of UTF-8), with ``rank`` 1, 2, … set anew.
    """
    score = pl.col("score").cast(pl.Float32) if precision == 32 else pl.col("score")
    return (
        frame.with_row_index("_row")
        .with_columns(_query=pl.col("_row").min().over("query_id"), _score=score)
        .sort(["_query", "_score", "doc_id"], descending=[False, True, True])
        .drop("_row", "_query", "_score")
        .with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("query_id"))
    )
