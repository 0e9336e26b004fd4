"""``runs validate`` and ``qrels validate``: check files before anybody scores them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import (
    DEFAULT_MAX_DEPTH,
    open_qrels,
    report_view,
    validate_qrels,
    validate_run,
)
from trectools_plus.validation.findings import FileReport, Severity
from trectools_plus.validation.rendering import RENDERERS, print_text
from trectools_plus.validation.views import QrelsView


class OutputFormat(StrEnum):
    """How findings are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


Strict = Annotated[bool, typer.Option("--strict", help="Warnings fail the check too.")]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="CODES", help="Only these rules: codes or prefixes, R131,Q1."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="CODES", help="All but these rules: codes or prefixes."),
]
Format = Annotated[OutputFormat, typer.Option("--format", help="How findings are written.")]


def runs_validate(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run files; - is standard input.")
    ],
    qrels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check ids against these judgments.")
    ] = None,
    topics: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check that these queries are answered.")
    ] = None,
    max_depth: Annotated[
        int, typer.Option(min=1, help="Results allowed per query.")
    ] = DEFAULT_MAX_DEPTH,
    strict: Strict = False,
    select: Select = None,
    ignore: Ignore = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Check TREC run files: columns, scores, ranks, duplicates, ties, depth, coverage.

    Every problem is reported in one pass, once per rule and file, with its line and what to do.
    Leaves with 0 if there is no error, 1 if there is one, 2 if a file cannot be read.

    \b
    Examples:
      runs validate base.run
      runs validate *.run --qrels qrels.txt --topics topics.tsv --max-depth 1000
      runs validate base.run --format json --ignore R123,R106
    """
    chosen = CATALOGUE.chooser(_codes(select), _codes(ignore))
    judgments = open_qrels(qrels) if qrels is not None else None
    if topics is not None:
        from trectools_plus.formats.topics import read_topics

        queries = read_topics(topics)
    else:
        queries = None
    view = judgments if isinstance(judgments, QrelsView) else None
    reports = [validate_run(run, qrels=view, topics=queries, max_depth=max_depth) for run in runs]
    # The qrels are not what was asked about, but no run can be scored against broken ones.
    if judgments is not None:
        of_qrels = report_view(judgments) if isinstance(judgments, QrelsView) else judgments
        if of_qrels.errors:
            reports.append(of_qrels)
    _finish(reports, chosen, output_format, strict=strict)


def qrels_validate(
    qrels: Annotated[
        list[str], typer.Argument(metavar="QRELS...", help="Qrels files; - is standard input.")
    ],
    run: Annotated[
        str | None, typer.Option(metavar="FILE", help="Check query ids against this run.")
    ] = None,
    strict: Strict = False,
    select: Select = None,
    ignore: Ignore = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Check relevance judgments: columns, grades, conflicts, queries with nothing relevant.

    Every problem is reported in one pass, once per rule and file, with its line and what to do.
    Leaves with 0 if there is no error, 1 if there is one, 2 if a file cannot be read.

    \b
    Examples:
      qrels validate qrels.txt
      qrels validate qrels.txt --run base.run --strict
    """
    chosen = CATALOGUE.chooser(_codes(select), _codes(ignore))
    reports = [validate_qrels(path, run=run) for path in qrels]
    _finish(reports, chosen, output_format, strict=strict)


def _finish(
    reports: Sequence[FileReport],
    chosen: Callable[[str], bool],
    output_format: OutputFormat,
    *,
    strict: bool,
) -> None:
    """Print the chosen findings and leave with 1 if any of them fails the check."""
    reports = [
        replace(report, findings=tuple(f for f in report.findings if chosen(f.code)))
        for report in reports
    ]
    if output_format is OutputFormat.TEXT:
        print_text(reports, sys.stdout)
    else:
        sys.stdout.write(RENDERERS[output_format](reports))
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    if any(finding.severity in failing for report in reports for finding in report.findings):
        raise typer.Exit(1)


def _codes(options: list[str] | None) -> list[str]:
    """Codes of a repeatable option whose values may be lists: ``--select R1,R2 --select Q``."""
    codes = [code.strip().upper() for option in options or () for code in option.split(",")]
    return [code for code in codes if code]
