"""The documents of the service: opened once in each process that searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.run.dataset import load_collection, open_corpus
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.collection import is_named_collection
from trectools_plus.formats.corpus import load_corpus
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.backends.embedded.backend import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.backends.embedded.modes import canonical_mode
from trectools_plus.retrieval.fetch.answering import FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.ontology_terms import corpus_of
from trectools_plus.retrieval.source import Retriever
from trectools_plus.service.api.settings import ServiceSettings
from trectools_plus.service.api.snapshots import dataset_name
from trectools_plus.service.problems import ProblemError
from trectools_plus.testsets.loading import DEFAULT_TEST_SET, find_test_set, read_test_set
from trectools_plus.testsets.model import TestSet, qrels_of, topics_of
from trectools_plus.testsets.validation import resolve_terms
from trectools_plus.validation import check_qrels, refuse_errors


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationQueries:
    """Queries with judgments, to evaluate the search.

    Attributes:
        name: The name of the test set.
        topics: The queries.
        qrels: The judgments, without errors that prevent scoring.
    """

    name: str
    topics: Topics
    qrels: Qrels


@dataclass(frozen=True, slots=True, eq=False)
class SearchedDocuments:
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

    def judge(self, test_set: TestSet, path: str, name: str) -> EvaluationQueries:
        """Return the queries and grades of a test set, with the main ids of terms.

        Args:
            test_set: The test set.
            path: Its file in errors.
            name: Its name in answers.

        Raises:
            FormatError: If the documents are terms, and an expected id is not a term.
            FindingsError: If the judgments have errors.
        """
        if self.ontology is not None:
            test_set = resolve_terms(test_set, self.ontology, where=path).test_set
        qrels = qrels_of(test_set, path)
        refuse_errors(check_qrels(qrels))
        return EvaluationQueries(name, topics_of(test_set, path), qrels)


class Search:
    """The documents of a worker process, and the search in them.

    Args:
        settings: The documents and the settings of the search.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings

    @cached_property
    def documents(self) -> SearchedDocuments:
        """The documents, which are opened once; missing indexes are built."""
        return _open(self.settings)

    @cached_property
    def own_test_set(self) -> EvaluationQueries:
        """The service's own test set, which is read once.

        Raises:
            ProblemError: 422 if the service has none, or it cannot be used. Messages do not
                contain its path.
        """
        try:
            return self._read_own()
        except TrectoolsPlusError as error:
            raise ProblemError(
                422,
                "unusable-test-set",
                f"the test set of the service cannot be used: {error.what}",
                remedy=f"correct the queries and judgments of {self.documents.name}, "
                "or --test-file",
            ) from error

    def _read_own(self) -> EvaluationQueries:
        settings, documents = self.settings, self.documents
        name = settings.test_file
        if name is None and documents.ontology is not None:
            name = DEFAULT_TEST_SET
        if name is not None:
            test_set = read_test_set(find_test_set(name))
            title = test_set.metadata.dataset_id
            return documents.judge(test_set, title, title)
        if settings.dataset is None:
            raise ProblemError(
                422,
                "no-test-set",
                "the request has no test set, and the service has none of its own",
                remedy="send a test set, or start the service with --test-file",
            )
        found = load_collection(settings.dataset, with_corpus=False)
        refuse_errors(check_qrels(found.qrels))
        return EvaluationQueries(documents.name, found.topics, found.qrels)

    def run(self, mode: str, topics: Topics) -> tuple[Run, npt.NDArray[np.float64]]:
        """Search for every topic.

        Args:
            mode: One of the modes of the service.
            topics: The queries.

        Returns:
            The run, and the time of each query in milliseconds.
        """
        backend = EmbeddedBackend(self.documents.retrievers)
        options = FetchOptions(self.settings.depth)
        request = FetchRequest(None, topics, [mode], options, backend=backend)
        found = fetch_runs(request)[mode]
        return Run(found.run.frame, mode), found.latency_ms


def canonical_modes(modes: Sequence[str]) -> list[str]:
    """Return the canonical names of modes, in the given order, without repetitions."""
    return list(dict.fromkeys(map(canonical_mode, modes)))


def _open(settings: ServiceSettings) -> SearchedDocuments:
    ontology = None
    if settings.corpus is not None:
        name, corpus = Path(settings.corpus).name, load_corpus(settings.corpus)
    elif settings.dataset in (None, "hpo"):
        name, ontology = "hpo", load_ontology()
        corpus = corpus_of(ontology)
    else:
        given = settings.dataset or ""
        corpus = open_corpus(given)
        named = is_named_collection(given)
        name = dataset_name(given if named else str(Path(given).resolve()))
    modes = canonical_modes(settings.modes)
    retrievers = build_retrievers(corpus, modes, settings.retrieval)
    for retriever in retrievers.values():
        retriever.search(["warm up"], 1)
    # Error messages contain the path of the corpus; clients must not see the real one.
    return SearchedDocuments(name, Corpus(corpus.frame, name), ontology, retrievers)
