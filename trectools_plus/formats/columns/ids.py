"""Texts as 64-bit words, compared, hashed and found in tables without Python objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Word = npt.NDArray[np.uint64]

MAX_WORDS = 16
"""The greatest number of words of the bytes of a field; one more word stands for further bytes."""

MARGIN = 8 * MAX_WORDS
"""The number of bytes around a text, so that a word may begin before it or end after it."""

KEPT = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""The mask of the first ``n`` bytes of a word."""

# glibc keeps freed memory of up to this size for the next chunk once so much has been freed, which
# avoids most page faults.
np.empty(31 << 20, np.uint8)


_FACTORS = np.cumprod(np.full(MAX_WORDS + 1, 0x9E3779B97F4A7C15, np.uint64))
"""Odd numbers with irregular bits, one for each word."""
_HIGH = np.uint64(0x8080808080808080)
_NUL, _FOR_NUL = b"\0", b"\xff"
"""A byte that is not in UTF-8 stands for NUL, so that NULs at the end of an id are kept."""


NO_ENDS: Rows = np.zeros((0, 0), np.int64)


class Text:
    """A copy of some bytes with a margin of zeros on both sides, which may be rows of fields.

    Rows have one separator between two fields, and LF at the end.

    Args:
        data: The bytes.
        ends: The byte after each field, of shape (fields, rows).

    Attributes:
        data: The bytes without margins.
        ends: The byte after each field.
    """

    def __init__(self, data: bytes, ends: Rows = NO_ENDS) -> None:
        self.ends = ends
        padded = np.empty(len(data) + 2 * MARGIN, np.uint8)
        padded[:MARGIN] = padded[-MARGIN:] = 0
        self.data: Bytes = padded[MARGIN:-MARGIN]
        self.data[:] = np.frombuffer(data, np.uint8)
        # The word at each byte, in little-endian order; the first begins before the margin.
        self._words: Word = np.ndarray((len(padded) - 7,), np.dtype("<u8"), padded, 0, (1,))

    def words_at(self, places: Rows, offset: int = 0) -> Word:
        """Return the eight bytes from ``offset`` bytes after each place."""
        return self._words[MARGIN + offset :][places]

    def bounds(self, number: int) -> tuple[Rows, Rows]:
        """Return the first byte of a field, by its number from 1, and the byte after its last."""
        starts: Rows = np.add(self.ends[number - 2], 1)
        if number == 1:
            starts[1:] = starts[:-1].copy()
            starts[:1] = 0
        return starts, self.ends[number - 1]

    def ids(self, number: int) -> Ids:
        """Return a field of all rows."""
        return Ids.of(self, *self.bounds(number))


