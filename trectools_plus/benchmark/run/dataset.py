"""Corpus, topics and qrels of a configuration, checked and hashed; the collection ``hpo``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.choices import UnknownTerms
from trectools_plus.errors import CheckFailedError, InputError
from trectools_plus.formats.collection import (
    SAMPLE,
    SAMPLE_VERSION,
    CatalogueDataset,
    Collection,
    find_collection_files,
    is_catalogue_name,
    is_named_collection,
    load_corpus,
)
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.formats.tables import TOPICS_SCHEMA, Corpus, Qrels, Topics
from trectools_plus.formats.topics import read_topics
from trectools_plus.measures.exclusions import Exclusions
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.ontology.ontology import Ontology, load_ontology
from trectools_plus.retrieval.hpo.ontology_terms import corpus_of, open_terms
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.source import hash_topics
from trectools_plus.testsets.loading import (
    DEFAULT_TEST_SET,
    find_shipped,
    find_test_set,
    language_notes,
    load_test_set,
    select_language,
)
from trectools_plus.testsets.model import TestSet, qrels_of, topics_of
from trectools_plus.testsets.validation import ResolvedTerms, ontology_of, resolve_terms
from trectools_plus.text import listed, plural
from trectools_plus.validation import refuse_errors, validate_qrels
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.loading import load_qrels, open_valid_qrels

if TYPE_CHECKING:
    from trectools_plus.benchmark.report import DatasetInfo, FindingRecord


def load_hpo(
    test_file: str | Path | None = None,
    ontology: str | Path | None = None,
    unknown_terms: UnknownTerms = "error",
    language: str | None = None,
) -> tuple[Collection, list[str], list[Finding]]:
    """Load all live terms of the Human Phenotype Ontology, and test cases to search them with.

    A document is a term: its id, its label as title, its synonyms and definition as text.

    Args:
        test_file: A file with test cases (JSON or YAML; see
            :mod:`trectools_plus.testsets.model`), or the name of a shipped test set; ``None``
            is the standard English one.
        ontology: An OBO file; ``None`` is the installed one.
        unknown_terms: The treatment of expected ids that are not terms: ``error`` or ``drop``; see
            :func:`trectools_plus.testsets.validation.resolve_terms`.
        language: Use only the queries in this language, as ISO 639-1 code.

    Returns:
        Terms and test cases, notes on languages and changed ids, and findings on the ids.

    Raises:
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
        InputError: If a file cannot be read.
        FormatError: If a file is malformed, no query is in the language, or the test file expects
            an id that is not a term and ``unknown_terms`` is ``error``.
    """
    where = str(DEFAULT_TEST_SET if test_file is None else test_file)
    test_set = load_test_set(where)
    if language is not None:
        test_set = select_language(test_set, language, where)
    terms = load_ontology(ontology)
    resolved = resolve_terms(test_set, terms, unknown_terms, where)
    notes = [*language_notes(test_set), *resolved.notes]
    return _collection_of_terms(resolved, terms, where), notes, resolved.findings(where)


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


def _collection_of_terms(resolved: ResolvedTerms, terms: Ontology, where: str) -> Collection:
    test_set, metadata = resolved.test_set, resolved.test_set.metadata
    version = f"{terms.version} with {metadata.dataset_id} {metadata.version}".strip()
    topics, qrels = topics_of(test_set, where), qrels_of(test_set, where)
    return Collection("hpo", corpus_of(terms), topics, qrels, version)


_SHOWN = 3


def check_id_overlap(
    corpus: Corpus | None, topics: Topics | None, qrels: Qrels, dataset: str
) -> None:
    """Check that queries are judged and that judged documents exist.

    Args:
        corpus: The documents, if there are any.
        topics: The queries, if they are given.
        qrels: The judgments.
        dataset: The name of data that are not files.

    Raises:
        CheckFailedError: If topics and qrels have no query in common, or no judged document is in
            the corpus. It shows ids of both sides.
    """
    judged = qrels.frame["doc_id"].unique(maintain_order=True)
    known: Sequence[str]
    if topics is not None and not {*topics.query_ids} & {*qrels.query_ids}:
        what, known, others, path = "query", topics.query_ids, qrels.query_ids, topics.path
    elif corpus is not None and corpus.find(judged).is_empty():
        what, known, others, path = "document", corpus.doc_ids, judged.to_list(), corpus.path
    else:
        return
    kind = "topics" if what == "query" else "corpus"
    raise CheckFailedError(
        f"no {what} is in both {kind} and qrels ({kind}: {listed(list(known), _SHOWN)}; "
        f"qrels: {listed(others, _SHOWN)})",
        where=" and ".join(filter(None, (path, qrels.path))) or dataset,
        remedy=f"give {kind} and qrels of the same collection, with the same ids",
    )


TERM_FILES = ("ontology", "annotations")
"""Settings that name a file about terms."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """The documents, topics and qrels of a benchmark.

    Attributes:
        id: Its name in reports.
        corpus: The documents; ``None`` if given runs are compared.
        topics: The queries; ``None`` if given runs are compared without them.
        qrels: The judgments, without errors that prevent scoring.
        version: The version stated in the data, if any.
        files: The files that the data were read from, by kind.
        findings: The findings of the validator on the qrels.
        notes: Sentences on the languages of the queries, and on changed ids.
        excluded: The documents to leave out of runs and judgments, if there are any.
        contents: Known hashes of parts that are not available.
    """

    id: str
    corpus: Corpus | None
    topics: Topics | None
    qrels: Qrels
    version: str | None = None
    files: dict[str, SourceFile] = field(default_factory=dict)
    findings: list[FindingRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    excluded: Exclusions | None = None
    contents: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def judged(self) -> JudgedQueries:
        """The judgments for scoring; the judged documents of each run are found once."""
        return JudgedQueries.of(self.qrels)

    def describe(self, queries: int) -> DatasetInfo:
        """Return the entry in the manifest, with the number of queries in the means."""
        from trectools_plus.benchmark.report import DatasetInfo

        contents = self.hash_contents()
        return DatasetInfo(
            id=self.id,
            version=self.version,
            queries=queries,
            documents=None if self.corpus is None else len(self.corpus),
            sha256=sha256_text("".join(f"{kind} {digest}\n" for kind, digest in contents.items())),
            contents=contents,
            files=self.files,
            findings=self.findings,
        )

    def hash_contents(self) -> dict[str, str]:
        """Return the SHA-256 of each part, independent of the format of its file."""
        corpus, topics = self.corpus, self.topics
        hashes = {
            "corpus": None if corpus is None else corpus.sha256(),
            "topics": None if topics is None else hash_topics(topics),
            "query_fields": None if topics is None else hash_query_fields(topics),
            "qrels": hash_qrels(self.qrels),
        }
        hashes |= {
            kind: file.sha256
            for kind, file in self.files.items()
            if kind in (*TERM_FILES, "exclude")
        }
        return {**self.contents, **{kind: sha256 for kind, sha256 in hashes.items() if sha256}}


def name_dataset(config: BenchmarkConfig) -> str:
    """Return the name of the data of a configuration: that of the dataset, or of a file."""
    if config.dataset is not None:
        return config.dataset
    judged = config.qrels or ""
    return judged if is_catalogue_name(judged) else Path(config.corpus or judged).name


def load_dataset(config: BenchmarkConfig) -> Dataset:
    """Read the data of a configuration, and check that they belong together.

    Raises:
        InputError: If something is missing or cannot be read.
        FindingsError: If the qrels break a rule that scoring depends on.
        CheckFailedError: If topics, qrels and documents have no ids in common.
        UsageError: If the dataset is unknown.
    """
    from trectools_plus.benchmark.report import record_findings

    name, is_searched = name_dataset(config), config.runs is None
    paths = {kind: getattr(config, kind) for kind in ("corpus", "topics", "qrels")}
    if config.dataset is not None and is_named_collection(name):
        dataset = _load_named(config, name)
    else:
        if config.dataset is not None:
            files = find_collection_files(name)
            paths = {kind: str(getattr(files, kind)) for kind in paths}
        paths["corpus"] = paths["corpus"] if is_searched else None
        dataset = _load_files(config, name, paths)
    corpus, qrels, excluded = dataset.corpus, dataset.qrels, None
    if config.dataset is not None and is_searched and corpus is None:
        raise InputError("the dataset has no documents to search", where=name)
    findings, notes = dataset.findings, dataset.notes
    if paths["qrels"] is None:  # the findings are not those of a file
        on_qrels = validate_qrels(qrels).findings
        refuse_errors(on_qrels)
        findings = [*findings, *record_findings(on_qrels)]
    check_id_overlap(corpus, dataset.topics, qrels, name)
    if config.exclude is not None:
        excluded = Exclusions.of(config.exclude)
        qrels = excluded.from_qrels(qrels)
        count = plural(excluded.pairs.height, "document")
        notes = [*notes, f"{count} left out of runs and judgments."]
    if config.test_file is not None and find_shipped(config.test_file) is None:
        paths["test_file"] = str(find_test_set(config.test_file))  # a file of the user
    others = {kind: getattr(config, kind) for kind in (*TERM_FILES, "exclude")}
    return replace(
        dataset,
        corpus=corpus if is_searched else None,
        qrels=qrels,
        files={
            kind: SourceFile(path=path, sha256=sha256_file(path))
            for kind, path in {**paths, **others}.items()
            if path is not None and path != "-" and not is_catalogue_name(path)
        },
        findings=findings,
        notes=notes,
        excluded=excluded,
    )


def _load_named(config: BenchmarkConfig, name: str) -> Dataset:
    from trectools_plus.benchmark.report import record_findings

    if name == "hpo":
        options = config.test_file, config.ontology, config.unknown_terms, config.language
        data, notes, findings = load_hpo(*options)
    else:
        data, notes, findings = load_collection(name, with_corpus=config.runs is None), [], []
    recorded, version = record_findings(findings), data.version
    return Dataset(name, data.corpus, data.topics, data.qrels, version, {}, recorded, notes)


def _load_files(config: BenchmarkConfig, name: str, paths: Mapping[str, str | None]) -> Dataset:
    from trectools_plus.benchmark.report import record_findings

    path, where = paths["corpus"], config.test_file
    corpus = None if path is None else load_corpus(path)
    if where is not None:
        test_set = load_test_set(where)
        version = f"with {test_set.metadata.dataset_id} {test_set.metadata.version}".strip()
        topics, qrels = topics_of(test_set, where), qrels_of(test_set, where)
        return Dataset(name, corpus, topics, qrels, version, notes=language_notes(test_set))
    assert paths["qrels"] is not None  # the configuration is checked
    view, findings = open_valid_qrels(paths["qrels"])
    path = paths["topics"]
    queries = None if path is None else read_topics(path, config.topic_options)
    qrels = view.table(str(paths["qrels"]))
    return Dataset(name, corpus, queries, qrels, findings=record_findings(findings))


def hash_qrels(qrels: Qrels) -> str:
    """Return the SHA-256 of the judgments (query, document, grade), independent of their order."""
    columns = ["query_id", "doc_id", "relevance"]
    # Sorting before repeated rows are left out needs less memory than unique().
    is_new = pl.struct(columns).rle_id().is_first_distinct()
    rows = qrels.frame.select(columns).sort(columns).filter(is_new)
    return sha256_text(rows.write_csv(include_header=False, separator="\t", quote_style="never"))


def hash_query_fields(topics: Topics) -> str | None:
    """Return the SHA-256 of ids and all fields except the text; ``None`` without such fields."""
    names = sorted(set(topics.frame.columns) - set(TOPICS_SCHEMA))
    if not names:
        return None
    return sha256_text(topics.frame.select("query_id", *names).write_ndjson())


def load_collection(spec: str | Path, *, with_corpus: bool = True) -> Collection:
    """Load a collection from ``ir_datasets``, from a folder, or the sample of this package.

    Args:
        spec: ``irds:<id>`` for a collection of the ``ir_datasets`` catalogue; ``sample`` for the
            collection that the package contains (60 documents about household questions, 30
            queries with graded judgments; ``./sample`` is a folder); or a folder in BEIR layout
            (``corpus.jsonl``, ``queries.jsonl``, and ``qrels/test.tsv`` or ``qrels/dev.tsv``) or in
            TREC layout (``corpus.jsonl``, ``topics.tsv``, ``qrels.txt``). Each file may be
            compressed, with the suffix ``.gz``, ``.bz2``, ``.xz`` or ``.zst``.
        with_corpus: Also load the documents.

    Raises:
        UsageError: If the folder or the id in the catalogue does not exist.
        InputError: If a file is missing or cannot be downloaded or read.
        FormatError: If a file is malformed.
    """
    text = str(spec)
    if is_catalogue_name(text):
        dataset = CatalogueDataset(text)
        topics, qrels = dataset.read_topics(), dataset.read_qrels()
        corpus = dataset.read_corpus() if with_corpus else None
        return Collection(dataset.name, corpus, topics, qrels)
    files = find_collection_files(spec)
    qrels, topics = load_qrels(files.qrels), read_topics(files.topics)
    corpus = load_corpus(files.corpus) if with_corpus else None
    if spec == SAMPLE:
        # The same name on every machine, as for the catalogue, and no note on its format.
        topics = replace(topics, path=SAMPLE, read_as=None)
        qrels = replace(qrels, path=SAMPLE)
        corpus = None if corpus is None else replace(corpus, path=SAMPLE)
        return Collection(SAMPLE, corpus, topics, qrels, SAMPLE_VERSION)
    return Collection(Path(spec).resolve().name, corpus, topics, qrels)


def open_collection(
    name: str,
    test_file: str | None = None,
    ontology: str | None = None,
    unknown_terms: UnknownTerms = "error",
) -> Collection:
    """Load ``hpo``, ``sample``, ``irds:<id>`` or a folder.

    Args:
        name: The value of ``--dataset``.
        test_file: A file with test cases, or the name of a shipped set, for ``hpo`` only.
        ontology: An OBO file instead of the installed one, for ``hpo`` only.
        unknown_terms: The treatment of expected ids that are not terms, for ``hpo`` only.

    Raises:
        InputError: If it is missing or cannot be read.
        FormatError: If it is malformed, or an expected id is not a term and this is an error.
        UsageError: If there is no such collection.
    """
    if name == "hpo":
        return load_hpo(test_file, ontology, unknown_terms)[0]
    return load_collection(name)


def open_corpus(name: str) -> Corpus:
    """Read the documents of ``hpo``, ``sample``, ``irds:<id>`` or a folder, without queries.

    Args:
        name: The value of ``--dataset``.

    Raises:
        InputError: If it is missing or cannot be read, or has no documents.
        UsageError: If there is no such collection.
        MissingExtraError: If the extra ``hpo`` is needed and not installed.
    """
    if name == "hpo":
        return open_terms()
    corpus = load_collection(name).corpus
    if corpus is None:
        raise InputError("the dataset has no documents to search", where=name)
    return corpus
