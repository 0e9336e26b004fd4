"""Rules on the values of fields in YAML and JSON, and their fix: quotes around values."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import cast

from trectools_plus.formats.topic_records.forms import Form
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicProblem
from trectools_plus.validation.fixes.session import FixSession, TopicsDraft
from trectools_plus.validation.registry import RuleFix, fix_step, rule
from trectools_plus.validation.rules.topics.topics import recorded
from trectools_plus.validation.topics.reading import read_content
from trectools_plus.validation.views.topics import Problems

id_not_text = rule(
    "T114",
    "id-not-text",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "put ids in quotes"),
    checks="YAML or JSON id that is not a string; a warning for a plain integer and for a value "
    "that only YAML 1.2 reads as a number",
    rationale="YAML 1.1 reads 010 as 8, 12:30 as 750, 1.10 as 1.1 and no as false; YAML 1.2 reads "
    "1e3 as 1000. The id in the run then differs from the id in the file.",
    example='set.yaml:2: error T114: id 010 is read as 8 by YAML 1.1. Quote it: "010".',
    remedy="Quote it",
)(recorded("T114", "place"))


boolean_value = rule(
    "T115",
    "boolean-value",
    on="topics",
    scope="row",
    severity="error",
    fix=RuleFix("safe", "put texts in quotes"),
    checks="NO, yes, on, off or true in place of a text or grade; another type in place of a text",
    rationale="YAML 1.1 reads NO, the country code, as false. Some programs read the grade 'true' "
    "as 1; others stop.",
    example='set.yaml:3: error T115: text NO is the boolean false. Quote it: "NO".',
    remedy="Quote it",
)(recorded("T115", "place"))


duplicate_key = rule(
    "T116",
    "duplicate-key",
    on="topics",
    scope="file",
    severity="error",
    fix="no",
    checks="mapping key twice (PyYAML, json and orjson keep the last)",
    rationale="Loaders keep the last of two equal keys and give no warning, so a judgment or a "
    "whole query is lost.",
    example="set.yaml:6: error T116: key d01 is repeated (line 5: 2; here: 0); loaders keep the "
    "last value. Keep one of them.",
    remedy="Keep one of them",
)(recorded("T116", "place"))


text_cut = rule(
    "T117",
    "text-cut",
    on="topics",
    scope="row",
    severity="warning",
    fix=RuleFix("ask", "put texts in quotes, with what stood behind '#'"),
    checks="text as a plain YAML scalar followed by ' #'",
    rationale="A blank followed by '#' begins a comment, so 'C # language' is read as 'C'.",
    example="set.yaml:3: warning T117: text is cut at '#': 'C'. Quote the text if the rest "
    "belongs to it.",
    remedy="Quote the text if the rest belongs to it",
)(recorded("T117", "place"))


field_value = rule(
    "T118",
    "field-value",
    on="topics",
    scope="row",
    severity="error",
    fix="no",
    checks="category, difficulty or query_type with an unknown word; metadata or a remark that is "
    "not text",
    rationale="Figures are reported for each category and difficulty, so an unknown word forms a "
    "separate group. Version 1.10 without quotes is the number 1.1.",
    example="set.yaml:5: error T118: difficulty is 'simple', not one of easy, medium, hard. Write "
    "one of the known words, or a text in quotes.",
    remedy="Write one of the known words, or a text in quotes",
)(recorded("T118", "place"))


_QUOTED = ("T114", "T115", "T117")


@fix_step(*_QUOTED, order=20, phase="topics")
def quote_values(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Put ids and texts in quotes that loaders read as something else (T114, T115, T117).

    Forms other than YAML, JSON and JSON Lines, and files that cannot be parsed, are not changed.
    """
    if draft.form not in ("yaml", "json", "jsonl"):
        return draft
    before = _Quotes(draft)
    wanted = {
        place: problem for place, problem in before.problems.items() if session.wants(problem.code)
    }
    lines, done = list(draft.lines), Counter[str]()
    # From the right, so that columns further left do not change.
    for (line, column), problem in sorted(wanted.items(), reverse=True):
        rest = lines[line - 1][column - 1 :]
        text = _text_to_quote(rest, problem)
        if text is not None:
            quotes = json.dumps(text, ensure_ascii=False)
            lines[line - 1] = lines[line - 1][: column - 1] + quotes + rest[len(text) :]
            done[problem.code] += 1
    fixed = replace(draft, lines=lines)
    if not before.is_same_as(_Quotes(fixed), texts="T117" not in done):
        fixed, done = draft, Counter()
    for code, count in Counter(problem.code for problem in wanted.values()).items():
        if done[code]:
            session.done(code, done[code])
        if done[code] < count:
            left = count - done[code]
            session.skip(code, f"{left:,} of {count:,} have a tag, an anchor or several lines")
    return fixed


def _text_to_quote(rest: str, problem: TopicProblem) -> str | None:
    """Return the text to put in quotes; ``None`` if the file writes the value in another way.

    Args:
        rest: The line from the value on.
        problem: The problem of the value.
    """
    text = problem.quote or ""
    if not rest.startswith(text):
        return None
    if problem.code != "T117":
        return text
    return rest.rstrip(" \t") if rest[len(text) :].lstrip(" \t").startswith("#") else None


class _Quotes(Problems):
    """The values of a file that need quotes, and the content of the file.

    Args:
        draft: The file.

    Attributes:
        content: Its content.
        problems: The problem of each such value, by line and column.
    """

    def __init__(self, draft: TopicsDraft) -> None:
        super().__init__()
        self.problems: dict[tuple[int, int], TopicProblem] = {}
        self.content = read_content(draft.text, cast("Form", draft.form), DEFAULTS, self)

    def add(self, problem: TopicProblem) -> None:
        super().add(problem)
        if problem.quote is not None and problem.fix != "no" and problem.column is not None:
            # One pair of quotes fixes a value with several problems.
            self.problems.setdefault((problem.line, problem.column), problem)

    def is_same_as(self, other: _Quotes, *, texts: bool) -> bool:
        """Return whether another file has the same ids, grades and, if wanted, texts."""
        mine, theirs = self.content, other.content
        columns = ["query_id", "text"] if texts else ["query_id"]
        if not mine.entries.select(columns).equals(theirs.entries.select(columns)):
            return False
        if mine.judgments is None or theirs.judgments is None:
            return mine.judgments is theirs.judgments
        columns = ["query_id", "doc_id", "grade"]
        return mine.judgments.select(columns).equals(theirs.judgments.select(columns))
