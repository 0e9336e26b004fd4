"""Validate test sets (rules for topics, term ids and the parts of a split); resolve term ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from trectools_plus.choices import UnknownTerms
from trectools_plus.errors import FormatError, MissingExtraError
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.ontology import Ontology, load_ontology
from trectools_plus.statistics.arrays import check_choice
from trectools_plus.testsets.loading import find_test_set
from trectools_plus.testsets.model import RelevantTerm, TestQuery, TestSet, checked_test_set
from trectools_plus.text import listed, plural
from trectools_plus.validation.engine import damaged_report, report_on, run_rules
from trectools_plus.validation.findings import FileReport, Finding
from trectools_plus.validation.rules.topics import CATALOGUE
from trectools_plus.validation.topics import check_topics, read_view
from trectools_plus.validation.views.topics import TopicsView

HPO_PREFIX = "HP:"

_SUPERSEDED = {
    "T211": frozenset({"Q121", "Q122"}),
    "T212": frozenset({"T131", "Q131", "Q133"}),
}
"""Rules whose findings are omitted, by the rule for test sets that reports the same problem."""


def validate_test_sets(
    sets: str | Path | Iterable[str | Path],
    *,
    ontology: str | Path | None = None,
    apart: bool = False,
    unknown_terms: UnknownTerms = "error",
    every_line: bool = False,
    unchecked: Callable[[str], None] = lambda _: None,
) -> Iterator[FileReport]:
    """Check test sets: files, or names of shipped ones; ``-`` is standard input.

    Args:
        sets: One or more sets; several are parts of a split, and queries that are in two of them
            are reported for the later one.
        ontology: An OBO file; ``None`` means the installed Human Phenotype Ontology for sets with
            its ids.
        apart: True if the sets are unrelated, not parts of a split.
        unknown_terms: With ``drop``, unknown and obsolete ids are warnings instead of errors.
        every_line: True if findings contain all lines with a problem, not only the first few.
        unchecked: Called with a set whose ids are not looked up because the Human Phenotype
            Ontology is not installed.

    Yields:
        A report for each set, in the given order; errors of a malformed file are findings too.

    Raises:
        InputError: If a file or the ontology cannot be read.
    """
    parts: list[TopicsView] = []
    for name in [sets] if isinstance(sets, str | Path) else sets:
        yield check_test_set(
            name,
            None if apart else parts,
            ontology=ontology,
            drops_unknown_terms=unknown_terms == "drop",
            every_line=every_line,
            unchecked=unchecked,
        )


def check_test_set(
    name: str | Path,
    parts: list[TopicsView] | None,
    *,
    ontology: str | Path | None,
    drops_unknown_terms: bool,
    every_line: bool,
    unchecked: Callable[[str], None],
) -> FileReport:
    """Check one test set, and add it to the other parts of its split.

    The arguments are those of :func:`validate_test_sets`.

    Raises:
        InputError: If the file or the ontology cannot be read.
    """
    shown = str(name)
    try:
        source = read_file(find_test_set(name), partial=True)
    except FormatError as error:
        return damaged_report(error, "testset")
    topics = read_view(source)
    topics.path, topics.every_line = shown, every_line
    topics.earlier_parts, topics.drops_unknown_terms = tuple(parts or ()), drops_unknown_terms
    try:
        topics.terms = ontology_of(topics.judged["doc_id"], ontology)
    except MissingExtraError:
        unchecked(shown)
    reported = [*check_topics(topics), *run_rules(topics, ("testset",), topics, rules=CATALOGUE)]
    if parts is not None:
        parts.append(topics)
    superseded = {code for finding in reported for code in _SUPERSEDED.get(finding.code, ())}
    findings = [finding for finding in reported if finding.code not in superseded]
    return replace(report_on(topics, findings), kind="testset")


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


_TREATMENTS = {
    "T201": "Unknown ids, dropped",
    "T202": "Obsolete ids, replaced if there is one replacement, otherwise dropped",
    "T203": "Alternative ids, read as their terms",
}
"""What resolving does with ids, by the rule that reports them."""
_CODES = {"alternative": "T203", "obsolete": "T202", "unknown": "T201"}


@dataclass(slots=True)
class ResolvedTerms:
    """A test set whose relevant terms are live terms of an ontology.

    Attributes:
        test_set: The set with the ids of live terms.
        ontology: The version of the ontology, or its path.
        ids: The number of judgments with each changed or dropped id, as ``HP:1 → HP:2`` or
            ``HP:1 (unknown)``, by the code of the rule that reports it.
        emptied: The queries that lost all their relevant terms.
    """

    test_set: TestSet
    ontology: str
    ids: dict[str, Counter[str]] = field(
        default_factory=lambda: {code: Counter() for code in _TREATMENTS}
    )
    emptied: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        """Sentences with the number of alternative, obsolete and unknown ids."""
        effects = [f"{finding.message}." for finding in self.findings(self.ontology)]
        if self.emptied:
            effects.append(f"Queries without a relevant term after that: {listed(self.emptied)}.")
        return effects

    def findings(self, path: str) -> list[Finding]:
        """Return the findings of the rules T201 to T203, with the number of judgments each.

        Args:
            path: The test set.
        """
        return [
            CATALOGUE[code].finding(path, f"{text}: {listed([*ids])}", "warning", count=ids.total())
            for code, text in _TREATMENTS.items()
            if (ids := self.ids[code])
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
    check_choice(unknown_terms, get_args(UnknownTerms), "unknown_terms")
    if not isinstance(ontology, Ontology):
        ontology = load_ontology(ontology)
    resolved = ResolvedTerms(test_set, ontology.version or ontology.path)
    problems: list[str] = []
    queries = [_resolve(query, ontology, resolved, problems) for query in test_set.queries]
    if problems and unknown_terms == "error":
        raise FormatError(
            f"{plural(len(problems), 'expected id')} not in {resolved.ontology}: "
            f"{'; '.join(problems[:3])}",
            path=where,
            remedy="correct them, or leave them out with --unknown-terms drop",
        )
    content = {"metadata": test_set.metadata, "queries": queries}
    resolved.test_set = checked_test_set(content, where)
    resolved.emptied = [
        new.query_id
        for old, new in zip(test_set.queries, queries, strict=True)
        if old.has_relevant and not new.has_relevant
    ]
    return resolved


def _resolve(
    query: TestQuery, ontology: Ontology, resolved: ResolvedTerms, problems: list[str]
) -> TestQuery:
    """Return the query with live terms; count its other ids in ``resolved`` and ``problems``."""
    judged: dict[str, RelevantTerm] = {}
    for term in query.relevant:
        resolution = ontology.resolve(term.doc_id)
        term_id, status = resolution.term_id, resolution.status
        if status != "live":
            effect = f"({status})" if term_id is None else f"→ {term_id}"
            resolved.ids[_CODES[status]][f"{term.doc_id} {effect}"] += 1
        if term_id is None:
            instead = " or ".join(resolution.replaced_by)
            advice = f": use {instead}" if instead else ""
            problems.append(f"{term.doc_id} of query {query.query_id} is {status}{advice}")
        elif term_id not in judged or term.grade > judged[term_id].grade:
            judged[term_id] = term.model_copy(update={"doc_id": term_id})
    relevant = tuple(judged.values())
    return query if relevant == query.relevant else query.model_copy(update={"relevant": relevant})
