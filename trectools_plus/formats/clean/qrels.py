"""Clean qrels: regular lines without any problem that blocks scoring."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trectools_plus.formats.clean.lines import (
    Layout,
    Lines,
    find_ends,
    have_separators,
    line_starts,
    scan_lines,
)
from trectools_plus.formats.clean.run import has_repeats
from trectools_plus.formats.clean.words import Ids, Rows, Word

MAX_GRADE = 127
"""The greatest grade that evaluators support."""

_N_FIELDS = 4
_GRADE = re.compile(r"[+-]?[0-9]{1,6}")


@dataclass(frozen=True, eq=False)
class CleanQrels:
    """Judgments, grouped by query, each document once in a query.

    Queries are in the order of their first row, and the judgments of a query in that of the file.
    Each query has a grade of 0 or more, and one has a grade of 1 or more.

    Attributes:
        query_ids: The queries.
        starts: The first judgment of each query, followed by the number of judgments.
        doc_ids: The documents.
        relevance: The grades (int64, -127 to 127).
        layout: How the lines of the file are written.
    """

    query_ids: list[str]
    starts: Rows
    doc_ids: Ids
    relevance: npt.NDArray[np.int64]
    layout: Layout


def scan_qrels(data: bytes) -> CleanQrels | None:
    """Read qrels, if they are clean.

    Args:
        data: The file. The last line end may be missing.

    Returns:
        The judgments; ``None`` if a line is unusual, breaks a rule that blocks scoring, or may be
        read in another way by another reader of this package.
    """
    return scan_lines(data, _N_FIELDS, _scan)


def _scan(lines: Lines) -> CleanQrels | None:
    text, ends = lines.text, find_ends(lines, _N_FIELDS)
    if ends is None or not have_separators(lines, ends):
        return None
    query = Ids.of(text, line_starts(lines, ends), ends[0])
    doc_ids = Ids.of(text, ends[1] + 1, ends[2])
    grades = Ids.of(text, ends[2] + 1, ends[3])
    if query is None or doc_ids is None or grades is None or len(grades.words) > 1:
        return None
    relevance = _parse_grades(grades.words[0])
    if relevance is None:
        return None
    heads = np.concatenate([[0], np.flatnonzero(query.changes()) + 1])
    block_ids = query.texts(heads)
    numbers: dict[str, int] = {}
    of_block = np.array([numbers.setdefault(one, len(numbers)) for one in block_ids])
    query_ids = list(numbers)
    if any(one[0] == "#" for one in query_ids):
        return None
    number = np.repeat(of_block, np.diff(heads, append=len(query)))
    if len(query_ids) < len(block_ids):
        order = np.argsort(number, kind="stable")
        number, doc_ids, relevance = number[order], doc_ids.take(order), relevance[order]
    first = np.concatenate([[0], np.cumsum(np.bincount(number))])
    highest = np.maximum.reduceat(relevance, first[:-1])
    if highest.min() < 0 or highest.max() < 1 or np.abs(relevance).max() > MAX_GRADE:
        return None
    # With a single document, columns 2 and 3 may be swapped.
    if (len(query) > 1 and not doc_ids.changes().any()) or has_repeats(doc_ids, first):
        return None
    return CleanQrels(query_ids, first, doc_ids, relevance, lines.layout)


def _parse_grades(words: Word) -> npt.NDArray[np.int64] | None:
    """Parse grades, which have few different texts."""
    digits = words - np.uint64(ord("0"))
    if (digits <= 9).all():
        return digits.astype(np.int64)
    different, number = np.unique(words, return_inverse=True)
    texts = Ids((different,)).texts(np.arange(len(different)))
    if not all(map(_GRADE.fullmatch, texts)):
        return None
    return np.array(list(map(int, texts)), np.int64)[number]
