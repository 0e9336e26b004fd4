"""The documents of the service: opened once, and shared by all requests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.run.dataset import open_corpus
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.collection import CATALOGUE_PREFIX
from trectools_plus.formats.corpus import load_corpus
from trectools_plus.formats.tables import RUN_SCHEMA, Corpus, Qrels, Run, Topics
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.backends.embedded.modes import canonical_mode
from trectools_plus.retrieval.fetch.answering import FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.ontology_terms import corpus_of
from trectools_plus.retrieval.source import Retriever
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.names import dataset_name
from trectools_plus.service.problems import ProblemError
from trectools_plus.testsets.model import TestSet
from trectools_plus.testsets.tables import qrels_of
from trectools_plus.testsets.terms import resolve_terms

_BATCH_SIZE = 32
"""Number of queries to search for while other requests have to wait."""


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Documents and retrievers.

    Attributes:
        name: The name, for example ``hpo`` or ``irds:…``.
        corpus: The documents.
        ontology: The ontology if the documents are terms, otherwise ``None``.
        retrievers: The retrievers by mode, for example ``lexical``.
    """

    name: str
    corpus: Corpus
    ontology: Ontology | None
    retrievers: dict[str, Retriever]

    def judgments(self, test_set: TestSet, path: str) -> Qrels:
        """Return the grades of a test set; alternative and replaced ids become the
        ids of their terms.

        Raises:
            FormatError: If the documents are terms, and an expected id is not a term.
        """
        if self.ontology is None:
            return qrels_of(test_set, path)
        return qrels_of(resolve_terms(test_set, self.ontology, where=path).test_set, path)


class Search:
    """Open the documents in the background, and search them.

    Args:
        settings: The documents and the settings of the search.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        self._documents: Documents | None = None
        self._problem: str | None = None
        self._step = "not started"
        self._search_lock = threading.Lock()

    @property
    def state(self) -> str:
        """``ready``, ``off``, or a description of the current step or error."""
        if not self._settings.searches:
            return "off"
        if self._documents is not None:
            return "ready"
        return self._problem or f"loading: {self._step}"

    @property
    def failed(self) -> bool:
        """True if the documents could not be opened; the service does not try again."""
        return self._problem is not None

    def open(self) -> None:
        """Open the documents, and build missing indexes; on failure, :attr:`state` is the error."""
        if not self._settings.searches or self._documents is not None:
            return
        try:
            self._documents = _open(self._settings, self._set_step)
        except TrectoolsPlusError as error:
            self._problem = str(error)
        except Exception as error:
            self._problem = f"the documents cannot be opened: {type(error).__name__}"
            raise

    def documents(self) -> Documents:
        """Return the documents.

        Raises:
            ProblemError: 404 if there are none, 503 while they are being opened.
        """
        if self._documents is not None:
            return self._documents
        if not self._settings.searches:
            raise ProblemError(
                404,
                "nothing-to-search",
                "the service was started without documents",
                remedy="start it with --dataset",
            )
        raise ProblemError(
            503,
            "not-ready",
            self.state,
            remedy="try again when /readyz answers 200",
            headers={"Retry-After": "5"},
        )

    def run(
        self, mode: str, topics: Topics, progress: Progress = no_progress
    ) -> tuple[Run, npt.NDArray[np.float64]]:
        """Search for every topic, in batches.

        Args:
            mode: One of the modes of the service.
            topics: The queries.
            progress: Called with the number of searched queries; can raise an exception to stop.

        Returns:
            The run, and the time of each query in milliseconds.
        """
        backend = EmbeddedBackend(self.documents().retrievers)
        options = FetchOptions(self._settings.depth)
        total = len(topics.query_ids)
        frames, latencies = [], []
        for start in range(0, total, _BATCH_SIZE):
            progress("searching", start, total)
            batch = Topics(topics.frame.slice(start, _BATCH_SIZE), topics.path)
            # Stemmers and tokenizers have state, so only one thread at a time can search.
            with self._search_lock:
                request = FetchRequest(None, batch, [mode], options, backend=backend)
                found = fetch_runs(request)[mode]
            frames.append(found.run.frame)
            latencies.append(found.latency_ms)
        frame = pl.concat(frames) if frames else pl.DataFrame(schema=RUN_SCHEMA)
        return Run(frame, mode), np.concatenate([np.empty(0), *latencies])

    def _set_step(self, description: str, done: int, total: int) -> None:
        self._step = f"{description}, {done} of {total}"


def canonical_modes(modes: Sequence[str]) -> list[str]:
    """Return the canonical names of modes, in the given order, without repetitions."""
    return list(dict.fromkeys(map(canonical_mode, modes)))


def _open(settings: ServiceSettings, progress: Progress) -> Documents:
    ontology = None
    progress("reading the documents", 0, 1)
    if settings.corpus is not None:
        name, corpus = Path(settings.corpus).name, load_corpus(settings.corpus)
    elif settings.dataset in (None, "hpo"):
        name, ontology = "hpo", load_ontology()
        corpus = corpus_of(ontology)
    else:
        given = settings.dataset or ""
        corpus = open_corpus(given)
        in_catalogue = given.startswith(CATALOGUE_PREFIX)
        name = dataset_name(given if in_catalogue else str(Path(given).resolve()))
    modes = canonical_modes(settings.modes)
    retrievers = build_retrievers(corpus, modes, settings.retrieval, progress)
    for retriever in retrievers.values():
        retriever.search(["warm up"], 1)
    # Error messages contain the path of the corpus; clients must not see the real one.
    return Documents(name, Corpus(corpus.frame, name), ontology, retrievers)
