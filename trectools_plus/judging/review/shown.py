"""The results that the review page shows: queries with their documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trectools_plus.formats.hashing import sha256_text
from trectools_plus.judging.plan import PlanFolder

MAX_TEXT_LENGTH = 20_000
"""Maximum number of characters of a document to show."""
POOL = ""
"""The mode of pooled documents, which does not say which run found them."""


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """Title and text of a document.

    Attributes:
        title: The title; empty if there is none.
        text: The text, at most :data:`MAX_TEXT_LENGTH` characters.
    """

    title: str = ""
    text: str = ""

    @classmethod
    def of(cls, title: str, text: str) -> ShownDocument:
        """Return a document, with at most :data:`MAX_TEXT_LENGTH` characters of its text."""
        return cls(title.strip(), text[:MAX_TEXT_LENGTH].strip())


@dataclass(frozen=True, slots=True)
class ReviewQuery:
    """A query with the results of each mode.

    Attributes:
        query_id: The id.
        text: The text; ``None`` if it is not available.
        results: The ids of the first documents by mode, best first; in a plan, the pooled documents
            of all runs under :data:`POOL`, in the order of their ids.
        lacking: The number of pooled documents that nobody can see.
    """

    query_id: str
    text: str | None
    results: Mapping[str, tuple[str, ...]]
    lacking: int = 0


@dataclass(frozen=True, slots=True)
class ReviewMaterial:
    """The contents of the review page.

    Attributes:
        dataset: The name of the dataset.
        modes: The modes to compare, in the report's order.
        depth: The number of results of each mode.
        queries: The queries with results, in the order of the runs.
        documents: Title and text of the documents, if available.
        notes: Notes on the results, one sentence each.
        planned: The number of queries that people are to judge in the order of ``queries``, if the
            results are the pool of a plan; ``None`` for the results of a report.
    """

    dataset: str
    modes: tuple[str, ...]
    depth: int
    queries: tuple[ReviewQuery, ...]
    documents: Mapping[str, ShownDocument] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    planned: int | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of modes, queries and results, which identifies the judged results."""
        shown = sorted([query.query_id, dict(query.results)] for query in self.queries)
        return sha256_text(json.dumps([self.modes, shown], sort_keys=True))


def load_plan_material(folder: PlanFolder) -> ReviewMaterial:
    """Return the pooled documents of a plan, without runs and ranks."""
    plan = folder.plan
    queries = tuple(
        ReviewQuery(
            query_id,
            folder.topics[query_id],
            {POOL: tuple(folder.judgeable[query_id])},
            len(folder.pool[query_id]) - len(folder.judgeable[query_id]),
        )
        for query_id in plan.queries
    )
    documents = {
        doc_id: ShownDocument.of(document.title, document.text)
        for doc_id, document in folder.documents.items()
    }
    name = Path(plan.corpus.path).name or "dataset"
    return ReviewMaterial(name, (POOL,), plan.depth, queries, documents, planned=plan.people)
