"""Fix topics and test sets: all fixes in TSV, quotes around values in other forms."""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from trectools_plus.formats.nodes.model import Items, Node, Scalar, Tree, TreeError
from trectools_plus.formats.nodes.parsing import MAX_DOCUMENT_BYTES, parse_document, parse_json
from trectools_plus.formats.topic_records.forms import Form, form_of
from trectools_plus.formats.topic_records.json_lines import iter_json_lines
from trectools_plus.formats.topic_records.lines import with_tab
from trectools_plus.formats.topic_records.model import DEFAULTS, TopicProblem
from trectools_plus.formats.topic_records.schema import is_header
from trectools_plus.text import plural
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.fixes.engine import (
    NotFixableError,
    count_lines,
    refuse_overwriting,
    write_fixed_copy,
)
from trectools_plus.validation.fixes.session import FixOptions, FixSession, LineNumbers
from trectools_plus.validation.fixes.summary import FixSummary
from trectools_plus.validation.topics.cases import read_test_set
from trectools_plus.validation.views.topics import Problems

_QUOTED = ("T114", "T115", "T117")

Position = tuple[int, int]
"""Line and character column of a value, from 1."""


def quote_values(text: str, form: Form, session: FixSession) -> str:
    """Put ids and texts in quotes that loaders read as something else (T114, T115, T117).

    Args:
        text: The file, with LF.
        form: Its form: ``yaml``, ``json`` or ``jsonl``.
        session: The requested fixes, and the log.

    Returns:
        The fixed text, with the same number of lines. The text is unchanged if it has another form
        or cannot be parsed.
    """
    try:
        codes = _codes(text, form)
        trees = _trees(text, form, codes)
    except TreeError:
        return text
    wanted = {place: code for place, code in codes.items() if session.wants(code)}
    lines = text.split("\n")
    edits: dict[Position, str] = {}
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


def _codes(text: str, form: Form) -> dict[Position, str]:
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


def _trees(text: str, form: Form, places: Iterable[Position]) -> list[Tree]:
    """Return the parsed file, or its parsed lines, with the values at some places."""
    numbers = sorted({line for line, _ in places})
    if form != "jsonl":
        return [_parse(text, form)] if numbers else []
    lines = text.split("\n")
    return [parse_json(lines[number - 1], number) for number in numbers]


def _parse(text: str, form: Form) -> Tree:
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


def _apply_edits(lines: list[str], edits: Mapping[Position, str]) -> str:
    """Put the texts at some places in quotes."""
    written = lines.copy()
    # From the right, so that columns further left do not change.
    for (line, column), old in sorted(edits.items(), reverse=True):
        before, after = written[line - 1][: column - 1], written[line - 1][column - 1 + len(old) :]
        written[line - 1] = before + json.dumps(old, ensure_ascii=False) + after
    return "\n".join(written)


