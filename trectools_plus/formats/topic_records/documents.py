"""The records of topics in JSON, YAML and tables, and test cases in tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.interchange.names import (
    CASE_FIELDS,
    TOPIC_FIELDS,
    find_fields,
    normalize,
)
from trectools_plus.formats.interchange.table_files import Header, find_header, read_table
from trectools_plus.formats.nodes.model import Node, Tree, TreeError, mapping_of, text_node
from trectools_plus.formats.nodes.parsing import parse_json
from trectools_plus.formats.topic_records.making import SAMPLED, choose_fields
from trectools_plus.formats.topic_records.model import (
    DEFAULTS,
    Record,
    Records,
    Report,
    TopicOptions,
    report_tree,
    syntax_problem,
)
from trectools_plus.formats.topic_records.schema import (
    CASE_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    TEXT_KEYS,
    TOP_KEYS,
    TOPIC_TEXTS,
)

_LISTS = ("topics", "queries", "questions", "data", "records", "items", "claims", "test_cases")
_TURNS = ("turn", "turns", "utterances", "conversation")
_NEAR = 0.75


def find_records(
    tree: Tree, syntax: str, options: TopicOptions, *, test_sets: bool = False
) -> Records | None:
    """Find the records of a document.

    Args:
        tree: The document.
        syntax: ``JSON`` or ``YAML``, for messages.
        options: The fields.
        test_sets: Return the cases of a test set too.

    Returns:
        The records; ``None`` if the document is a test set, or neither.
    """
    root = tree.root or Node(1, None)
    cases = next((root.fields[name] for name in TOP_KEYS[1:] if name in root.fields), None)
    lists = [value for name, value in root.fields.items() if normalize(name) in _LISTS]
    records: list[Record] | None = None
    if root.items:
        records = _records_in_list(root.items, test_sets, is_bare=options == DEFAULTS)
    elif cases is not None and (test_sets or (cases.items and "metadata" not in root.fields)):
        in_list = _records_in_list(cases.items, test_sets, is_bare=options == DEFAULTS)
        records = in_list or _records_by_key(cases)
    elif cases is None and len(lists) == 1 and lists[0].items:
        records = _records_in_list(lists[0].items, test_sets=False)
    elif cases is None:
        records = _records_by_key(root)
    return None if records is None else Records(records, syntax)


def _record_of(mapping: Node) -> Record:
    """Return the record of a mapping; scalars in other mappings are fields with dotted names.

    Raises:
        TreeError: If it is a conversation, whose turns are several queries.
    """
    fields: dict[str, Node] = {}
    hidden: dict[str, Node] = {}
    for name, value in mapping.fields.items():
        if value.is_scalar:
            fields[name] = value
            continue
        if value.items and normalize(name) in _TURNS:
            remedy = "write one topic for each turn, with an id and a text"
            raise TreeError("turns of a conversation are not read", value.line, remedy)
        inner = {f"{name}.{key}": node for key, node in value.fields.items() if node.is_scalar}
        hidden |= {name: Node(value.line, None), **inner}
    return Record(mapping.line, {**fields, **hidden}, hidden=frozenset(hidden))


def _records_in_list(
    items: list[Node], test_sets: bool, *, is_bare: bool = False
) -> list[Record] | None:
    """Return the records of a list; ``None`` for a test set unless ``test_sets``.

    A ``is_bare`` list of which the user names no fields is a test set too if it has only the fields
    of test cases, which have a schema.
    """
    names = dict.fromkeys(name for case in items[:SAMPLED] for name in case.fields)
    is_test_set = any(name in JUDGED_KEYS for name in names)
    if is_bare and any(name in ID_KEYS + TEXT_KEYS for name in names):
        is_test_set |= all(_is_near(name, CASE_KEYS) for name in names)
    if (is_test_set and not test_sets) or not all(case.fields for case in items):
        return None
    return list(map(_record_of, items))


def _records_by_key(root: Node) -> list[Record] | None:
    """Return the records of ``{id: text}`` and ``{id: {field: text}}``."""
    nodes = root.fields.values()
    if any(_is_near(name, TOP_KEYS) for name in list(root.fields)[:10]):
        return None
    if all(node.meaning == "text" for node in nodes):
        if any(normalize(name) in TOPIC_TEXTS[:9] for name in root.fields):
            return None  # the fields of one record
        return [Record(node.line, {"text": node}, key) for key, node in root.fields.items()] or None
    if not all(node.fields for node in nodes):
        return None
    records = [_record_of(node) for node in nodes]
    for node, record in zip(nodes, records, strict=True):
        assert node.key is not None
        record.query_id, record.line = node.key.text, node.key.line
    return records if choose_fields(records, DEFAULTS)[1] else None  # or {query_id: {doc_id: 1}}


def _is_near(name: str, known: Sequence[str]) -> bool:
    """Return true for a known name, or a misspelling of it."""
    return name in known or bool(get_close_matches(name[:64].lower(), known, 1, _NEAR))


def find_topics_header(text: str) -> Header | None:
    """Return the header of a table of topics or of a test set; ``None`` for another file.

    Args:
        text: The file or its beginning, without byte order mark.
    """
    return find_header(
        text,
        lambda names: (
            {"query_id", "text"} <= find_fields(names, TOPIC_FIELDS).keys() or has_judgments(names)
        ),
    )


def has_judgments(names: Sequence[str]) -> bool:
    """Return whether a header is that of test cases: texts with their relevant documents."""
    fields = find_fields(names, CASE_FIELDS)
    return {"text", "doc_id"} <= fields.keys()


def find_table_records(text: str, header: Header) -> Records:
    """Return the rows of a table; values that are empty or have no name are left out.

    If a name occurs twice, the first column counts.

    Args:
        text: The file, without byte order mark.
        header: Its header.

    Raises:
        TreeError: At a row with more values than names, or with quotes that do not match.
    """
    records = [
        Record(line, {name: text_node(line, value) for name, value in values.items()})
        for line, values in _rows(text, header, header.names)
    ]
    return Records(records, f"{header.format} with a header")


def parse_cases(text: str, header: Header) -> Tree:
    """Parse a table of test cases to ``{test_cases: [{query_id, text, relevant: […]}]}``.

    Rows with the same id and text are one case; the text can be omitted after the first row. A row
    has one document, with its grade and span if there are such columns.

    Args:
        text: The file, without byte order mark.
        header: Its header, which ``has_judgments``.

    Raises:
        TreeError: See :func:`find_table_records`.
    """
    known = {place: name for name, place in find_fields(header.names, CASE_FIELDS).items()}
    names = [known.get(place, name) for place, name in enumerate(header.names)]
    cases: dict[tuple[str, str], Node] = {}
    texts: dict[str, str] = {}
    for line, values in _rows(text, header, names):
        query_id = values.get("query_id", "")
        words = values.get("text") or texts.get(query_id, "")
        texts.setdefault(query_id, words)
        nodes = {name: text_node(line, value) for name, value in values.items()}
        judged = {name: nodes.pop(name) for name in _JUDGED if name in nodes}
        if "grade" in judged:
            judged["grade"].data = _number(values["grade"])
        case = mapping_of(line, {**nodes, "relevant": Node(line, [])})
        relevant = cases.setdefault((query_id, words), case).fields["relevant"]
        if judged.keys() == {"doc_id"}:
            relevant.items.append(judged["doc_id"])
        elif judged:
            relevant.items.append(mapping_of(line, {"grade": Node(line, 1, "1"), **judged}))
    queries = Node(header.line + 1, list(cases.values()))
    return Tree(mapping_of(header.line, {"test_cases": queries}))


_JUDGED = ("doc_id", "grade", "span")


def _number(text: str) -> object:
    """Return a grade as a number; a text if it is none, or has hundreds of digits."""
    if not re.match(DECIMAL, text) or len(text) > 300:
        return text
    return int(text) if re.match(INTEGER, text) else float(text)


def _rows(text: str, header: Header, names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line of each row and its values; the first of equal names counts.

    Raises:
        TreeError: See :func:`find_table_records`.
    """
    table = read_table(text, header)
    for line, n_values, _ in table.misshapen.rows():
        what = f"{n_values} values, but the header names {len(header.names)}"
        raise TreeError(what, line, 'quote values that contain the separator or quotes: "a,b"')
    for line, *values in table.rows.iter_rows():
        named = dict(zip(reversed(names), reversed(values), strict=True))
        yield line, {name: named[name] for name in names if name and named[name]}


def find_json_lines(text: str, report: Report) -> Records:
    """Return the objects of JSON Lines; report the other lines."""
    records: list[Record] = []
    remedy = "Write one JSON object per line"
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            tree = parse_json(content, line)
            report_tree(tree, report)
            if tree.root is not None and tree.root.meaning != "mapping":
                raise TreeError(f"expected a JSON object but got {tree.root.describe()}", line)
            records += [] if tree.root is None else [_record_of(tree.root)]
        except TreeError as error:
            report(syntax_problem(error, error.remedy or remedy))
    return Records(records, "JSON Lines", is_plain=True, is_typed=True)
