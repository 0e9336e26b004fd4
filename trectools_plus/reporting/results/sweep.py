"""A sweep: its files, Markdown, page and text for the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from trectools_plus.benchmark.run.output_folder import (
    HELD_OUT_FILE,
    PER_QUERY_FILE,
    PLOTS_FOLDER,
    QRELS_FILE,
    REPORT_FILE,
    SWEEP_FILE,
)
from trectools_plus.benchmark.run.output_folder import SWEEP_HTML_FILE as HTML_FILE
from trectools_plus.benchmark.run.output_folder import SWEEP_MARKDOWN_FILE as MARKDOWN_FILE
from trectools_plus.benchmark.run.output_folder import WINNER_FILE as RUN_FILE
from trectools_plus.benchmark.sweep.report import SweepReport
from trectools_plus.benchmark.sweep.runner import SweepResult
from trectools_plus.display import Cell, TextTable, make_row
from trectools_plus.errors import InputError
from trectools_plus.formats.files.atomic import atomic_write
from trectools_plus.formats.trec_files import write_qrels, write_run
from trectools_plus.formats.writing import write_parquet
from trectools_plus.reporting.document import (
    Block,
    Bullets,
    Fold,
    Heading,
    Paragraph,
    Picture,
    html_page,
    markdown,
    print_blocks,
)
from trectools_plus.reporting.export import render_json
from trectools_plus.reporting.plots.style import can_draw
from trectools_plus.reporting.wording import CLAIMS_TITLE, NARROW, name_test, show, show_ci
from trectools_plus.text import plural

PLOT_FILE = f"{PLOTS_FOLDER}/sweep.svg"
_SHOWN = 20
"""Variants in the terminal."""


def write_sweep_report(result: SweepResult) -> dict[str, Path]:
    """Write all files of a sweep into its output folder, or none of them.

    Args:
        result: From :func:`trectools_plus.benchmark.run_sweep`. It can be written once.

    Returns:
        The files by suffix: ``json``, ``md``, ``html``, ``parquet``, ``run`` (of the winner), and
        the plot as ``png`` and ``svg`` if Matplotlib is installed.

    Raises:
        InputError: If a file cannot be written, or the folder has the report of a benchmark.
    """
    folder = result.folder
    try:
        if (folder.path / REPORT_FILE).exists():
            raise InputError(
                "the folder has the report of a benchmark",
                where=str(folder.path),
                remedy="use another one",
            )
        with folder.final_names():
            draw_sweep(result.report, folder.partial)
            write_sweep_files(result, folder.partial)
        written = [path.relative_to(folder.partial) for path in folder.partial.rglob("*.*")]
        folder.publish()
    except BaseException:
        folder.discard()
        raise
    return {path.suffix.removeprefix("."): folder.path / path for path in written}


def draw_sweep(report: SweepReport, folder: Path) -> None:
    """Write the plot into a folder, if Matplotlib is installed."""
    if can_draw():
        from trectools_plus.reporting.plots.figures import save_plots
        from trectools_plus.reporting.plots.variants import draw_variants

        save_plots([draw_variants(report)], folder / PLOTS_FOLDER)


def write_sweep_files(result: SweepResult, folder: Path) -> None:
    """Write all files but the plot, which the page shows if it is in the folder."""
    report, plot = result.report, folder / PLOT_FILE
    texts = {
        SWEEP_FILE: render_json(report),
        MARKDOWN_FILE: render_sweep_markdown(report),
        HTML_FILE: render_sweep_page(report, plot if plot.is_file() else None),
    }
    for name, text in texts.items():
        with atomic_write(folder / name) as stream:
            stream.write(text)
    write_parquet(result.per_query, folder / PER_QUERY_FILE)
    write_qrels(result.qrels, folder / QRELS_FILE)
    if result.held_out is not None:
        write_parquet(result.held_out, folder / HELD_OUT_FILE)
    if len(result.run.frame):
        write_run(result.run, folder / RUN_FILE, tag="winner")


def sweep_sentence(report: SweepReport) -> str:
    """Return the result: the winner, and whether its value and its advantage will hold."""
    best, count = report.winner, plural(len(report.variants), "variant")
    text = f"{best.name} is the best of {count} on {report.measure}: {best.mean:.4f}"
    if best.corrected_mean is not None:
        text += (
            f"; on new queries, expect {best.corrected_mean:.4f} {show_ci(best.ci)} "
            f"(optimism {best.optimism:+.4f})"
        )
    if (one := best.advantage) is not None:
        text += (
            f". Difference from {report.baseline} ({show(report.baseline_mean)}): "
            f"{one.difference:+.4f}, {'' if one.significant else 'not '}significant among {count}"
        )
        if best.corrected_advantage is not None:
            interval = show_ci(best.corrected_advantage_ci, "+")
            text += f"; on new queries, expect {best.corrected_advantage:+.4f} {interval}"
    elif report.baseline is not None:
        text += f". No variant is better than the baseline {report.baseline}"
    return f"{text}."


def sweep_lines(report: SweepReport) -> list[str]:
    """Return the lines after the sentence: held-out part, earlier reports, and how to read them."""
    lines = [
        f"{report.n_queries:,} queries, {report.config['confidence'] * 100:g}% intervals. The "
        "corrected mean: the best variant on resampled queries, scored on the others "
        f"({report.config['resamples']:,} resamples). Best in: share of the resamples. Intervals "
        "in the table are not corrected for the choice."
    ]
    if (part := report.winner.held_out) is not None:
        lines.insert(
            0,
            f"On the held-out part {part.test_set} ({part.n_queries:,} queries), scored once: "
            f"{show(part.mean)} {show_ci(part.ci)}".rstrip()
            + ".",
        )
    if report.baseline is not None:
        compared = sum(one.advantage is not None for one in report.variants)
        family = f"{plural(compared, 'comparison')} with {report.baseline}"
        names = (report.config[name] for name in ("confidence", "test", "correction"))
        test = name_test(family, *names)
        lines.append(
            f"Δ: the difference from {report.baseline}, query by query; * significant ({test})."
        )
    intervals = [one.ci for one in report.variants]
    intervals += [one.advantage.ci for one in report.variants if one.advantage is not None]
    notes = dict.fromkeys(ci.note for ci in intervals if ci is not None and ci.note)
    lines += [f"{NARROW} {note}." for note in notes]
    return [*lines, *report.notes]


def sweep_claims(report: SweepReport) -> list[str]:
    """Return what the writer of a report states and ``verify`` cannot derive, a line each."""
    versions = ", ".join(f"{name} {version}" for name, version in report.packages.items())
    dataset = report.dataset
    claims = [
        f"Command: {report.command or 'called from Python'}",
        f"Machine: {report.platform}; {versions}.",
    ]
    if dataset.version is not None:
        claims.append(f"Version of the dataset: {dataset.version}.")
    if dataset.documents is not None:
        claims.append(f"Size of the collection: {plural(dataset.documents, 'document')}.")
    return claims + [
        f"Finding on the data: {one.shown_severity} {one.code}: {one.message}"
        for one in dataset.findings
    ]


def make_sweep_table(report: SweepReport, most: int | None = None) -> TextTable:
    """Return the table of the variants, the best first.

    Args:
        report: The sweep.
        most: Maximum number of variants; ``None`` for all.
    """
    others = list(report.variants[0].measures)[1:]
    header = ["Variant", report.measure, "Interval", "Best in"]
    if report.baseline is not None:
        header += [f"Δ {report.baseline}", "Interval of Δ", "Adj. p"]
    rows = []
    for one in report.variants[:most]:
        best, difference = one.name == report.winner.name, one.advantage
        cells: list[str | Cell] = [
            Cell(one.name, best=best),
            Cell(show(one.mean), best=best, value=one.mean),
            show_ci(one.ci) or "–",
            f"{one.chosen:.0%}",
        ]
        if difference is not None:
            mark = "*" if difference.significant else ""
            cells += [
                Cell(show(difference.difference, "+"), marks=mark),
                show_ci(difference.ci, "+"),
                show(difference.p_adjusted),
            ]
        elif report.baseline is not None:
            cells += ["baseline", "", ""]
        rows.append(make_row([*cells, *(show(one.measures[name]) for name in others)]))
    return TextTable.of([*header, *others], rows, right=["Best in"])


def sweep_blocks(report: SweepReport, most: int | None = None) -> list[Block]:
    """Return the blocks of a sweep: the result, the variants, and how to read them.

    Args:
        report: The sweep.
        most: Maximum number of variants; ``None`` for all.
    """
    more = len(report.variants) - (most or len(report.variants))
    further = f"{plural(more, 'more variant')}: see {MARKDOWN_FILE}" if more > 0 else ""
    lines = (Paragraph(line, "small") for line in sweep_lines(report))
    return [
        Paragraph(sweep_sentence(report), "result"),
        make_sweep_table(report, most),
        Paragraph(further),
        *lines,
    ]


def print_sweep_report(report: SweepReport, stream: TextIO = sys.stdout) -> None:
    """Print the result, at most 100 characters wide: the sentence, the table, the reading."""
    print_blocks(sweep_blocks(report, _SHOWN), stream)


def render_sweep_markdown(report: SweepReport) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    claims = Fold(CLAIMS_TITLE, [Bullets(sweep_claims(report))])
    return markdown([Heading("Sweep", 1), *sweep_blocks(report), claims])


def render_sweep_page(report: SweepReport, plot: Path | None = None) -> str:
    """Return the report as one HTML file.

    Args:
        report: The sweep.
        plot: The plot as SVG, which becomes part of the page.
    """
    blocks = sweep_blocks(report)
    if plot is not None:
        text = f"{report.measure} by the values of each setting"
        blocks += [Heading("Means by setting"), Picture(plot.read_bytes(), text)]
    claims = Fold(CLAIMS_TITLE, [Bullets(sweep_claims(report))])
    return html_page(f"Sweep on {report.dataset.id}", [*blocks, claims])
