"""Make topics of the records of a file, and describe how it was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trectools_plus.formats.interchange.tree import find_topics_header, parse_table
from trectools_plus.formats.nodes.documents import parse_document
from trectools_plus.formats.nodes.json import parse_json
from trectools_plus.formats.nodes.model import (
    Mapping,
    Node,
    Scalar,
    TooMuchError,
    Tree,
    TreeError,
)
from trectools_plus.formats.nodes.model import describe as describe_node
from trectools_plus.formats.topic_records.fields import (
    Choice,
    choose_fields,
    format_of,
    missing_names,
    text_of_one,
)
from trectools_plus.formats.topic_records.forms import Form
from trectools_plus.formats.topic_records.lines import NAMES, find_line_records
from trectools_plus.formats.topic_records.markup import find_sgml_records, find_xml_records
from trectools_plus.formats.topic_records.model import (
    Record,
    Records,
    Report,
    Topic,
    TopicOptions,
    TopicProblem,
)
from trectools_plus.formats.topic_records.trees import find_records, names_of, records_of_line
from trectools_plus.text import listed, plural, visible

MARKUP = ("sgml", "xml")
_SAMPLED = 1000
_GIVE_BOTH = "give every topic a number and a text"


def find_topics(
    text: str, form: Form, options: TopicOptions, report: Report
) -> tuple[list[Topic], str | None]:
    """Read the topics of a file in any form but TSV and JSON Lines; also those of a test set.

    Args:
        text: The file, without byte order mark.
        form: Its form.
        options: The fields and the language.
        report: Takes the problems.

    Returns:
        The topics, and how they were read; ``None`` instead for the usual fields of plain formats.
    """
    records = _find(text, form, options, report)
    if records is None:
        return [], None
    return make_topics(records, options, report, is_markup=form in MARKUP)


def _find(text: str, form: Form, options: TopicOptions, report: Report) -> Records | None:
    if form == "sgml":
        return find_sgml_records(text, options, report)
    if form == "xml":
        return find_xml_records(text, options, report)
    if form in NAMES:
        return find_line_records(text, form, report)
    assert form in ("json", "yaml", "csv")
    try:
        if form == "csv":
            tree, syntax = _parse_table(text, report)
        else:
            tree = parse_document(text, "json" if form == "json" else "yaml")
            syntax = form.upper()
        records = records_of_tree(tree, syntax, options, report, test_sets=True)
    except TreeError as error:
        report(TopicProblem("T104", error.line, error.what, error.column, remedy=error.remedy))
        return None
    for repeat in tree.repeats:
        what = f"key {visible(repeat.key.text)} is repeated"
        report(TopicProblem("T116", repeat.key.line, what, repeat.key.column))
    if records is None and tree.root is not None:
        what = f"expected records with an id and a text but got {_shown(tree.root)}"
        line, remedy = tree.root.line, "give a list of objects with an id and a text, or {id: text}"
        if form == "csv":
            line -= 1  # the header
            what, remedy = "no rows below the header", "check that the file is complete"
        report(TopicProblem("T105", line, what, tree.root.column, remedy=remedy))
    return records


def _parse_table(text: str, report: Report) -> tuple[Tree, str]:
    header = find_topics_header(text)
    assert header is not None
    name = f"{header.format} with a header"
    what = f"{name}, not id TAB text; trectools-plus reads it, other tools do not"
    remedy = "write id TAB text"
    report(TopicProblem("T101", header.line, what, remedy=remedy, is_warning=True))
    return parse_table(text, header), name


def _shown(root: Node) -> str:
    if isinstance(root, Mapping) and root.pairs:
        return f"a mapping with the keys {listed([visible(key) for key in root.pairs])}"
    return describe_node(root)


def records_of_tree(
    tree: Tree, syntax: str, options: TopicOptions, report: Report, *, test_sets: bool = False
) -> Records | None:
    """Find the records of a JSON or YAML document; see :func:`trees.find_records`."""
    try:
        return find_records(tree, syntax, options, test_sets=test_sets)
    except TooMuchError as error:
        what = "aliases repeat too many values"
        report(TopicProblem("T104", error.node.line, what, error.node.column))
        return None


def make_topics(
    records: Records, options: TopicOptions, report: Report, *, is_markup: bool = False
) -> tuple[list[Topic], str | None]:
    """Make topics of records; see :func:`find_topics`."""
    if not records.found:
        if records.languages and records.language is None:
            report(_without_language(records, options, 1))
        return [], None
    choice = choose_fields(records.found[:_SAMPLED], options, is_markup=is_markup)
    if records.languages and not records.language:
        report(_without_language(records, options, records.found[0].line))
        return [], None
    wanted = [*options.text_fields, *([options.id_field] if options.id_field else [])]
    absent = missing_names(records.found, wanted)
    if absent:
        what = f"no record has a field {listed([visible(name) for name in absent])}"
        fields = f"fields: {_shown_names(records.found)}"
        problem = TopicProblem(
            "T105", records.found[0].line, f"{what} ({fields})", remedy="name one of these fields"
        )
        report(problem)
        return [], None
    maker = _Maker(records, choice, report, is_markup)
    topics = [topic for record in records.found if (topic := maker.make(record)) is not None]
    if not topics or (records.is_plain and choice.is_usual and not records.n_nested):
        return topics, None
    return topics, describe(records.format_name, choice, len(topics), records)


def make_line_topics(
    lines: Iterable[tuple[int, str]], options: TopicOptions, report: Report
) -> tuple[list[Topic], str | None]:
    """Make topics of JSON Lines whose records contain several languages, turns, or parts of a text.

    Args:
        lines: Number and text of each line.
        options: The fields and the language.
        report: Takes the problems.

    Returns:
        See :func:`find_topics`.
    """
    records = Records([], "", noun="lines of JSON")
    languages: dict[str, None] = {}
    for number, line in lines:
        try:
            tree = parse_json(line, number)
        except TreeError as error:
            remedy = "write one JSON object per line"
            report(TopicProblem("T104", error.line, error.what, error.column, remedy=remedy))
            continue
        if not isinstance(tree.root, Mapping):
            report(TopicProblem("T104", number, "expected a JSON object"))
            continue
        found, language, known = records_of_line(tree.root, tree.n_values, options)
        records.found += found
        records.language = records.language or language
        languages.update(dict.fromkeys(known))
    records.languages = tuple(languages)
    sample = records.found[:_SAMPLED]
    records.format_name = f"{format_of(names_of(sample))} JSON Lines".strip()
    if sample and sample[0].query_id is not None:
        records.place = "topic and turn"
    return make_topics(records, options, report)


class _Maker:
    """Makes topics of records.

    Args:
        records: The records.
        choice: The fields with id and text.
        report: Takes the problems.
        is_markup: True for SGML and XML.
    """

    def __init__(self, records: Records, choice: Choice, report: Report, is_markup: bool) -> None:
        self._choice = choice
        self._report = report
        self._is_markup = is_markup
        is_sgml = is_markup and records.noun.startswith("<top>")
        self._labels = ("<num>", "<title>") if is_sgml else ("number", "<query> or <title>")
        self._joined = choice.text_fields if len(choice.text_fields) > 1 else ()

    def make(self, record: Record) -> Topic | None:
        """Make the topic of a record; ``None`` if id or text is missing, which is reported."""
        query_id = self._id_of(record)
        if query_id is None:
            return None
        names = self._text_names(record)
        if not names:
            self._report(self._missing(record, 1))
            return None
        nodes = [record.fields[name] for name in names]
        if all(node.meaning == "null" for node in nodes):
            self._report(TopicProblem("T105", nodes[0].line, "text is null", nodes[0].column))
            return None
        texts = [_text(node) for node in nodes]
        used = {*(names if not self._joined else ()), self._choice.id_field, *record.hidden}
        others = {
            name: _text(node)
            for name, node in record.fields.items()
            if name not in used and node.meaning != "null" and node.text
        }
        others = {n: text for n, text in others.items() if n not in ("query_id", "text")}
        text = " ".join(text for text in texts if text.strip())
        return Topic(record.line, query_id, text, others, nodes[0].line)

    def _id_of(self, record: Record) -> str | None:
        name = self._choice.id_field
        node = record.fields.get(name) if name is not None else None
        if node is None and record.query_id is not None:
            return record.query_id
        if node is None and self._is_markup:
            found = choose_fields([record], TopicOptions(), is_markup=True).id_field
            node = record.fields.get(found) if found is not None else None
        if node is None or (self._is_markup and not node.text.strip()):
            self._report(self._missing(record, 0))
            return None
        if node.meaning == "null" or not node.text.strip():
            state = "null" if node.meaning == "null" else "empty"
            self._report(TopicProblem("T105", node.line, f"id is {state}", node.column))
            return None
        is_read_as_other = node.value is not None and node.value != node.text
        if node.meaning in ("boolean", "number") or (node.meaning != "text" and is_read_as_other):
            what = f"expected an id (text or an integer) but got {visible(node.text)}"
            self._report(TopicProblem("T114", node.line, what, node.column))
            return None
        return node.text.strip() if self._is_markup else node.text

    def _text_names(self, record: Record) -> list[str]:
        """Return the text fields of a record: the chosen ones, or others if it has none of them."""
        names = [name for name in self._choice.text_fields if name in record.fields]
        if any(record.fields[name].text.strip() for name in names):
            return names
        other = text_of_one(record, self._is_markup, bool(names))
        if any(record.fields[name].text.strip() for name in other):
            return list(other)
        # An element without text has an empty text of its own, which is not a field.
        return [name for name in names or other if name and name in record.fields]

    def _missing(self, record: Record, which: int) -> TopicProblem:
        fields = [name for name in record.fields if name]
        option = ("--id-field", "--text-fields")[which]
        what = ("id", "text")[which]
        remedy = _GIVE_BOTH
        seen = ""
        if fields:
            seen = f" (fields: {listed([visible(name) for name in fields])})"
            remedy = f"name the field with the {what}: {option} NAME"
        if self._is_markup:
            message = f"{self._labels[which]} is missing in this topic{seen}"
        else:
            message = f"expected a field for the {what} but found none that is known{seen}"
        return TopicProblem("T105", record.line, message, remedy=remedy)


def _text(node: Scalar) -> str:
    return node.text


def _without_language(records: Records, options: TopicOptions, line: int) -> TopicProblem:
    what = f"no text in the language {options.language or 'en'}"
    known = f"languages: {listed([visible(code) for code in records.languages])}"
    return TopicProblem("T105", line, f"{what} ({known})", remedy="choose one with --language")


def _shown_names(records: Sequence[Record]) -> str:
    return listed([visible(name) for name in names_of(records) if name])


def describe(format_name: str, choice: Choice, n: int, records: Records | None = None) -> str:
    """Describe how topics were read, in one line.

    Args:
        format_name: The name of the format.
        choice: The fields.
        n: The number of topics.
        records: The records, if they were found in a document.
    """
    parts = []
    place = records.place if records is not None else ""
    if choice.id_field is not None:
        parts.append(f"id from {visible(choice.id_field)}")
    elif place and place != "the lines":
        parts.append(f"id from {place}")
    if place != "the lines":
        shown = [visible(name) if name else "the element" for name in choice.text_fields]
        parts.append(f"text from {', '.join(shown)}")
    if records is not None and records.language is not None:
        parts.append(f"language {visible(records.language)}")
    details = [plural(n, "topic"), *([", ".join(parts)] if parts else [])]
    if records is not None and records.n_nested:
        details.append(f"{plural(records.n_nested, 'nested topic')} not read")
    return f"read as {format_name}: {'; '.join(details)}"
