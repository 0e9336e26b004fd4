"""What test cases and metadata say beside ids, texts and judgments: words, languages, remarks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trectools_plus.formats.nodes.model import Node, Scalar, describe
from trectools_plus.text import visible
from trectools_plus.validation.topics.fields import Entry
from trectools_plus.validation.topics.schema import METADATA_KEYS, NOTE_KEYS, NOTE_WORDS
from trectools_plus.validation.topics.view import Trouble, Troubles


class NotesReader:
    """Reads notes; what readers of test sets refuse is noted (T118).

    Args:
        troubles: Where to note it.

    Attributes:
        languages: ``line, query_id, language`` of each declaration read so far.
    """

    def __init__(self, troubles: Troubles) -> None:
        self.languages: list[tuple[int, str | None, str]] = []
        self._troubles = troubles

    def read_case(
        self, fields: Mapping[str, tuple[Scalar, Node]], entry: Entry, *, own: bool
    ) -> None:
        """Read the notes of a test case.

        Args:
            fields: Its fields.
            entry: The case.
            own: Whether fields hold this package's words; sets of other forms have their own,
                which readers leave out.
        """
        for name in NOTE_KEYS:
            if name in fields:
                self._read(name, fields[name][1], entry.query_id, own=own)

    def read_metadata(self, pairs: Iterable[tuple[Scalar, Node]], *, own: bool) -> None:
        """Read what a set says of itself.

        Args:
            pairs: Keys and values.
            own: Whether values have to be texts; in sets of other forms they are made texts.
        """
        for key, node in pairs:
            if key.text not in METADATA_KEYS:
                continue
            if own and not _is_text(node):
                self.note_wrong(node, f"{key.text} of the metadata is {_shown(node)}", None)
            elif key.text == "language" and isinstance(node, Scalar) and node.text:
                self.languages.append((node.line, None, node.text))

    def note_wrong(self, node: Node, what: str, query_id: str | None) -> None:
        """Note a value that readers refuse."""
        remedy = None
        if isinstance(node, Scalar) and node.meaning not in ("text", "null"):
            remedy = f'Quote it: "{visible(node.text)}"'
        self._troubles.add("T118", Trouble(node.line, what, node.column, query_id, remedy=remedy))

    def _read(self, name: str, node: Node, query_id: str | None, *, own: bool) -> None:
        if isinstance(node, Scalar) and node.meaning == "null":
            return
        words = NOTE_WORDS.get(name)
        if words is not None:
            if own and not (_is_text(node) and isinstance(node, Scalar) and node.text in words):
                what = f"{name} is {_shown(node)}, not one of {', '.join(words)}"
                self.note_wrong(node, what, query_id)
            return
        if not _is_text(node) and (own or not _is_whole_number(node)):
            self.note_wrong(node, f"{name} is {_shown(node)}", query_id)
        elif name == "language" and isinstance(node, Scalar) and node.text:
            self.languages.append((node.line, query_id, node.text))


def _is_text(node: Node) -> bool:
    return isinstance(node, Scalar) and node.meaning == "text"


def _is_whole_number(node: Node) -> bool:
    return isinstance(node, Scalar) and node.meaning == "integer"


def _shown(node: Node) -> str:
    """A value in the middle of a message."""
    if not isinstance(node, Scalar):
        return describe(node)
    shown = visible(node.text)
    return f"'{shown}'" if node.meaning == "text" else f"{shown}, which is no text"
