"""A table with a header as a tree, as if it were a JSON list of objects.

Topics and test sets are read from trees, so that all their formats have the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.interchange.delimited import Header, find_header, read_table
from trectools_plus.formats.interchange.names import CASE_FIELDS, TOPIC_FIELDS, find_fields
from trectools_plus.formats.nodes.model import Items, Mapping, Node, Scalar, Tree, TreeError

_SEPARATORS = (";", "|", ",")
"""Separators of several document ids or grades in one value, in order of preference."""


def find_topics_header(text: str) -> Header | None:
    """Return the header of a table of topics or of a test set; ``None`` for another file.

    Args:
        text: The file or its beginning, without byte order mark.
    """
    return find_header(text, _is_topics_header)


def _is_topics_header(names: Sequence[str]) -> bool:
    return {"query_id", "text"} <= find_fields(names, TOPIC_FIELDS).keys() or has_judgments(names)


def has_judgments(names: Sequence[str]) -> bool:
    """Return whether a header is that of test cases: texts with their relevant documents."""
    found = find_fields(names, CASE_FIELDS)
    return "text" in found and bool({"doc_id", "doc_ids"} & found.keys())


def parse_table(text: str, header: Header) -> Tree:
    """Parse a table to a list of mappings from the names of the columns to texts.

    Empty values and columns without a name are left out. If a name occurs twice, the first column
    counts.

    Args:
        text: The file, without byte order mark.
        header: Its header.

    Raises:
        TreeError: At a row with more values than names, or with quotes that do not match.
    """
    names = [(place, name) for place, name in enumerate(header.names) if name]
    root = Items(header.line + 1, 1)
    n_values = 1
    for line, values in _rows(text, header):
        pairs: dict[str, tuple[Scalar, Node]] = {}
        for place, name in names:
            if values[place] and name not in pairs:
                pairs[name] = Scalar(header.line, 1, name), Scalar(line, 1, values[place])
        root.items.append(Mapping(line, 1, pairs))
        n_values += 2 * len(pairs) + 1
    return Tree(root, n_values=n_values)


def parse_cases(text: str, header: Header) -> Tree:
    """Parse a table of test cases to ``{test_cases: [{query_id, text, relevant: […]}]}``.

    Rows with the same id and text are one case; the text can be omitted after the first row. A row
    has one document and its grade, or several documents with ``;``, ``|`` or ``,`` between them,
    with a grade for each or for all. Without grades, the documents are a list. A ``span`` is that
    of all documents of the row.

    Args:
        text: The file, without byte order mark.
        header: Its header, which ``has_judgments``.

    Raises:
        TreeError: As :func:`parse_table` does; or if the numbers of documents and grades differ.
    """
    fields = find_fields(header.names, CASE_FIELDS)
    cases: dict[tuple[str, str], tuple[Mapping, Items]] = {}
    texts: dict[str, str] = {}
    n_values = 3
    for line, values in _rows(text, header):
        given = {name: values[place] for name, place in fields.items()}
        query_id = given.get("query_id", "")
        key = query_id, given["text"] or texts.get(query_id, "")
        if key not in cases:
            texts.setdefault(query_id, given["text"])
            pairs = _pairs(line, ((name, given[name]) for name in fields if name in _TEXT_FIELDS))
            rest = (
                (name, values[place])
                for place, name in enumerate(header.names)
                if place not in fields.values() and name not in _RESERVED
            )
            pairs |= _pairs(line, rest)
            judged = Items(line, 1)
            pairs["relevant"] = Scalar(line, 1, "relevant"), judged
            cases[key] = Mapping(line, 1, pairs), judged
            n_values += 2 * len(pairs) + 2
        for node in _judgments(line, given):
            cases[key][1].items.append(node)
            n_values += 5
    queries = Items(header.line + 1, 1, [case for case, _ in cases.values()])
    name = Scalar(header.line, 1, "test_cases")
    return Tree(Mapping(header.line, 1, {name.text: (name, queries)}), n_values=n_values)


_TEXT_FIELDS = ("query_id", "text", "language", "category", "query_type", "difficulty")
_RESERVED = frozenset({"", "relevant", *_TEXT_FIELDS})


def _pairs(line: int, values: Iterable[tuple[str, str]]) -> dict[str, tuple[Scalar, Node]]:
    return {
        name: (Scalar(line, 1, name), Scalar(line, 1, value)) for name, value in values if value
    }


def _judgments(line: int, given: dict[str, str]) -> list[Node]:
    """Return the documents of a row: mappings with grades, or only ids."""
    doc_ids = [given["doc_id"]] if given.get("doc_id") else _split(given.get("doc_ids", ""))
    span = given.get("span", "")
    if "grade" not in given and not span:
        return [Scalar(line, 1, doc_id) for doc_id in doc_ids]
    grades = _split(given.get("grade", "1"))
    if len(grades) == 1:
        grades *= len(doc_ids)
    if len(grades) != len(doc_ids):
        what = f"{len(doc_ids)} relevant documents but {len(grades)} grades"
        raise TreeError(what, line, remedy="write one grade, or one for each document")
    nodes: list[Node] = []
    for doc_id, grade in zip(doc_ids, grades, strict=True):
        pairs = _pairs(line, [("doc_id", doc_id), ("span", span)])
        pairs["grade"] = Scalar(line, 1, "grade"), _number(line, grade)
        nodes.append(Mapping(line, 1, pairs))
    return nodes


def _number(line: int, text: str) -> Scalar:
    if re.match(INTEGER, text):
        return Scalar(line, 1, text, "integer")
    return Scalar(line, 1, text, "number" if re.match(DECIMAL, text) else "text")


def _split(text: str) -> list[str]:
    separator = next((one for one in _SEPARATORS if one in text), None)
    return [part.strip() for part in text.split(separator) if part.strip()]


def _rows(text: str, header: Header) -> Iterable[tuple[int, list[str]]]:
    """Return the line and the values of each row.

    Raises:
        TreeError: See :func:`parse_table`.
    """
    table = read_table(text, header)
    if len(table.misshapen):
        line, n_values, _ = table.misshapen.rows()[0]
        if n_values == 1:
            raise TreeError("the quotes of a value do not match", line)
        remedy = 'quote values that contain the separator: "a,b"'
        what = f"{n_values} values, but the header names {len(header.names)}"
        raise TreeError(what, line, remedy=remedy)
    return [(line, list(values)) for line, *values in table.rows.iter_rows()]
