"""Rules on the values of YAML and JSON: what a loader makes of them is not what is written."""

from __future__ import annotations

from trectools_plus.validation.registry import Hit, RuleFix, rule
from trectools_plus.validation.rules.topics import lines
from trectools_plus.validation.topics.view import TopicsView


@rule(
    "T114",
    "id-not-text",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "put ids in quotes"),
    checks="YAML or JSON id that is no string; a warning for an integer written as itself, and "
    "for what only YAML 1.2 reads as a number",
    rationale="YAML 1.1 reads 010 as 8, 12:30 as 750, 1.10 as 1.1 and no as false, YAML 1.2 "
    "reads 1e3 as 1000: the id in the run is then another one than in the file.",
    example='set.yaml:2: error T114: id 010 is read as 8 by YAML 1.1. Quote it: "010".',
    remedy="Quote it",
)
def id_not_text(topics: TopicsView) -> Hit | None:
    """An id is no text to a loader."""
    return lines.recorded(topics, "T114", "place")


@rule(
    "T115",
    "boolean-value",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "put texts in quotes"),
    checks="NO, yes, on, off, true where text or grade is due; other types in place of a text",
    rationale="YAML 1.1 reads NO, the country, as false. A grade 'true' counts as 1 in some "
    "programs and stops others.",
    example='set.yaml:3: error T115: text NO is the boolean false. Quote it: "NO".',
    remedy="Quote it",
)
def boolean_value(topics: TopicsView) -> Hit | None:
    """A text or a grade is a boolean."""
    return lines.recorded(topics, "T115", "place")


@rule(
    "T116",
    "duplicate-key",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="mapping key twice (PyYAML, json and orjson keep the last)",
    rationale="Loaders keep the last of two equal keys and say nothing, so a judgment or a whole "
    "query is lost.",
    example="set.yaml:6: error T116: d01 again (line 5: 2, here 0); loaders keep the last. Keep "
    "one of them.",
    remedy="Keep one of them",
)
def duplicate_key(topics: TopicsView) -> Hit | None:
    """A mapping has a key twice."""
    return lines.recorded(topics, "T116", "place")


@rule(
    "T117",
    "text-cut",
    on="topics",
    scope="row",
    severity="warning",
    fix=RuleFix("ask", "put texts in quotes, with what stood behind '#'"),
    checks="text as a plain YAML scalar followed by ' #'",
    rationale="A blank and '#' begin a comment, so 'C # language' is the query 'C'.",
    example="set.yaml:3: warning T117: text cut at '#': 'C'. Quote the text if the rest belongs "
    "to it.",
    remedy="Quote the text if the rest belongs to it",
)
def text_cut(topics: TopicsView) -> Hit | None:
    """A comment follows a text on its line."""
    return lines.recorded(topics, "T117", "place")


@rule(
    "T118",
    "field-value",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="category, difficulty or query_type other than the known words, metadata or a remark "
    "that is no text",
    rationale="Figures are given for each category and difficulty: a word of its own is a group "
    "of its own. Version 1.10 without quotes is the number 1.1.",
    example="set.yaml:5: error T118: difficulty is 'simple', not one of easy, medium, hard. Write "
    "one of the known words.",
    remedy="Write one of the known words, or a text",
)
def field_value(topics: TopicsView) -> Hit | None:
    """A field of a test set holds something that readers refuse."""
    return lines.recorded(topics, "T118", "place")


@rule(
    "T131",
    "no-judgments",
    on="topics",
    scope="query",
    severity="warning",
    fix="no",
    checks="test case with empty judgments",
    rationale="Nothing can be right or wrong for such a query, so it has no score; a mean over "
    "the others is taken for one over all.",
    example="set.yaml:4: warning T131: no judgments for query 1; it is left out of the mean. Add "
    "its relevant documents, or drop it.",
    remedy="Add its relevant documents, or drop it",
)
def no_judgments(topics: TopicsView) -> Hit | None:
    """A test case has no judged document."""
    return lines.recorded(topics, "T131", "query")