def _differs_only_in_quotes(
    old: list[Tree],
    after: str,
    form: Form,
    places: Iterable[Position],
    quoted: Mapping[Position, str],
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


_BLANKS = " \t\x0b\x0c"
_ENCODING_DECLARED = re.compile(r"<\?xml[^>]*\sencoding\s*=\s*[\"'](?!utf-?8[\"'])", re.IGNORECASE)


def fix_topics(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    options: FixOptions = FixOptions(),  # noqa: B008, it is frozen
) -> FixSummary:
    """Write a fixed copy of topics or a test set; see :func:`fix_run`.

    TSV supports all fixes. In YAML, JSON and JSON Lines, encoding and line ends are fixed, and ids
    and texts are put in quotes (T114, T115, T117). In SGML and XML, only encoding and line ends are
    fixed.

    Args:
        path: The topics; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``T113``.
        options: Options of single fixes.

    Returns:
        The fixes applied and not applied, and the changed lines.

    Raises:
        UsageError: If the output is the input, or a code has no fix for topics.
        InputError: If a file cannot be read, or the output cannot be written.
    """
    refuse_overwriting(output, (path,))
    session = FixSession(CATALOGUE, "topics", frozenset(codes), options)
    return write_fixed_copy(path, output, session, _edit_topics)


def _edit_topics(path: str, data: bytes, session: FixSession) -> tuple[bytes, LineNumbers]:
    """Fix topics or a test set."""
    text = _readable_text(data)
    form = form_of(path, text)
    form = "tsv" if form == "blank" else form
    kept = list(
        _fix_lines(text, session) if form == "tsv" else _fix_structured(text, form, session)
    )
    lines = [line for _, line in kept]
    if not any(line.strip(_BLANKS) for line in lines):
        raise NotFixableError("it has no topics (F101)")
    start = "\n".join(lines[:100])
    if form == "tsv" and form_of(path, start) != "tsv":
        # A comment was removed.
        raise NotFixableError("without its first lines, it is not TSV")
    if form == "xml" and "F103" in session.requested and _ENCODING_DECLARED.match(start.lstrip()):
        raise NotFixableError(
            "its first line names another encoding than UTF-8; change it there as well"
        )
    # Other forms need no line end at the end; an existing one is an empty line in ``kept``.
    is_line_based = form in ("tsv", "jsonl")
    written = "\n".join(lines).encode() + b"\n" * is_line_based
    origin = np.array([number for number, _ in kept], dtype=np.uint32)
    return written, origin[: count_lines(written)]


def _readable_text(data: bytes) -> str:
    """Return the text of a file whose lines can be read; refuse another file."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotFixableError(f"line {line} is not UTF-8, --fix F103 converts it") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise NotFixableError(f"NUL byte on line {line} (F106)")
    if re.search(r"\r(?!\n|\Z)", text):
        raise NotFixableError("single CR within a line, a line end for some readers (F105)")
    return text


def _fix_structured(text: str, form: Form, session: FixSession) -> Iterator[tuple[int, str]]:
    """Yield number and fixed text of each line that is kept, for all forms but TSV."""
    n_crlf = text.count("\r\n")
    if n_crlf:
        session.done("F104", n_crlf)
    lines = quote_values(text.replace("\r\n", "\n"), form, session).split("\n")
    if form != "jsonl":
        yield from enumerate(lines, 1)
        return
    if lines[-1]:
        session.done("F109", 1)
    lines = lines if lines[-1] else lines[:-1]
    n_blank = sum(not line.strip(_BLANKS) for line in lines)
    if n_blank:
        session.done("F108", n_blank)
    yield from ((number, line) for number, line in enumerate(lines, 1) if line.strip(_BLANKS))


def _fix_lines(data: str, session: FixSession) -> Iterator[tuple[int, str]]:
    """Yield number and fixed text of each line of TSV that is kept, and log the fixes."""
    counts: Counter[str] = Counter()
    counts["F109"] = int(not data.endswith("\n"))
    texts: dict[str, str] = {}
    first, n_without_tab = True, 0
    for number, raw in enumerate(data.removesuffix("\n").split("\n"), 1):
        line = raw.removesuffix("\r")
        counts["F104"] += line != raw
        if line.startswith("#") or not line.strip(_BLANKS):
            counts["F107" if line.startswith("#") else "F108"] += 1
            continue
        if "\t" not in line and "T101" in session.requested and (tabbed := with_tab(line)):
            counts["T101"] += 1
            line = tabbed
        query_id, tab, text = line.partition("\t")
        n_without_tab += not tab
        if tab and first and is_header(query_id, text):
            counts["T103"] += 1
            first = False
            continue
        first = False
        if tab:
            counts["T102"] += "\t" in text
            query_id, text = _formatted_id(query_id, session, counts), text.replace("\t", " ")
            stripped = text.strip(" ")
            if texts.get(query_id) == stripped:
                counts["T111"] += 1
                continue
            texts.setdefault(query_id, stripped)
            line = f"{query_id}\t{text}"
        yield number, line
    for rule in CATALOGUE.fixable("topics"):
        if counts[rule.code]:
            session.done(rule.code, counts[rule.code])
    if n_without_tab and "T101" in session.requested:
        session.skip(
            "T101", f"{plural(n_without_tab, 'line')} without an id and a blank before the text"
        )


def _formatted_id(query_id: str, session: FixSession, counts: Counter[str]) -> str:
    """Strip an id and replace its inner white space by ``_``, if T113 was requested."""
    formatted = re.sub(r"\s+", "_", query_id.strip(" "))
    if "T113" not in session.requested or formatted in ("", query_id):
        return query_id
    counts["T113"] += 1
    return formatted
