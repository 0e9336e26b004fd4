"""Findings on clean runs and qrels, from facts that are collected while their chunks are read.

A clean file breaks few rules, none of which blocks scoring. This module knows these rules by code
and severity, so that the catalogue of rules is not loaded. Messages are short: the rules themselves
report the details.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.formats.clean.lines import Layout
from trectools_plus.formats.clean.qrels import CleanQrels
from trectools_plus.formats.clean.run import CleanRun
from trectools_plus.formats.clean.words import Ids, Rows
from trectools_plus.formats.files.compression import SUFFIXES, Compression
from trectools_plus.text import plural
from trectools_plus.validation.findings import UNJUDGED, Finding, Severity
from trectools_plus.validation.fragile_ids import is_fragile, may_be_fragile
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH, MIN_JUDGED

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
_VALID_TAG = re.compile(r"[A-Za-z0-9_.\-]+")

NAMES = {
    "F104": "crlf",
    "F107": "comment-line",
    "F108": "blank-line",
    "F109": "no-final-newline",
    "F112": "gzip-name",
    "R106": "odd-spacing",
    "R107": "second-column",
    "R115": "fragile-id",
    "R123": "rank-start",
    "R141": "tied-scores",
    "R143": "tie-in-float32",
    "R151": "several-tags",
    "R152": "tag-form",
    "R161": "depth",
    "P102": "query-not-judged",
    "P103": "query-not-in-run",
    "P105": "nothing-judged",
    "P106": "document-id-near-match",
    "P110": "self-retrieval",
    "Q121": "negative-grade",
    "Q122": "grade-range",
    "Q131": "no-relevant",
    "Q134": "only-relevant",
    "Q151": "interleaved",
}
"""The rules that clean files can break, with their names."""


@dataclass(eq=False)
class RunFacts:
    """Facts about a clean run, collected from its chunks in order.

    Attributes:
        n_rows: The number of rows.
        query_ids: The queries.
        deepest: The greatest number of rows of a query.
        first_ranks: The ranks of first rows.
        seconds: The words in column 2.
        tags: The tags.
        layout: How the lines are written.
        codes: The rules that single rows break, with the severity of the finding.
    """

    n_rows: int = 0
    query_ids: list[str] = field(default_factory=list)
    deepest: int = 0
    first_ranks: set[int] = field(default_factory=set)
    seconds: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)
    layout: Layout = field(default_factory=Layout)
    codes: dict[str, Severity] = field(default_factory=dict)

    @classmethod
    def of(cls, run: CleanRun) -> RunFacts:
        """Return the facts of a chunk that decide which errors and warnings there are."""
        codes = {}
        if run.ties.n_ties:
            codes["R141"] = _WARNING if run.ties.n_against_ids else _INFO
        if run.ties.n_in_32_bits:
            codes["R143"] = _WARNING
        return cls(
            run.n_rows,
            run.query_ids,
            int(run.lengths.max()),
            {run.first_rank},
            {run.second},
            {run.tag},
            run.layout,
            codes,
        )

    def add(self, later: RunFacts) -> None:
        """Add the facts of the chunk that follows."""
        self.n_rows += later.n_rows
        self.query_ids += later.query_ids
        self.deepest = max(self.deepest, later.deepest)
        self.first_ranks |= later.first_ranks
        self.seconds |= later.seconds
        self.tags |= later.tags
        self.layout += later.layout
        for code, severity in later.codes.items():
            if self.codes.get(code) is not _WARNING:
                self.codes[code] = severity

    @classmethod
    def joined(cls, chunks: Iterable[RunFacts]) -> RunFacts:
        """Return the facts of a run, given those of its chunks in order."""
        facts = cls()
        for chunk in chunks:
            facts.add(chunk)
        return facts

    @property
    def has_split_query(self) -> bool:
        """True if a query is in two chunks, so that rules on queries must see the whole run."""
        return len(set(self.query_ids)) < len(self.query_ids)

    def findings(
        self,
        path: str,
        max_depth: int | None = DEFAULT_MAX_DEPTH,
        max_tag_length: int = MAX_TAG_LENGTH,
    ) -> list[Finding]:
        """Return the findings on the run.

        Args:
            path: The run, as the user named it.
            max_depth: Results allowed per query; ``None`` for no limit.
            max_tag_length: Characters allowed in the run tag.
        """
        codes = self.codes | _codes_of_layout(self.layout)
        if len(self.layout.separators) > 1 or self.layout.has_loose_rows:
            codes["R106"] = _INFO
        if self.seconds != {"Q0"}:
            codes["R107"] = _WARNING
        if self.first_ranks != {1} and not self.layout.has_comments:
            codes["R123"] = _INFO
        if len(self.tags) > 1:
            codes["R151"] = _WARNING
        if not all(_VALID_TAG.fullmatch(tag) and len(tag) <= max_tag_length for tag in self.tags):
            codes["R152"] = _WARNING
        if max_depth is not None and self.deepest > max_depth:
            codes["R161"] = _ERROR
        return _findings(path, codes)


def rows_by_rule(run: CleanRun) -> dict[str, Rows]:
    """Return the rows whose ids break the rules R115 and P110, which do not concern scoring.

    For a query id, its first row counts.
    """
    found = {}
    if run.retrieves_itself:
        query_ids = Ids.from_texts(run.query_ids).take(run.query)
        found["P110"] = np.flatnonzero(query_ids.equal(run.doc_ids))
    suspects = np.flatnonzero(may_be_fragile(run.doc_ids))
    documents = suspects[list(map(is_fragile, run.doc_ids.texts(suspects)))]
    queries = run.starts[:-1][list(map(is_fragile, run.query_ids))]
    if len(documents) or len(queries):
        found["R115"] = np.union1d(queries, documents)
    return found


def qrels_findings(path: str, qrels: CleanQrels) -> list[Finding]:
    """Return the findings on clean qrels, except infos on ids and their order.

    Args:
        path: The file, as the user named it.
        qrels: The judgments.
    """
    codes = _codes_of_layout(qrels.layout)
    lowest, highest = int(qrels.relevance.min()), int(qrels.relevance.max())
    if lowest < 0:
        codes["Q121"] = _WARNING
    if highest > 4:
        codes["Q122"] = _WARNING if highest > 10 else _INFO
    if np.maximum.reduceat(qrels.relevance, qrels.starts[:-1]).min() < 1:
        codes["Q131"] = _WARNING
    if lowest > 0:
        codes["Q134"] = _INFO
    return _findings(path, codes)


@dataclass(frozen=True, slots=True)
class IdFacts:
    """Facts about the ids of a run and its qrels.

    Attributes:
        run_ids: The run's query ids.
        qrels_ids: The query ids of the qrels, some of which are in ``run_ids``.
        n_documents: The number of results of judged queries.
        judged: The share of judged documents in the first ``JUDGED_CUTOFF``, from 0 to 1; ``None``
            if no document is judged for its query, but the files have document ids in common.
        n_other_spellings: The number of unjudged documents that are judged in another spelling.
    """

    run_ids: Sequence[str]
    qrels_ids: Sequence[str]
    n_documents: int
    judged: float | None
    n_other_spellings: int

    @property
    def nothing_judged(self) -> str:
        """The message of P105 if no document is judged for its query."""
        return f"0 of {plural(self.n_documents, 'document')} are judged for their query"


def id_findings(path: str, ids: IdFacts) -> list[Finding]:
    """Return the findings on the ids of a run and its qrels, none of which blocks scoring.

    Args:
        path: The run, as the user named it.
        ids: The facts.
    """
    codes = {}
    if not set(ids.run_ids) <= set(ids.qrels_ids):
        codes["P102"] = _WARNING
    if not set(ids.qrels_ids) <= set(ids.run_ids):
        codes["P103"] = _ERROR
    if ids.judged is None:
        codes["P105"] = _ERROR
    elif ids.judged < MIN_JUDGED:
        codes["P105"] = _WARNING
    if ids.n_other_spellings:
        codes["P106"] = _WARNING
    found = _findings(path, codes)
    if ids.judged is not None:
        return found
    return [
        replace(one, message=ids.nothing_judged, note=UNJUDGED) if one.code == "P105" else one
        for one in found
    ]


def name_findings(path: str, compression: Compression | None) -> list[Finding]:
    """Return the finding on the name of a file that does not match its compression, if any."""
    named = SUFFIXES.get(Path(path).suffix.lower())
    return [] if named == compression else _findings(path, {"F112": _WARNING})


def _codes_of_layout(layout: Layout) -> dict[str, Severity]:
    codes = {}
    if "\r\n" in layout.line_ends:
        codes["F104"] = _WARNING if "\n" in layout.line_ends else _INFO
    if layout.has_comments:
        codes["F107"] = _WARNING
    if layout.has_blank_lines:
        codes["F108"] = _WARNING
    if not layout.final_newline:
        codes["F109"] = _INFO
    return codes


def _findings(path: str, codes: Mapping[str, Severity]) -> list[Finding]:
    return [
        Finding(
            code,
            name := NAMES[code],
            severity,
            path,
            name.replace("-", " "),
            "",
        )
        for code, severity in _in_order(codes.items())
    ]


def _in_order(codes: Iterable[tuple[str, Severity]]) -> list[tuple[str, Severity]]:
    return sorted(codes, key=lambda one: ("FRQTP".index(one[0][0]), one[0]))
