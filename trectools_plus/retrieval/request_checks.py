"""Whether what is asked for can be fetched: queries, ids that a run can hold, a depth."""

from __future__ import annotations

import polars as pl

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Topics

# Blanks end a column, control characters break rows, and '#' opens a comment line.
_UNWRITABLE = r"[\s\p{Cc}]|^$"
_UNWRITABLE_FIRST = r"^#"


def check_request(topics: Topics, depth: int) -> None:
    """See that there are queries with usable ids, and a usable depth.

    Raises:
        UsageError: If ``depth`` is below 1.
        InputError: If there are no topics, or an id is repeated or cannot be written to a run.
    """
    check_depth(depth)
    if not topics.frame.height:
        raise InputError("there are no topics", where=topics.path)
    ids = topics.frame["query_id"]
    if ids.n_unique() < len(ids):
        repeated = ids.filter(ids.is_duplicated())[0]
        raise InputError(
            f"query id '{repeated}' occurs more than once in the topics",
            where=topics.path,
            remedy="give each query its own id",
        )
    check_ids(ids, "query", topics.path)


def check_depth(depth: int) -> None:
    """See that a query wants a result at least.

    Raises:
        UsageError: If not.
    """
    if depth < 1:
        raise UsageError(f"expected a depth of at least 1 but got {depth}")


def check_ids(ids: pl.Series, kind: str, path: str | None) -> None:
    """See that ids survive being written to a run.

    Raises:
        InputError: If one is empty, holds white space or a control character, or is a query's
            and starts with '#'.
    """
    pattern = f"{_UNWRITABLE}|{_UNWRITABLE_FIRST}" if kind == "query" else _UNWRITABLE
    bad = ids.filter(ids.str.contains(pattern))
    if len(bad):
        raise InputError(
            f"{kind} id {bad[0]!r} cannot be written to a run file"
            f" ({len(bad)} of {len(ids)} {kind} ids)",
            where=path,
            remedy="ids must not be empty, hold white space, or start a line with '#';"
            " rename them, for example with underscores",
        )
