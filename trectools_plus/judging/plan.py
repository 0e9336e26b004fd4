"""A plan of judgments: the pool of documents, the order of queries, and the runs to estimate.

A plan is a folder that needs no other file::

    plan.json        what was planned, with the hashes of all inputs
    pool.jsonl       query, document, and the rank at which each run has it
    topics.jsonl     the queries
    documents.jsonl  title and text of the pooled documents
    runs/            the pooled results of each run
    labels.jsonl     labels of models (see labels.py)
    review.db        judgments of people
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from pydantic import ValidationError

from trectools_plus.choices import DEFAULT_PEOPLE, DEFAULT_POOL_DEPTH
from trectools_plus.display import Displayed
from trectools_plus.errors import CheckFailedError, InputError, UsageError, checked
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.files.guards import ClosedFolder, read_document
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import Corpus, CorpusDocument, Run, Topics
from trectools_plus.formats.writing import refuse_unwritable, valid_tag
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.parser import parse_measures
from trectools_plus.models import ReportModel, format_time, utc_now
from trectools_plus.plugins import without_user_code
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.source import check_topics, hash_topics
from trectools_plus.text import listed
from trectools_plus.validation.loading import load_run

PLAN_FILE = "plan.json"
POOL_FILE = "pool.jsonl"
TOPICS_FILE = "topics.jsonl"
DOCUMENTS_FILE = "documents.jsonl"
RUNS_FOLDER = "runs"
MAX_MISSING = 0.1
"""The largest proportion of a query's pool without a grade."""
_DEFAULTS = ("nDCG", "P", "RR")


class PlanRun(ReportModel):
    """A run of the plan."""

    name: str
    """The name in all output."""
    tag: str
    """The tag in the run file."""
    source: SourceFile
    """The original file; what is not a file has the hash of the pooled results."""
    path: str
    """The pooled results, relative to the plan's folder."""
    sha256: str
    """SHA-256 of the bytes of that file."""
    extension: int = 0
    """The extension that added it; 0 for a run of the first plan."""


class JudgmentPlan(ReportModel):
    """The contents of ``plan.json``."""

    format: Literal["1"] = "1"
    """The version of the plan's format."""
    version: str
    """The version of trectools-plus that made the plan."""
    created_at: str
    """The time in UTC."""
    runs: list[PlanRun]
    """The pooled runs."""
    topics: SourceFile
    """The file of the queries; a named collection has a hash of all queries."""
    corpus: SourceFile
    """The file of the documents; a named collection has a hash of all documents."""
    depth: int
    """The number of results of each run that are pooled."""
    people: int
    """The number of queries that people are to judge."""
    seed: int
    """The seed of the order of queries."""
    measures: list[str]
    """The measures to estimate."""
    queries: list[str]
    """All queries with pooled documents, in the order in which people judge them."""
    pooled: int
    """The number of pairs of query and document."""
    left_out: dict[str, str]
    """The reason for each topic that is not among ``queries``."""
    lacking: int
    """The number of pairs whose document is not in the corpus, so that nobody can judge it."""
    files: dict[str, str]
    """SHA-256 of the pool, the topics and the documents of this folder, by name."""
    extends: str | None = None
    """SHA-256 of the ``plan.json`` that it extends; null if it extends none."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Settings of a plan.

    Attributes:
        depth: The number of results of each run that are pooled.
        people: The number of queries that people are to judge.
        seed: The seed of the order of queries.
        measures: The measures to estimate; none may look deeper than ``depth``. Without any,
            nDCG, P and RR at 10, or at a smaller depth.
    """

    depth: int = DEFAULT_POOL_DEPTH
    people: int = DEFAULT_PEOPLE
    seed: int = 42
    measures: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PooledDocument:
    """A document to judge for a query.

    Attributes:
        query_id: The query.
        doc_id: The document.
        ranks: The rank in each run that has it among its pooled results.
    """

    query_id: str
    doc_id: str
    ranks: Mapping[str, int]


