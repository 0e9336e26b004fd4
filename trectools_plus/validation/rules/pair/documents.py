"""Rules on document ids across files: run against qrels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from trectools_plus.formats.columns.ids import Ids, Rows
from trectools_plus.text import listed, visible
from trectools_plus.validation.findings import UNJUDGED
from trectools_plus.validation.registry import (
    JUDGED_CUTOFF,
    MIN_JUDGED,
    Case,
    Rule,
)
from trectools_plus.validation.views.facts import N_SHOWN_IDS
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.places import Places, Value, places_of
from trectools_plus.validation.views.runs import RunView


def are_shared(pair: PairView) -> bool:
    """Return whether run and qrels have queries in common."""
    return pair.qrels is not None and len(pair.shared_ids) > 0


def shown_ids(pair: PairView, _: Places) -> Mapping[str, Value]:
    """Return ids of both files."""
    assert pair.qrels is not None
    ours, theirs = pair.facts.unjudged[:N_SHOWN_IDS], pair.qrels.doc_ids.texts(slice(N_SHOWN_IDS))
    return {"sides": f"run: {listed(ours)}; qrels: {listed(theirs)}"}


def share_judged(pair: PairView) -> float:
    """Return the share of judged ones among the first documents; 1 if no document is judged."""
    return pair.facts.n_judged_shown / pair.facts.n_shown if pair.facts.n_judged else 1.0


P105 = Rule(
    "P105",
    "nothing-judged",
    "pair",
    "error",
    tables=True,
    checks="no retrieved document is judged in any query; Judged@10 below 0.2 is a warning",
    rationale="Unjudged documents count as not relevant, so the scores do not measure the system. "
    "The run is from another collection, or its ids have another form.",
    example="run.txt: error P105: 0 of 10 documents are judged (run: x1, x2, x3; qrels: d01, d02, "
    "d03). Check that the run is from the same collection as the qrels.",
    remedy="Check that the run is from the same collection as the qrels",
    drop_in="permissive",
    notes={"error": UNJUDGED},
    cases=(
        Case(
            "error",
            "0 of {count:document} are judged ({sides})",
            lambda pair: pair.facts.n_documents,
            given=lambda pair, _: are_shared(pair) and not pair.facts.n_judged,
            shows=shown_ids,
            blocks=lambda pair: not pair.facts.n_common,
        ),
        Case(
            "warning",
            f"{{share}} of the first {JUDGED_CUTOFF} documents are judged; the rest count as not "
            "relevant",
            lambda pair: int(share_judged(pair) < MIN_JUDGED),
            # A small share of judged documents is not an error of the qrels.
            given=lambda pair, _: are_shared(pair) and pair.report_on == "run",
            shows=lambda pair, _: {"share": f"{share_judged(pair):.1%}"},
            remedy="Judge more documents, or report Judged@10 with every figure",
        ),
    ),
)


def _is_most(pair: PairView, places: Places) -> bool:
    return places.count > pair.facts.n_judged


def near_rows(pair: PairView) -> Places:
    """Return unjudged documents of the run that are judged in another spelling."""
    if pair.qrels is None or not pair.shared_ids or pair.report_on == "qrels":
        return Places()
    return pair.facts.near


def shown_near(pair: PairView, places: Places) -> Mapping[str, Value]:
    """Return the two spellings and their difference."""
    ours, theirs = str(places.first["doc_id"]), str(places.first["theirs"])
    return {
        "n_documents": pair.facts.n_documents,
        "ours": visible(ours, marks=True),
        "theirs": visible(theirs, marks=True),
    }


def near_judgments(pair: PairView) -> Places:
    """Return judgments whose document id the run spells differently, if most ids do so."""
    if pair.qrels is None or not pair.shared_ids or pair.report_on == "run":
        return Places()
    if not _is_most(pair, pair.facts.near):
        return Places()
    rows, judgments = pair.near_documents
    found, of_run = np.unique(judgments, return_index=True)
    theirs = pair.run.doc_ids.text(rows[of_run[0]])
    places = places_of(pair.qrels, found)
    return replace(places, first={**places.first, "theirs": theirs})


spelled = partial(
    Case,
    message="{count} of {n_documents} ids match the other file only in another spelling "
    "({ours}, {theirs})",
    shows=shown_near,
)
P106 = Rule(
    "P106",
    "document-id-near-match",
    "pair",
    "warning",
    tables=True,
    checks="document ids that match judged ids only without differences in case, Unicode normal "
    "form or invisible characters; error if most do",
    rationale="Such a document counts as unjudged, and its judgment as not retrieved.",
    example="run.txt:1: error P106: 10 of 10 ids match the other file only in another spelling "
    "(D01, d01). Write the document ids identically in both files.",
    remedy="Write the document ids identically in both files",
    drop_in="scores",
    cases=(
        spelled("error", where=near_rows, given=_is_most),
        spelled("warning", where=near_rows),
        spelled("error", where=near_judgments, fix="no"),  # only the ids of runs can be fixed
    ),
)


P109 = Rule(
    "P109",
    "document-not-in-collection",
    "pair",
    "error",
    tables=True,
    blocks_scoring=False,
    checks="document id not in the given list, or not matching --docid-pattern",
    rationale="Such a document can never be judged. Its id may be that of a passage, of an older "
    "version of the collection, or a row number.",
    example="run.txt:4: error P109: d10 is not in the collection. Use the ids of the collection.",
    remedy="Use the ids of the collection",
    chunked=True,
    cases=(
        Case(
            "error",
            "{doc_id!v} is not in the collection[ ({count} of {total:row})]",
            lambda pair: (
                np.flatnonzero(pair.collection.lacks(pair.run.doc_ids.series()))
                if pair.collection is not None
                else 0
            ),
            given=lambda pair, _: pair.report_on == "run",
            shows=lambda pair, _: {"total": pair.run.n_rows},
            column=3,
        ),
    ),
)


def self_retrieving(run: RunView) -> Rows:
    """Return the rows whose document id is the query id."""
    query_ids = Ids.of_texts(run.query_ids).take(run.blocks.query.astype(np.int64))
    return np.flatnonzero(run.doc_ids.equal(query_ids))


P110 = Rule(
    "P110",
    "self-retrieval",
    "pair",
    "info",
    tables=True,
    checks="document id equals query id (BEIR removes these rows)",
    rationale="In ArguAna, Quora and similar collections the queries are documents, and each "
    "query retrieves itself first. BEIR removes such rows; other tools count them.",
    example="run.txt:1: info P110: query 1 retrieves document 1. Remove such rows if the queries "
    "are documents.",
    remedy="Remove such rows if the queries are documents",
    chunked=True,
    cases=(
        Case(
            "info",
            "query {query_id!v} retrieves document {query_id!v}[ ({count} such rows)]",
            lambda pair: self_retrieving(pair.run),
            given=lambda pair, _: pair.report_on == "run",
            column=3,
        ),
    ),
)


MIN_REPORTED_CHANGE = 0.0001
"""Minimum change of a mean that is reported, because it is visible in four decimals."""


def mean_change(pair: PairView) -> float:
    """Return the difference of the mean AP in the best and the worst order of ties."""
    return pair.facts.tie_change / len(pair.qrels_ids)


P111 = Rule(
    "P111",
    "tie-sensitive",
    "pair",
    "warning",
    tables=True,
    checks=f"best and worst tie order change AP by more than {MIN_REPORTED_CHANGE}",
    rationale="Tools order tied documents differently: by falling or rising document id, by rank "
    "column, or at random. One file then has several scores, and two systems may swap ranks.",
    example="run.txt: warning P111: the order of ties changes AP by up to 0.1667. Write "
    "scores that fall with rank.",
    remedy="Write scores that fall with rank",
    cases=(
        Case(
            "warning",
            "the order of ties changes AP by up to {change}[ (in {count} queries)]",
            lambda pair: pair.facts.n_tie_changes,
            given=lambda pair, _: mean_change(pair) > MIN_REPORTED_CHANGE,
            shows=lambda pair, _: {"change": f"{mean_change(pair):.4f}"},
        ),
    ),
)
