"""From a configuration to corpus, topics and qrels, checked and with fingerprints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trectools_plus.benchmark.report import DatasetInfo, FindingRecord, SourceFile
from trectools_plus.benchmark.report.parts import record_findings
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.id_overlap import check_meeting
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.collection import (
    CATALOGUE_PREFIX,
    Collection,
    find_collection_files,
    load_collection,
)
from trectools_plus.formats.documents import Documents, stream_documents
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.formats.tables import TOPICS_SCHEMA, Corpus, Qrels, Topics
from trectools_plus.progress import Progress, no_progress

TERM_FILES = ("ontology", "annotations")
"""Settings that name a file about terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """What is searched and judged.

    Attributes:
        id: Its name in reports.
        corpus: The documents, not in memory where a backend takes them as a stream; ``None``
            when given runs are compared.
        topics: The queries; ``None`` when given runs are compared without them.
        qrels: The judgments, free of what scoring refuses.
        version: The data's own version, where they state one.
        files: The files they were read from, by kind.
        findings: What the validators say about the qrels.
    """

    id: str
    corpus: Documents | None
    topics: Topics | None
    qrels: Qrels
    version: str | None = None
    files: dict[str, SourceFile] = field(default_factory=dict)
    findings: list[FindingRecord] = field(default_factory=list)

    def describe(self, queries: int, contents: Mapping[str, str]) -> DatasetInfo:
        """Its entry in the manifest.

        Args:
            queries: The number averaged over.
            contents: From :meth:`hash_contents`.
        """
        return DatasetInfo(
            id=self.id,
            version=self.version,
            queries=queries,
            documents=None if self.corpus is None else len(self.corpus),
            sha256=sha256_text("".join(f"{kind} {digest}\n" for kind, digest in contents.items())),
            contents=dict(contents),
            files=self.files,
            findings=self.findings,
        )

    def hash_contents(self, progress: Progress = no_progress) -> dict[str, str]:
        """SHA-256 of each part, whatever the format of its file."""
        from trectools_plus.retrieval.fetch.topics import hash_topics

        hashes = {}
        if self.corpus is not None:
            hashes["corpus"] = self.corpus.sha256(progress)
        if self.topics is not None:
            hashes["topics"] = hash_topics(self.topics)
            if (fields := hash_query_fields(self.topics)) is not None:
                hashes["query_fields"] = fields
        hashes["qrels"] = hash_qrels(self.qrels)
        given = {kind: self.files[kind].sha256 for kind in TERM_FILES if kind in self.files}
        return {**hashes, **given}


def load_dataset(config: BenchmarkConfig) -> Dataset:
    """Read what the configuration names, and see that its parts belong together.

    Raises:
        InputError: If something is missing or cannot be read.
        FindingsError: If the qrels hold what scoring refuses.
        CheckFailedError: If the ids of topics, qrels and documents do not meet.
        UsageError: If the dataset is unknown.
    """
    name = config.dataset
    if name is None:
        name = Path(config.corpus or config.qrels or "").name
        corpus = _open_corpus(config, config.corpus)
        dataset = _from_files(name, config.qrels, config.corpus, config.topics, corpus)
    elif name == "hpo" or name.startswith(CATALOGUE_PREFIX):
        dataset = _from_collection(config, name)
    else:
        files = find_collection_files(name)
        paths = str(files.qrels), str(files.corpus), str(files.topics)
        dataset = _from_files(name, *paths, _open_corpus(config, paths[1]))
    check_meeting(dataset.corpus, dataset.topics, dataset.qrels, dataset.id)
    given = _files({kind: getattr(config, kind) for kind in TERM_FILES})
    return replace(dataset, files={**dataset.files, **given})


def hash_qrels(qrels: Qrels) -> str:
    """SHA-256 of the judgments (query, document, grade), whatever their order."""
    columns = ["query_id", "doc_id", "relevance"]
    rows = qrels.frame.select(columns).unique().sort(columns).iter_rows()
    return sha256_text("".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in rows))


def hash_query_fields(topics: Topics) -> str | None:
    """SHA-256 of the ids with all fields but the text; ``None`` where topics have none."""
    names = sorted(set(topics.frame.columns) - set(TOPICS_SCHEMA))
    if not names:
        return None
    return sha256_text(topics.frame.select("query_id", *names).write_ndjson())


