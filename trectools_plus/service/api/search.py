"""The documents of the service: opened once in each process that searches."""

from __future__ import annotations

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
from trectools_plus.retrieval.fetch.answering import FetchOptions
from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
from trectools_plus.retrieval.ontology_terms import corpus_of
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


class Search:
    """The documents of a worker process, and the search in them; missing indexes are built.

    Args:
        settings: The documents and the settings of the search.

    Attributes:
        settings: The settings.
        name: The name of the documents, for example ``hpo`` or ``irds:…``.
        corpus: The documents.
        retrievers: The retrievers by mode, for example ``lexical``.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.name, corpus, self._ontology = _open_documents(settings)
        self.retrievers = build_retrievers(corpus, settings.canonical_modes, settings.retrieval)
        for retriever in self.retrievers.values():
            retriever.search(["warm up"], 1)
        # Error messages contain the path of the corpus; clients must not see the real one.
        self.corpus = Corpus(corpus.frame, self.name)

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
                f"correct the queries and judgments of {self.name}, or --test-file",
            ) from error

    def _read_own(self) -> EvaluationQueries:
        settings = self.settings
        name = settings.test_file
        if name is None and self._ontology is not None:
            name = DEFAULT_TEST_SET
        if name is not None:
            test_set = read_test_set(find_test_set(name))
            return self.judge(test_set, test_set.metadata.dataset_id)
        if settings.dataset is None:
            what = "the request has no test set, and the service has none of its own"
            remedy = "send a test set, or start the service with --test-file"
            raise ProblemError(422, "no-test-set", what, remedy)
        collection = load_collection(settings.dataset, with_corpus=False)
        refuse_errors(check_qrels(collection.qrels))
        return EvaluationQueries(self.name, collection.topics, collection.qrels)

    def judge(self, test_set: TestSet, name: str, path: str | None = None) -> EvaluationQueries:
        """Return the queries and grades of a test set, with the main ids of terms.

        Args:
            test_set: The test set.
            name: Its name in answers.
            path: Its file in errors; by default the name.

        Raises:
            FormatError: If the documents are terms, and an expected id is not a term.
            FindingsError: If the judgments have errors.
        """
        where = path or name
        if self._ontology is not None:
            test_set = resolve_terms(test_set, self._ontology, where=where).test_set
        qrels = qrels_of(test_set, where)
        refuse_errors(check_qrels(qrels))
        return EvaluationQueries(name, topics_of(test_set, where), qrels)

    def run(self, mode: str, topics: Topics) -> tuple[Run, npt.NDArray[np.float64]]:
        """Search for every topic.

        Args:
            mode: One of the modes of the service.
            topics: The queries.

        Returns:
            The run, and the time of each query in milliseconds.
        """
        backend, options = EmbeddedBackend(self.retrievers), FetchOptions(self.settings.depth)
        fetched = fetch_runs(FetchRequest(None, topics, [mode], options, backend=backend))[mode]
        return Run(fetched.run.frame, mode), fetched.latency_ms


def _open_documents(settings: ServiceSettings) -> tuple[str, Corpus, Ontology | None]:
    if settings.corpus is not None:
        return Path(settings.corpus).name, load_corpus(settings.corpus), None
    if settings.has_terms:
        ontology = load_ontology()
        return "hpo", corpus_of(ontology), ontology
    dataset = str(settings.dataset)
    path = dataset if is_named_collection(dataset) else str(Path(dataset).resolve())
    return dataset_name(path), open_corpus(dataset), None