class PlanFolder(Displayed):
    """A plan on disk; its parts are read when they are used, and checked against their hashes.

    Args:
        path: The folder of a plan, or its ``plan.json``.

    Raises:
        InputError: If it is not a plan, or was made by an incompatible version.
    """

    @checked
    def __init__(self, path: str | Path) -> None:
        location = Path(path)
        self.path = location.parent if location.name == PLAN_FILE else location
        file = self.path / PLAN_FILE
        try:
            self.plan = JudgmentPlan.model_validate_json(read_document(file))
        except (InputError, ValidationError) as error:
            raise InputError(
                "no plan of judgments that this version can read",
                where=str(file),
                remedy="make one with: trectools-plus judge plan RUN... --topics T --corpus C "
                "--output-dir PLAN",
            ) from error
        self.files = ClosedFolder(self.path)
        for run in self.plan.runs:
            self.files.find(run.path)

    @cached_property
    def pool(self) -> dict[str, list[PooledDocument]]:
        """The pooled documents of each query, in the plan's order."""
        pool: dict[str, list[PooledDocument]] = {query_id: [] for query_id in self.plan.queries}
        for row in self._rows(POOL_FILE):
            pool[row["query_id"]].append(PooledDocument(**row))
        return pool

    @cached_property
    def topics(self) -> dict[str, str]:
        """The text of each query."""
        return {row["query_id"]: row["text"] for row in self._rows(TOPICS_FILE)}

    @cached_property
    def documents(self) -> dict[str, CorpusDocument]:
        """The pooled documents that the corpus has, by id."""
        return {row["doc_id"]: CorpusDocument(**row) for row in self._rows(DOCUMENTS_FILE)}

    @cached_property
    def judgeable(self) -> dict[str, list[str]]:
        """The ids of the pooled documents of each query that are in the corpus."""
        return {
            query_id: [document.doc_id for document in pool if document.doc_id in self.documents]
            for query_id, pool in self.pool.items()
        }

    def parse_measures(
        self, measures: Iterable[str | Measure] | None = None, relevant: int = 1
    ) -> list[Measure]:
        """Parse names that the user gives, or those of the plan, for which no code is imported.

        Args:
            measures: The names; those of the plan if ``None``.
            relevant: The lowest relevant grade of measures whose names do not state one.

        Raises:
            UsageError: If a measure is unknown, or a class that the plan names.
        """
        with without_user_code() if measures is None else nullcontext():
            parsed = parse_measures(self.plan.measures if measures is None else measures)
        return parse_measures([measure.at_level(relevant) for measure in parsed])

    @cached_property
    def extension_of(self) -> dict[tuple[str, str], int]:
        """The extension that added each pair of query and document; 0 for the first plan."""
        extensions = {run.name: run.extension for run in self.plan.runs}
        return {
            (document.query_id, document.doc_id): min(extensions[run] for run in document.ranks)
            for pool in self.pool.values()
            for document in pool
        }

    @property
    def new_pairs(self) -> int:
        """The number of pairs that the last extension added; 0 if the plan extends none."""
        latest = max(run.extension for run in self.plan.runs)
        return sum(bool(latest) and extension == latest for extension in self.extension_of.values())

    def summary(self) -> dict[str, Any]:
        """Return the numbers of the plan as plain JSON values.

        ``judgments`` is the number of judgments of one person for the planned queries, and
        ``unique`` the number of documents that no other run has.
        """
        plan = self.plan
        finders = [{*document.ranks} for pool in self.pool.values() for document in pool]
        return {
            "plan": str(self.path),
            "queries": len(plan.queries),
            "pooled": plan.pooled,
            "people": plan.people,
            "judgments": sum(
                len(self.judgeable[query_id]) for query_id in plan.queries[: plan.people]
            ),
            "runs": {
                name: {
                    "pooled": sum(name in names for names in finders),
                    "unique": finders.count({name}),
                }
                for name in self.runs
            },
            "measures": plan.measures,
            "left_out": plan.left_out,
            "lacking": plan.lacking,
            **({} if plan.extends is None else {"new": self.new_pairs}),
        }

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The pooled results of each run, by name."""
        # They were validated when the plan was made.
        return {run.name: load_run(self._file(run.path, run.sha256)) for run in self.plan.runs}

    def _rows(self, name: str) -> Iterable[dict[str, Any]]:
        file = self._file(name, self.plan.files[name])
        with file.open("rb") as lines:
            yield from (row for _, row in iter_objects(lines, str(file)))

    def _file(self, name: str, sha256: str) -> Path:
        """Return a file of the plan.

        Raises:
            CheckFailedError: If it has changed since the plan was made.
        """
        file = self.files.file(name)
        if sha256_file(file) != sha256:
            raise CheckFailedError(
                "the file has changed since the plan was made",
                where=str(file),
                remedy="restore it, or make a new plan",
            )
        return file


def make_plan(
    runs: Mapping[str, Run],
    topics: Topics,
    corpus: Corpus,
    folder: str | Path,
    options: PlanOptions | None = None,
) -> PlanFolder:
    """Pool the first results of some runs, and decide on the order in which people judge queries.

    Args:
        runs: The runs by name, which were validated before.
        topics: The queries. Those without results, and those whose documents the corpus lacks, are
            left out.
        corpus: The documents.
        folder: A new or empty folder for the plan.
        options: Depth, number of queries for people, seed and measures.

    Returns:
        The plan on disk. The same inputs and seed give the same files.

    Raises:
        UsageError: If a measure looks deeper than the pool, or an option is out of range.
        CheckFailedError: If no query of the topics can be judged.
        InputError: If an id cannot be written to a run, a document occurs twice in the corpus, or
            the folder has other files or cannot be written.
    """
    options = options or PlanOptions()
    target = Path(folder)
    cutoff = max(1, min(10, options.depth))
    measures = parse_measures(options.measures or [f"{name}@{cutoff}" for name in _DEFAULTS])
    if min(options.depth, options.people) < 1:
        raise UsageError("the depth and the number of queries for people must be 1 or more")
    refuse_deeper(measures, options.depth)
    refuse_files(target)
    check_topics(topics)
    texts = topics.to_dict()
    pooled = {name: pooled_results(run, options.depth, texts) for name, run in runs.items()}
    ranks = ranks_of(pooled)
    corpus.in_index_order()
    documents = find_documents(corpus, {doc_id for doc_ids in ranks.values() for doc_id in doc_ids})
    left_out = _unusable_queries(texts, ranks, documents)
    usable = sorted(ranks.keys() - left_out.keys())
    if not usable:
        reasons = [f"{query_id}: {reason}" for query_id, reason in left_out.items()]
        raise CheckFailedError(
            "no query of the topics can be judged",
            where=topics.path or "topics",
            remedy=f"give the topics and the corpus that were searched; {', '.join(reasons[:2])}",
        )
    order = np.random.default_rng(options.seed).permutation(len(usable))
    queries = [usable[place] for place in order.tolist()]
    draft = PlanDraft(queries, texts, documents)
    for name, run in runs.items():
        draft.add_run(name, run, pooled[name])
    return draft.write(
        target,
        topics=_source(topics.path, "topics", lambda: hash_topics(topics)),
        corpus=_source(corpus.path, "corpus", corpus.sha256),
        depth=options.depth,
        people=min(options.people, len(queries)),
        seed=options.seed,
        measures=[measure.requested_name for measure in measures],
        left_out=left_out,
    )


@dataclass
class PlanDraft:
    """The contents of a plan's folder while it is made.

    Attributes:
        queries: The queries, in the plan's order.
        texts: The text of each.
        documents: The documents of the corpus by id.
        runs: The runs.
        pooled: The pooled results of each run.
        contents: The files of the runs.
    """

    queries: list[str]
    texts: Mapping[str, str]
    documents: Mapping[str, CorpusDocument]
    runs: list[PlanRun] = field(default_factory=list)
    pooled: dict[str, pl.DataFrame] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)

    def add_run(self, name: str, run: Run, results: pl.DataFrame, extension: int = 0) -> None:
        """Add the pooled results of a run."""
        rows = results.filter(pl.col("query_id").is_in(self.queries))
        stem = valid_tag(name).strip(".-") or "run"
        while any(run.path.lower() == f"{RUNS_FOLDER}/{stem}.run".lower() for run in self.runs):
            stem += "-"
        content = _as_run(rows, name, stem)
        sha256 = sha256_text(content)
        planned = PlanRun(
            name=name,
            tag=run.name,
            source=_source(run.path, name, lambda: sha256),
            path=f"{RUNS_FOLDER}/{stem}.run",
            sha256=sha256,
            extension=extension,
        )
        self._append(planned, rows, content)

    def copy_run(self, folder: PlanFolder, planned: PlanRun) -> None:
        """Copy a run of another plan."""
        rows = rank_documents(folder.runs[planned.name].frame)
        content = folder.files.file(planned.path).read_text(encoding="utf-8")
        self._append(planned, rows, content)

    def _append(self, planned: PlanRun, rows: pl.DataFrame, content: str) -> None:
        self.runs.append(planned)
        self.pooled[planned.name] = rows
        self.contents[planned.path] = content

    def pool(self) -> list[PooledDocument]:
        """Return the pooled documents of all queries."""
        ranks = ranks_of(self.pooled)
        return [
            PooledDocument(query_id, doc_id, ranks[query_id][doc_id])
            for query_id in self.queries
            for doc_id in sorted(ranks.get(query_id, ()))
        ]

    def parts(self) -> dict[str, str]:
        """Return the files that follow from runs, topics and documents."""
        pool = self.pool()
        wanted = sorted({pooled.doc_id for pooled in pool} & self.documents.keys())
        texts = ({"query_id": query, "text": self.texts[query]} for query in self.queries)
        return {
            POOL_FILE: _lines(map(asdict, pool)),
            TOPICS_FILE: _lines(texts),
            DOCUMENTS_FILE: _lines(self.documents[doc_id]._asdict() for doc_id in wanted),
        }

    def write(self, target: Path, **about: Any) -> PlanFolder:
        """Write the pool and all files."""
        pool, parts = self.pool(), self.parts()
        plan = JudgmentPlan(
            version=version("trectools-plus"),
            created_at=format_time(utc_now()),
            runs=self.runs,
            queries=self.queries,
            pooled=len(pool),
            lacking=sum(pooled.doc_id not in self.documents for pooled in pool),
            files={name: sha256_text(content) for name, content in parts.items()},
            **about,
        )
        make_folder(target / RUNS_FOLDER)
        contents = {**parts, **self.contents, PLAN_FILE: f"{plan.model_dump_json(indent=2)}\n"}
        for name, content in contents.items():
            with atomic_write(target / name) as stream:
                stream.write(content)
        return PlanFolder(target)


def refuse_files(folder: Path) -> None:
    """Refuse a folder with files, and a path that is no folder."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(
            "the folder is not empty" if folder.is_dir() else "not a folder",
            where=str(folder),
            remedy="name a new folder for the plan",
        )


