"""Checking test sets: by the rules for topics, against an ontology, and against each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trectools_plus.errors import FormatError, MissingExtraError
from trectools_plus.formats.files.source import read_source
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.ontology import Ontology
from trectools_plus.testsets.loading import find_test_set
from trectools_plus.validation.engine import damaged_report, run_rules
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.topics.engine import check_topics
from trectools_plus.validation.topics.loading import read_view
from trectools_plus.validation.views.testsets import TestSetView

HPO_PREFIX = "HP:"

_SUPERSEDED = {
    "T211": frozenset({"Q121", "Q122"}),
    "T212": frozenset({"T131", "Q131", "Q133"}),
}
"""Rules for any judgments whose findings a rule for test sets reports as errors."""


class TestSetChecker:
    """Checks test sets one after the other.

    Args:
        ontology: An OBO file; ``None`` takes the installed Human Phenotype Ontology for sets that
            have ids of it.
        apart: Whether the sets have nothing to do with each other. Otherwise they are parts of a
            split, and what stands in two of them is a finding of the later one.
        every_line: Whether findings keep the lines of all places and not only of the first few.

    Attributes:
        unchecked: Sets whose ids were not looked up, because the ontology is not installed.
    """

    __test__ = False  # not something for pytest to collect

    def __init__(
        self,
        ontology: str | Path | None = None,
        *,
        apart: bool = False,
        every_line: bool = False,
    ) -> None:
        self.unchecked: list[str] = []
        self._ontology = ontology
        self._apart = apart
        self._every_line = every_line
        self._parts: list[TestSetView] = []

    def check(self, name_or_path: str | Path) -> FileReport:
        """All findings of a test set. A malformed file is a report with errors, not an exception.

        Args:
            name_or_path: A file, ``-`` for standard input, or the name of a shipped set.

        Raises:
            InputError: If the file cannot be read at all, or the ontology cannot.
        """
        shown = str(name_or_path)
        try:
            source = read_source(find_test_set(name_or_path), partial=True)
        except FormatError as error:
            return damaged_report(error, "testset")
        topics = read_view(source)
        topics.path, topics.every_line = shown, self._every_line
        view = TestSetView(topics, parts=() if self._apart else self._parts)
        view.terms = self._terms(view, shown)
        self._parts.append(view)
        found = [*check_topics(topics), *run_rules(view, ("testset",), topics)]
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
    sets: Sequence[str | Path],
    *,
    ontology: str | Path | None = None,
    apart: bool = False,
    every_line: bool = False,
) -> Iterator[FileReport]:
    """Check test sets: files, or names of shipped ones.

    Args:
        sets: The sets; several are parts of a split.
        ontology: See :class:`TestSetChecker`.
        apart: There.
        every_line: There.

    Yields:
        A report on each.

    Raises:
        InputError: If a file cannot be read at all, or the ontology cannot.
    """
    checker = TestSetChecker(ontology, apart=apart, every_line=every_line)
    for one in sets:
        yield checker.check(one)


def ontology_of(term_ids: Iterable[str], path: str | Path | None = None) -> Ontology | None:
    """Return the ontology to look ids up in.

    Args:
        term_ids: Ids of expected terms.
        path: An OBO file; ``None`` takes the installed Human Phenotype Ontology for sets that have
            ids of it.

    Returns:
        ``None`` where no file is named and no id is one of the Human Phenotype Ontology.

    Raises:
        MissingExtraError: If that is not installed.
        InputError: If the file cannot be read.
        FormatError: If it is no ontology.
    """
    if path is None and not any(term_id.startswith(HPO_PREFIX) for term_id in term_ids):
        return None
    return load_ontology(path)
