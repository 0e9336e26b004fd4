"""Fields of lines as 64-bit words, which are compared, hashed and sorted without Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Word = npt.NDArray[np.uint64]

MAX_WORDS = 8
"""The greatest number of words of a field."""

MARGIN = 8 * MAX_WORDS
"""The number of bytes around a text, so that a word may begin before it or end after it."""

KEPT = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""The mask of the first ``n`` bytes of a word."""

# glibc keeps freed memory of up to this size for the next chunk once so much has been freed, which
# avoids most page faults.
np.empty(31 << 20, np.uint8)

_FACTORS = np.array(
    [
        0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93,
        0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3,
    ],
    np.uint64,
)  # fmt: skip
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Text:
    """Bytes with a margin of zeros on both sides.

    Attributes:
        padded: The bytes with their margins.
        n_bytes: The number of bytes without margins.
    """

    padded: Bytes
    n_bytes: int

    @classmethod
    def of(cls, data: bytes) -> Text:
        """Copy some bytes."""
        padded = np.empty(len(data) + 2 * MARGIN, np.uint8)
        padded[:MARGIN] = padded[-MARGIN:] = 0
        padded[MARGIN:-MARGIN] = np.frombuffer(data, np.uint8)
        return cls(padded, len(data))

    @property
    def data(self) -> Bytes:
        """The bytes without margins."""
        return self.padded[MARGIN : MARGIN + self.n_bytes]

    @cached_property
    def _words(self) -> Word:
        """The word at each byte, in little-endian order; the first begins before the margin."""
        n_words = len(self.padded) - 7
        return np.ndarray((n_words,), np.dtype("<u8"), self.padded, 0, (1,))

    def words_at(self, places: Rows, offset: int = 0) -> Word:
        """Return the eight bytes from ``offset`` bytes after each place."""
        return self._words[MARGIN + offset :][places]

    def has_everywhere(self, places: Rows, pattern: bytes) -> bool:
        """Return whether the text has a pattern at each of some places."""
        for at in range(0, len(pattern), 8):
            part = pattern[at : at + 8]
            found = self.words_at(places, at)
            if len(part) < 8:
                found &= KEPT[len(part)]
            if not (found == np.uint64(int.from_bytes(part, "little"))).all():
                return False
        return True

    def cut(self, begin: int, end: int) -> bytes:
        """Return the bytes between two places."""
        return self.padded[MARGIN + begin : MARGIN + end].tobytes()


@dataclass(frozen=True, eq=False)
class Ids:
    """One id for each row, as words: equal ids have equal words.

    Attributes:
        words: The words of all rows; shorter ids end in zeros.
    """

    words: tuple[Word, ...]

    @classmethod
    def of(cls, text: Text, starts: Rows, ends: Rows) -> Ids | None:
        """Read the fields between some places; ``None`` if one is longer than ``MAX_WORDS``."""
        lengths = ends - starts
        n_words = (int(lengths.max()) + 7) >> 3
        if n_words > MAX_WORDS:
            return None
        words = []
        for number in range(n_words):
            word = text.words_at(starts, 8 * number)
            word &= KEPT.take(lengths, mode="clip")
            words.append(word)
            lengths -= 8
        return cls(tuple(words))

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> Ids:
        """Return the ids with some texts of up to ``8 * MAX_WORDS`` bytes."""
        data = [text.encode() for text in texts]
        n_words = max((len(one) + 7) >> 3 for one in data)
        joined = np.array(data, f"S{8 * n_words}").view(np.dtype("<u8")).reshape(-1, n_words)
        return cls(tuple(np.ascontiguousarray(word) for word in joined.T))

    def __len__(self) -> int:
        return len(self.words[0])

    def take(self, rows: Rows | slice) -> Ids:
        """Return the ids of some rows."""
        return Ids(tuple(word[rows] for word in self.words))

    def equal(self, other: Ids) -> Flags:
        """Compare the ids of each row with those of the same row of ``other``."""
        shared = min(len(self.words), len(other.words))
        flags: Flags = self.words[0] == other.words[0]
        for ours, theirs in zip(self.words[1:shared], other.words[1:shared], strict=True):
            flags &= ours == theirs
        for word in (*self.words[shared:], *other.words[shared:]):
            flags &= word == 0
        return flags

    def changes(self) -> Flags:
        """Return, for rows 1, 2, …, whether the id differs from that of the previous row."""
        flags: Flags = self.words[0][1:] != self.words[0][:-1]
        for word in self.words[1:]:
            flags |= word[1:] != word[:-1]
        return flags

    def hashes(self) -> Word:
        """Return 64-bit hashes, of which the highest bits are the best."""
        mixed: Word = self.words[0] * _FACTORS[0]
        for number, word in enumerate(self.words[1:], 1):
            mixed += word * _FACTORS[number]
        mixed ^= mixed >> _HALF
        mixed *= _MIX
        return mixed

    def sort_keys(self) -> Sequence[Word]:
        """Return keys for ``np.lexsort`` that sort the ids by their bytes."""
        return [word.byteswap() for word in reversed(self.words)]

    def texts(self, rows: Rows) -> list[str]:
        """Return the ids of some rows."""
        words = np.stack([word[rows] for word in self.words], axis=-1).astype("<u8", copy=False)
        width = 8 * len(self.words)
        joined = np.ascontiguousarray(words).view(f"S{width}").ravel()
        return [one.decode() for one in joined.tolist()]

    @cached_property
    def has_upper(self) -> bool:
        """True if one of the ids contains a letter from A to Z."""
        return any(bool((_upper(word) != 0).any()) for word in self.words)

    def lower(self) -> Ids:
        """Return ASCII ids in lower case."""
        return Ids(tuple(map(_lower, self.words)))


def _upper(word: Word) -> Word:
    """Return words with the highest bit of each byte from A to Z."""
    # A byte of at least "A" gets the highest bit by the first sum, one above "Z" by the second.
    from_a = word + np.uint64(0x3F3F3F3F3F3F3F3F)
    above_z = word + np.uint64(0x2525252525252525)
    high: Word = (from_a ^ above_z) & np.uint64(0x8080808080808080)
    return high


def _lower(word: Word) -> Word:
    """Convert A to Z in words of ASCII bytes to lower case."""
    return word | (_upper(word) >> np.uint64(2))
