"""Test sets in YAML or JSON: queries with their judgments, in the forms that are about.

::

    {metadata: {…}, queries: [{query_id, text, relevant: [{doc_id, grade}], …}]}
    {queries: [{id, text, relevant: {doc_id: grade}}]}
    {queries: [{query_id, query_text, relevant_docs: [{doc_id, grade}]}]}
    {metadata: {…}, test_cases: [{text, expected_hpo_ids: [HP:…]}]}     or the list alone
    {query_id: {doc_id: grade}}     or {query_id: [doc_id, …]}

The last one has judgments only. Own forms have fields of fixed names; sets of the third form have
fields of their own, which readers leave out.
"""

from __future__ import annotations

import polars as pl

from trectools_plus.formats.nodes.aliases import MAX_REPEATED, TooMuchError, Unfolder
from trectools_plus.formats.nodes.model import Items, Mapping, Node, Scalar, Tree, describe
from trectools_plus.text import listed
from trectools_plus.validation.topics.fields import Entry, note_repeats, read_id, read_text
from trectools_plus.validation.topics.judgments import JudgmentsReader, is_empty
from trectools_plus.validation.topics.notes import NotesReader
from trectools_plus.validation.topics.schema import (
    CASE_KEYS,
    GRADED_KEYS,
    ID_KEYS,
    JUDGED_KEYS,
    LISTED_KEYS,
    TEXT_KEYS,
    TOP_KEYS,
    Schema,
)
from trectools_plus.validation.topics.view import (
    ENTRIES_SCHEMA,
    JUDGMENTS_SCHEMA,
    LANGUAGES_SCHEMA,
    Content,
    Kind,
    Trouble,
    Troubles,
)


def read_test_set(tree: Tree, troubles: Troubles | None = None) -> Content:
    """Read a test set from its tree.

    Args:
        tree: The document.
        troubles: Where to note what is wrong, if not in a new place.
    """
    reader = _Reader(Troubles() if troubles is None else troubles, tree.n_values)
    note_repeats(tree, reader.troubles)
    for node in tree.constants:
        what, remedy = f"{node.text} is no JSON", "Write a number or null"
        reader.troubles.add("T104", Trouble(node.line, what, node.column, remedy=remedy))
    if tree.root is not None:
        reader.read(tree.root)
    return reader.content()


