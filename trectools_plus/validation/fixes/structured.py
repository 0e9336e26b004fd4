"""Put values in YAML, JSON and JSON Lines in quotes.

The text is edited in place, so comments, order and layout do not change. The edits are discarded
unless the new text parses to the same tree, apart from the quoted values.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from trectools_plus.formats.nodes.model import Items, Node, Scalar, Tree, TreeError
from trectools_plus.formats.nodes.parsing import MAX_DOCUMENT_BYTES, parse_json
from trectools_plus.formats.topic_records.forms import Form
from trectools_plus.formats.topic_records.json_lines import iter_json_lines
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicProblem
from trectools_plus.validation.draft import Job
from trectools_plus.validation.topics.cases import read_test_set
from trectools_plus.validation.topics.view import Problems

_QUOTED = ("T114", "T115", "T117")

Place = tuple[int, int]
"""Line and character column of a value, from 1."""


def quote_values(text: str, form: Form, job: Job) -> str:
    """Put ids and texts in quotes that loaders read as something else (T114, T115, T117).

    Args:
        text: The file, with LF.
        form: Its form: ``yaml``, ``json`` or ``jsonl``.
        job: The requested fixes, and the log.

    Returns:
        The fixed text, with the same number of lines. The text is unchanged if it has another form
        or cannot be parsed.
    """
    try:
        codes = _codes(text, form)
        trees = _trees(text, form, codes)
    except TreeError:
        return text
    wanted = {place: code for place, code in codes.items() if job.wants(code)}
    lines = text.split("\n")
    edits: dict[Place, str] = {}
    for node in _nodes(trees):
        place = node.line, node.column
        if isinstance(node, Scalar) and place in wanted:
            rest = lines[node.line - 1][node.column - 1 :]
            found = _text_to_quote(rest, node, wanted[place])
            if found is not None:
                edits[place] = found
    fixed = _apply_edits(lines, edits)
    if not _differs_only_in_quotes(trees, fixed, form, codes, edits):
        edits, fixed = {}, text
    for code in _QUOTED:
        places_of_code = [place for place, needed in wanted.items() if needed == code]
        n_done = sum(place in edits for place in places_of_code)
        if n_done:
            job.done(code, n_done)
        if n_done < len(places_of_code):
            n_all = len(places_of_code)
            job.skip(
                code, f"{n_all - n_done:,} of {n_all:,} have a tag, an anchor or several lines"
            )
    return fixed


class _Places(Problems):
    """The problems in a file, and the places of the values that quotes would fix."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[Place, str] = {}

    def add(self, problem: TopicProblem) -> None:
        super().add(problem)
        if problem.code in _QUOTED and problem.fix != "no" and problem.column is not None:
            place = problem.line, problem.column
            # One pair of quotes fixes a value with several problems.
            self.codes.setdefault(place, problem.code)


def _codes(text: str, form: Form) -> dict[Place, str]:
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


def _trees(text: str, form: Form, places: Iterable[Place]) -> list[Tree]:
    """Return the parsed file, or its parsed lines, with the values at some places."""
    numbers = sorted({line for line, _ in places})
    if form != "jsonl":
        return [_parse(text, form)] if numbers else []
    lines = text.split("\n")
    return [parse_json(lines[number - 1], number) for number in numbers]


def _parse(text: str, form: Form) -> Tree:
    if form == "json":
        return parse_json(text)
    from trectools_plus.formats.nodes.yaml import parse_yaml

    return parse_yaml(text)


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


def _apply_edits(lines: list[str], edits: Mapping[Place, str]) -> str:
    """Put the texts at some places in quotes."""
    written = lines.copy()
    # From the right, so that columns further left do not change.
    for (line, column), old in sorted(edits.items(), reverse=True):
        before, after = written[line - 1][: column - 1], written[line - 1][column - 1 + len(old) :]
        written[line - 1] = before + json.dumps(old, ensure_ascii=False) + after
    return "\n".join(written)


def _differs_only_in_quotes(
    old: list[Tree], after: str, form: Form, places: Iterable[Place], quoted: Mapping[Place, str]
) -> bool:
    """Return whether two texts have the same tree, apart from values quoted in ``after``."""
    try:
        new = _trees(after, form, places)
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
