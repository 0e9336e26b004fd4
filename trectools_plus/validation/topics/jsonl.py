"""Topics as JSON Lines: one object a line, the names of its fields those of the first line."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import polars as pl

from trectools_plus.formats.nodes.json import parse_json
from trectools_plus.formats.nodes.model import Mapping, TreeError, describe
from trectools_plus.formats.topic_schema import LINE_ID_KEYS, TEXT_KEYS
from trectools_plus.text import listed, quoted
from trectools_plus.validation.topics.fields import (
    Entry,
    note_constants,
    note_repeats,
    read_id,
    read_text,
)
from trectools_plus.validation.topics.view import ENTRIES_SCHEMA, Content, Trouble, Troubles


class _OddError(ValueError):
    """A line that needs a closer look."""


class _Integer(str):
    """An integer as it is written."""

    __slots__ = ()


class JsonLines:
    """A reader of JSON Lines.

    Lines as they should be go through the standard library's fast parser. Whatever is odd about
    a line, it is parsed again with the places of its values.

    Args:
        troubles: Where to note what is wrong, if not in a new place.
    """

    def __init__(self, troubles: Troubles | None = None) -> None:
        self._troubles = Troubles() if troubles is None else troubles
        self._entries: list[tuple[int, str | None, str | None, int]] = []
        self._id_key = self._text_key = ""

    def read(self, text: str) -> Content:
        """Read topics.

        Args:
            text: The file, without byte order mark.
        """
        for number, line in enumerate(text.split("\n"), 1):
            # A blank line is the business of a rule for every file.
            if line.strip(" \t\r\v\f"):
                self._read_line(number, line.removesuffix("\r"))
        entries = pl.DataFrame(self._entries, schema=ENTRIES_SCHEMA, orient="row")
        return Content(entries, self._troubles)

    def _read_line(self, number: int, line: str) -> None:
        try:
            record = _DECODER.decode(line)
        except (ValueError, RecursionError):
            record = None
        if isinstance(record, dict) and self._id_key and self._text_key:
            query_id, text = record.get(self._id_key), record.get(self._text_key)
            # Half a character, and integers, which have a type of their own, are for a closer look.
            if type(query_id) is not str or type(text) is not str or "\\u" in line:
                self._read_closely(number, line)
                return
            if query_id and text.strip():
                self._entries.append((number, query_id, text, number))
                return
        self._read_closely(number, line)

    def _read_closely(self, number: int, line: str) -> None:
        try:
            tree = parse_json(line, number)
        except TreeError as error:
            remedy = "Write one JSON object a line"
            self._troubles.add("T104", Trouble(error.line, error.what, error.column, remedy=remedy))
            return
        note_repeats(tree, self._troubles)
        note_constants(tree, self._troubles)
        if not isinstance(tree.root, Mapping):
            what = f"expected a JSON object but got {describe(tree.root) if tree.root else ''}"
            self._troubles.add("T104", Trouble(number, what))
            return
        self._add(number, tree.root)

    def _add(self, number: int, record: Mapping) -> None:
        fields = {key.text: value for key, value in record.pairs.values()}
        if not self._id_key:
            self._id_key = next((key for key in LINE_ID_KEYS if key in fields), "")
        if not self._text_key:
            self._text_key = next((key for key in TEXT_KEYS if key in fields), "")
        entry = Entry(number)
        if self._id_key and self._id_key in fields:
            entry.query_id = read_id(fields[self._id_key], "id", entry, self._troubles)
        else:
            self._missing(number, self._id_key, LINE_ID_KEYS, "id", fields)
        if self._text_key and self._text_key in fields:
            entry.text = read_text(fields[self._text_key], entry, self._troubles)
        else:
            self._missing(number, self._text_key, TEXT_KEYS, "text", fields)
        self._entries.append(entry.as_row())

    def _missing(
        self, number: int, key: str, keys: tuple[str, ...], what: str, fields: dict[str, Any]
    ) -> None:
        seen = f" (fields: {listed(list(fields))})" if fields else ""
        wanted = quoted(key) if key else f"for the {what} ({', '.join(keys)})"
        remedy = "Give every line the same fields as the first" if key else None
        trouble = Trouble(number, f"field {wanted} is missing{seen}", remedy=remedy)
        self._troubles.add("T105", trouble)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise _OddError
    return record


def _odd(_: str) -> NoReturn:
    raise _OddError


# Integers are not computed: long ones would take long, or stop at a limit of Python's.
_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_odd, parse_int=_Integer)
