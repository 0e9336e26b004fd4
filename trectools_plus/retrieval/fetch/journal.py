"""The journal of a fetch: the answers so far, so that an interrupted fetch can be resumed.

A text file of JSON lines. The first line describes the fetch: the facts and their hash. Each
further line is the answer or the failure of one query. Lines are only appended. Each batch is one
write that is flushed to the disk before the next batch, so a killed process leaves at most one
incomplete line at the end. Resuming the fetch removes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.files.appending import AppendedFile
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.retrieval.fetch.answering import Answer, MemoryAnswers
from trectools_plus.retrieval.source import Failure, Ranking


class Journal(MemoryAnswers):
    """The answers of queries, by query id, which are also in a file of one process at a time.

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
        super().__init__()
        self.path = path
        self.header: dict[str, Any] | None = None
        self._file = AppendedFile(path, "journal", "fetch")
        try:
            *lines, rest = path.read_bytes().split(b"\n")
            for number, line in enumerate(lines, 1):
                self._read(line, number)
            self._file.truncate(path.stat().st_size - len(rest))
        except BaseException:
            self.close()
            raise

    def _read(self, line: bytes, number: int) -> None:
        try:
            entry = json.loads(line)
            if self.header is None:
                self.header = {"key": entry["key"], "facts": dict(entry["facts"]), **entry}
            elif entry["status"] == "ok":
                self[entry["query_id"]] = _as_answer(entry)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                "not a fetch journal",
                where=f"{self.path}:{number}",
                remedy="remove the file to start again",
            ) from error

    def add(self, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Append the outcomes of some queries and flush them to the disk.

        Raises:
            InputError: If the journal cannot be written.
        """
        lines = (
            json.dumps({"query_id": query_id, **_as_entry(outcome)}, allow_nan=False)
            for query_id, outcome in outcomes.items()
        )
        self._file.append("".join(f"{line}\n" for line in lines).encode())
        super().add(outcomes)

    def start(self, header: Mapping[str, Any]) -> None:
        """Remove all lines, and write a header.

        Raises:
            InputError: If the journal cannot be written.
        """
        self.clear()
        self._file.truncate(0)
        self._file.append(f"{json.dumps(header, ensure_ascii=False)}\n".encode())

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


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
    header, key = journal.header, sha256_text(json.dumps(facts, sort_keys=True, ensure_ascii=False))
    try:
        if header is not None and resume and header["key"] != key:
            earlier = header["facts"]
            names = [name for name in {**earlier, **facts} if earlier.get(name) != facts.get(name)]
            raise UsageError(
                f"the journal belongs to another fetch: {', '.join(names) or 'its key'} differs",
                where=str(path),
                remedy="use the settings of that fetch, or remove the file to start again",
            )
        if header is not None and not resume and 0 < len(journal) < header.get("queries", 0):
            raise UsageError(
                f"this journal has answers to {len(journal):,} of {header['queries']:,} queries of "
                "an unfinished fetch",
                where=str(path),
                remedy="add --resume to resume the fetch, or remove the file to start again",
            )
        if header is None or not resume:
            journal.start({"journal": 1, "key": key, "queries": queries, "facts": facts})
    except BaseException:
        journal.close()
        raise
    return journal


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
