"""Findings for ``grep`` and editors: one line each, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trectools_plus.text import sentences
from trectools_plus.validation.findings import FileReport
from trectools_plus.validation.rendering.occurrences import iter_occurrences
from trectools_plus.validation.rendering.places import printable


def iter_concise(reports: Iterable[FileReport]) -> Iterator[str]:
    """One line ``path:line:column: severity code: message`` per finding; none without findings."""
    for report in reports:
        for finding in iter_occurrences(report):
            text = sentences(finding.message, finding.remedy)
            yield f"{printable(f'{finding.place}: {finding.severity} {finding.code}: {text}')}\n"
