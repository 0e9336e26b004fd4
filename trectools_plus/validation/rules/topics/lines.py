"""Rules on the lines and the syntax of topics and test sets: what keeps a parser from reading."""

from __future__ import annotations

from trectools_plus.text import on
from trectools_plus.validation.registry import Hit, RuleFix, rule
from trectools_plus.validation.topics.view import TopicsView


def recorded(view: TopicsView, code: str, noun: str = "line") -> Hit | None:
    """The hit for what the reader of a file noted under a code; the worst severity wins."""
    found = view.troubles.worst(code)
    if found is None:
        return None
    first, lines, n_unfixable = found
    by_hand = ""
    if 0 < n_unfixable < len(lines):
        by_hand = f"; --fix mends {len(lines) - n_unfixable:,} of them"
    return Hit(
        first.message + on(len(lines), noun) + by_hand,
        lines,
        len(lines),
        first.column,
        first.query_id,
        first.doc_id,
        first.severity,
        first.remedy,
        fix=first.fix,
    )


@rule(
    "T101",
    "separator",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("ask", "wrote a tab behind the first word"),
    checks="TSV row without a tab",
    rationale="A reader that splits at the tab takes the whole line as id, or stops. Where blanks "
    "stand in place of the tab, only the file's owner can tell that no id has blanks in it: then "
    "the first ones become a tab.",
    example="topics.tsv:1: error T101: no tab between id and text in '1 first query'. Write id, "
    "tab, text on each line.",
    remedy="Write id, tab, text on each line",
)
def separator(topics: TopicsView) -> Hit | None:
    """A line has no tab."""
    return recorded(topics, "T101")


@rule(
    "T102",
    "extra-tab",
    on="topics",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "wrote a blank for a tab in the text"),
    checks="second tab in a TSV row",
    rationale="Readers with a fixed number of columns stop, or cut the text at the second tab.",
    example="topics.tsv:2: warning T102: tab inside the text, kept as a blank. Write a blank.",
    remedy="Write a blank",
)
def extra_tab(topics: TopicsView) -> Hit | None:
    """A text holds a tab."""
    return recorded(topics, "T102")


@rule(
    "T103",
    "header-line",
    on="topics",
    scope="file",
    severity="error",
    fix=RuleFix("safe", "left out the header line"),
    checks="first row names columns",
    rationale="Topics have no header: it becomes a query 'qid' that asks for 'text', which no "
    "qrels know and every run answers.",
    example="topics.tsv:1: error T103: header line 'qid text'. Remove it.",
    remedy="Remove it",
)
def header_line(topics: TopicsView) -> Hit | None:
    """The first line names the columns."""
    return recorded(topics, "T103")


@rule(
    "T104",
    "syntax",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="YAML, JSON or XML that cannot be parsed, NaN, tab indent; position kept",
    rationale="A parser stops here, and one that does not reads something else than its author "
    "wrote. NaN is what Python writes into JSON and other languages refuse.",
    example="set.yaml:2: error T104: tab used to indent. Mend the line; nothing behind it could "
    "be checked.",
    remedy="Mend the line; nothing behind it could be checked",
)
def syntax(topics: TopicsView) -> Hit | None:
    """The text cannot be parsed."""
    return recorded(topics, "T104", "place")


@rule(
    "T105",
    "missing-field",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="id or text missing or null",
    rationale="A query without an id cannot be matched with its results, one without text not be "
    "searched with. Null becomes an id 'None' in some programs.",
    example="set.yaml:2: error T105: id is null. Give every topic an id and a text.",
    remedy="Give every topic an id and a text",
)
def missing_field(topics: TopicsView) -> Hit | None:
    """A topic lacks its id or its text."""
    return recorded(topics, "T105", "place")


@rule(
    "T106",
    "unknown-field",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="key not in the schema; the nearest name is offered",
    rationale="A misspelled key is a field that silently is not there: 'relevent' makes a test "
    "case without judgments.",
    example="set.yaml:4: error T106: unknown key 'relevent'; did you mean 'relevant'? Rename it.",
    remedy="Rename it",
)
def unknown_field(topics: TopicsView) -> Hit | None:
    """A test set has a key that nobody reads."""
    return recorded(topics, "T106", "place")
