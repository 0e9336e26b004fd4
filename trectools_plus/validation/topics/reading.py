"""From a file to a view of its topics: which form it has, and what is in the way of reading it."""

from __future__ import annotations

import re

from trectools_plus.formats.columns import Columns
from trectools_plus.formats.overlong import Overlong
from trectools_plus.validation.topics.jsonl import JsonLines
from trectools_plus.validation.topics.markup import read_sgml, read_xml
from trectools_plus.validation.topics.nodes import Tree, TreeError
from trectools_plus.validation.topics.schema import ID_KEYS, TEXT_KEYS
from trectools_plus.validation.topics.testset import read_test_set
from trectools_plus.validation.topics.tsv import read_tsv
from trectools_plus.validation.topics.view import Content, Form, TopicsView, Trouble, Troubles
from trectools_plus.validation.views.shape import Shape, has_only_bare_cr, wide_encoding

MAX_DOCUMENT_BYTES = 64 << 20
"""Size beyond which YAML and JSON documents are not read: a tree takes several times as much."""

_SNIFFED = 4096
_FIRST_LINE = re.compile(r"^(?![^\S\n]*(?:#|$))", re.MULTILINE)  # that says anything
_YAML_START = re.compile(r"---|(?:queries|test_cases|metadata)\s*:|- +\w+\s*:")
_SUFFIX = re.compile(r"\.(ya?ml|jsonl|ndjson|json|tsv|txt)(?:\.\w+)?$", re.IGNORECASE)
_ANYTHING = re.compile(r"[^\s]")
_CONTENT: dict[Form, re.Pattern[str]] = {
    "tsv": re.compile(r"^(?!#[^\t\n]*$)[ \t\r\v\f]*[^\s]", re.MULTILINE),
    "yaml": re.compile(r"^[ \t\r]*[^#\s]", re.MULTILINE),
}
_TOPIC_KEY = re.compile(rf'\{{\s*"(?:{"|".join((*ID_KEYS, *TEXT_KEYS))})"\s*:')


def read_view(columns: Columns) -> TopicsView:
    """Read topics or a test set from a lexed file, whatever is in it."""
    source = columns.source
    text = source.data.decode("utf-8", "replace").removeprefix("\ufeff")
    form = form_of(source.path, text if source.overlong is None else text + _head(source.overlong))
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


def form_of(path: str, text: str) -> Form:
    """Tell the form by a name that says YAML or JSON, and else by the first characters.

    Args:
        path: The file's name.
        text: Its text, without byte order mark.
    """
    suffix = _SUFFIX.search(path)
    named = suffix[1].lower() if suffix else ""
    start = text[:_SNIFFED].lstrip(" \t\r\n")
    if named in ("yaml", "yml"):
        return "yaml"
    if named in ("jsonl", "ndjson"):
        return "jsonl"
    if start.startswith(("[", "{")):
        return _form_of_json(named, text)
    if named == "json":
        return "json"
    if start.startswith("<"):
        return "sgml" if re.search("<top>", text, re.IGNORECASE) else "xml"
    if named != "tsv" and "\t" not in start.split("\n", 1)[0] and _starts_as_yaml(text):
        return "yaml"
    return "tsv"


def _starts_as_yaml(text: str) -> bool:
    first = _FIRST_LINE.search(text)
    return first is not None and _YAML_START.match(text, first.start()) is not None


def _form_of_json(named: str, text: str) -> Form:
    first, _, rest = text.lstrip(" \t\r\n").partition("\n")
    if first.startswith("["):
        return "tsv" if named == "tsv" else "json"
    several = first.rstrip().endswith("}") and rest.lstrip().startswith("{")
    if several or (named != "json" and _TOPIC_KEY.match(first) and "}" in first):
        return "jsonl"
    return "json"


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


def _read_tree(text: str, form: Form) -> Content:
    try:
        return read_test_set(_parse(text, form))
    except TreeError as error:
        troubles = Troubles()
        troubles.add("T104", Trouble(error.line, error.what, error.column))
        return Content.empty(troubles, "testset")


def _parse(text: str, form: Form) -> Tree:
    if len(text) > MAX_DOCUMENT_BYTES:
        raise TreeError(f"a document of over {MAX_DOCUMENT_BYTES >> 20} MiB", 1)
    if form == "json":
        from trectools_plus.validation.topics.json_nodes import parse_json

        return parse_json(text) if text.strip() else Tree()
    from trectools_plus.validation.topics.yaml_nodes import parse_yaml

    return parse_yaml(text)


def _first_line(text: str, form: Form, content: Content) -> int | None:
    """The line that the data begin on; ``None`` if nothing was found and nothing is wrong."""
    if content.entries.is_empty() and not content.troubles:
        return None
    match = _CONTENT.get(form, _ANYTHING).search(text)
    return text.count("\n", 0, match.end()) + 1 if match else 1
