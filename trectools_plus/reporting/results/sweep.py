"""A sweep: its blocks and files."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.run.output_folder import (
    PER_QUERY_FILE,
    PLOTS_FOLDER,
    QRELS_FILE,
    REPORT_FILE,
    SWEEP_FILE,
)
from trectools_plus.benchmark.run.output_folder import SWEEP_HTML_FILE as HTML_FILE
from trectools_plus.benchmark.run.output_folder import SWEEP_MARKDOWN_FILE as MARKDOWN_FILE
from trectools_plus.benchmark.run.output_folder import WINNER_FILE as RUN_FILE
from trectools_plus.benchmark.sweep import SweepReport, SweepResult, SweepVariant
from trectools_plus.display import Cell
from trectools_plus.errors import InputError
from trectools_plus.formats.trec_files import write_qrels, write_run
from trectools_plus.formats.writing import write_parquet
from trectools_plus.reporting.document import (
    Block,
    Heading,
    Paragraph,
    html_page,
    markdown,
    table_of,
)
from trectools_plus.reporting.export import render_json, write_texts
from trectools_plus.reporting.plots import can_draw, draw_variants, save_plots
from trectools_plus.reporting.wording import (
    name_test,
    narrow_lines,
    show,
    show_ci,
    show_p,
)
from trectools_plus.text import plural

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
    with folder.discarded_on_errors():
        if (folder.path / REPORT_FILE).exists():
            raise InputError(
                "the folder has the report of a benchmark",
                where=str(folder.path),
                remedy="use another one",
            )
        _write_files(result, folder.partial)
        written = [path.relative_to(folder.partial) for path in folder.partial.rglob("*.*")]
        folder.publish()
    return {path.suffix.removeprefix("."): folder.path / path for path in written}


def _write_files(result: SweepResult, folder: Path) -> None:
    report, blocks = result.report, sweep_blocks(result.report)
    if can_draw():
        save_plots({"sweep": draw_variants(report)}, folder / PLOTS_FOLDER)
    texts = {
        SWEEP_FILE: render_json(report),
        MARKDOWN_FILE: markdown(blocks),
        HTML_FILE: html_page(blocks),
    }
    write_texts(folder, texts)
    write_parquet(result.per_query, folder / PER_QUERY_FILE)
    write_qrels(result.qrels, folder / QRELS_FILE)
    if len(result.run.frame):
        write_run(result.run, folder / RUN_FILE, tag="winner")


def sweep_blocks(report: SweepReport, *, full: bool = True) -> list[Block]:
    """Return the blocks of a sweep: the result, the variants, and how to read them.

    Args:
        report: The sweep.
        full: Show all variants instead of the first 20.
    """
    shown = report.variants if full else report.variants[:_SHOWN]
    more = len(report.variants) - len(shown)
    return [
        Heading(f"Sweep on {report.dataset.id}", 1),
        Paragraph(_state_result(report), "result"),
        table_of(_row(report, variant) for variant in shown),
        Paragraph(f"{plural(more, 'more variant')}: see {MARKDOWN_FILE}" if more else ""),
        *(Paragraph(line, "small") for line in _list_lines(report)),
        Paragraph(f"Created by: {report.command}" if report.command else ""),
    ]


def _row(report: SweepReport, variant: SweepVariant) -> dict[str, object]:
    row: dict[str, object] = {
        "Variant": variant.name,
        report.measure: Cell(show(variant.mean), best=variant.name == report.winner.name),
        "Interval": show_ci(variant.ci) or "–",
        "Best in": f"{variant.chosen:.0%}",
    }
    if report.baseline is not None:
        names, pair = (f"Δ {report.baseline}", "Interval of Δ", "Adj. p"), variant.advantage
        values = ["–"] * 3
        if pair is not None:
            values[0] = show(pair.difference, "+") + " *" * pair.significant
            values[1:] = show_ci(pair.ci, "+") or "–", show_p(pair.p_adjusted)
        row |= zip(names, values, strict=True)
    return row | {name: mean for name, mean in variant.measures.items() if name not in row}


def _state_result(report: SweepReport) -> str:
    """Return the result: the winner, and whether its value and its advantage will hold."""
    best, count = report.winner, plural(len(report.variants), "variant")
    text = f"{best.name} is the best of {count} on {report.measure}: {show(best.mean)}"
    if best.corrected_mean is not None:
        expected = f"{show(best.corrected_mean)} {show_ci(best.ci)}"
        text += f"; on new queries, expect {expected} (optimism {show(best.optimism, '+')})"
    if (advantage := best.advantage) is not None:
        text += f". Difference from {report.baseline} ({show(report.baseline_mean)}): "
        text += f"{show(advantage.difference, '+')}, {'not ' * (not advantage.significant)}"
        text += f"significant among {count}"
    if best.corrected_advantage is not None:
        interval = show_ci(best.corrected_advantage_ci, "+")
        text += f"; on new queries, expect {show(best.corrected_advantage, '+')} {interval}"
    return f"{text}."


def _list_lines(report: SweepReport) -> list[str]:
    """Return the lines below the table: how to read it, and notes."""
    config = report.config
    lines = [
        f"{report.n_queries:,} queries, {config['confidence'] * 100:g}% intervals. The corrected "
        "mean: the best variant on resampled queries, scored on the others "
        f"({config['resamples']:,} resamples). Best in: share of the resamples. Intervals in the "
        "table are not corrected for the choice."
    ]
    advantages = [one.advantage for one in report.variants if one.advantage is not None]
    if report.baseline is not None:
        family = f"{plural(len(advantages), 'comparison')} with {report.baseline}"
        test = name_test(family, config["confidence"], config["test"], config["correction"])
        lines.append(
            f"Δ: the difference from {report.baseline}, query by query; * significant ({test})."
        )
    intervals = [*(one.ci for one in report.variants), *(one.ci for one in advantages)]
    return [*lines, *narrow_lines(intervals), *report.notes]
