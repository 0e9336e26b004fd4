"""Sentences, clauses and phrases of a text, each with its exact place.

Rules, no model: a sentence ends at a line's end, or at ``.``, ``!`` or ``?`` before a semicolon, or
before white space and something that can begin a sentence, unless what stands before is a common
abbreviation such as ``e.g.`` or ``Dr.``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from trectools_plus.choices import ChunkLevel
from trectools_plus.errors import UsageError

LEVELS: tuple[ChunkLevel, ...] = get_args(ChunkLevel)

_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|cf|vs|viz|approx|ca|et al|figs?|nos|vol|dr|mr|mrs|ms|prof|st|dept|resp|incl|"
    r"refs?)\.$",
    re.IGNORECASE,
)
_LONGEST_ABBREVIATION = 8
_SENTENCE_END = re.compile(r"[\r\n\u2028\u2029]+|[.!?][\"'”’)\]]*(?:;|(?=\s+[\"'“‘(\[]*[^\W_a-z]))")
_CLAUSE_BREAK = re.compile(
    r"[;:()\[\]{}]|(?<=\s)[-–—•](?=\s)|—"
    r"|,(?=\s+(?:but|however|although|though|whereas|while|which|who|whose|except)\b)",
    re.IGNORECASE,
)
_PHRASE_BREAK = re.compile(r",|/|&|\b(?:and|or|but)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text without blanks around it.

    Attributes:
        start: Where it starts, in characters.
        end: Where it ends, exclusive; ``text[start:end]`` is the chunk.
        text: The chunk.
    """

    start: int
    end: int
    text: str


def chunk(text: str, level: ChunkLevel = "sentence") -> list[Chunk]:
    """Cut a text into sentences, clauses, or phrases; together they hold all its words.

    A clause ends at ``;``, ``:``, brackets, dashes, and before *but*, *which* and their like after
    a comma. A phrase also ends at every comma, slash, *and*, *or*, *but*.

    Args:
        text: Any text.
        level: ``sentence``, ``clause`` (within sentences) or ``phrase`` (within clauses).

    Raises:
        UsageError: If there is no such level.
    """
    if level not in LEVELS:
        raise UsageError(f"no level of chunks is called {level!r}", remedy=f"{', '.join(LEVELS)}")
    pieces = list(_sentences(text))
    if level != "sentence":
        pieces = [part for piece in pieces for part in _split(text, *piece, _CLAUSE_BREAK)]
    if level == "phrase":
        pieces = [part for piece in pieces for part in _split(text, *piece, _PHRASE_BREAK)]
    return [found for start, end in pieces for found in _trimmed(text, start, end)]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if text[match.start()] == ".":
            before = text[max(start, match.start() - _LONGEST_ABBREVIATION) : match.start() + 1]
            if _ABBREVIATION.search(before):
                continue
        yield start, match.end()
        start = match.end()
    yield start, len(text)


def _split(text: str, start: int, end: int, where: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for match in where.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def _trimmed(text: str, start: int, end: int) -> Iterator[Chunk]:
    """The chunk without blanks around, if it has a letter or digit at all."""
    part = text[start:end]
    if any(letter.isalnum() for letter in part):
        begin = start + len(part) - len(part.lstrip())
        finish = start + len(part.rstrip())
        yield Chunk(begin, finish, text[begin:finish])
