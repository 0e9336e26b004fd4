"""Trees of JSON, YAML and tables, and the records of topics in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
    AliasResolver,
    Items,
    Mapping,
    Node,
    Scalar,
    TooMuchError,
    Tree,
    TreeError,
)
from trectools_plus.formats.topic_records.making import (
    choose_fields,
    choose_language,
    format_of,
    is_main_text,
    is_text_name,
    names_of,
    same_language,
)
from trectools_plus.formats.topic_records.model import (
    Record,
    Records,
    Report,
    TopicOptions,
    TopicProblem,
)
from trectools_plus.formats.topic_records.schema import (
    CASE_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    TEXT_KEYS,
    TOP_KEYS,
)

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


_LISTS = ("topics", "queries", "questions", "data", "records", "items", "claims", "test_cases")
_TURNS = ("turn", "turns", "utterances", "conversation", "dialogue", "responses")
_TURN_IDS = ("turnid", "number", "turnnumber", "turn", "id", "qid")
_LANGUAGES = ("lang", "language", "languagecode")
_CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]+)?")
_NEAR = 0.75
_MAX_SAMPLED = 1000


def find_records(
    tree: Tree, syntax: str, options: TopicOptions, report: Report, *, test_sets: bool = False
) -> Records | None:
    """Find the records of a document.

    Args:
        tree: The document.
        syntax: ``JSON`` or ``YAML``, for messages.
        options: The fields and the language.
        report: Takes the problem of aliases that repeat too many values.
        test_sets: Return the cases of a test set too.

    Returns:
        The records; ``None`` if the document is a test set, or neither.
    """
    if tree.root is None:
        return None
    finder = _Finder(AliasResolver(tree.n_values), options)
    finder.test_sets = test_sets
    try:
        found = finder.find(tree.root)
    except TooMuchError as error:
        what = "aliases repeat too many values"
        report(TopicProblem("T104", error.node.line, what, error.node.column))
        return None
    if found is None:
        return None
    name = finder.format_name or format_of(finder.names)
    place = "the keys" if finder.has_keys else finder.place
    languages = tuple(dict.fromkeys(finder.languages))
    chosen = next(iter(finder.chosen), None)
    return Records(
        found, f"{name} {syntax}".strip(), place=place, language=chosen, languages=languages
    )


def records_of_line(
    root: Mapping, n_values: int, options: TopicOptions
) -> tuple[list[Record], str | None, tuple[str, ...]]:
    """Return the records of one line of JSON Lines, the chosen language, and all its languages."""
    finder = _Finder(AliasResolver(n_values), options)
    found = finder.records_of(root)
    return found, next(iter(finder.chosen), None), tuple(dict.fromkeys(finder.languages))


class _Finder:
    """Finds the records of a document, and records what was found.

    Args:
        aliases: Resolves aliases.
        options: The fields and the language.
    """

    def __init__(self, aliases: AliasResolver, options: TopicOptions) -> None:
        self._aliases = aliases
        self._options = options
        self.test_sets = False
        self.format_name = ""
        self.has_keys = False
        self.place = ""
        self.names: dict[str, None] = {}
        self.languages: list[str] = []
        self.chosen: dict[str, None] = {}

    def find(self, root: Node) -> list[Record] | None:
        if isinstance(root, Items):
            return self._find_in_list(root, top=True)
        if not isinstance(root, Mapping):
            return None
        pairs = self._aliases.fields(root)
        fields = {key.text: (key, value) for key, value in pairs}
        name = next((name for name in TOP_KEYS[1:] if name in fields), None)
        if name is not None:
            inner = fields[name][1]
            if isinstance(inner, Mapping):
                return self._find_in_keys(self._aliases.fields(inner)) if self.test_sets else None
            if not isinstance(inner, Items) or ("metadata" in fields and not self.test_sets):
                return None
            return self._find_in_list(inner, top=True)
        return self._find_in_keys(pairs) or self._find_inner_list(pairs) or self._find_single(root)

    def _find_single(self, root: Mapping) -> list[Record] | None:
        """Return the records of a document that is one record."""
        records = self.records_of(root)
        choice = choose_fields(records, self._options)
        has_id = choice.id_field is not None or all(one.query_id is not None for one in records)
        names = names_of(records)
        is_test_case = any(name in JUDGED_KEYS or _is_near(name, TOP_KEYS) for name in root.pairs)
        return records if has_id and choice.text_fields and names and not is_test_case else None

    def _find_in_list(self, items: Items, *, top: bool) -> list[Record] | None:
        cases = [case for case in self._aliases.items(items) if isinstance(case, Mapping)]
        if not cases or len(cases) < len(items.items):
            return None
        names: dict[str, None] = {}
        for case in cases[:_MAX_SAMPLED]:
            names.update(dict.fromkeys(key.text for key, _ in self._aliases.fields(case)))
        if any(name in JUDGED_KEYS for name in names) or (top and self._is_test_set(list(names))):
            if not self.test_sets:
                return None
            if any(name in JUDGED_KEYS for name in names):
                self.format_name = "test set in"
        return [record for case in cases for record in self.records_of(case)]

    def _is_test_set(self, names: Sequence[str]) -> bool:
        """Return true for topics that have only the fields of test cases, which has a schema."""
        if self._options.names_fields:
            return False
        has_id = any(name in ID_KEYS for name in names)
        has_text = any(name in TEXT_KEYS for name in names)
        foreign = [name for name in names if not _is_near(name, CASE_KEYS)]
        return not foreign and (has_id or has_text)

    def _find_in_keys(self, pairs: Sequence[tuple[Scalar, Node]]) -> list[Record] | None:
        """Return the records of ``{id: text}`` and ``{id: {field: text}}``."""
        if any(_is_near(key.text, TOP_KEYS) for key, _ in pairs[:10]):
            return None
        if all(isinstance(value, Scalar) and value.meaning == "text" for _, value in pairs):
            if any(is_main_text(key.text) for key, _ in pairs):
                return None  # the fields of one record
            self.has_keys = bool(pairs)
            return [
                Record(key.line, {"text": value}, key.text)
                for key, value in pairs
                if isinstance(value, Scalar)
            ] or None
        if not all(isinstance(value, Mapping) for _, value in pairs):
            return None
        records = []
        for key, value in pairs:
            assert isinstance(value, Mapping)
            for record in self.records_of(value):
                turn = record.query_id
                record.query_id = key.text if turn is None else f"{key.text}_{turn}"
                record.line = key.line
                records.append(record)
        if not choose_fields(records[:_MAX_SAMPLED], self._options).text_fields:
            return None  # {query_id: {doc_id: grade}}
        self.has_keys = True
        return records

    def _find_inner_list(self, pairs: Sequence[tuple[Scalar, Node]]) -> list[Record] | None:
        """Return the records of the only list of mappings among the values."""
        lists = [
            (key.text, value)
            for key, value in pairs
            if isinstance(value, Items)
            and value.items
            and all(isinstance(item, Mapping) for item in value.items)
        ]
        if len(lists) > 1:
            lists = [(name, value) for name, value in lists if normalize(name) in _LISTS]
        if len(lists) != 1:
            return None
        name, items = lists[0]
        if normalize(name) not in _LISTS and _is_near(name, TOP_KEYS):
            return None
        return self._find_in_list(items, top=False)

    def records_of(self, mapping: Mapping) -> list[Record]:
        """Return the record of a mapping, or one record for each of its turns."""
        pairs = self._aliases.fields(mapping)
        fields: dict[str, Scalar] = {}
        nested: dict[str, list[Mapping]] = {}
        for key, value in pairs:
            self.names.setdefault(key.text)
            if isinstance(value, Scalar):
                fields[key.text] = value
            elif isinstance(value, Mapping):
                self._add_language_of(key.text, value, fields)
            elif value.items and all(isinstance(item, Mapping) for item in value.items):
                nested[key.text] = [
                    item for item in self._aliases.items(value) if isinstance(item, Mapping)
                ]
        record = Record(mapping.line, fields)
        has_text = bool(choose_fields([record], TopicOptions()).text_fields)
        for name, items in nested.items():
            if self._add_language(items, fields):
                continue
            if normalize(name) in _TURNS or not has_text:
                turns = list(self._turns(record, items))
                if turns:
                    self.place = "topic and turn"
                    return turns
        return [record]

    def _add_language_of(self, name: str, value: Mapping, fields: dict[str, Scalar]) -> None:
        """Add the text of ``{"en": text, "de": text}``."""
        texts = {
            key.text: node for key, node in self._aliases.fields(value) if isinstance(node, Scalar)
        }
        if not texts or not all(_CODE.fullmatch(code) for code in texts):
            return
        if len(texts) < len(value.pairs) or not all(n.meaning == "text" for n in texts.values()):
            return
        if not any(same_language(code) != code or len(code) == 2 for code in texts):
            return
        self.languages += texts
        code = choose_language(list(texts), self._options.language)
        if code is not None:
            fields[name] = texts[code]
            self.chosen.setdefault(code)

    def _add_language(self, items: list[Mapping], fields: dict[str, Scalar]) -> bool:
        """Add the fields of the item in the chosen language; false if items have no language."""
        found: dict[str, dict[str, Scalar]] = {}
        for item in items:
            inner = {
                key.text: value
                for key, value in self._aliases.fields(item)
                if isinstance(value, Scalar)
            }
            code = next((node.text for n, node in inner.items() if normalize(n) in _LANGUAGES), "")
            if not code:
                return False
            found.setdefault(code, inner)  # the first is the original or a human translation
        self.languages += found
        chosen = choose_language(list(found), self._options.language)
        if chosen is not None:
            self.chosen.setdefault(chosen)
            self.names.update(dict.fromkeys(found[chosen]))
            for name, node in found[chosen].items():
                fields.setdefault(name, node)
        return True

    def _turns(self, topic: Record, items: list[Mapping]) -> Iterator[Record]:
        """Yield a record for each turn of a topic; turns of a system have no query."""
        turns = [
            {
                key.text: value
                for key, value in self._aliases.fields(item)
                if isinstance(value, Scalar)
            }
            for item in items
        ]
        made = [Record(item.line, fields) for item, fields in zip(items, turns, strict=True)]
        own = choose_fields([topic], TopicOptions()).id_field
        choice = choose_fields(made, TopicOptions())
        texts = self._options.text_fields or choice.text_fields
        number = next(
            (n for wanted in _TURN_IDS for n in names_of(made) if normalize(n) == wanted), None
        )
        if not texts or number is None:
            return
        for name in names_of(made):
            self.names.setdefault(name)
        for record in made:
            has_text = any(name in record.fields for name in texts)
            if number not in record.fields or not has_text:
                continue
            first = topic.query_id or (topic.fields[own].text if own is not None else "")
            last = record.fields[number].text
            record.query_id = f"{first}_{last}" if first else last
            for name, node in topic.fields.items():
                # The title of a conversation is not the text of its turns.
                if name != own and (name in self._options.text_fields or not is_text_name(name)):
                    record.fields.setdefault(name, node)
            record.hidden = frozenset({number})
            yield record


def _is_near(name: str, known: Sequence[str]) -> bool:
    """Return true for a known name, or a misspelling of it."""
    return name in known or bool(get_close_matches(name[:64].lower(), known, 1, _NEAR))
