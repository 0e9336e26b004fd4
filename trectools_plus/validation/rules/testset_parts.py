"""Rules on parts of a split: what stands in two of them tells a system the answer beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from trectools_plus.text import in_all, quoted, visible
from trectools_plus.validation.near_texts import near_across
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.rules.topics_texts import normalised
from trectools_plus.validation.testset_view import TestSetView


@rule(
    "T241",
    "leaked-text",
    on="testset",
    scope="pair",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="text that stands in another part of the split too, or nearly so; only a warning where "
    "two that are nearly the same have no relevant term in common",
    rationale="A system that was tuned on it has seen the answer: the held-out part then says "
    "nothing about new queries.",
    example="set.yaml:7: error T241: query 2 'Seizures' is query 9 of used.yaml (line 31). Take "
    "it out of one of the two.",
    remedy="Take it out of one of the two",
)
def leaked_text(test_set: TestSetView) -> Hit | None:
    """A text stands in two parts."""
    leaks = [leak for part in test_set.parts for leak in _leaks(part, test_set)]
    if not leaks:
        return None
    certain = [leak for leak in leaks if leak.is_certain]
    first, *_ = shown = certain or leaks
    return Hit(
        first.message + in_all(len(shown), "such text"),
        [leak.line for leak in shown],
        len(shown),
        query_id=first.query_id,
        severity=None if certain else "warning",
    )


@dataclass(frozen=True, slots=True)
class _Leak:
    line: int
    query_id: str
    message: str
    is_certain: bool


def _leaks(part: TestSetView, test_set: TestSetView) -> Iterator[_Leak]:
    """Texts of a set that stand in an earlier part."""
    texts = part.texts["text"].to_list(), test_set.texts["text"].to_list()
    for earlier, later in near_across(*texts, test_set.language):
        here, there = test_set.texts.row(later, named=True), part.texts.row(earlier, named=True)
        norms = normalised(pl.Series([here["text"], there["text"]]))
        one, other = test_set.relevant(here["query_id"]), part.relevant(there["query_id"])
        yield _Leak(
            here["text_line"],
            here["query_id"],
            _told(here, there, part.topics.name, same=norms[0] == norms[1]),
            norms[0] == norms[1] or not one or not other or not one.isdisjoint(other),
        )


def _told(here: dict[str, str], there: dict[str, str], name: str, *, same: bool) -> str:
    query = f"query {visible(here['query_id'])} {quoted(here['text'])}"
    other = f"query {visible(there['query_id'])}"
    where = f"of {visible(name)} (line {there['text_line']})"
    return (
        f"{query} is {other} {where}"
        if same
        else (f"{query} is nearly {other} {quoted(there['text'])} {where}")
    )


@rule(
    "T242",
    "shared-query-id",
    on="testset",
    scope="pair",
    severity="error",
    fix="no",
    blocks_scoring=False,
    checks="query id that another part of the split has too",
    rationale="Runs and figures know queries by their ids: those of the two parts cannot be told "
    "apart.",
    example="set.yaml:7: error T242: query id 2 stands in used.yaml too (line 12). Give each "
    "query an id of its own.",
    remedy="Give each query an id of its own",
)
def shared_query_id(test_set: TestSetView) -> Hit | None:
    """A query id stands in two parts."""
    found = []
    for part in test_set.parts:
        there = part.topics.frame.drop_nulls("query_id").unique("query_id", keep="first")
        shared = test_set.topics.frame.join(
            there.select("query_id", other_line="line"),
            on="query_id",
            how="inner",
            maintain_order="left",
        )
        found.append(shared.with_columns(part=pl.lit(part.topics.name)))
    rows = pl.concat(found) if found else pl.DataFrame()
    if rows.is_empty():
        return None
    first = rows.row(0, named=True)
    message = (
        f"query id {visible(first['query_id'])} stands in {visible(first['part'])} too "
        f"(line {first['other_line']}){in_all(rows.height, 'shared id')}"
    )
    return Hit(message, rows["line"].to_list(), rows.height, query_id=first["query_id"])
