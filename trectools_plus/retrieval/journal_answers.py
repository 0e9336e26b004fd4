"""The answers in a journal, found by their query without being held."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from trectools_plus.formats.ids import digest_id
from trectools_plus.retrieval.backends.answering import Answer
from trectools_plus.retrieval.base import Ranking


class AnswerPlaces:
    """Where in a file the lines of answers are: 24 bytes for each."""

    def __init__(self) -> None:
        self.digests, self.starts, self.lengths = array("Q"), array("Q"), array("Q")

    def __len__(self) -> int:
        return len(self.digests)

    def add(self, query_id: str, start: int, length: int) -> None:
        """Note the line of a query's answer."""
        self.digests.append(digest_id(query_id))
        self.starts.append(start)
        self.lengths.append(length)


class JournalAnswers:
    """The answers that a journal holds at one moment.

    Args:
        file: The journal, open for reading as long as answers are asked for.
        places: Where the answers' lines are; what is added later is not seen.
    """

    def __init__(self, file: IO[bytes], places: AnswerPlaces) -> None:
        self._file = file
        self._starts = np.array(places.starts, dtype=np.int64)
        self._lengths = np.array(places.lengths, dtype=np.int64)
        digests = np.array(places.digests, dtype=np.uint64)
        self._order = np.argsort(digests, kind="stable")
        self._digests = digests[self._order]

    def __len__(self) -> int:
        return len(self._digests)

    def __contains__(self, query_id: str) -> bool:
        return self.get(query_id) is not None

    def __iter__(self) -> Iterator[Answer]:
        """All answers, as they were journalled."""
        return (self._read(place) for place in range(len(self)))

    def get(self, query_id: str) -> Answer | None:
        """The answer to a query; ``None`` if there is none."""
        digest = np.uint64(digest_id(query_id))
        first = int(np.searchsorted(self._digests, digest))
        # Two ids may share a digest, so the line says whose it is.
        while first < len(self._digests) and self._digests[first] == digest:
            answer = self._read(int(self._order[first]))
            if answer.query_id == query_id:
                return answer
            first += 1
        return None

    def _read(self, place: int) -> Answer:
        self._file.seek(int(self._starts[place]))
        return as_answer(json.loads(self._file.read(int(self._lengths[place]))))


def as_answer(entry: dict[str, Any]) -> Answer:
    """An answer out of its line in the journal; scores are read back exactly.

    Raises:
        KeyError, TypeError, ValueError: If it is no such line.
    """
    scores = np.array(entry["scores"], dtype=np.float32)
    return Answer(
        entry["query_id"],
        Ranking([str(doc_id) for doc_id in entry["doc_ids"]], scores),
        latency_ms=float(entry["latency_ms"]),
        attempts=entry["attempts"],
        asked=entry["asked"],
        cut_short=entry["cut_short"],
        diagnostics=entry.get("diagnostics"),
    )
