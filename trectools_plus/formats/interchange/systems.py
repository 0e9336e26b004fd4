"""A column that may name the system of each row, in a table with the results of several.

Such a table is refused. In judgments, such a column is the type of judgment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from trectools_plus.formats.interchange.names import normalize
from trectools_plus.text import listed, quoted

ONE_SYSTEM = "write a file for each system, or remove the column if it does not name systems"
"""The remedy for a table that may have several systems."""


def find_systems(
    rows: pl.DataFrame, candidates: Mapping[str, str], hints: Sequence[str]
) -> str | None:
    """Return the column that may name systems: ``column 'model' (BM25, DPH)``.

    Args:
        rows: ``query_id`` and the candidates, as texts.
        candidates: The names of further columns in the file, with those in ``rows``.
        hints: Names that such a column often has.

    Returns:
        The column, of which a query has several values; ``None`` if there is none.
    """
    usual = set(map(normalize, hints))
    for name, column in candidates.items():
        if normalize(name) in usual:
            values = rows[column].unique(maintain_order=True)
            n_pairs = rows.select("query_id", column).n_unique()
            if rows["query_id"].n_unique() < n_pairs and len(values) < rows.height:
                return f"column {quoted(name)} ({listed(values.to_list(), 5)})"
    return None
