"""Rules on the lines, syntax and fields of topics and test sets."""

from __future__ import annotations

from collections.abc import Callable

from trectools_plus.text import on
from trectools_plus.validation.registry import Hit, RuleFix, rule
from trectools_plus.validation.topics.view import TopicsView


def recorded(code: str, noun: str = "line") -> Callable[[TopicsView], Hit | None]:
    """Return a check that reports the problems that the reader of the file has recorded.

    Args:
        code: The code of the rule.
        noun: The name of one place in the message.
    """

    def check(topics: TopicsView) -> Hit | None:
        """Report the recorded problems of the rule."""
        return recorded_hit(topics, code, noun)

    return check


def recorded_hit(view: TopicsView, code: str, noun: str) -> Hit | None:
    """Return a hit for the recorded problems of a rule that have the worst severity."""
    found = view.problems.worst(code)
    if found is None:
        return None
    first, lines, n_unfixable = found
    n_fixable = len(lines) - n_unfixable
    fixable = f"; --fix fixes {n_fixable:,} of them" if 0 < n_fixable < len(lines) else ""
    return Hit(
        first.message + on(len(lines), noun) + fixable,
        lines,
        len(lines),
        first.column,
        first.query_id,
        first.doc_id,
        first.severity,
        first.remedy,
        fix=first.fix,
        blocks_scoring=first.blocks_scoring,
    )


separator = rule(
    "T101",
    "separator",
    on="topics",
    scope="row",
    severity="error",
    scored_if="every line starts with a number of its own, as in 301 international organized crime",
    fix=RuleFix("ask", "wrote a tab behind the first word"),
    checks="TSV row without a tab",
    rationale="A reader that splits at the tab uses the whole line as the id, or stops. If blanks "
    "separate id and text, only the owner of the file knows whether ids contain blanks; the fix "
    "writes a tab for the first blanks.",
    example="topics.tsv:1: error T101: no tab between id and text in '1 first query'. Write id, "
    "tab, text on each line.",
    remedy="Write id, tab, text on each line",
)(recorded("T101"))


extra_tab = rule(
    "T102",
    "extra-tab",
    on="topics",
    scope="row",
    severity="warning",
    fix=RuleFix("safe", "wrote a blank for a tab in the text"),
    checks="second tab in a TSV row",
    rationale="Readers with a fixed number of columns stop, or cut the text at the second tab.",
    example="topics.tsv:2: warning T102: tab inside the text, read as a blank. Replace it with a "
    "blank.",
    remedy="Replace it with a blank",
)(recorded("T102"))


header_line = rule(
    "T103",
    "header-line",
    on="topics",
    scope="file",
    severity="error",
    blocks_scoring=False,
    fix=RuleFix("safe", "left out the header line"),
    checks="first row names columns",
    rationale="Topics in TREC form have no header. Other tools take it for a query 'qid' with the "
    "text 'text', which is then in every run but not in the qrels. trectools-plus skips it.",
    example="topics.tsv:1: error T103: header line 'qid text'. trectools-plus skips it; "
    "remove it for other tools.",
    remedy="trectools-plus skips it; remove it for other tools",
)(recorded("T103"))


syntax = rule(
    "T104",
    "syntax",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="YAML, JSON or XML that cannot be parsed, NaN in JSON, tab used to indent YAML",
    rationale="A parser stops here, or reads other values than the author wrote. Python writes NaN "
    "into JSON; parsers in other languages reject it.",
    example="set.yaml:2: error T104: tab used to indent. Correct the line; nothing after it could "
    "be checked.",
    remedy="Correct the line; nothing after it could be checked",
)(recorded("T104", "place"))


missing_field = rule(
    "T105",
    "missing-field",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="id or text missing or null",
    rationale="A query without an id cannot be matched with its results, and a query without text "
    "cannot be searched. Some programs read null as the id 'None'.",
    example="set.yaml:2: error T105: id is null. Give every topic an id and a text.",
    remedy="Give every topic an id and a text",
)(recorded("T105", "place"))


unknown_field = rule(
    "T106",
    "unknown-field",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="key not in the schema; the most similar key is suggested",
    rationale="A misspelled key is ignored without a warning: 'relevent' makes a test case "
    "without judgments.",
    example="set.yaml:4: error T106: unknown key 'relevent'; did you mean 'relevant'? Rename it.",
    remedy="Rename it",
)(recorded("T106", "place"))
