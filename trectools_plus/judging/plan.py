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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

import trectools_plus
from trectools_plus.benchmark.report.parts import SourceFile
from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.formats.jsonl import iter_objects
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.formats.tables import CorpusDocument, Run, Topics
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.parser import parse_measures
from trectools_plus.models import ReportModel
from trectools_plus.provenance import format_time, utc_now
from trectools_plus.text import listed
from trectools_plus.validation.loading import load_run

PLAN_FILE = "plan.json"
POOL_FILE = "pool.jsonl"
TOPICS_FILE = "topics.jsonl"
DOCUMENTS_FILE = "documents.jsonl"
RUNS_FOLDER = "runs"
DEFAULT_DEPTH = 10
DEFAULT_PEOPLE = 30
DEFAULT_MEASURES = ("nDCG@10", "P@10", "RR@10")
FORMAT = "1"


class PlanRun(ReportModel):
    """A run of the plan."""

    name: str
    """The name in all output."""
    tag: str
    """The tag in the run file."""
    source: SourceFile
    """The original file."""
    path: str
    """The pooled results, relative to the plan's folder."""
    sha256: str
    """SHA-256 of the bytes of that file."""


class JudgmentPlan(ReportModel):
    """What was planned."""

    format: str
    """The version of the plan's format."""
    version: str
    """The version of trectools-plus that made the plan."""
    created: str
    """The time in UTC."""
    runs: list[PlanRun]
    """The pooled runs."""
    topics: SourceFile
    """The file of the queries."""
    corpus: SourceFile
    """The file of the documents; a named collection has a hash of its name."""
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
    left_out: list[str]
    """Topics for which no run has a result."""
    files: dict[str, str]
    """SHA-256 of the pool, the topics and the documents of this folder, by name."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Settings of a plan.

    Attributes:
        depth: The number of results of each run that are pooled.
        people: The number of queries that people are to judge.
        seed: The seed of the order of queries.
        measures: The measures to estimate; none may look deeper than ``depth``.
    """

    depth: int = DEFAULT_DEPTH
    people: int = DEFAULT_PEOPLE
    seed: int = 42
    measures: Sequence[str] = DEFAULT_MEASURES


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