@dataclass(frozen=True, eq=False)
class Ids:
    """One text for each row, as words: equal texts have equal words.

    Attributes:
        words: The words of all rows; shorter texts end in zeros. If a text is longer than
            ``MAX_WORDS``, another word is a hash of its further bytes, 0 if there are none.
        rests: These further bytes by their hashes.
    """

    words: tuple[Word, ...]
    rests: Mapping[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, text: Text, starts: Rows, ends: Rows) -> Ids:
        """Read the fields between some places."""
        lengths = ends - starts
        longest = int(lengths.max(initial=1))
        words = []
        for number in range(min(MAX_WORDS, (longest + 7) >> 3)):
            word = text.words_at(starts, 8 * number)
            word &= KEPT.take(lengths, mode="clip")
            words.append(word)
            lengths -= 8
        if longest <= MARGIN:
            return cls(tuple(words)).folded()
        rests: dict[int, bytes] = {}
        hashes = np.zeros(len(starts), np.uint64)
        for row in np.flatnonzero(lengths > 0).tolist():
            rest = text.data[int(starts[row]) + MARGIN : int(ends[row])].tobytes()
            key = int.from_bytes(blake2b(rest, digest_size=8).digest(), "little") or 1
            hashes[row], rests[key] = key, rest
        return cls((*words, hashes), rests)

    @classmethod
    def of_series(cls, texts: pl.Series) -> Ids:
        """Return the texts of a column of strings without nulls."""
        return cls._of_bytes(join_texts(texts).encode(), texts.str.len_bytes().to_numpy())

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Ids:
        """Return some texts."""
        data = list(map(str.encode, texts))
        return cls._of_bytes(b"".join(data), list(map(len, data)))

    @classmethod
    def _of_bytes(cls, data: bytes, lengths: npt.ArrayLike) -> Ids:
        """Return texts that follow one another."""
        ends = np.cumsum(lengths, dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
        return cls.of(Text(data.replace(_NUL, _FOR_NUL)), starts, ends)

    @classmethod
    def constant(cls, text: str, n_rows: int) -> Ids:
        """Return the same text for all rows, without a copy for each."""
        return cls.of_texts([text]).take(np.zeros(n_rows, np.int64)).folded()

    @classmethod
    def joined(cls, parts: Sequence[Ids]) -> Ids:
        """Return the texts of some parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        n_words = max(len(part.words) for part in parts)
        words = []
        for number in range(n_words):
            of_parts = [
                part.words[number] if number < len(part.words) else np.zeros(len(part), np.uint64)
                for part in parts
            ]
            words.append(np.concatenate(of_parts))
        rests = {key: rest for part in parts for key, rest in part.rests.items()}
        return cls(tuple(words), rests).folded()

    def folded(self) -> Ids:
        """Return the same texts, without a copy for each row if all are equal."""
        if not len(self) or self.changes().any():
            return self
        return Ids(tuple(np.broadcast_to(word[0], len(self)) for word in self.words), self.rests)

    def __len__(self) -> int:
        return len(self.words[0])

    def take(self, rows: Rows | Flags | slice) -> Ids:
        """Return the texts of some rows."""
        return Ids(tuple(word[rows] for word in self.words), self.rests)

    def equal(self, other: Ids) -> Flags:
        """Compare the text of each row with that of the same row of ``other``, or its only one."""
        shared = min(len(self.words), len(other.words))
        flags: Flags = self.words[0] == other.words[0]
        for ours, theirs in zip(self.words[1:shared], other.words[1:shared], strict=True):
            flags &= ours == theirs
        for word in (*self.words[shared:], *other.words[shared:]):
            flags &= word == 0
        return flags

    def differ_from(self, text: str) -> Rows:
        """Return the rows with another text."""
        return np.flatnonzero(~self.equal(Ids.of_texts([text])))

    def changes(self) -> Flags:
        """Return, for rows 1, 2, …, whether the text differs from that of the previous row."""
        flags: Flags = self.words[0][1:] != self.words[0][:-1]
        for word in self.words[1:]:
            flags |= word[1:] != word[:-1]
        return flags

    def hashes(self) -> Word:
        """Return 64-bit hashes, of which the highest bits are the best."""
        mixed: Word = self.words[0] * _FACTORS[0]
        for number, word in enumerate(self.words[1:], 1):
            mixed += word * _FACTORS[number]
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        return mixed

    def numbered(self) -> tuple[Rows, Rows]:
        """Number the different texts in the order of their first rows.

        Returns:
            The number of each row, and the first row of each number.
        """
        if not self.changes().any():
            return np.zeros(len(self), np.int64), np.arange(min(1, len(self)))
        keys = self.words[0] if len(self.words) == 1 else self.hashes()
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        if len(self.words) > 1 and not self.take(first).take(number).equal(self).all():
            numbers: dict[str, int] = {}  # different texts have the same hash
            texts = self.texts()
            found = np.array([numbers.setdefault(one, len(numbers)) for one in texts], np.int64)
            return found, np.unique(found, return_index=True)[1]
        order = np.argsort(first)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place[number], first[order]

    def sort_keys(self) -> Sequence[Word]:
        """Return keys for ``np.lexsort`` that sort the texts by their bytes."""
        words = self.words[:MAX_WORDS]
        keys = [word.byteswap() for word in reversed(words)]
        if len(self.words) <= MAX_WORDS:
            return keys
        places = {rest: at for at, rest in enumerate(sorted({b"", *self.rests.values()}))}
        of_hash = {key: places[rest] for key, rest in self.rests.items()} | {0: 0}
        rests = [of_hash[key] for key in self.words[MAX_WORDS].tolist()]
        return [np.array(rests, np.uint64), *keys]

    def text(self, row: int) -> str:
        """Return the text of a row."""
        return self.texts(np.array([row]))[0]

    def texts(self, rows: Rows | Flags | slice = slice(None)) -> list[str]:
        """Return the texts of some rows, by default of all."""
        found = self._bytes(rows)
        texts: list[bytes] = found.tolist()
        if self.rests:
            hashes = self.words[MAX_WORDS][rows].tolist()
            texts = [
                text + self.rests.get(key, b"") for text, key in zip(texts, hashes, strict=True)
            ]
        if self.rests or _FOR_NUL in found.tobytes():
            texts = [text.replace(_FOR_NUL, _NUL) for text in texts]
        return list(map(bytes.decode, texts))

    def series(self) -> pl.Series:
        """Return all texts as a column of strings."""
        import polars as pl

        found = self._bytes(slice(None))
        if self.rests or not len(self) or _FOR_NUL in found.tobytes():
            return pl.Series(self.texts(), dtype=pl.String)
        return pl.Series(found).cast(pl.String)

    def _bytes(self, rows: Rows | Flags | slice) -> npt.NDArray[np.bytes_]:
        """Return the first bytes of some rows."""
        words = np.stack([word[rows] for word in self.words[:MAX_WORDS]], axis=-1)
        return np.ascontiguousarray(words, "<u8").view(f"S{8 * words.shape[1]}").ravel()

    def beyond_ascii(self) -> Flags:
        """Flag the texts that are not ASCII, or longer than ``MAX_WORDS``."""
        flags: Flags = np.zeros(len(self), np.bool_)
        for number, word in enumerate(self.words):
            flags |= (word & _HIGH if number < MAX_WORDS else word) != 0
        return flags

    def lower(self) -> Ids:
        """Return ASCII texts in lower case."""
        # The first sum sets the highest bit of a byte from "A" on, the second that above "Z".
        from_a, above_z = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x2525252525252525)
        upper = (((word + from_a) ^ (word + above_z)) & _HIGH for word in self.words)
        return Ids(
            tuple(word | (bit >> np.uint64(2)) for word, bit in zip(self.words, upper, strict=True))
        )


def join_texts(texts: pl.Series) -> str:
    """Return the texts of a column as one text."""
    # Polars 1.33 fails on a text that is repeated, unless the column is a slice.
    return texts.slice(0, texts.len()).str.join("").item() or ""  # null without texts


class PairTable:
    """Pairs of query number and document, by keys with the query in the highest bits.

    Args:
        ids: The document of each pair; pairs may be repeated.
        query: The query of each pair.
    """

    def __init__(self, ids: Ids, query: Rows) -> None:
        n_queries = int(query.max(initial=0)) + 1
        self.ids, self.query, self._n_bits = ids, query, n_queries.bit_length()
        keys = self._keys_of(ids, query)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys = keys[self._order]
        heads = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1], [True]]))
        self._n_equal = int(np.diff(heads).max(initial=0))  # usually 1
        n_slots = 16 * len(query) // n_queries
        self._n_slot_bits = min(self._n_bits + n_slots.bit_length(), 26)
        # Whether a key with such highest bits exists, to exclude most others.
        self._is_used = np.zeros(1 << self._n_slot_bits, np.bool_)
        self._is_used[self._slots(keys)] = True

    def find(self, ids: Ids, query: Rows) -> tuple[Rows, Rows]:
        """Find pairs of document and query number; a negative number is never found.

        Returns:
            The positions of the pairs that are in the table, ascending, and their pairs in it: the
            first of those that are equal.
        """
        keys = self._keys_of(ids, query)
        places = np.flatnonzero(self._is_used.take(self._slots(keys)))
        keys = keys[places]
        first = np.searchsorted(self._keys, keys)
        pairs = np.full(len(places), -1)
        for at in range(self._n_equal):
            near = np.flatnonzero((pairs < 0) & (self._keys.take(first + at, mode="clip") == keys))
            pair = self._order.take(first[near] + at, mode="clip")
            same = ids.take(places[near]).equal(self.ids.take(pair))
            same &= query[places[near]] == self.query[pair]
            pairs[near[same]] = pair[same]
        found = np.flatnonzero(pairs >= 0)
        return places[found], pairs[found]

    def has_any(self, ids: Ids) -> bool:
        """Return whether a document is in the table, for any query."""
        known = PairTable(self.ids, np.zeros(len(self.ids), np.int64))
        return len(known.find(ids, np.zeros(len(ids), np.int64))[0]) > 0

    def _slots(self, keys: Word) -> Rows:
        return (keys >> np.uint64(64 - self._n_slot_bits)).view(np.int64)

    def _keys_of(self, ids: Ids, query: Rows) -> Word:
        high = query.astype(np.uint64) << np.uint64(64 - self._n_bits)
        return (ids.hashes() >> np.uint64(self._n_bits)) | high
