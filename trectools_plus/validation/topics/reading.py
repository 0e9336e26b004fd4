"""From a file to a view of its topics: which form it has, and what is in the way of reading it."""

from __future__ import annotations

import re

from trectools_plus.formats.columns import Columns
from trectools_plus.formats.nodes.documents import Syntax, parse_document
from trectools_plus.formats.nodes.model import TreeError
from trectools_plus.formats.overlong import Overlong
from trectools_plus.formats.topic_schema import Form, form_of
from trectools_plus.validation.shape import Shape, has_only_bare_cr, wide_encoding
from trectools_plus.validation.topics.cases import read_test_set
from trectools_plus.validation.topics.jsonl import JsonLines
from trectools_plus.validation.topics.markup import read_sgml, read_xml
from trectools_plus.validation.topics.tsv import read_tsv
from trectools_plus.validation.topics.view import Content, TopicsView, Trouble, Troubles

_ANYTHING = re.compile(r"[^\s]")
_CONTENT: dict[Form, re.Pattern[str]] = {
    "tsv": re.compile(r"^(?!#[^\t\n]*$)[ \t\r\v\f]*[^\s]", re.MULTILINE),
    "yaml": re.compile(r"^[ \t\r]*[^#\s]", re.MULTILINE),
}


def read_view(columns: Columns, form: Form | None = None) -> TopicsView:
    """Read topics or a test set from a lexed file with any content.

    Args:
        columns: The file's bytes and facts.
        form: How the file is written, if that is known.
    """
    source = columns.source
    text = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    start = text if source.overlong is None else text + _head(source.overlong)
    form = form or form_of(source.path, start)
    if wide_encoding(columns) is not None or has_only_bare_cr(columns):
        # One finding about the bytes explains everything.
        return TopicsView(columns, form, Content.empty(), Shape("not-text", first_line=1))
    if source.overlong is not None and form not in ("tsv", "jsonl"):
        return TopicsView(columns, form, Content.empty(), Shape(first_line=source.overlong.line))
    # A NUL has its own rule, and no parser is to stop there.
    content = _read(text.replace("\0", "\ufffd"), form)
    shape = Shape(first_line=_first_line(text, form, content))
    return TopicsView(columns, form, content, shape)


def _head(overlong: Overlong) -> str:
    return overlong.head.decode("utf-8", "replace")


def _read(text: str, form: Form) -> Content:
    if form == "tsv":
        return read_tsv(text)
    if form == "jsonl":
        return JsonLines().read(text)
    if form == "sgml":
        return read_sgml(text)
    if form == "xml":
        return _read_xml(text)
    return _read_tree(text, form)


def _read_xml(text: str) -> Content:
    if not re.search(r"<topic\b", text, re.IGNORECASE):
        troubles = Troubles()
        remedy = "Give topics as TSV, JSON Lines, TREC SGML or TREC XML"
        what = "expected <top> or <topic> elements but got none"
        troubles.add("T104", Trouble(1, what, remedy=remedy))
        return Content.empty(troubles)
    return read_xml(text)


def _read_tree(text: str, syntax: Syntax) -> Content:
    try:
        return read_test_set(parse_document(text, syntax))
    except TreeError as error:
        troubles = Troubles()
        troubles.add("T104", Trouble(error.line, error.what, error.column))
        return Content.empty(troubles, "testset")


def _first_line(text: str, form: Form, content: Content) -> int | None:
    """The line that the data begin on; ``None`` if nothing was found and nothing is wrong."""
    if content.entries.is_empty() and not content.troubles:
        return None
    match = _CONTENT.get(form, _ANYTHING).search(text)
    return text.count("\n", 0, match.end()) + 1 if match else 1
