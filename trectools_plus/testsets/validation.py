"""Validate test sets: rules for topics, for term ids, and for the parts of a split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trectools_plus.choices import UnknownTerms
from trectools_plus.errors import FormatError, MissingExtraError
from trectools_plus.formats.files.content import read_file
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.testsets.loading import find_test_set
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import damaged_report, run_rules
from trectools_plus.validation.findings import FileReport
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
