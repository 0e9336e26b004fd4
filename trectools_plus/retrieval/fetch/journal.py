"""The journal of a fetch: the answers so far, so that an interrupted fetch can be resumed.

A text file of JSON lines. The first line describes the fetch: the facts and their hash. Each
further line is the answer or the failure of one query. Lines are only appended. Each batch is one
write that is flushed to the disk before the next batch, so a killed process leaves at most one
incomplete line at the end. Resuming the fetch removes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.appending import AppendedFile
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.retrieval.fetch.answering import Answer
from trectools_plus.retrieval.source import Failure, Ranking

VERSION = 1


class Journal(Mapping[str, Answer]):
    """The answers of queries on disk, by query id; opened by one process at a time.

    Only the position of each answer in the file is kept in memory.

    Args:
        path: The file; created if it is missing.

    Attributes:
        path: The file.
        header: The facts in the first line; ``None`` in a new file.

    Raises:
        InputError: If the file cannot be opened, or another process uses it.
        UsageError: If it is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: dict[str, Any] | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._file = AppendedFile(path, "journal", "fetch")
        self._reader = path.open("rb")
        try:
            self._file.truncate(self._scan())
        except BaseException:
            self.close()
            raise
        self._first_size = self._file.size

    def _scan(self) -> int:
        """Read the header and the places of answers; return the size of the complete lines."""
        size = 0
        for number, line in enumerate(self._reader, 1):
            if not line.endswith(b"\n"):
                break
            try:
                entry = json.loads(line)
                if self.header is None:
                    self.header = {"key": entry["key"], "facts": dict(entry["facts"]), **entry}
                elif entry["status"] == "ok":
                    self._places[_as_answer(entry).query_id] = size, len(line)
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    "not a fetch journal",
                    where=f"{self.path}:{number}",
                    remedy="remove the file to start again",
                ) from error
            size += len(line)
        return size

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._places

    def __getitem__(self, query_id: str) -> Answer:
        start, size = self._places[query_id]
        self._reader.seek(start)
        return _as_answer(json.loads(self._reader.read(size)))

    def add(self, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Append the outcomes of some queries and flush them to the disk.

        Raises:
            InputError: If the journal cannot be written.
        """
        start, lines, places = self._file.size, [], {}
        for query_id, outcome in outcomes.items():
            entry = {"query_id": query_id, **_as_entry(outcome)}
            lines.append(f"{json.dumps(entry, allow_nan=False)}\n".encode())
            if isinstance(outcome, Answer):
                places[query_id] = start, len(lines[-1])
            start += len(lines[-1])
        self._file.append(b"".join(lines))
        self._places |= places

    def start(self, header: Mapping[str, Any]) -> None:
        """Remove all lines, and write a header.

        Raises:
            InputError: If the journal cannot be written.
        """
        self._places = {}
        self._file.truncate(0)
        self._file.append(f"{json.dumps(header, ensure_ascii=False)}\n".encode())
        self._first_size = self._file.size

    def close(self) -> None:
        """Close the file and release its lock."""
        self._reader.close()
        self._file.close()

    def discard_if_new(self) -> None:
        """Remove the file if it has no outcome but the header that :meth:`start` wrote."""
        if self.header is None and self._file.size == self._first_size:
            self.path.unlink(missing_ok=True)


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
    facts = json.loads(json.dumps(facts))
    journal = Journal(Path(path))
    header = journal.header
    try:
        if header is not None and resume:
            _check_facts(journal.path, header, facts)
        elif header is not None and 0 < len(journal) < header.get("queries", 0):
            raise UsageError(
                f"this journal has answers to {len(journal):,} of {header['queries']:,} queries of "
                "an unfinished fetch",
                where=str(path),
                remedy="add --resume to resume the fetch, or remove the file to start again",
            )
        if header is None or not resume:
            head = {"journal": VERSION, "key": _key(facts), "queries": queries, "facts": facts}
            journal.start(head)
    except BaseException:
        journal.close()
        raise
    return journal


def _key(facts: Mapping[str, Any]) -> str:
    return sha256_text(json.dumps(facts, sort_keys=True, ensure_ascii=False))


def _as_entry(outcome: Answer | Failure) -> dict[str, Any]:
    """Convert an outcome to the JSON of its line."""
    if isinstance(outcome, Failure):
        return {"status": outcome.kind, "reason": outcome.reason, "attempts": outcome.attempts}
    return {
        "status": "ok",
        "doc_ids": outcome.ranking.doc_ids,
        "scores": outcome.ranking.scores.astype(np.float64).tolist(),
        "latency_ms": None if math.isnan(outcome.latency_ms) else outcome.latency_ms,
        "attempts": outcome.attempts,
        "asked": outcome.asked,
        "cut_short": outcome.cut_short,
    }


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