def has_too_many_missing(missing: int, pooled: int) -> bool:
    """Return whether too many pooled documents, of a query or of the plan, have no grade."""
    return missing > MAX_MISSING * pooled


def find_plan(path: str | Path) -> PlanFolder | None:
    """Return the plan with this folder, or with this file in its folder; ``None`` if there is none.

    Raises:
        InputError: If the plan cannot be read.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    return PlanFolder(folder) if (folder / PLAN_FILE).exists() else None


def refuse_deeper(measures: Sequence[Measure], depth: int) -> None:
    """Refuse measures that look at results below the pool, which nobody judges.

    Raises:
        UsageError: If a measure has no cutoff, or one below ``depth``.
    """
    for measure in measures:
        cutoff = measure.definition.cutoff
        if cutoff is None or cutoff > depth:
            reads = "the whole ranking" if cutoff is None else f"{cutoff} results"
            raise UsageError(
                f"{measure.requested_name} reads {reads}, but only the first {depth} of each run "
                "are judged",
                where="-m",
                remedy=f"use a cutoff of at most {depth}, or plan with a larger --depth",
            )


def pooled_results(run: Run, depth: int, texts: Mapping[str, str]) -> pl.DataFrame:
    """Return the first results of each query, in the order used for scoring."""
    top = rank_documents(run.frame).filter(pl.col("rank") <= depth)
    return top.filter(pl.col("query_id").is_in(list(texts)))


def ranks_of(pooled: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the ranks of pooled documents by query, document and run."""
    ranks: dict[str, dict[str, dict[str, int]]] = {}
    for name, rows in pooled.items():
        for query_id, doc_id, rank in rows.select("query_id", "doc_id", "rank").iter_rows():
            ranks.setdefault(query_id, {}).setdefault(doc_id, {})[name] = rank
    return ranks