class _Reader:
    def __init__(self, troubles: Troubles, n_values: int) -> None:
        self.troubles = troubles
        self._unfolder = Unfolder(n_values)
        self._schema = Schema(self.troubles)
        self._judgments = JudgmentsReader(self.troubles, self._schema, self._unfolder)
        self._notes = NotesReader(self.troubles)
        self._kind: Kind = "testset"
        self._entries: list[tuple[int, str | None, str | None, int]] = []

    def content(self) -> Content:
        entries = pl.DataFrame(self._entries, schema=ENTRIES_SCHEMA, orient="row")
        judgments = pl.DataFrame(self._judgments.rows, schema=JUDGMENTS_SCHEMA, orient="row")
        languages = pl.DataFrame(self._notes.languages, schema=LANGUAGES_SCHEMA, orient="row")
        return Content(entries, self.troubles, judgments, self._kind, languages)

    def read(self, root: Node) -> None:
        try:
            if isinstance(root, Items):
                self._read_list(root)
            elif isinstance(root, Mapping):
                self._read_mapping(root)
            elif not is_empty(root):
                self._wrong_form(root, describe(root))
        except TooMuchError as error:
            what = f"aliases repeat more than {MAX_REPEATED:,} values; the rest is not read"
            self.troubles.add("T104", Trouble(error.node.line, what, error.node.column))

    def _read_mapping(self, root: Mapping) -> None:
        pairs = self._unfolder.fields(root)
        fields = {key.text: value for key, value in pairs}
        keys = [key for key, _ in pairs]
        is_set = "queries" in fields or "test_cases" in fields
        if is_set and "metadata" in fields:
            self._read_metadata(fields["metadata"], own="queries" in fields)
        if "queries" in fields:
            self._schema.check(keys, TOP_KEYS)
            self._read_cases(fields["queries"], own=True)
        elif "test_cases" in fields:
            self._read_cases(fields["test_cases"], own=False)
        elif not fields or self._schema.check(keys, TOP_KEYS, only_near=True):
            return
        elif "metadata" in fields or any(isinstance(value, Scalar) for value in fields.values()):
            self._wrong_form(root, listed(list(fields)))
        else:
            self._read_judgments_only(pairs)

    def _read_metadata(self, node: Node, *, own: bool) -> None:
        if isinstance(node, Mapping):
            self._notes.read_metadata(self._unfolder.fields(node), own=own)
        elif not is_empty(node):
            self._notes.note_wrong(node, f"metadata is {describe(node)}, not a mapping", None)

    def _wrong_form(self, node: Node, seen: str) -> None:
        what = f"expected a list of test cases, 'queries' or 'test_cases' but got {seen}"
        remedy = "Give each test case an id, a text and its relevant documents"
        self.troubles.add("T105", Trouble(node.line, what, node.column, remedy=remedy))

    def _read_list(self, root: Items) -> None:
        """A list without more: what its cases are, their fields tell."""
        names = {
            key.text
            for case in self._unfolder.items(root)
            if isinstance(case, Mapping)
            for key, _ in self._unfolder.fields(case)
        }
        if not names.intersection(JUDGED_KEYS):
            self._kind = "topics"
        foreign = names.intersection(LISTED_KEYS) and not names.intersection(GRADED_KEYS)
        self._read_cases(root, own=not foreign)

    def _read_cases(self, node: Node, *, own: bool) -> None:
        if isinstance(node, Mapping):
            for key, case in self._unfolder.fields(node):
                self._read_case(case, own=own, key=key)
        elif isinstance(node, Items):
            for case in self._unfolder.items(node):
                self._read_case(case, own=own)
        elif not is_empty(node):
            self._wrong_form(node, describe(node))

    def _read_case(self, case: Node, *, own: bool, key: Scalar | None = None) -> None:
        """Read a test case.

        Args:
            case: The case.
            own: Whether it has an id and no fields but those of the schema.
            key: Its id, where it stands in front of the case.
        """
        if not isinstance(case, Mapping):
            what = f"expected a test case with id and text but got {describe(case)}"
            self.troubles.add("T105", Trouble(case.line, what, case.column))
            return
        pairs = self._unfolder.fields(case)
        fields = {name.text: (name, value) for name, value in pairs}
        entry = Entry(case.line)
        missing = self._read_id_and_text(fields, entry, key)
        if not own:
            missing.discard("id")
        judged = [fields[name] for name in JUDGED_KEYS if name in fields]
        if not judged and self._kind == "testset":
            missing.add("judgments")
        names = (name for name, _ in pairs)
        meant = self._schema.check(
            names, CASE_KEYS, entry.query_id, missing=missing, only_near=not own
        )
        for what in sorted(missing - meant - {"judgments"}):
            seen = f"{what} is missing (fields: {listed(list(fields))})"
            self.troubles.add("T105", Trouble(case.line, seen, case.column, entry.query_id))
        self._notes.read_case(fields, entry, own=own)
        self._entries.append(entry.as_row())
        for _, value in judged:
            self._judgments.read(value, entry, len(self._entries))
        if "judgments" in missing - meant:
            self._judgments.note_none(case, entry)
        elif judged and all(is_empty(value) for _, value in judged):
            self._judgments.note_none(judged[0][0], entry)

    def _read_id_and_text(
        self, fields: dict[str, tuple[Scalar, Node]], entry: Entry, key: Scalar | None
    ) -> set[str]:
        """Read the two into ``entry``, and tell which is missing."""
        missing = set()
        id_node: Node | None = next((fields[name][1] for name in ID_KEYS if name in fields), key)
        if id_node is None:
            missing.add("id")
        else:
            entry.query_id = read_id(id_node, "id", entry, self.troubles)
            entry.line = id_node.line
        text_node = next((fields[name][1] for name in TEXT_KEYS if name in fields), None)
        if text_node is None:
            missing.add("text")
        else:
            entry.text = read_text(text_node, entry, self.troubles)
        return missing

    def _read_judgments_only(self, pairs: list[tuple[Scalar, Node]]) -> None:
        """``{query_id: {doc_id: grade}}``."""
        for key, value in pairs:
            entry = Entry(key.line)
            entry.query_id = read_id(key, "id", entry, self.troubles)
            self._entries.append(entry.as_row())
            if is_empty(value):
                self._judgments.note_none(key, entry)
            self._judgments.read(value, entry, len(self._entries))
