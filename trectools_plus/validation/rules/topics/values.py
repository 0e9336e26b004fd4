"""Rules on the values of fields in YAML and JSON, and their fix: quotes around values."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from trectools_plus.formats.nodes.model import Items, Node, Scalar, Tree, TreeError
from trectools_plus.formats.nodes.parsing import MAX_DOCUMENT_BYTES, parse_document, parse_json
from trectools_plus.formats.topic_records.json_lines import iter_json_lines
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicProblem
from trectools_plus.validation.fixes.session import FixSession, TopicsDraft
from trectools_plus.validation.registry import RuleFix, fix_step, rule
from trectools_plus.validation.rules.topics.topics import recorded
from trectools_plus.validation.topics.cases import read_test_set
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

Position = tuple[int, int]
"""Line and character column of a value, from 1."""


@fix_step(*_QUOTED, order=20, phase="topics")
def quote_values(draft: TopicsDraft, session: FixSession) -> TopicsDraft:
    """Put ids and texts in quotes that loaders read as something else (T114, T115, T117).

    Forms other than YAML, JSON and JSON Lines, and files that cannot be parsed, are not changed.
    """
    try:
        codes = _codes(draft.text, draft.form)
        trees = _trees(draft.text, draft.form, codes)
    except TreeError:
        return draft
    wanted = {place: code for place, code in codes.items() if session.wants(code)}
    edits: dict[Position, str] = {}
    for node in _nodes(trees):
        place = node.line, node.column
        if isinstance(node, Scalar) and place in wanted:
            rest = draft.lines[node.line - 1][node.column - 1 :]
            found = _text_to_quote(rest, node, wanted[place])
            if found is not None:
                edits[place] = found
    fixed = replace(draft, lines=_apply_edits(draft.lines, edits))
    if not _differs_only_in_quotes(trees, fixed, codes, edits):
        edits, fixed = {}, draft
    for code in _QUOTED:
        places_of_code = [place for place, needed in wanted.items() if needed == code]
        n_done = sum(place in edits for place in places_of_code)
        if n_done:
            session.done(code, n_done)
        if n_done < len(places_of_code):
            n_all = len(places_of_code)
            session.skip(
                code, f"{n_all - n_done:,} of {n_all:,} have a tag, an anchor or several lines"
            )
    return fixed


class _Places(Problems):
    """The problems in a file, and the places of the values that quotes would fix."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[Position, str] = {}

    def add(self, problem: TopicProblem) -> None:
        super().add(problem)
        if problem.code in _QUOTED and problem.fix != "no" and problem.column is not None:
            place = problem.line, problem.column
            # One pair of quotes fixes a value with several problems.
            self.codes.setdefault(place, problem.code)


def _codes(text: str, form: str) -> dict[Position, str]:
    """Return the codes of the values that need quotes, by place."""
    places = _Places()
    if form == "jsonl":
        topics = iter_json_lines(
            enumerate(text.split("\n"), 1), DEFAULTS, places.add, lambda _: None
        )
        deque(topics, maxlen=0)
    elif form in ("yaml", "json") and len(text) <= MAX_DOCUMENT_BYTES and text.strip():
        read_test_set(_parse(text, form), places)
    return places.codes


def _trees(text: str, form: str, places: Iterable[Position]) -> list[Tree]:
    """Return the parsed file, or its parsed lines, with the values at some places."""
    numbers = sorted({line for line, _ in places})
    if form != "jsonl":
        return [_parse(text, form)] if numbers else []
    lines = text.split("\n")
    return [parse_json(lines[number - 1], number) for number in numbers]


def _parse(text: str, form: str) -> Tree:
    return parse_document(text, "json" if form == "json" else "yaml")


def _nodes(trees: list[Tree]) -> Iterator[Node]:
    """Yield every node once, including keys, in an order that quotes do not change."""
    seen: set[int] = set()
    todo: list[Node] = [tree.root for tree in trees if tree.root is not None]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Items):
            todo += node.items
        elif not isinstance(node, Scalar):
            todo += [part for pair in node.pairs.values() for part in pair] + node.merged


def _text_to_quote(rest: str, node: Scalar, code: str) -> str | None:
    """Return the text to put in quotes; ``None`` if the file writes the value in another way."""
    if not rest.startswith(node.text):
        return None
    if code != "T117":
        return node.text
    after = rest[len(node.text) :]
    return rest.rstrip(" \t") if after.lstrip(" \t").startswith("#") else None


def _apply_edits(lines: Sequence[str], edits: Mapping[Position, str]) -> list[str]:
    """Put the texts at some places in quotes."""
    written = list(lines)
    # From the right, so that columns further left do not change.
    for (line, column), old in sorted(edits.items(), reverse=True):
        before, after = written[line - 1][: column - 1], written[line - 1][column - 1 + len(old) :]
        written[line - 1] = before + json.dumps(old, ensure_ascii=False) + after
    return written


def _differs_only_in_quotes(
    old: list[Tree],
    after: TopicsDraft,
    places: Iterable[Position],
    quoted: Mapping[Position, str],
) -> bool:
    """Return whether two texts have the same tree, apart from values quoted in ``after``."""
    try:
        new = _trees(after.text, after.form, places)
    except TreeError:
        return False
    expected = []
    for node in _nodes(old):
        place = node.line, node.column
        if isinstance(node, Scalar) and place in quoted:
            expected.append(("Scalar", quoted[place], "text"))
        else:
            expected.append(_signature(node))
    same_repeats = [len(tree.repeats) for tree in old] == [len(tree.repeats) for tree in new]
    return same_repeats and expected == [_signature(node) for node in _nodes(new)]


def _signature(node: Node) -> tuple[str, str, str]:
    if isinstance(node, Scalar):
        return "Scalar", node.text, node.meaning
    size = len(node.items) if isinstance(node, Items) else len(node.pairs) + len(node.merged)
    return type(node).__name__, str(size), ""
