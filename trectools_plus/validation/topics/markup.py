"""Topics in TREC's SGML and XML, topic by topic, so that one bad topic does not hide the next."""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.trec_topics import Topic, iter_sgml, parse_xml
from trectools_plus.validation.topics.fields import no_text
from trectools_plus.validation.topics.view import ENTRIES_SCHEMA, Content, Trouble, Troubles

_TOP = re.compile("<top>", re.IGNORECASE)


class _Collector:
    def __init__(self) -> None:
        self.troubles = Troubles()
        self._entries: list[tuple[int, str | None, str | None, int]] = []

    def take(self, line: int, make: Callable[[], Topic]) -> None:
        try:
            topic = make()
        except FormatError as error:
            code = "T105" if "missing" in error.what else "T104"
            self.troubles.add(code, Trouble(line, error.what, remedy=_capital(error.remedy)))
            self._entries.append((line, None, None, line))
            return
        text_line = line if topic.text_line is None else line - topic.line + topic.text_line
        if not topic.text:
            self.troubles.add(
                "T121", Trouble(text_line, no_text(topic.query_id), query_id=topic.query_id)
            )
        self._entries.append((line, topic.query_id, topic.text, text_line))

    def content(self) -> Content:
        entries = pl.DataFrame(self._entries, schema=ENTRIES_SCHEMA, orient="row")
        return Content(entries, self.troubles)


def read_sgml(text: str) -> Content:
    """Read ``<top>`` blocks."""
    found = _Collector()
    starts = [match.start() for match in _TOP.finditer(text)]
    line, before = 1, 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        line += text.count("\n", before, start)
        before = start
        found.take(line, lambda block=text[start:end]: next(iter_sgml(block, "")))  # type: ignore[misc]
    return found.content()


def read_xml(text: str) -> Content:
    """Read ``<topic>`` elements."""
    found = _Collector()
    # The parser takes a bare CR for a line end, and its line numbers would not be the file's.
    text = re.sub("\r(?!\n)", " ", text)
    try:
        elements = parse_xml(text.encode(), "")
    except FormatError as error:
        trouble = Trouble(error.line or 1, error.what, error.column, remedy=_capital(error.remedy))
        found.troubles.add("T104", trouble)
        return found.content()
    for element in elements:
        found.take(element.line, lambda one=element: one.topic(""))  # type: ignore[misc]
    return found.content()


def _capital(text: str | None) -> str | None:
    return text and text[:1].upper() + text[1:]