class PlanFolder:
    """A plan on disk; its parts are read when they are used, and checked against their hashes.

    Args:
        path: The folder of a plan, or its ``plan.json``.

    Raises:
        InputError: If it is not a plan, or was made by an incompatible version.
    """

    def __init__(self, path: str | Path) -> None:
        given = Path(path)
        self.path = given.parent if given.name == PLAN_FILE else given
        file = self.path / PLAN_FILE
        try:
            content = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                "no plan of judgments",
                where=str(file),
                remedy="make one with: judge plan RUN... --topics T --corpus C --output-dir PLAN",
            ) from error
        try:
            self.plan = JudgmentPlan.model_validate_json(content)
        except ValidationError as error:
            raise InputError("not a plan of judgments", where=str(file)) from error
        if self.plan.format != FORMAT:
            raise InputError(
                f"the plan has format {self.plan.format}; this version reads format {FORMAT}",
                where=str(file),
            )

    @cached_property
    def pool(self) -> dict[str, list[PooledDocument]]:
        """The pooled documents of each query, in the plan's order."""
        pool: dict[str, list[PooledDocument]] = {query_id: [] for query_id in self.plan.queries}
        for _, row in self._rows(POOL_FILE):
            pool[row["query_id"]].append(
                PooledDocument(row["query_id"], row["doc_id"], row["ranks"])
            )
        return pool

    @cached_property
    def topics(self) -> dict[str, str]:
        """The text of each query."""
        return {row["query_id"]: row["text"] for _, row in self._rows(TOPICS_FILE)}

    @cached_property
    def documents(self) -> dict[str, CorpusDocument]:
        """The pooled documents that the corpus has, by id."""
        rows = (row for _, row in self._rows(DOCUMENTS_FILE))
        return {row["doc_id"]: CorpusDocument(**row) for row in rows}

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The pooled results of each run, by name."""
        return {one.name: self._read_run(one) for one in self.plan.runs}

    def _read_run(self, planned: PlanRun) -> Run:
        self._check(planned.path, planned.sha256)
        return load_run(self.path / planned.path)

    def _rows(self, name: str) -> Iterable[tuple[int, dict[str, Any]]]:
        self._check(name, self.plan.files[name])
        file = self.path / name
        with file.open("rb") as lines:
            yield from iter_objects(lines, str(file))

    def _check(self, name: str, sha256: str) -> None:
        """Refuse a file of the plan that has changed since.

        Raises:
            CheckFailedError: If its hash differs from that of the plan.
        """
        if sha256_file(self.path / name) != sha256:
            raise CheckFailedError(
                "the file has changed since the plan was made",
                where=str(self.path / name),
                remedy="restore it, or make a new plan",
            )


def make_plan(
    runs: Mapping[str, Run],
    topics: Topics,
    corpus: DocumentCollection,
    folder: str | Path,
    options: PlanOptions | None = None,
) -> PlanFolder:
    """Pool the first results of some runs, and decide on the order in which people judge queries.

    Args:
        runs: The runs by name, read from files.
        topics: The queries. Those for which no run has a result are left out.
        corpus: The documents.
        folder: A new or empty folder for the plan.
        options: Depth, number of queries for people, seed and measures.

    Returns:
        The plan on disk. The same inputs and seed give the same files.

    Raises:
        UsageError: If a measure looks deeper than the pool, or an option is out of range.
        CheckFailedError: If no query of the topics has a result, or no pooled document is in the
            corpus.
        InputError: If the folder has other files, or cannot be written.
    """
    options = options or PlanOptions()
    refuse_deeper(parse_measures(options.measures), options.depth)
    if options.people < 1:
        raise UsageError(f"expected 1 query or more for people but got {options.people}")
    target = Path(folder)
    if target.is_dir() and any(target.iterdir()):
        raise InputError(
            "the folder is not empty", where=str(target), remedy="name a new folder for the plan"
        )
    texts = topics.to_dict()
    pooled = {name: _pooled_results(run, options.depth, texts) for name, run in runs.items()}
    pool = _pool(pooled)
    found = sorted({document.query_id for document in pool})
    if not found:
        raise CheckFailedError(
            "no query of the topics has a result in any run",
            where=topics.path or "topics",
            remedy=f"the runs have queries such as {listed(_query_ids(runs)[:3])}",
        )
    order = np.random.default_rng(options.seed).permutation(len(found))
    queries = [found[place] for place in order.tolist()]
    place = {query_id: position for position, query_id in enumerate(queries)}
    pool.sort(key=lambda one: (place[one.query_id], one.doc_id))
    documents = _find_documents(corpus, pool)
    contents = {
        POOL_FILE: _lines(
            {"query_id": one.query_id, "doc_id": one.doc_id, "ranks": one.ranks} for one in pool
        ),
        TOPICS_FILE: _lines({"query_id": one, "text": texts[one]} for one in queries),
        DOCUMENTS_FILE: _lines(documents),
    }
    files = {f"{RUNS_FOLDER}/{name}.run": _as_run(rows, name) for name, rows in pooled.items()}
    plan = JudgmentPlan(
        format=FORMAT,
        version=trectools_plus.__version__,
        created=format_time(utc_now()),
        runs=[
            PlanRun(
                name=name,
                tag=run.name,
                source=_source(run.path, name),
                path=f"{RUNS_FOLDER}/{name}.run",
                sha256=sha256_text(files[f"{RUNS_FOLDER}/{name}.run"]),
            )
            for name, run in runs.items()
        ],
        topics=_source(topics.path, "topics"),
        corpus=_source(corpus.path, "corpus"),
        depth=options.depth,
        people=min(options.people, len(queries)),
        seed=options.seed,
        measures=list(options.measures),
        queries=queries,
        pooled=len(pool),
        left_out=[query_id for query_id in texts if query_id not in place],
        files={name: sha256_text(content) for name, content in contents.items()},
    )
    make_folder(target / RUNS_FOLDER)
    for name, content in {**contents, **files, PLAN_FILE: _as_json(plan)}.items():
        with atomic_write(target / name) as stream:
            stream.write(content)
    return PlanFolder(target)


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


def _query_ids(runs: Mapping[str, Run]) -> list[str]:
    return [query_id for run in runs.values() for query_id in run.query_ids]


def _pooled_results(run: Run, depth: int, texts: Mapping[str, str]) -> pl.DataFrame:
    """Return the first results of each query, in the order used for scoring."""
    top = rank_documents(run.frame).filter(pl.col("rank") <= depth)
    return top.filter(pl.col("query_id").is_in(list(texts)))


def _pool(pooled: Mapping[str, pl.DataFrame]) -> list[PooledDocument]:
    ranks: dict[tuple[str, str], dict[str, int]] = {}
    for name, rows in pooled.items():
        for query_id, doc_id, rank in rows.select("query_id", "doc_id", "rank").iter_rows():
            ranks.setdefault((query_id, doc_id), {})[name] = rank
    return [PooledDocument(*pair, found) for pair, found in ranks.items()]


def _find_documents(
    corpus: DocumentCollection, pool: Sequence[PooledDocument]
) -> list[dict[str, Any]]:
    """Return the pooled documents, by id.

    Raises:
        CheckFailedError: If the corpus has none of them.
    """
    wanted = sorted({one.doc_id for one in pool})
    found = corpus.find(pl.Series(wanted, dtype=pl.String)).sort("doc_id")
    if found.is_empty():
        raise CheckFailedError(
            "the corpus has none of the pooled documents",
            where=corpus.path or "corpus",
            remedy=f"the runs have documents such as {listed(wanted[:3])}",
        )
    return list(found.select("doc_id", "title", "text").iter_rows(named=True))


def _as_run(rows: pl.DataFrame, name: str) -> str:
    """Format pooled results as a run that ranks documents as the original does."""
    lines = rows.select("query_id", "doc_id", "rank", "score").iter_rows()
    return "".join(
        f"{query_id} Q0 {doc_id} {rank} {score!r} {name}\n"
        for query_id, doc_id, rank, score in lines
    )


def _source(path: str | None, name: str) -> SourceFile:
    if path is not None and Path(path).is_file():
        return SourceFile(path=path, sha256=sha256_file(path))
    return SourceFile(path=path or name, sha256=sha256_text(path or name))


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _as_json(plan: JudgmentPlan) -> str:
    return f"{plan.model_dump_json(indent=2)}\n"
