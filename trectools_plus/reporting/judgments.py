"""Judgments: estimates with a model, and agreement of annotators, as blocks and files."""

from __future__ import annotations

import math
from dataclasses import asdict
from math import isnan
from pathlib import Path
from typing import Any

from trectools_plus.display import Cell, TextTable
from trectools_plus.formats.files.guards import refuse_foreign_beside
from trectools_plus.judging.combined import simultaneous_level
from trectools_plus.judging.estimates import QRELS_FILES
from trectools_plus.judging.report import (
    REPORT_FILE,
    JudgmentReport,
    RunEstimate,
    ShownInterval,
    show_interval,
    show_mean,
)
from trectools_plus.reporting.document import (
    Block,
    Fold,
    Heading,
    Paragraph,
    show,
    table_of,
)
from trectools_plus.reporting.export import write_renderings
from trectools_plus.testsets.agreement import GradeAgreement
from trectools_plus.text import plural

MARKDOWN_FILE = "JudgmentReport.md"
HTML_FILE = "JudgmentReport.html"
JUDGMENT_FILES = (REPORT_FILE, MARKDOWN_FILE, HTML_FILE, *QRELS_FILES.values())
"""The files that ``judge estimate`` writes."""


def check_judgment_folder(folder: str | Path) -> None:
    """Raise an error if files of an estimate would replace files that are none.

    Raises:
        InputError: If a file exists, and no report of an estimate is beside it.
    """
    refuse_foreign_beside(folder, JUDGMENT_FILES, REPORT_FILE, ("counts", "estimates", "measures"))


def write_judgment_report(report: JudgmentReport, folder: str | Path) -> dict[str, Path]:
    """Write JSON, Markdown and page of an estimate.

    Args:
        report: The estimate.
        folder: The folder, which is created.

    Returns:
        The files by suffix.

    Raises:
        InputError: If a file cannot be written.
    """
    check_judgment_folder(folder)
    blocks = judgment_blocks(report)
    return write_renderings(report, blocks, folder, REPORT_FILE, MARKDOWN_FILE, HTML_FILE)


def judgment_blocks(report: JudgmentReport) -> list[Block]:
    """Return the blocks of an estimate: the result, a table, the reading."""
    counts, pairs = report.counts, math.comb(len(report.runs), 2)
    left_out = ", ".join(f"{query.query_id} ({query.reason})" for query in counts.left_out)
    first, *others = report.measures
    return [
        Heading("Judgments of people and a model", 1),
        Paragraph(report.result, "result"),
        Heading("For queries like these, of which these are a sample"),
        _make_table(report, first),
        *(Paragraph(f"Warning: {warning}", "note") for warning in report.warnings),
        Paragraph(f"People could not judge: {left_out}." if left_out else ""),
        Paragraph(
            f"Judged: {counts.people:,} of {counts.planned:,} planned queries by people, "
            f"{plural(counts.pairs, 'pair')} of {plural(counts.queries, 'query', 'queries')} by "
            f"{report.model.model}. No grade: {plural(counts.missing_people, 'pair')} of people, "
            f"{plural(counts.missing_model, 'answer')} of the model; these count as unjudged."
        ),
        Paragraph(_describe_agreement(report.agreement) if report.agreement else ""),
        Paragraph(
            f"{report.confidence * 100:g}% intervals; those of differences are simultaneous for "
            f"the {plural(pairs, 'pair')} of runs on a measure (each at "
            f"{simultaneous_level(report.confidence, pairs) * 100:.4g}%). No interval covers the "
            "error of the model alone. Effective: the queries that people alone would have to "
            "judge for the combined width.",
            "small",
        ),
        *(Fold(measure, [_make_table(report, measure)]) for measure in others),
    ]


def _describe_agreement(found: dict[str, Any]) -> str:
    kappa = found["kappas"]["none"]
    value, low, high = (show(kappa[name], "", 2) for name in ("value", "low", "high"))
    return (
        f"Agreement of people and the model on {plural(found['pairs'], 'pair')}: "
        f"{found['agreed'] / found['pairs']:.0%} equal grades, kappa {value} [{low}, {high}]. "
        f"The model's mean grade differs by {found['difference']:+.2f}."
    )


def _make_table(report: JudgmentReport, measure: str) -> TextTable:
    """Return the means of runs and differences of pairs on a measure."""
    return table_of(
        {
            measure: row.run + ("" if row.baseline is None else f" − {row.baseline}"),
            f"People ({report.counts.people:,})": _cell(estimate.people, row),
            f"Model alone ({report.counts.queries:,})": _cell(estimate.model, row),
            "Combined": _cell(estimate.combined, row),
            "Effective": show(estimate.effective, "", 0),
        }
        for row in report.estimates
        if row.measure == measure
        for estimate in row.estimates[:1]
    )


def _cell(interval: ShownInterval | None, row: RunEstimate) -> Cell:
    if interval is None:
        return Cell("–")
    return Cell(show_mean(interval, row.baseline), show_interval(interval, row.baseline))


_SHOWN = 20


def agreement_document(agreement: GradeAgreement) -> dict[str, Any]:
    """Return the agreement as JSON values; undefined figures are null.

    Args:
        agreement: The agreement of two annotators.
    """
    document = asdict(agreement)
    del document["queries"]
    kappas = document.pop("kappas")
    for figures in kappas.values():
        figures.update({name: None if isnan(value) else value for name, value in figures.items()})
    return {"accepted": agreement.accepted, "kappa": kappas, **document}


def agreement_blocks(agreement: GradeAgreement, names: tuple[str, str]) -> list[Block]:
    """Return the blocks: the verdict, the kappas and the disagreements.

    Args:
        agreement: The agreement of two annotators.
        names: The files of the two annotators.
    """
    document = agreement_document(agreement)
    kappas, differing = document["kappa"], document["disagreements"]
    decisive, more = kappas[agreement.weights]["value"], len(differing) - _SHOWN
    verdict = (
        f"{'Accepted' if agreement.accepted else 'Not accepted'}: kappa {decisive:.3f}, needed: "
        f"more than {agreement.threshold:g}"
        if decisive is not None
        else "Not accepted: kappa is undefined, because both annotators gave only one grade"
    )
    return [
        Paragraph(verdict, "result"),
        Paragraph(f"First: {names[0]}; second: {names[1]}."),
        Paragraph(
            f"{plural(agreement.pairs, 'pair')} graded by both, {agreement.agreed:,} with the same "
            f"grade. Not counted: {agreement.only_first:,} graded only by the first, "
            f"{agreement.only_second:,} only by the second."
        ),
        table_of({"weights": name, **figures} for name, figures in kappas.items()),
        table_of(differing[:_SHOWN]),
        Paragraph(f"… {more:,} more: list them with --format json" if more > 0 else ""),
    ]
