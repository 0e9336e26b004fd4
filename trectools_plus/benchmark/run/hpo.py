"""The built-in collection ``hpo``: ontology terms as documents, test cases as queries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.choices import UnknownTerms
from trectools_plus.formats.collection import Collection
from trectools_plus.formats.tables import Topics
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.ontology_terms import corpus_of
from trectools_plus.testsets.languages import language_notes, select_language
from trectools_plus.testsets.loading import DEFAULT_TEST_SET, load_with_notes
from trectools_plus.testsets.model import TestSet
from trectools_plus.testsets.tables import qrels_of, topics_of
from trectools_plus.testsets.terms import ResolvedTerms, resolve_terms
from trectools_plus.testsets.validation import ontology_of
from trectools_plus.validation.findings import Finding


@dataclass(frozen=True, slots=True)
class HpoOptions:
    """Settings of the collection ``hpo``.

    Attributes:
        test_file: A file with test cases (JSON or YAML; see
            :mod:`trectools_plus.testsets.model`), or the name of a shipped test set; ``None``
            is the standard English one.
        ontology: An OBO file; ``None`` is the installed one.
        unknown_terms: The treatment of expected ids that are not terms: ``error`` or ``drop``; see
            :func:`trectools_plus.testsets.terms.resolve_terms`.
        language: Use only the queries in this language, as ISO 639-1 code.
    """

    test_file: str | Path | None = None
    ontology: str | Path | None = None
    unknown_terms: UnknownTerms = "error"
    language: str | None = None

    @classmethod
    def of(cls, config: BenchmarkConfig) -> Self:
        """Return the settings of a benchmark."""
        return cls(config.test_file, config.ontology, config.unknown_terms, config.language)

    def load_test_set(self) -> tuple[TestSet, list[str]]:
        """Load the test set, with notes on its languages.

        Raises:
            InputError: If the file cannot be read.
            FormatError: If it is malformed, or no query is in the language.
        """
        test_set, notes = load_with_notes(self.name)
        if self.language is not None:
            test_set = select_language(test_set, self.language, self.name)
        return test_set, [*notes, *language_notes(test_set)]

    @property
    def name(self) -> str:
        """The test set as the user named it."""
        return str(DEFAULT_TEST_SET if self.test_file is None else self.test_file)


@dataclass(frozen=True, slots=True, eq=False)
class HpoCollection:
    """Terms, test cases and what was changed in them.

    Attributes:
        collection: Terms as documents, queries, and judgments of live terms.
        notes: Sentences on languages, and on ids that were replaced or dropped.
        findings: The same about ids, as findings with counts.
    """

    collection: Collection
    notes: list[str]
    findings: list[Finding]


def load_hpo(options: HpoOptions) -> HpoCollection:
    """Load all live terms of the Human Phenotype Ontology, and test cases to search them with.

    A document is a term: its id, its label as title, its synonyms and definition as text.

    Raises:
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
        InputError: If a file cannot be read.
        FormatError: If a file is malformed, or the test file expects an id that is not a term and
            ``unknown_terms`` is ``error``.
    """
    test_set, notes = options.load_test_set()
    found = resolve_terms(
        test_set, load_ontology(options.ontology), options.unknown_terms, options.name
    )
    collection = _collection_of_terms(found, load_ontology(options.ontology), options.name)
    return HpoCollection(collection, [*notes, *found.notes], found.findings(options.name))


def load_hpo_collection(
    test_file: str | Path | None = None,
    ontology: str | Path | None = None,
    unknown_terms: UnknownTerms = "error",
) -> Collection:
    """Load the collection ``hpo``; see :func:`load_hpo`.

    Args:
        test_file: As in :class:`HpoOptions`.
        ontology: As in :class:`HpoOptions`.
        unknown_terms: As in :class:`HpoOptions`.
    """
    return load_hpo(HpoOptions(test_file, ontology, unknown_terms)).collection


def collection_of(test_set: TestSet, where: str) -> Collection:
    """Return a test set as a collection, with terms as documents if an id is one of the HPO.

    Args:
        test_set: The set.
        where: Its name in errors.

    Raises:
        MissingExtraError: If it has ids of the HPO, and the extra ``hpo`` is not installed.
        FormatError: As :func:`load_hpo`.
    """
    terms = ontology_of(term.doc_id for query in test_set.queries for term in query.relevant)
    if terms is not None:
        return _collection_of_terms(resolve_terms(test_set, terms, where=where), terms, where)
    metadata = test_set.metadata
    topics, qrels = topics_of(test_set, where), qrels_of(test_set, where)
    return Collection(metadata.dataset_id, None, topics, qrels, metadata.version or None)


def _collection_of_terms(found: ResolvedTerms, terms: Ontology, where: str) -> Collection:
    metadata = found.test_set.metadata
    return Collection(
        name="hpo",
        corpus=corpus_of(terms),
        topics=topics_of(found.test_set, where),
        qrels=qrels_of(found.test_set, where),
        version=f"{terms.version} with {metadata.dataset_id} {metadata.version}".strip(),
    )


def load_hpo_topics(options: HpoOptions | None = None) -> Topics:
    """Read the queries of :func:`load_hpo` alone, without the ontology.

    Raises:
        InputError: If the test file cannot be read.
        FormatError: If it is malformed, or no query is in the language.
    """
    options = options or HpoOptions()
    return topics_of(options.load_test_set()[0], options.name)
