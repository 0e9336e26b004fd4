"""A rule on the form of the run tag (R152)."""

from __future__ import annotations

import numpy as np
import polars as pl

from trectools_plus.text import on, quoted
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.run_view import RunView

_NOT_IN_TAGS = r"[^A-Za-z0-9_.\-]"


@rule(
    "R152",
    "tag-form",
    on="run",
    scope="row",
    severity="warning",
    fix="ask",
    checks="tag outside [A-Za-z0-9_.-]{1,64}, or longer than --max-tag-length",
    rationale="The tag becomes a file name, a column heading and a database key. Tracks allow "
    "letters, digits and a few marks, and 12, 15 or 25 characters.",
    example="run.txt:1: warning R152: tag of 80 characters with '+', '/'. Use letters, digits, "
    "'_', '.', '-', at most 64 characters.",
    remedy="Use letters, digits, '_', '.', '-'",
)
def tag_form(run: RunView) -> Hit | None:
    """A tag is too long or has characters that tools do not take."""
    if run.columns is None or run.n_rows == 0:
        return None
    rows = _rows_of_bad_tags(run)
    if len(rows) == 0:
        return None
    tag = str(run.frame["tag"][int(rows[0])])
    odd = list(dict.fromkeys(pl.Series([tag]).str.extract_all(_NOT_IN_TAGS)[0].to_list()))
    length = f" of {len(tag):,} characters" if len(tag) > run.max_tag_length else f" {quoted(tag)}"
    marks = f" with {', '.join(quoted(mark) for mark in odd[:5])}" if odd else ""
    more = ", …" if len(odd) > 5 else ""
    return Hit(
        f"tag{length}{marks}{more}{on(len(rows))}",
        run.lines(rows),
        len(rows),
        run.column(rows[0], 6),
        remedy=f"Use letters, digits, '_', '.', '-', at most {run.max_tag_length} characters",
    )


def _rows_of_bad_tags(run: RunView) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    tags = run.frame["tag"]
    is_constant = isinstance(tags.dtype, pl.Enum) or not (tags != tags[0]).any()
    distinct = tags.head(1).cast(pl.String) if is_constant else tags.unique()
    is_bad = (distinct.str.len_chars() > run.max_tag_length) | distinct.str.contains(_NOT_IN_TAGS)
    bad = distinct.filter(is_bad)
    if bad.is_empty() or is_constant:
        return np.arange(run.n_rows if len(bad) else 0)
    return np.flatnonzero(tags.is_in(bad.implode()).to_numpy())
