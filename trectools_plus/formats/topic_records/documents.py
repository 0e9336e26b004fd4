"""The records of topics in JSON, YAML and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.interchange.names import (
    CASE_FIELDS,
    TOPIC_FIELDS,
    find_fields,
    normalize,
)
from trectools_plus.formats.interchange.table_files import Header, find_header, read_table
from trectools_plus.formats.nodes.model import (
    MAX_DIGITS,
    Items,
    Mapping,
    Node,
    Scalar,
    Tree,
    TreeError,
    describe,
)
from trectools_plus.formats.nodes.parsing import parse_json
from trectools_plus.formats.topic_records.lines import BLANKS, numbered_lines
from trectools_plus.formats.topic_records.making import (
    SAMPLED,
    choose_fields,
    is_main_text,
)
from trectools_plus.formats.topic_records.model import (
    Record,
    Records,
    Report,
    TopicOptions,
    TopicProblem,
    report_tree,
    syntax_problem,
)
from trectools_plus.formats.topic_records.schema import (
    CASE_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    TEXT_KEYS,
    TOP_KEYS,
)

_LISTS = ("topics", "queries", "questions", "data", "records", "items", "claims", "test_cases")
_TURNS = ("turn", "turns", "utterances", "conversation")
_NEAR = 0.75
_SEPARATORS = (";", "|", ",")
"""Separators of several document ids or grades in one value, in order of preference."""


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
    root = tree.root
    records: list[Record] | None = None
    if isinstance(root, Items):
        records = _records_in_list(root, options, test_sets=test_sets)
    elif isinstance(root, Mapping):
        cases = next((root.fields[name] for name in TOP_KEYS[1:] if name in root.pairs), None)
        if isinstance(cases, Items) and (test_sets or "metadata" not in root.pairs):
            records = _records_in_list(cases, options, test_sets=test_sets)
        elif isinstance(cases, Mapping) and test_sets:
            records = _records_by_key(cases)
        elif cases is None:
            lists = [root.fields[name] for name in root.pairs if normalize(name) in _LISTS]
            if len(lists) == 1 and isinstance(lists[0], Items):
                records = _records_in_list(lists[0], options, test_sets=False, top=False)
            else:
                records = _records_by_key(root)
    return None if records is None else Records(records, syntax)


def record_of(mapping: Mapping) -> Record:
    """Return the record of a mapping; scalars in other mappings are fields with dotted names.

    Raises:
        TreeError: If it is a conversation, whose turns are several queries.
    """
    fields: dict[str, Scalar] = {}
    hidden: dict[str, Scalar] = {}
    for name, (_, value) in mapping.pairs.items():
        if isinstance(value, Scalar):
            fields[name] = value
            continue
        hidden[name] = Scalar(value.line, "", None)
        if isinstance(value, Items) and normalize(name) in _TURNS:
            remedy = "write one topic for each turn, with an id and a text"
            raise TreeError("turns of a conversation are not read", value.line, remedy)
        if isinstance(value, Mapping):
            hidden |= {f"{name}.{key}": scalar for key, scalar in value.scalars.items()}
    return Record(mapping.line, {**fields, **hidden}, hidden=frozenset(hidden))


def _records_in_list(
    items: Items, options: TopicOptions, *, test_sets: bool, top: bool = True
) -> list[Record] | None:
    cases = [case for case in items.items if isinstance(case, Mapping)]
    if not cases or len(cases) < len(items.items):
        return None
    names = dict.fromkeys(name for case in cases[:SAMPLED] for name in case.pairs)
    is_test_set = any(name in JUDGED_KEYS for name in names)
    if top and not options.names_fields:
        # Topics that have only the fields of test cases, which have a schema.
        is_own = all(_is_near(name, CASE_KEYS) for name in names)
        is_test_set |= is_own and any(name in ID_KEYS + TEXT_KEYS for name in names)
    if is_test_set and not test_sets:
        return None
    return list(map(record_of, cases))


def _records_by_key(root: Mapping) -> list[Record] | None:
    """Return the records of ``{id: text}`` and ``{id: {field: text}}``."""
    if any(_is_near(name, TOP_KEYS) for name in list(root.pairs)[:10]):
        return None
    if all(isinstance(value, Scalar) and value.meaning == "text" for value in root.fields.values()):
        if any(map(is_main_text, root.pairs)):
            return None  # the fields of one record
        return [Record(v.line, {"text": v}, name) for name, v in root.scalars.items()] or None
    records = []
    for key, value in root.pairs.values():
        if not isinstance(value, Mapping):
            return None
        record = record_of(value)
        record.query_id, record.line = key.text, key.line
        records.append(record)
    has_text = choose_fields(Records(records, ""), TopicOptions()).text_fields
    return records if has_text else None  # not {query_id: {doc_id: grade}}


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
    return "text" in fields and bool({"doc_id", "doc_ids"} & fields.keys())


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
        Record(line, _row(line, zip(header.names, values, strict=False)).scalars)
        for line, values in _rows(text, header)
    ]
    return Records(records, f"{header.format} with a header")


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
        TreeError: See :func:`find_table_records`; also if the numbers of documents and grades
            differ.
    """
    places = find_fields(header.names, CASE_FIELDS)
    names = {place: name for name, place in places.items()}
    cases: dict[tuple[str, str], tuple[Mapping, Items]] = {}
    texts: dict[str, str] = {}
    for line, values in _rows(text, header):
        fields = {name: values[place] for name, place in places.items()}
        query_id = fields.get("query_id", "")
        texts.setdefault(query_id, fields["text"])
        key = query_id, fields["text"] or texts[query_id]
        if key not in cases:
            renamed = (names.get(place, name) for place, name in enumerate(header.names))
            pairs = zip(renamed, values, strict=False)
            case = _row(line, (pair for pair in pairs if pair[0] not in _JUDGED))
            judged = Items(line)
            case.pairs["relevant"] = Scalar.of_text(line, "relevant"), judged
            cases[key] = case, judged
        cases[key][1].items += _judgments(line, fields)
    queries = Items(header.line + 1, [case for case, _ in cases.values()])
    name = Scalar.of_text(header.line, "test_cases")
    return Tree(Mapping(header.line, {name.text: (name, queries)}))


