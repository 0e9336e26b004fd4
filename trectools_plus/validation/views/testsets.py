"""The view of a test set with its ontology and the other parts of its split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import polars as pl

from trectools_plus.validation.texts import primary_language
from trectools_plus.validation.topics.view import TopicsView
from trectools_plus.validation.views.tables import TableView


class TermState(Protocol):
    """The state of an id in an ontology."""

    @property
    def status(self) -> str:
        """``live``, ``alternative``, ``obsolete`` or ``unknown``."""

    @property
    def term_id(self) -> str | None:
        """The live term that the id refers to; ``None`` if there is none, or several."""

    @property
    def replaced_by(self) -> tuple[str, ...]:
        """For an obsolete id, the ids that replace it."""


class Terms(Protocol):
    """The terms of an ontology."""

    def resolve(self, term_id: str) -> TermState:
        """Return the state of an id; never fails."""

    def ancestors(self, term_id: str) -> frozenset[str]:
        """Return the live term itself and all its ancestors."""


class TestSetView:
    """A test set with its ontology and the other parts of its split.

    Args:
        topics: The queries and judgments of the set.
        terms: The ontology of its ids; ``None`` if ids are not checked.
        parts: The earlier parts of the split.

    Attributes:
        drops_unknown_terms: True if the set is used without the ids that are not terms, so that
            they are no errors.
    """

    __test__ = False  # not a test class for pytest

    def __init__(
        self, topics: TopicsView, terms: Terms | None = None, parts: Sequence[TestSetView] = ()
    ) -> None:
        self.topics = topics
        self.drops_unknown_terms = False
        self.terms = terms
        self._parts = tuple(parts)

    @property
    def reported_view(self) -> TableView:
        """The view that findings are reported on."""
        return self.topics

    @property
    def parts(self) -> list[TestSetView]:
        """The other parts, without sets that declare another language."""
        return [
            part
            for part in self._parts
            if not (self.language and part.language and self.language != part.language)
        ]

    @property
    def is_test_set(self) -> bool:
        """Return whether the file has judgments, and queries with texts."""
        texts = self.topics.frame["text"]
        return self.topics.kind == "testset" and texts.null_count() < texts.len()

    @cached_property
    def queries(self) -> pl.DataFrame:
        """``line, query_id, text, text_line`` of each query; missing ids are ``case-001``, …."""
        numbered = pl.format("case-{}", (pl.int_range(pl.len()) + 1).cast(pl.String).str.zfill(3))
        return self.topics.frame.with_columns(query_id=pl.col("query_id").fill_null(numbered))

    @cached_property
    def texts(self) -> pl.DataFrame:
        """Those of :attr:`queries` that have a text, each id once."""
        return self.queries.filter(pl.col("text").str.strip_chars() != "").unique(
            "query_id", keep="first", maintain_order=True
        )

    @cached_property
    def judged(self) -> pl.DataFrame:
        """``line, query_id, doc_id, grade, span`` of each judgment; unreadable grades are null."""
        judgments = self.topics.judgments
        if judgments is None or judgments.line_numbers is None:
            schema = {"line": pl.UInt32, "query_id": pl.String, "doc_id": pl.String}
            return pl.DataFrame(schema={**schema, "grade": pl.Float64, "span": pl.String})
        lines = pl.Series("line", judgments.line_numbers, dtype=pl.UInt32)
        grade = pl.col("relevance").cast(pl.Float64).fill_nan(None)
        return judgments.frame.select(
            lines, "query_id", "doc_id", grade=grade, span=judgments.spans
        )

    def relevant(self, query_id: str) -> frozenset[str]:
        """Return the terms of a query with a grade above 0."""
        return self._relevant.get(query_id, frozenset())

    @cached_property
    def _relevant(self) -> dict[str, frozenset[str]]:
        rows = self.judged.filter(pl.col("grade") > 0).group_by("query_id").agg("doc_id")
        return {query_id: frozenset(doc_ids) for query_id, doc_ids in rows.iter_rows()}

    @cached_property
    def languages(self) -> pl.DataFrame:
        """``line, query_id, language, primary`` of each declared language, in file order."""
        primary = pl.col("language").map_elements(primary_language, return_dtype=pl.String)
        return self.topics.languages.with_columns(primary=primary).sort("line", maintain_order=True)

    @property
    def language(self) -> str:
        """The language, declared or implied by the folder; empty for none or several."""
        if self.topics.implied_language is not None:
            return self.topics.implied_language[0]
        found = self.languages["primary"].unique()
        return str(found[0]) if found.len() == 1 else ""
