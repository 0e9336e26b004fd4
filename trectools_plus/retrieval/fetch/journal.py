"""The journal of a fetch: the answers so far, so that an interrupted fetch can be resumed.

A text file of JSON lines. The first line describes the fetch: the facts and their hash. Each
further line is the answer or the failure of one query. Lines are only appended. Each batch is one
write that is flushed to the disk before the next batch, so a killed process leaves at most one
incomplete line at the end. Resuming the fetch removes it.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.appending import AppendedFile
from trectools_plus.formats.hashing import digest_id, sha256_text
from trectools_plus.retrieval.fetch.answering import Answer, FailedQuery
from trectools_plus.retrieval.source import Ranking

VERSION = 1


class Journal:
    """Outcomes of queries on disk; opened by :func:`open_journal`, by one process at a time.

    Only the position of each answer in the file is kept in memory.

    Attributes:
        path: The file.
    """

    def __init__(self, file: AppendedFile, index: AnswerIndex) -> None:
        self.path = file.path
        self._file = file
        self._index = index
        self._header_size = 0
        self._reader = file.path.open("rb")

    @property
    def answers(self) -> JournalAnswers:
        """The answers stored so far; readable while the journal is open."""
        return JournalAnswers(self._reader, self._index)

    def add(self, outcomes: Iterable[Answer | FailedQuery]) -> None:
        """Append the outcomes of some queries and flush them to the disk.

        Raises:
            InputError: If the journal cannot be written.
        """
        lines = [
            (one, f"{json.dumps(_as_entry(one), allow_nan=False)}\n".encode()) for one in outcomes
        ]
        start = self._file.size
        self._file.append(b"".join(line for _, line in lines))
        for outcome, line in lines:
            if isinstance(outcome, Answer):
                self._index.add(outcome.query_id, start, len(line))
            start += len(line)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._reader.close()
        self._file.close()

    def discard_if_new(self) -> None:
        """Remove the file if it is new and contains no outcome."""
        if self._file.size == self._header_size:
            self.path.unlink(missing_ok=True)

    def _write_header(self, header: bytes) -> None:
        self._file.append(header)
        self._header_size = self._file.size


def open_journal(
    path: str | Path, facts: Mapping[str, Any], queries: int, *, resume: bool
) -> Journal:
    """Start a new journal, or resume an existing one.

    Args:
        path: The file.
        facts: Everything that determines the answers, as JSON: settings, depth, hash of the
            topics.
        queries: The number of queries of the fetch.
        resume: Whether to resume an existing journal; otherwise a finished one is replaced.

    Raises:
        UsageError: If the journal belongs to another fetch, is damaged, or, without ``resume``,
            is unfinished.
        InputError: If it cannot be opened, or another process uses it.
    """
    file = Path(path)
    facts = json.loads(json.dumps(facts))
    appended = AppendedFile(file, "journal", "fetch")
    try:
        header, index, size = _read(file)
        if header is not None and resume:
            _check_facts(file, header, facts)
        elif header is not None and 0 < len(index) < header.get("queries", 0):
            raise UsageError(
                f"this journal has answers to {len(index):,} of {header['queries']:,} queries of "
                "an unfinished fetch",
                where=str(file),
                remedy="add --resume to resume the fetch, or remove the file to start again",
            )
        if header is None or not resume:
            index, size = AnswerIndex(), 0
        appended.truncate(size)
        journal = Journal(appended, index)
        if size == 0:
            head = {"journal": VERSION, "key": _key(facts), "queries": queries, "facts": facts}
            journal._write_header((json.dumps(head, ensure_ascii=False) + "\n").encode())
    except BaseException:
        appended.close()
        raise
    return journal


def _key(facts: Mapping[str, Any]) -> str:
    return sha256_text(json.dumps(facts, sort_keys=True, ensure_ascii=False))


def _read(path: Path) -> tuple[dict[str, Any] | None, AnswerIndex, int]:
    """Return the header, the index of answers, and the size up to the last complete line."""
    header: dict[str, Any] | None = None
    index = AnswerIndex()
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
                    index.add(_as_answer(entry).query_id, size, len(line))
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    "not a fetch journal",
                    where=f"{path}:{number}",
                    remedy="remove the file to start again",
                ) from error
            size += len(line)
    return header, index, size


def _as_entry(outcome: Answer | FailedQuery) -> dict[str, Any]:
    """Convert an outcome to the JSON of its line."""
    if isinstance(outcome, FailedQuery):
        failure = outcome.failure
        return {
            "query_id": outcome.query_id,
            "status": failure.kind,
            "reason": failure.reason,
            "attempts": failure.attempts,
        }
    entry = {
        "query_id": outcome.query_id,
        "status": "ok",
        "doc_ids": outcome.ranking.doc_ids,
        "scores": outcome.ranking.scores.astype(np.float64).tolist(),
        "latency_ms": None if math.isnan(outcome.latency_ms) else outcome.latency_ms,
        "attempts": outcome.attempts,
        "asked": outcome.asked,
        "cut_short": outcome.cut_short,
    }
    return entry | ({} if outcome.diagnostics is None else {"diagnostics": outcome.diagnostics})


def _as_answer(entry: dict[str, Any]) -> Answer:
    """Convert the JSON of a line to an answer; scores are restored exactly.

    Raises:
        KeyError, TypeError, ValueError: If a value is missing or has another type.
    """
    scores = np.array(entry["scores"], dtype=np.float32)
    return Answer(
        entry["query_id"],
        Ranking([str(doc_id) for doc_id in entry["doc_ids"]], scores),
        latency_ms=math.nan if entry["latency_ms"] is None else float(entry["latency_ms"]),
        attempts=entry["attempts"],
        asked=entry["asked"],
        cut_short=entry["cut_short"],
        diagnostics=entry.get("diagnostics"),
    )


def _check_facts(path: Path, header: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Check that the journal belongs to this fetch; the error lists the differences."""
    found = header["facts"]
    if facts.get("settings", ...) is None and isinstance(found, dict):
        found = {**found, "settings": None}  # settings that the backend does not use
    if header["key"] == _key(facts) or _key(found) == _key(facts):
        return
    differences = ", ".join(_differences("", found, facts))
    raise UsageError(
        f"the journal belongs to another fetch: {differences or 'its key differs'}",
        where=str(path),
        remedy="use the settings of that fetch, or remove the file to start again",
    )


