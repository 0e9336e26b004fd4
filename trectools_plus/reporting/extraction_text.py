"""An extraction's figures: Markdown, a table for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from trectools_plus.extraction.report import ExtractionReport, Figure, Score
from trectools_plus.reporting.markdown_text import escape, shorten, table
from trectools_plus.text import plural

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100
_MOST = 50
_SHOWN_NEAR = 5

VIEW_WORDS = {
    "present": "present-only: affirmed and uncertain terms",
    "any": "assertions ignored",
    "strict": "assertion-strict: term and assertion agree",
}
MATCHING_WORDS = {"exact": "exact", "soft": "ontology-aware"}
_HEADER = ("Terms that count", "Matching", "Average", "Precision", "Recall", "F1")


def describe_extraction(report: ExtractionReport) -> str:
    """What was scored, on one line."""
    facts = report.dataset
    return (
        f"{facts.name}: {plural(facts.documents, 'document')}, "
        f"{plural(facts.annotations, 'annotation')} ({plural(facts.terms, 'term')}); "
        f"system: {report.system.name}"
    )


def render_extraction_markdown(report: ExtractionReport) -> str:
    """Scores, documents, mistakes and how the figures came about."""
    manifest = report.manifest
    parts = [
        f"# Extraction: {escape(describe_extraction(report))}",
        table(_HEADER, _score_rows(report, VIEW_WORDS)),
        _explanation(report),
        *(f"> {escape(note)}" for note in report.notes),
        "## Documents",
        "Present-only, exact.",
        table(
            ("Document", "Gold", "Predicted", "Right", "Precision", "Recall", "F1"),
            _document_rows(report),
        ),
        *_mistake_parts(report),
        "## How these figures came about",
        table(("", ""), _origin_rows(report)),
    ]
    if manifest.command:
        parts.append(f"```bash\n{manifest.command}\n```")
    return "\n\n".join(part for part in parts if part) + "\n"


def print_extraction(report: ExtractionReport, stream: TextIO) -> None:
    """The scores for the terminal, at most 100 columns wide, and what must not be overlooked."""
    console = console_for(stream)
    console.print(describe_extraction(report), style="bold")
    console.print()
    short = {"present": "present-only", "any": "any assertion", "strict": "assertion-strict"}
    rows = _score_rows(report, short)
    for row in rows:  # the intervals of all three would not fit
        row[3:5] = [cell.partition(" ")[0] for cell in row[3:5]]
    print_table(console, _HEADER, rows)
    console.print(_explanation(report), style="dim")
    mistakes = report.mistakes
    console.print(
        f"Present-only, exact: {len(mistakes.missed)} missed, {len(mistakes.spurious)} spurious, "
        f"{plural(len(mistakes.near), 'near pair')}."
    )
    for near in mistakes.near[:_SHOWN_NEAR]:
        console.print(
            f"  {near.doc_id}: {near.spurious_label} is a {near.relation} of {near.missed_label}"
        )
    for note in report.notes:
        console.print(f"Note: {note}.")


def console_for(stream: TextIO) -> Console:
    """A console of at most 100 columns that takes nothing as markup."""
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    shown = min(console.width, WIDEST) if console.is_terminal else WIDEST
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=shown)


def print_table(
    console: Console, header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 3
) -> None:
    """Print a table; the columns behind the first ``left`` are numbers."""
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for place, name in enumerate(header):
        shown.add_column(name, justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    console.print(shown)


def show_figure(figure: Figure) -> str:
    """A figure with three decimals and its interval."""
    if figure.ci is None:
        return f"{figure.value:.3f}"
    return f"{figure.value:.3f} [{figure.ci.low:.3f}, {figure.ci.high:.3f}]"


def _score_rows(report: ExtractionReport, views: dict[str, str]) -> list[list[str]]:
    return [
        [views[view], MATCHING_WORDS[matching], average, *_cells(score)]
        for view, by_matching in report.scores.items()
        for matching, by_average in by_matching.items()
        for average, score in by_average.items()
    ]


def _cells(score: Score) -> list[str]:
    return [show_figure(figure) for figure in (score.precision, score.recall, score.f1)]


def _explanation(report: ExtractionReport) -> str:
    interval = report.scores["present"]["exact"]["micro"].f1.ci
    about = (
        f"In brackets: {interval.level:.0%} percentile bootstrap over documents, "
        f"{interval.resamples:,} resamples, seed {report.manifest.seed}. "
        if interval
        else ""
    )
    return (
        f"{about}Ontology-aware: every term counts as its highest similarity "
        f"({report.manifest.similarity}) with a term of the other side."
    )


def _document_rows(report: ExtractionReport) -> list[list[str]]:
    rows = []
    for document in report.documents:
        counts = document.counts["present"]["exact"]
        right = f"{counts.credit_gold:.0f}"
        figures = (f"{value:.3f}" for value in (counts.precision, counts.recall, counts.f1))
        rows.append([document.doc_id, str(counts.gold), str(counts.predicted), right, *figures])
    return rows


def _mistake_parts(report: ExtractionReport) -> list[str]:
    mistakes = report.mistakes
    near = [
        [m.doc_id, m.spurious_label, f"is a {m.relation} of", m.missed_label]
        for m in mistakes.near[:_MOST]
    ]
    missed = [[m.doc_id, m.term_id, m.label, m.assertion] for m in mistakes.missed[:_MOST]]
    spurious = [
        [m.doc_id, m.term_id, m.label, shorten(m.text or "", 60), f"{m.score or 0:.2f}"]
        for m in mistakes.spurious[:_MOST]
    ]
    lists = (
        ("Near", len(mistakes.near), ("Document", "Spurious term", "", "Missed term"), near),
        ("Missed", len(mistakes.missed), ("Document", "Term", "Label", "Gold says"), missed),
        (
            "Spurious",
            len(mistakes.spurious),
            ("Document", "Term", "Label", "Found in", "Score"),
            spurious,
        ),
    )
    parts = []
    for name, total, header, rows in lists:
        parts.append(f"## {name}: {total}")
        if rows:
            parts.append(table(header, ([escape(cell) for cell in row] for row in rows)))
        if total > _MOST:
            parts.append(f"The first {_MOST}; the JSON report lists all.")
    return parts


def _origin_rows(report: ExtractionReport) -> list[list[str]]:
    manifest, system = report.manifest, report.system
    rows = [
        ["made", manifest.created_at],
        ["ontology", manifest.ontology],
        ["documents' SHA-256", report.dataset.sha256],
        ["predictions' SHA-256", system.sha256],
    ]
    if system.settings is None:
        return [*rows, ["predictions", escape(system.predictions or "")]]
    settings = system.settings.model_dump()
    return [*rows, *([name, str(value)] for name, value in settings.items())]