_JUDGED = frozenset({"relevant", "doc_id", "doc_ids", "grade", "span"})


def _row(line: int, values: Iterable[tuple[str, str]]) -> Mapping:
    """Return a mapping of the values that are not empty; the first of equal names counts."""
    mapping = Mapping(line)
    for name, value in values:
        if name and value:
            mapping.pairs.setdefault(
                name, (Scalar.of_text(line, name), Scalar.of_text(line, value))
            )
    return mapping


def _judgments(line: int, fields: dict[str, str]) -> list[Node]:
    """Return the documents of a row: mappings with grades, or only ids."""
    doc_ids = [fields["doc_id"]] if fields.get("doc_id") else _split(fields.get("doc_ids", ""))
    span = fields.get("span", "")
    if "grade" not in fields and not span:
        return [Scalar.of_text(line, doc_id) for doc_id in doc_ids]
    grades = _split(fields.get("grade", "1"))
    if len(grades) == 1:
        grades *= len(doc_ids)
    if len(grades) != len(doc_ids):
        what = f"{len(doc_ids)} relevant documents but {len(grades)} grades"
        raise TreeError(what, line, "write one grade, or one for each document")
    nodes: list[Node] = []
    for doc_id, grade in zip(doc_ids, grades, strict=True):
        node = _row(line, [("doc_id", doc_id), ("span", span)])
        node.pairs["grade"] = Scalar.of_text(line, "grade"), Scalar(line, grade, _number(grade))
        nodes.append(node)
    return nodes


def _number(text: str) -> object:
    """Return a grade as a number; a text if it is none."""
    if not re.match(DECIMAL, text) or len(text) > MAX_DIGITS:
        return text
    return int(text) if re.match(INTEGER, text) else float(text)


def _split(text: str) -> list[str]:
    separator = next((one for one in _SEPARATORS if one in text), None)
    return [part.strip() for part in text.split(separator) if part.strip()]


def _rows(text: str, header: Header) -> Iterable[tuple[int, list[str]]]:
    """Return the line and the values of each row.

    Raises:
        TreeError: See :func:`find_table_records`.
    """
    table = read_table(text, header)
    if len(table.misshapen):
        line, n_values, _ = table.misshapen.rows()[0]
        if n_values == 1:
            raise TreeError("the quotes of a value do not match", line)
        remedy = 'quote values that contain the separator: "a,b"'
        what = f"{n_values} values, but the header names {len(header.names)}"
        raise TreeError(what, line, remedy)
    return [(line, list(values)) for line, *values in table.rows.iter_rows()]


def find_json_lines(text: str, report: Report) -> Records:
    """Return the objects of JSON Lines; report the other lines."""
    records: list[Record] = []
    for line, content in numbered_lines(text):
        if not content.strip(BLANKS):
            continue
        try:
            tree = parse_json(content, line)
            report_tree(tree, report)
            if isinstance(tree.root, Mapping):
                records.append(record_of(tree.root))
            elif tree.root is not None:
                what = f"expected a JSON object but got {describe(tree.root)}"
                report(TopicProblem("T104", line, what, remedy="Write one JSON object per line"))
        except TreeError as error:
            report(syntax_problem(error, error.remedy or "Write one JSON object per line"))
    return Records(records, "JSON Lines", is_plain=True, is_typed=True)
