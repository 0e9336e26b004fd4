"""The journal of a fetch: which queries are answered, and how, so that a killed one can go on.

A text file of JSON lines. The first line says what is fetched: the facts and their hash. Each
further line is one query: its documents and scores, or why there are none. Lines are only ever
appended, each batch by one write that reaches the disk before the next batch; a process that is
killed leaves at most one torn line at the end, which is cut off when the fetch goes on.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.hashing import digest_id, sha256_text
from trectools_plus.retrieval.fetch.answering import Answer, FailedQuery
from trectools_plus.retrieval.source import Failure, Ranking

VERSION = 1


class Journal:
    """Finished queries on disk; made by :func:`open_journal`, and used by one process at a time.

    Only the place of each answer in the file is in memory.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path, descriptor: int, places: AnswerPlaces, size: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._places = places
        self._size = size
        self._header_size = 0
        self._reader = path.open("rb")

    @property
    def answers(self) -> JournalAnswers:
        """The answers that are there now, while it is open."""
        return JournalAnswers(self._reader, self._places)

    def add(self, outcomes: Iterable[Answer | FailedQuery]) -> None:
        """Append what became of some queries; when this returns it is on the disk.

        Raises:
            InputError: If it cannot be written.
        """
        lines = [
            (one, f"{json.dumps(_spell(one), allow_nan=False)}\n".encode()) for one in outcomes
        ]
        start = self._size
        self._append(b"".join(line for _, line in lines))
        for outcome, line in lines:
            if isinstance(outcome, Answer):
                self._places.add(outcome.query_id, start, len(line))
            start += len(line)

    def close(self) -> None:
        """Let another process have it."""
        self._reader.close()
        os.close(self._descriptor)

    def discard(self) -> None:
        """Remove it: what it holds is worth nothing."""
        self.path.unlink(missing_ok=True)

    def discard_if_new(self) -> None:
        """Remove it if it was begun here and no query has been asked: there is nothing to keep."""
        if self._size == self._header_size:
            self.discard()

    def _begin(self, header: bytes) -> None:
        self._append(header)
        self._header_size = self._size

    def _append(self, content: bytes) -> None:
        try:
            rest = content
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
            self._size += len(content)
        except OSError as error:
            raise _refused(self.path, error) from error


def open_journal(
    path: str | Path, facts: Mapping[str, Any], queries: int, *, resume: bool
) -> Journal:
    """Begin a journal, or resume the one that is there.

    Args:
        path: The file.
        facts: Everything that shapes the answers, as JSON: settings, depth, hash of the topics.
        queries: How many will be asked.
        resume: Whether to go on; otherwise a finished journal is begun anew.

    Raises:
        UsageError: If it is of another fetch, is damaged, or, without ``resume``, unfinished.
        InputError: If it cannot be opened, or another process holds it.
    """
    place = Path(path)
    facts = json.loads(json.dumps(facts))
    descriptor = _open_alone(place)
    try:
        header, places, size = _read(place)
        if header is not None and resume:
            _refuse_other(place, header, facts)
        elif header is not None and 0 < len(places) < header.get("queries", 0):
            raise UsageError(
                f"{len(places):,} of {header['queries']:,} queries of an unfinished fetch are "
                "answered here",
                where=str(place),
                remedy="add --resume to go on with it, or remove the file to begin anew",
            )
        if header is None or not resume:
            places, size = AnswerPlaces(), 0
        os.ftruncate(descriptor, size)
        journal = Journal(place, descriptor, places, size)
        if size == 0:
            head = {"journal": VERSION, "key": _key(facts), "queries": queries, "facts": facts}
            journal._begin((json.dumps(head, ensure_ascii=False) + "\n").encode())
    except OSError as error:
        os.close(descriptor)
        raise _refused(place, error) from error
    except BaseException:
        os.close(descriptor)
        raise
    return journal


def _key(facts: Mapping[str, Any]) -> str:
    return sha256_text(json.dumps(facts, sort_keys=True, ensure_ascii=False))


def _open_alone(path: Path) -> int:
    """Open for appending, and keep other processes out until it is closed or this one dies."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise _refused(path, error) from error
    try:
        import fcntl
    except ImportError:  # Windows: nothing of the kind for a file that is also read by name
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise InputError(
            "another fetch is writing here", where=str(path), remedy="wait for it, or end it"
        ) from error
    return descriptor


def _read(path: Path) -> tuple[dict[str, Any] | None, AnswerPlaces, int]:
    """Header, the places of answers, and the bytes up to the end of the last whole line."""
    header: dict[str, Any] | None = None
    places = AnswerPlaces()
    size = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                break
            try:
                entry = json.loads(line)
                if header is None:
                    header = {"key": entry["key"], "facts": dict(entry["facts"]), **entry}
                elif entry["status"] == "ok":
                    places.add(as_answer(entry).query_id, size, len(line))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    "no line of a journal of finished queries",
                    where=f"{path}:{number}",
                    remedy="remove the file to begin anew",
                ) from error
            size += len(line)
    return header, places, size


def _spell(outcome: Answer | FailedQuery) -> dict[str, Any]:
    """A line as JSON values; scores are those of the run, and read back exactly."""
    if isinstance(outcome, FailedQuery):
        failure: Failure = outcome.failure
        return {
            "query_id": outcome.query_id,
            "status": failure.kind,
            "reason": failure.reason,
            "attempts": failure.attempts,
        }
    spelled = {
        "query_id": outcome.query_id,
        "status": "ok",
        "doc_ids": outcome.ranking.doc_ids,
        "scores": outcome.ranking.scores.astype(np.float64).tolist(),
        "latency_ms": outcome.latency_ms,
        "attempts": outcome.attempts,
        "asked": outcome.asked,
        "cut_short": outcome.cut_short,
    }
    return spelled | ({} if outcome.diagnostics is None else {"diagnostics": outcome.diagnostics})


def _refuse_other(path: Path, header: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Check that the journal is of the same fetch; name what differs."""
    if header["key"] == _key(facts):
        return
    old: Mapping[str, Any] = header["facts"]
    differing = [name for name in {**old, **facts} if old.get(name) != facts.get(name)]
    what = ", ".join(_difference(name, old.get(name), facts.get(name)) for name in differing)
    raise UsageError(
        f"the journal is of another fetch: {what or 'its key differs'}",
        where=str(path),
        remedy="ask with what it was begun with, or remove the file to begin anew",
    )


def _difference(name: str, old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        inner = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        return ", ".join(_difference(f"{name}.{key}", old.get(key), new.get(key)) for key in inner)
    shown = [json.dumps(value, ensure_ascii=False) for value in (old, new)]
    if max(map(len, shown)) > 40:
        return f"{name} differs"
    return f"{name} was {shown[0]} and is {shown[1]}"


def _refused(path: Path, error: OSError) -> InputError:
    return InputError(
        f"the journal cannot be written: {error.strerror or error}",
        where=str(path),
        remedy="check free space and permissions",
    )


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
