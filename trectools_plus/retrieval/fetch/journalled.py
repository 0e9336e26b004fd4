"""Fetching with a journal beside each run file, so that a fetch that was ended can go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.documents import Documents
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.progress import Progress, no_progress
from trectools_plus.provenance import package_versions
from trectools_plus.retrieval.backends.base import Backend, BackendRequest
from trectools_plus.retrieval.backends.embedded.modes import fused_names, models_used
from trectools_plus.retrieval.fetch.answered_runs import AnsweredRun
from trectools_plus.retrieval.fetch.answering import Answer, Wanted
from trectools_plus.retrieval.fetch.asking import (
    AnswerStore,
    HeldAnswers,
    ask_sources,
    index_keys,
)
from trectools_plus.retrieval.fetch.fetch import FetchedRun, fetch
from trectools_plus.retrieval.fetch.journal import Journal, open_journal
from trectools_plus.retrieval.fetch.topics import (
    AnyTopics,
    TopicsChangedError,
    check_depth,
    check_request,
    hash_topics,
)
from trectools_plus.retrieval.index.parts import TextParts
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Ranking

SUFFIX = ".journal"


@dataclass(frozen=True, slots=True, eq=False)
class FetchRequest:
    """What is fetched.

    Attributes:
        corpus: The documents; ``None`` where the backend has its own. A stream goes with a
            backend that ``streams_documents``.
        topics: The queries; a stream goes with a backend.
        modes: In which modes, none twice.
        wanted: Of each query.
        settings: Of modes that index documents.
        backend: What searches; ``None`` for the embedded modes.
    """

    corpus: Documents | None
    topics: AnyTopics
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
            "corpus": None if self.corpus is None else self.corpus.sha256(),
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


def fetch_runs(
    request: FetchRequest, *, leave_out: bool = False, progress: Progress = no_progress
) -> dict[str, FetchedRun]:
    """Fetch every mode into memory, without journals.

    Args:
        request: What is fetched.
        leave_out: Also merge without each component, as ``retrieval.fetch.fetch.fetch``
            does. Only the embedded modes can.
        progress: Told of the making of indexes and of the queries asked.

    Raises:
        UsageError: If a mode or setting does not go with the request.
        InputError: If something cannot be read or built.
    """
    _check_request(request)
    if request.backend is None:
        return _fetch_embedded(request, progress, None, leave_out)
    held = {mode: HeldAnswers() for mode in request.modes}
    return {run.mode: run.collect() for run in _ask_backend(request, held, progress)}


@contextmanager
def fetch_journalled(
    request: FetchRequest,
    folder: Path,
    *,
    resume: bool = False,
    progress: Progress = no_progress,
) -> Iterator[Mapping[str, AnsweredRun | FetchedRun]]:
    """Fetch every mode with journals in a folder, and hand out runs while these are open.

    A backend's answers stay in its journal, and its run is read from there. The embedded modes
    keep a journal only with ``resume``: asking them anew takes seconds.

    Args:
        request: What is fetched.
        folder: For the journals.
        resume: Go on with the journals that are there.
        progress: Told of the making of indexes and of the queries asked.

    Raises:
        UsageError: If a mode, setting or journal does not go with the request.
        InputError: If something cannot be read, built or written.
    """
    _check_request(request)
    if request.backend is None and not resume:
        yield _fetch_embedded(request, progress, None, False)
        return
    with _journals(request, folder, resume) as journals:
        if request.backend is None:
            yield _fetch_embedded(request, progress, journals, False)
            return
        yield {run.mode: run for run in _ask_backend(request, journals, progress)}


def _check_request(request: FetchRequest) -> None:
    if isinstance(request.topics, Topics):
        check_request(request.topics, request.wanted.depth)
    else:
        check_depth(request.wanted.depth)


def _ask_backend(
    request: FetchRequest, stores: Mapping[str, AnswerStore], progress: Progress
) -> list[AnsweredRun]:
    backend = request.backend
    assert backend is not None
    if backend.needs_corpus and request.corpus is None:
        raise UsageError(
            f"the backend {backend.name} searches documents that it is given",
            remedy="give --dataset or --corpus",
        )
    wanted = request.wanted
    opening = BackendRequest(
        request.corpus,
        request.modes,
        request.settings,
        progress,
        wanted.depth + wanted.exclude_self,
    )
    sources = backend.open(opening)
    failures = ask_sources(sources, request.topics, wanted, stores, progress)
    return [
        AnsweredRun(
            mode, request.topics, stores[mode].answers, failures[mode], index_keys(mode, source)
        )
        for mode, source in sources.items()
    ]


def _fetch_embedded(
    request: FetchRequest,
    progress: Progress,
    journals: Mapping[str, Journal] | None,
    leave_out: bool,
) -> dict[str, FetchedRun]:
    if not isinstance(request.corpus, Corpus) or not isinstance(request.topics, Topics):
        raise InputError("the embedded modes search a corpus in memory")
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
def _journals(request: FetchRequest, folder: Path, resume: bool) -> Iterator[dict[str, Journal]]:
    """The journals of all modes, held until the end; none is left of a fetch that never began."""
    journals: dict[str, Journal] = {}
    facts = request.facts
    try:
        for mode in request.modes:
            journals[mode] = open_journal(
                journal_path(folder, mode),
                {"mode": mode, **facts},
                len(request.topics),
                resume=resume,
            )
        yield journals
    except TopicsChangedError:
        # The answers are to other queries than the journals say.
        for journal in journals.values():
            journal.discard()
        raise
    except BaseException:
        for journal in journals.values():
            journal.discard_if_new()
        raise
    finally:
        for journal in journals.values():
            journal.close()


class _JournalRecord:
    """Journals as the embedded modes use them: batch by batch. What has none is asked anew."""

    def __init__(self, journals: Mapping[str, Journal]) -> None:
        self._journals = journals
        self._answers = {mode: journal.answers for mode, journal in journals.items()}

    def known(self, mode: str, query_ids: list[str]) -> tuple[list[Ranking], list[float]] | None:
        """Rankings and milliseconds of these queries; ``None`` unless all of them are there."""
        found = []
        for query_id in query_ids:
            if (answer := self._answers[mode].get(query_id)) is None:
                return None
            found.append(answer)
        return [one.ranking for one in found], [one.latency_ms for one in found]

    def add(
        self, mode: str, query_ids: list[str], rankings: list[Ranking], latency_ms: list[float]
    ) -> None:
        """Append the answers of a batch."""
        self._journals[mode].add(
            Answer(query_id, ranking, ms)
            for query_id, ranking, ms in zip(query_ids, rankings, latency_ms, strict=True)
        )
