"""Fetching with a journal beside each run file, so that a fetch that was ended can go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.provenance import package_versions
from trectools_plus.retrieval.backends.answering import Answer, Wanted
from trectools_plus.retrieval.backends.asking import ask_sources
from trectools_plus.retrieval.backends.base import Backend, BackendRequest
from trectools_plus.retrieval.base import Progress, Ranking, no_progress
from trectools_plus.retrieval.document_set import hash_topics
from trectools_plus.retrieval.fetch import FetchedRun, check_request, fetch
from trectools_plus.retrieval.journal import Journal, open_journal
from trectools_plus.retrieval.modes import fused_names, models_used
from trectools_plus.retrieval.parts import TextParts
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.streamed_corpus import AnyCorpus, hash_corpus

SUFFIX = ".journal"


@dataclass(frozen=True, slots=True, eq=False)
class FetchRequest:
    """What is fetched.

    Attributes:
        corpus: The documents; ``None`` where the backend has its own. A stream goes with a
            backend that ``streams_documents``.
        topics: The queries.
        modes: In which modes, none twice.
        wanted: Of each query.
        settings: Of modes that index documents.
        backend: What searches; ``None`` for the embedded modes.
    """

    corpus: AnyCorpus | None
    topics: Topics
    modes: Sequence[str]
    wanted: Wanted
    settings: RetrievalSettings
    backend: Backend | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that shapes the answers, as JSON; what a journal is known by."""
        collapse = self.wanted.collapse
        return {
            "backend": "embedded" if self.backend is None else self.backend.name,
            "backend_settings": None if self.backend is None else self.backend.facts,
            "settings": self.settings.model_dump(mode="json", exclude={"batch_size"}),
            "packages": None if self.backend is not None else package_versions(),
            "depth": self.wanted.depth,
            "exclude_self": self.wanted.exclude_self,
            "collapse": None if collapse is None else collapse.model_dump(mode="json"),
            "topics": hash_topics(self.topics),
            "corpus": None if self.corpus is None else hash_corpus(self.corpus),
            **(self._embedded_facts if self.backend is None else {}),
        }

    @property
    def _embedded_facts(self) -> dict[str, Any]:
        """What only the embedded modes depend on."""
        corpus, used = self.corpus, models_used(self.modes, self.settings)
        parts = (
            TextParts.from_corpus(corpus).sha256
            if isinstance(corpus, Corpus) and corpus.parts is not None
            else None
        )
        return {
            "models": {role: model.sha256 for role, model in used.items()},
            "merged": list(fused_names(self.modes)) if "hybrid" in self.modes else None,
            "parts": parts,
        }


def journal_path(folder: Path, mode: str) -> Path:
    """Where the journal of a mode is: ``<mode>.run.journal``."""
    return folder / f"{mode}.run{SUFFIX}"


def fetch_into(
    request: FetchRequest,
    folder: Path | None = None,
    *,
    resume: bool = False,
    leave_out: bool = False,
    progress: Progress = no_progress,
) -> dict[str, FetchedRun]:
    """Fetch every mode, with journals in a folder.

    The embedded modes keep one only with ``resume``: asking them anew takes seconds.

    Args:
        request: What is fetched.
        folder: For the journals; ``None`` keeps none.
        resume: Go on with the journals that are there.
        leave_out: Also merge without each component, as ``retrieval.fetch.fetch``
            does. Only the embedded modes can; none of it is in a journal.
        progress: Told of the making of indexes and of the queries asked.

    Raises:
        UsageError: If a mode, setting or journal does not go with the request.
        InputError: If something cannot be read, built or written.
    """
    check_request(request.topics, request.wanted.depth)
    if request.backend is None and not (resume and folder):
        return _fetch_embedded(request, progress, None, leave_out)
    with _journals(request, folder, resume) as journals:
        if request.backend is None:
            return _fetch_embedded(request, progress, journals, leave_out)
        if request.backend.needs_corpus and request.corpus is None:
            raise UsageError(
                f"the backend {request.backend.name} searches documents that it is given",
                remedy="give --dataset or --corpus",
            )
        opening = BackendRequest(request.corpus, request.modes, request.settings, progress)
        sources = request.backend.open(opening)
        return ask_sources(
            sources, request.topics, request.wanted, journals=journals, progress=progress
        )


def _fetch_embedded(
    request: FetchRequest,
    progress: Progress,
    journals: Mapping[str, Journal] | None,
    leave_out: bool,
) -> dict[str, FetchedRun]:
    if not isinstance(request.corpus, Corpus):
        raise InputError("nothing to search: no corpus in memory")
    return fetch(
        request.corpus,
        request.topics,
        request.modes,
        depth=request.wanted.depth,
        settings=request.settings,
        exclude_self=request.wanted.exclude_self,
        leave_out=leave_out,
        progress=progress,
        record=_JournalRecord(journals) if journals else None,
    )


@contextmanager
def _journals(
    request: FetchRequest, folder: Path | None, resume: bool
) -> Iterator[dict[str, Journal]]:
    """The journals of all modes, held until the end."""
    journals: dict[str, Journal] = {}
    try:
        if folder is not None:
            facts, count = request.facts, request.topics.frame.height
            for mode in request.modes:
                journals[mode] = open_journal(
                    journal_path(folder, mode), {"mode": mode, **facts}, count, resume=resume
                )
        yield journals
    finally:
        for journal in journals.values():
            journal.close()


class _JournalRecord:
    """Journals as the embedded modes use them: batch by batch. What has none is asked anew."""

    def __init__(self, journals: Mapping[str, Journal]) -> None:
        self._journals = journals

    def known(self, mode: str, query_ids: list[str]) -> tuple[list[Ranking], list[float]] | None:
        """Rankings and milliseconds of these queries; ``None`` unless all of them are there."""
        if mode not in self._journals:
            return None
        answers = self._journals[mode].answers
        if not all(query_id in answers for query_id in query_ids):
            return None
        found = [answers[query_id] for query_id in query_ids]
        return [one.ranking for one in found], [one.latency_ms for one in found]

    def add(
        self, mode: str, query_ids: list[str], rankings: list[Ranking], latency_ms: list[float]
    ) -> None:
        """Append the answers of a batch."""
        if mode not in self._journals:
            return
        self._journals[mode].add(
            Answer(query_id, ranking, ms)
            for query_id, ranking, ms in zip(query_ids, rankings, latency_ms, strict=True)
        )
