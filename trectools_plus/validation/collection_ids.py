"""The document ids that a collection has: a list of them, a pattern that they follow, or both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.formats.lexer import BOM
from trectools_plus.formats.source import read_source
from trectools_plus.validation.order import Flags


@dataclass(frozen=True, eq=False)
class DocumentIds:
    """What document ids there are.

    Attributes:
        ids: All of them; ``None`` if there is no list.
        pattern: A regular expression (without look-around) that each of them matches as a whole.

    Raises:
        UsageError: If the pattern is no regular expression.
    """

    ids: pl.Series | None = None
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is None:
            return
        try:
            pl.Series([""]).str.contains(self._whole_pattern)
        except pl.exceptions.ComputeError as error:
            raise UsageError(
                f"'{self.pattern}' is no regular expression: {_reason(error)}",
                where="--docid-pattern",
                remedy="write one like 'HP:[0-9]{7}', without look-around",
            ) from None

    @property
    def _whole_pattern(self) -> str:
        return f"^(?:{self.pattern})$"

    def lacks(self, doc_ids: pl.Series) -> Flags:
        """For each id: whether it is none of the collection's."""
        known = pl.repeat(True, doc_ids.len(), eager=True)
        if self.ids is not None:
            known &= doc_ids.is_in(self.ids.implode())
        if self.pattern is not None:
            known &= doc_ids.str.contains(self._whole_pattern)
        flags: Flags = (~known).to_numpy()
        return flags


def read_document_ids(path: str | Path) -> pl.Series:
    """Read a list of document ids, one a line, compressed or not; blank lines are left out.

    Raises:
        InputError: If the file cannot be read.
    """
    data = read_source(path).data.removeprefix(BOM)
    text = data.decode("utf-8", "replace")
    lines = pl.Series("doc_id", [text]).str.split("\n").explode().str.strip_chars(" \t\r")
    return lines.filter(lines != "")


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return reasons[0] if reasons else "it cannot be read"