def _differences(name: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if old.get(key) != new.get(key):
                yield from _differences(
                    f"{name}.{key}" if name else key, old.get(key), new.get(key)
                )
        return
    shown = [json.dumps(value, ensure_ascii=False) for value in (old, new)]
    if max(map(len, shown)) > 40:
        yield f"{name} differs"
    else:
        yield f"{name} was {shown[0]} and is {shown[1]}"


class AnswerIndex:
    """The positions of answers in a file, in 24 bytes for each answer."""

    def __init__(self) -> None:
        self.digests, self.starts, self.lengths = array("Q"), array("Q"), array("Q")

    def __len__(self) -> int:
        return len(self.digests)

    def add(self, query_id: str, start: int, length: int) -> None:
        """Add the position of a query's answer."""
        self.digests.append(digest_id(query_id))
        self.starts.append(start)
        self.lengths.append(length)


class JournalAnswers(Mapping[str, Answer]):
    """A snapshot of the answers in a journal, by query id.

    Args:
        file: The journal, open for reading while answers are read.
        index: The positions of the answers; later additions are not visible.
    """

    def __init__(self, file: IO[bytes], index: AnswerIndex) -> None:
        self._file = file
        self._starts = np.array(index.starts, dtype=np.int64)
        self._lengths = np.array(index.lengths, dtype=np.int64)
        digests = np.array(index.digests, dtype=np.uint64)
        self._order = np.argsort(digests, kind="stable")
        self._digests = digests[self._order]

    def __len__(self) -> int:
        return len(self._digests)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the query ids in the order of the journal."""
        return (self._read(row).query_id for row in range(len(self)))

    def __getitem__(self, query_id: str) -> Answer:
        digest = np.uint64(digest_id(query_id))
        row = int(np.searchsorted(self._digests, digest))
        # Different ids may have the same digest, so compare the id in the line.
        while row < len(self._digests) and self._digests[row] == digest:
            answer = self._read(int(self._order[row]))
            if answer.query_id == query_id:
                return answer
            row += 1
        raise KeyError(query_id)

    def _read(self, row: int) -> Answer:
        self._file.seek(int(self._starts[row]))
        return _as_answer(json.loads(self._file.read(int(self._lengths[row]))))
