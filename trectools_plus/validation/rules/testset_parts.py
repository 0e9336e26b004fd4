"""Rules on parts of a split: what stands in two of them tells a system the answer beforehand."""

from __future__ import annotations

import polars as pl

from trectools_plus.validation.near_texts import near_across
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.rules.topics_texts import normalised
from trectools_plus.validation.testset_view import TestSetView
from trectools_plus.validation.wording import in_all, quoted, visible


@rule(
    "T241",
    "leaked-text",
    on="testset",
    severity="error",
    fix="no",
    blocks=False,
    checks="text that stands in another part of the split too, or nearly so",
    rationale="A system that was tuned on it has seen the answer: the held-out part then says "
    "nothing about new queries.",
    example="set.yaml:7: error T241: query 2 'Seizures' is query 9 of used.yaml (line 31). Take "
    "it out of one of the two.",
    remedy="Take it out of one of the two",
)
def leaked_text(test_set: TestSetView) -> Hit | None:
    """A text stands in two parts."""
    lines: list[int] = []
    message, first_id = "", None
    for part in test_set.parts:
        if part.language and test_set.language and part.language != test_set.language:
            continue  # no parts of one set
        pairs = near_across(
            part.texts["text"].to_list(), test_set.texts["text"].to_list(), test_set.language
        )
        for earlier, later in pairs:
            here, there = test_set.texts.row(later, named=True), part.texts.row(earlier, named=True)
            lines.append(here["text_line"])
            if not message:
                first_id = here["query_id"]
                message = _told(here, there, part.topics.name)
    if not lines:
        return None
    return Hit(message + in_all(len(lines), "such text"), lines, len(lines), query_id=first_id)


def _told(here: dict[str, str], there: dict[str, str], name: str) -> str:
    norms = normalised(pl.Series([here["text"], there["text"]]))
    query = f"query {visible(here['query_id'])} {quoted(here['text'])}"
    where = f"{visible(name)} (line {there['text_line']})"
    if norms[0] == norms[1]:
        return f"{query} is query {visible(there['query_id'])} of {where}"
    text = quoted(there["text"])
    return f"{query} is nearly query {visible(there['query_id'])} {text} of {where}"


@rule(
    "T242",
    "shared-query-id",
    on="testset",
    severity="error",
    fix="no",
    blocks=False,
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