def _from_files(
    name: str,
    qrels_path: str | None,
    corpus_path: str | None,
    topics_path: str | None,
    corpus: Documents | None,
) -> Dataset:
    from trectools_plus.validation.loading import load_qrels_with_findings

    if qrels_path is None:
        raise InputError("no qrels given")
    qrels, findings = load_qrels_with_findings(qrels_path)
    given = {"corpus": corpus_path, "topics": topics_path, "qrels": qrels_path}
    return Dataset(
        id=name,
        corpus=corpus,
        topics=_read_topics(topics_path),
        qrels=qrels,
        files=_files(given),
        findings=record_findings(findings),
    )


def _files(given: Mapping[str, str | None]) -> dict[str, SourceFile]:
    """Path and hash of each file given; standard input has neither."""
    return {
        kind: SourceFile(path=path, sha256=sha256_file(path))
        for kind, path in given.items()
        if path is not None and path != "-"
    }


def _own_file(test_file: str | None) -> str | None:
    """The file of test cases; ``None`` for a set that comes with the package."""
    from trectools_plus.testsets.loading import shipped_names

    return None if test_file in shipped_names() else test_file


def _open_corpus(config: BenchmarkConfig, path: str | None) -> Documents | None:
    """The documents of a file: in memory, or as a stream where the backend does with that."""
    if path is None:
        return None
    if config.streams_documents and (streamed := stream_documents(None, path)) is not None:
        return streamed
    from trectools_plus.formats.corpus import read_corpus

    return read_corpus(path)


def _read_topics(path: str | None) -> Topics | None:
    if path is None:
        return None
    from trectools_plus.formats.topics import read_topics

    return read_topics(path)


def open_collection(
    name: str, test_file: str | None = None, ontology: str | None = None
) -> Collection:
    """Load ``hpo``, ``irds:<id>`` or a folder.

    Args:
        name: What ``--dataset`` says.
        test_file: Own test cases or the name of a shipped set, for ``hpo`` only.
        ontology: An OBO file instead of the installed one, for ``hpo`` only.

    Raises:
        InputError: If it is missing or cannot be read.
        UsageError: If there is no such collection.
    """
    if name == "hpo":
        from trectools_plus.benchmark.run.hpo import load_hpo_collection

        return load_hpo_collection(test_file, ontology)
    return load_collection(name)


def open_corpus(name: str, ontology: str | None = None) -> Corpus:
    """The documents of ``hpo``, ``irds:<id>`` or a folder, without queries.

    Args:
        name: What ``--dataset`` says.
        ontology: An OBO file for ``hpo``; the installed ontology if ``None``.

    Raises:
        InputError: If it is missing or cannot be read, or has no documents.
        UsageError: If there is no such collection, or ``ontology`` goes with another one.
        MissingExtraError: If the extra ``hpo`` is needed and not installed.
    """
    if name == "hpo":
        from trectools_plus.ontology.hpo import load_ontology
        from trectools_plus.retrieval.ontology_terms import corpus_of

        return corpus_of(load_ontology(ontology))
    if ontology is not None:
        raise UsageError("--ontology goes with --dataset hpo only")
    corpus = load_collection(name).corpus
    if corpus is None:
        raise InputError("the dataset has no documents to search", where=name)
    return corpus


def _from_collection(config: BenchmarkConfig, spec: str) -> Dataset:
    from trectools_plus.validation import check_qrels, refuse_errors

    corpus: Documents | None
    if config.streams_documents and (streamed := stream_documents(spec, None)) is not None:
        corpus, collection = streamed, load_collection(spec, with_corpus=False)
    else:
        collection = open_collection(spec, config.test_file, config.ontology)
        corpus = collection.corpus
    if corpus is None:
        raise InputError("the dataset has no documents to search", where=spec)
    findings = check_qrels(collection.qrels)
    refuse_errors(findings)
    return Dataset(
        id=spec,
        corpus=corpus,
        topics=collection.topics,
        qrels=collection.qrels,
        version=collection.version,
        files=_files({"test_file": _own_file(config.test_file)}),
        findings=record_findings(findings),
    )
