"""Validate test sets (rules for topics, term ids and the parts of a split); resolve term ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from trectools_plus.choices import UnknownTerms
from trectools_plus.errors import FormatError, MissingExtraError, UsageError
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.testsets.loading import find_test_set
from trectools_plus.testsets.model import RelevantTerm, TestQuery, TestSet
from trectools_plus.text import listed, plural
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import damaged_report, run_rules
from trectools_plus.validation.findings import FileReport, Finding
from trectools_plus.validation.topics.engine import check_topics, read_view
from trectools_plus.validation.views.topics import TestSetView

HPO_PREFIX = "HP:"

_SUPERSEDED = {
    "T211": frozenset({"Q121", "Q122"}),
    "T212": frozenset({"T131", "Q131", "Q133"}),
}
"""Rules whose findings are omitted, by the rule for test sets that reports the same problem."""


class TestSetChecker:
    """Check test sets one after the other, as parts of a split.

    Args:
        ontology: An OBO file; ``None`` means the installed Human Phenotype Ontology for sets with
            its ids.
        apart: True if the sets are unrelated. Otherwise they are parts of a split, and queries that
            are in two of them are reported for the later one.
        unknown_terms: With ``drop``, unknown and obsolete ids are warnings instead of errors.
        every_line: True if findings contain all lines with a problem, not only the first few.

    Attributes:
        unchecked: Sets whose ids were not looked up because the ontology is not installed.
    """

    __test__ = False  # pytest must not collect it

    def __init__(
        self,
        ontology: str | Path | None = None,
        *,
        apart: bool = False,
        unknown_terms: UnknownTerms = "error",
        every_line: bool = False,
    ) -> None:
        self.unchecked: list[str] = []
        self._ontology = ontology
        self._apart = apart
        self._drops_unknown_terms = unknown_terms == "drop"
        self._every_line = every_line
        self._parts: list[TestSetView] = []

    def check(self, name_or_path: str | Path) -> FileReport:
        """Return the findings of a test set; errors of a malformed file are findings too.

        Args:
            name_or_path: A file, ``-`` for standard input, or the name of a shipped set.

        Raises:
            InputError: If the file or the ontology cannot be read.
        """
        shown = str(name_or_path)
        try:
            source = read_file(find_test_set(name_or_path), partial=True)
        except FormatError as error:
            return damaged_report(error, "testset")
        topics = read_view(source)
        topics.path, topics.every_line = shown, self._every_line
        view = TestSetView(topics, parts=() if self._apart else self._parts)
        view.terms = self._terms(view, shown)
        view.drops_unknown_terms = self._drops_unknown_terms
        self._parts.append(view)
        found = [*check_topics(topics), *run_rules(view, ("testset",), topics, rules=CATALOGUE)]
        superseded: set[str] = set()
        superseded.update(*(_SUPERSEDED.get(finding.code, ()) for finding in found))
        findings = tuple(finding for finding in found if finding.code not in superseded)
        index = topics.line_index if self._every_line else None
        return FileReport(
            shown,
            "testset",
            topics.n_rows,
            topics.n_queries,
            findings,
            None if index is None else index.text,
        )

    def _terms(self, view: TestSetView, shown: str) -> Ontology | None:
        try:
            return ontology_of(view.judged["doc_id"], self._ontology)
        except MissingExtraError:
            self.unchecked.append(shown)
            return None


def validate_test_sets(
    sets: str | Path | Sequence[str | Path],
    *,
    ontology: str | Path | None = None,
    apart: bool = False,
    unknown_terms: UnknownTerms = "error",
    every_line: bool = False,
) -> Iterator[FileReport]:
    """Check test sets: files, or names of shipped ones.

    Args:
        sets: One or more sets; several are parts of a split.
        ontology: As in :class:`TestSetChecker`.
        apart: As in :class:`TestSetChecker`.
        unknown_terms: As in :class:`TestSetChecker`.
        every_line: As in :class:`TestSetChecker`.

    Yields:
        A report for each set, in the given order.

    Raises:
        InputError: If a file or the ontology cannot be read.
    """
    checker = TestSetChecker(
        ontology, apart=apart, unknown_terms=unknown_terms, every_line=every_line
    )
    for one in [sets] if isinstance(sets, str | Path) else sets:
        yield checker.check(one)


def ontology_of(term_ids: Iterable[str], path: str | Path | None = None) -> Ontology | None:
    """Return the ontology in which to look up ids.

    Args:
        term_ids: Ids of relevant terms.
        path: An OBO file; ``None`` means the installed Human Phenotype Ontology for sets with its
            ids.

    Returns:
        ``None`` if no file is given and no id is from the Human Phenotype Ontology.

    Raises:
        MissingExtraError: If the Human Phenotype Ontology is not installed.
        InputError: If the file cannot be read.
        FormatError: If it is not an ontology.
    """
    if path is None and not any(term_id.startswith(HPO_PREFIX) for term_id in term_ids):
        return None
    return load_ontology(path)


_SHOWN = 3


@dataclass(slots=True)
class ResolvedTerms:
    """A test set whose relevant terms are live terms of an ontology.

    Attributes:
        test_set: The set with the ids of live terms.
        ontology: The version of the ontology, or its path.
        alternative: The number of judgments with each alternative id, as ``HP:1 → HP:2``.
        replaced: The number of judgments with each obsolete id that one term replaces.
        dropped: The number of judgments with each dropped id, as ``HP:1 (unknown)``.
        emptied: The queries that lost all their relevant terms.
    """

    test_set: TestSet
    ontology: str
    alternative: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    emptied: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """Sentences with the number of alternative, replaced and dropped ids."""
        described: tuple[tuple[str, Sequence[str]], ...] = (
            ("Alternative ids, read as their terms", list(self.alternative)),
            ("Obsolete ids, read as the terms that replace them", list(self.replaced)),
            (f"Ids that are not terms of {self.ontology}, dropped", list(self.dropped)),
            (
                "Queries without a relevant term after that, 0 in the means (without judgments, "
                "not in the means)",
                self.emptied,
            ),
        )
        return [f"{what}: {len(ids):,} ({listed(ids)})." for what, ids in described if ids]

    def findings(self, path: str) -> list[Finding]:
        """Return the findings of the rules T201 to T203, with the number of judgments each.

        Args:
            path: The test set.
        """
        unknown = Counter({one: n for one, n in self.dropped.items() if "(unknown)" in one})
        obsolete = self.replaced + (self.dropped - unknown)
        return [
            CATALOGUE[code].finding(
                path, f"{treatment}: {listed(list(ids))}", "warning", count=ids.total()
            )
            for code, treatment, ids in (
                ("T201", "dropped", unknown),
                ("T202", "replaced or dropped", obsolete),
                ("T203", "read as their terms", self.alternative),
            )
            if ids
        ]


def resolve_terms(
    test_set: TestSet,
    ontology: Ontology | str | Path | None = None,
    unknown_terms: UnknownTerms = "error",
    where: str = "test set",
) -> ResolvedTerms:
    """Replace the ids of expected terms by those of live terms.

    An alternative id becomes the id of its term, also if an obsolete term has the same id. An
    obsolete id becomes the term that replaces it, if there is only one. If several ids of a query
    become one term, the judgment with the highest grade counts.

    Args:
        test_set: The set.
        ontology: The terms, or an OBO file; ``None`` is the installed Human Phenotype Ontology.
        unknown_terms: The treatment of all other ids: ``error``, or ``drop`` their judgments.
        where: The set's name in errors.

    Raises:
        FormatError: If an id is not a live term and ``unknown_terms`` is ``error``, or no relevant
            term is left.
        UsageError: If ``unknown_terms`` is another value.
        InputError: If the file cannot be read.
        MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
    """
    if unknown_terms not in get_args(UnknownTerms):
        expected = " or ".join(get_args(UnknownTerms))
        raise UsageError(f"expected unknown_terms {expected} but got {unknown_terms!r}")
    if not isinstance(ontology, Ontology):
        ontology = load_ontology(ontology)
    found = ResolvedTerms(test_set, ontology.version or ontology.path)
    problems: list[str] = []
    queries = [_resolve(query, ontology, found, problems) for query in test_set.queries]
    if problems and unknown_terms == "error":
        shown = "; ".join(problems[:_SHOWN]) + ("; …" if len(problems) > _SHOWN else "")
        state = "is not a live term" if len(problems) == 1 else "are not live terms"
        raise FormatError(
            f"{plural(len(problems), 'expected id')} {state}: {shown}",
            path=where,
            remedy=f"correct them, or leave them out with --unknown-terms drop; the ontology is "
            f"{found.ontology}",
        )
    if not any(query.has_relevant for query in queries):
        raise FormatError(
            f"no relevant term of any query is a live term: {listed(list(found.dropped))}",
            path=where,
            remedy=f"use an ontology that contains them; this one is {found.ontology}",
        )
    found.emptied = [
        new.query_id
        for old, new in zip(test_set.queries, queries, strict=True)
        if old.has_relevant and not new.has_relevant
    ]
    found.test_set = test_set.model_copy(update={"queries": tuple(queries)})
    return found


def _resolve(
    query: TestQuery, ontology: Ontology, found: ResolvedTerms, problems: list[str]
) -> TestQuery:
    """Return the query with live terms; count its other ids in ``found`` and ``problems``."""
    judged: dict[str, RelevantTerm] = {}
    for term in query.relevant:
        resolution = ontology.resolve(term.doc_id)
        if resolution.term_id is None:
            found.dropped[f"{term.doc_id} ({resolution.status})"] += 1
            instead = " or ".join(resolution.replaced_by)
            advice = f": use {instead}" if instead else ""
            problems.append(
                f"{term.doc_id} of query {query.query_id} is {resolution.status}{advice}"
            )
            continue
        known = judged.setdefault(resolution.term_id, term)
        if term.grade > known.grade:
            judged[resolution.term_id] = term
        if resolution.status != "live":
            changed = found.alternative if resolution.status == "alternative" else found.replaced
            changed[f"{term.doc_id} → {resolution.term_id}"] += 1
    if list(judged) == [term.doc_id for term in query.relevant]:
        return query
    relevant = tuple(term.model_copy(update={"doc_id": one}) for one, term in judged.items())
    return query.model_copy(update={"relevant": relevant})
