"""The built-in collection ``hpo``: ontology terms as documents, test cases as queries."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.collection import Collection
from trectools_plus.formats.tables import QRELS_SCHEMA, Qrels, Topics
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.retrieval.ontology_terms import corpus_of
from trectools_plus.testsets.languages import declared_language
from trectools_plus.testsets.loading import DEFAULT_TEST_SET, load_test_set
from trectools_plus.testsets.model import TestSet
from trectools_plus.testsets.tables import qrels_of, topics_of
from trectools_plus.testsets.validation import ontology_of

_SHOWN = 3


def load_hpo_collection(
    test_file: str | Path | None = None, ontology: str | Path | None = None
) -> Collection:
    """Load all live terms of the Human Phenotype Ontology, and test cases to search them with.

    A document is a term: its id, its label as title, its synonyms and definition as text.

    Args:
        test_file: A file with test cases (JSON or YAML; see
            :mod:`trectools_plus.testsets.model`), or the name of a shipped test set; ``None``
            is the standard English one.
        ontology: An OBO file; ``None`` is the installed one.

    Raises:
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
        InputError: If a file cannot be read.
        FormatError: If a file is malformed, or the test file declares several languages or
            expects an id that is not a live term.
    """
    path = DEFAULT_TEST_SET if test_file is None else test_file
    return _collection_of_terms(load_test_set(path), load_ontology(ontology), str(path))


def collection_of(test_set: TestSet, where: str) -> Collection:
    """Return a test set as a collection, with terms as documents if an id is one of the HPO.

    Args:
        test_set: The set.
        where: Its name in errors.

    Raises:
        MissingExtraError: If it has ids of the HPO, and the extra ``hpo`` is not installed.
        FormatError: As :func:`load_hpo_collection`.
    """
    terms = ontology_of(term.doc_id for query in test_set.queries for term in query.relevant)
    if terms is not None:
        return _collection_of_terms(test_set, terms, where)
    metadata = test_set.metadata
    topics, qrels = topics_of(test_set, where), qrels_of(test_set, where)
    return Collection(metadata.dataset_id, None, topics, qrels, metadata.version or None)


def _collection_of_terms(test_set: TestSet, terms: Ontology, where: str) -> Collection:
    declared_language(test_set, where)
    metadata = test_set.metadata
    return Collection(
        name="hpo",
        corpus=corpus_of(terms),
        topics=topics_of(test_set, where),
        qrels=qrels_of_terms(test_set, terms, where),
        version=f"{terms.version} with {metadata.dataset_id} {metadata.version}".strip(),
    )


def load_hpo_topics(test_file: str | Path | None = None) -> Topics:
    """Read the queries of :func:`load_hpo_collection` alone, without the ontology.

    Raises:
        InputError: If the test file cannot be read.
        FormatError: If it is malformed.
    """
    path = DEFAULT_TEST_SET if test_file is None else test_file
    return topics_of(load_test_set(path), str(path))


def qrels_of_terms(test_set: TestSet, ontology: Ontology, path: str) -> Qrels:
    """Return the grades of a test set's terms; an alternative id becomes the id of its term.

    Args:
        test_set: The set.
        ontology: The known terms.
        path: The set's name in errors.

    Raises:
        FormatError: If an expected id is not a live term.
    """
    problems: list[str] = []
    grades: dict[tuple[str, str], int] = {}
    for query in test_set.queries:
        for term in query.relevant:
            resolution = ontology.resolve(term.doc_id)
            if resolution.status in ("live", "alternative") and resolution.term_id:
                key = query.query_id, resolution.term_id
                grades[key] = max(term.grade, grades.get(key, term.grade))
            else:
                instead = " or ".join(resolution.replaced_by)
                advice = f": use {instead}" if instead else ""
                problems.append(
                    f"{term.doc_id} of query {query.query_id} is {resolution.status}{advice}"
                )
    if problems:
        shown = "; ".join(problems[:_SHOWN]) + ("; …" if len(problems) > _SHOWN else "")
        raise FormatError(
            f"{len(problems)} expected ids are not live terms: {shown}",
            path=path,
            remedy=f"correct them; the ontology is {ontology.version or ontology.path}",
        )
    rows = [(query_id, "0", term_id, grade) for (query_id, term_id), grade in grades.items()]
    return Qrels(pl.DataFrame(rows, schema=QRELS_SCHEMA, orient="row"), path=path)