def find_documents(corpus: Corpus, doc_ids: set[str]) -> dict[str, CorpusDocument]:
    """Return those of some documents that the corpus has, by id.

    Raises:
        CheckFailedError: If the corpus has none of them.
    """
    wanted = sorted(doc_ids)
    rows = corpus.find(pl.Series(wanted, dtype=pl.String)).select("doc_id", "title", "text")
    if wanted and rows.is_empty():
        raise CheckFailedError(
            "the corpus has none of the pooled documents",
            where=corpus.path or "corpus",
            remedy=f"the runs have documents such as {listed(wanted[:3])}",
        )
    return {row[0]: CorpusDocument(*row) for row in rows.iter_rows()}


def _unusable_queries(
    texts: Iterable[str],
    ranks: Mapping[str, Mapping[str, object]],
    documents: Mapping[str, CorpusDocument],
) -> dict[str, str]:
    """Return the reason for each topic that cannot be judged."""
    left_out: dict[str, str] = {}
    for query_id in texts:
        pool = ranks.get(query_id, {})
        lacking = len(pool.keys() - documents.keys())
        if not pool or has_too_many_missing(lacking, len(pool)):
            lacks = f"the corpus lacks {lacking} of {len(pool)} pooled documents"
            left_out[query_id] = lacks if pool else "no run has a result"
    return left_out


def _as_run(rows: pl.DataFrame, name: str, tag: str) -> str:
    """Format pooled results as a run that ranks documents as the original does.

    Raises:
        CheckFailedError: If there are none.
        InputError: If an id cannot be written to a run.
    """
    if rows.is_empty():
        raise CheckFailedError(
            "the run has no result for any query of the plan",
            where=name,
            remedy="leave it out, or give the topics that it answers",
        )
    refuse_unwritable(rows, ("query_id", "doc_id"), "run")
    lines = rows.select("query_id", "doc_id", "rank", "score").iter_rows()
    return "".join(
        f"{query_id} Q0 {doc_id} {rank} {score!r} {tag}\n"
        for query_id, doc_id, rank, score in lines
    )


def _source(path: str | None, name: str, sha256: Callable[[], str]) -> SourceFile:
    """Return a file with its hash; standard input and named collections with that of the rows."""
    is_file = path is not None and Path(path).is_file()
    return SourceFile(path=path or name, sha256=sha256_file(path) if path and is_file else sha256())


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
