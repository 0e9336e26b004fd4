"""The judgments of a test case: a list of documents, of ``{doc_id, grade}``, or a mapping."""

from __future__ import annotations

from collections.abc import Iterator

from trectools_plus.formats.nodes.aliases import Unfolder
from trectools_plus.formats.nodes.model import Items, Mapping, Node, Scalar, describe
from trectools_plus.text import visible
from trectools_plus.validation.topics.fields import Entry, read_grade, read_id
from trectools_plus.validation.topics.schema import TERM_KEYS, Schema
from trectools_plus.validation.topics.view import Trouble, Troubles

Judged = tuple[str, Node, float | None]
"""Document id, its place, its grade; ``None`` where that is no whole number."""


class JudgmentsReader:
    """Reads judgments, and notes what is wrong with them.

    Args:
        troubles: Where to note it.
        schema: What keys there may be.
        unfolder: Gives the fields of nodes.

    Attributes:
        rows: ``line, query_id, doc_id, grade`` of each judgment read so far.
    """

    def __init__(self, troubles: Troubles, schema: Schema, unfolder: Unfolder) -> None:
        self.rows: list[tuple[int, str, str, float | None]] = []
        self._troubles = troubles
        self._schema = schema
        self._unfolder = unfolder
        self._seen: set[str] = set()

    def read(self, node: Node, entry: Entry, number: int) -> None:
        """Read the judgments of a test case, the ``number``-th.

        Of two cases of one id, which a rule of its own reports, only the first one's are read.
        """
        if is_empty(node):
            return
        if isinstance(node, Scalar):
            what = f"expected judged documents but got {describe(node)}"
            self._troubles.add("T105", Trouble(node.line, what, node.column, entry.query_id))
            return
        # Readers number the cases that have no id.
        query_id = entry.query_id or f"case-{number:03d}"
        if query_id in self._seen:
            return
        self._seen.add(query_id)
        for doc_id, place, grade in self._iter(node, entry):
            self.rows.append((place.line, query_id, doc_id, grade))

    def note_none(self, place: Node, entry: Entry) -> None:
        """Note that a test case has no judgments (T131)."""
        query = f" for query {visible(entry.query_id)}" if entry.query_id is not None else ""
        what = f"no judgments{query}; it is left out of the mean"
        self._troubles.add("T131", Trouble(place.line, what, place.column, entry.query_id))

    def _iter(self, node: Items | Mapping, entry: Entry) -> Iterator[Judged]:
        if isinstance(node, Mapping):
            for key, value in self._unfolder.fields(node):
                doc_id = read_id(key, "document id", entry, self._troubles)
                if doc_id is not None:
                    yield doc_id, key, read_grade(value, doc_id, entry, self._troubles)
            return
        for item in self._unfolder.items(node):
            if isinstance(item, Mapping):
                yield from self._iter_term(item, entry)
            else:
                doc_id = read_id(item, "document id", entry, self._troubles)
                if doc_id is not None:
                    yield doc_id, item, 1.0

    def _iter_term(self, term: Mapping, entry: Entry) -> Iterator[Judged]:
        """``{doc_id: …, grade: …}``: one judgment, or none if the document is missing."""
        pairs = self._unfolder.fields(term)
        fields = {key.text: value for key, value in pairs}
        missing = {name for name in TERM_KEYS if name not in fields}
        keys = (key for key, _ in pairs)
        meant = self._schema.check(keys, TERM_KEYS, entry.query_id, missing=missing)
        for what in sorted(missing - meant):
            seen = f"{what} of a relevant document is missing"
            self._troubles.add("T105", Trouble(term.line, seen, term.column, entry.query_id))
        if "doc_id" not in fields:
            return
        doc_id = read_id(fields["doc_id"], "document id", entry, self._troubles)
        if doc_id is None:
            return
        grade = fields.get("grade")
        value = None if grade is None else read_grade(grade, doc_id, entry, self._troubles)
        yield doc_id, fields["doc_id"], value


def is_empty(node: Node) -> bool:
    """Whether a value is null, or a list or mapping without anything in it."""
    if isinstance(node, Scalar):
        return node.meaning == "null"
    return not (node.items if isinstance(node, Items) else (node.pairs or node.merged))
