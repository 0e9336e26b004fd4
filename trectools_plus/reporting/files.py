"""The files of benchmarks, of several languages and of sweeps, and the blocks of the last two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.diagnostics import find_failing
from trectools_plus.benchmark.multilingual import MARKDOWN_FILE as LANGUAGES_MARKDOWN_FILE
from trectools_plus.benchmark.multilingual import REPORT_FILE as LANGUAGES_FILE
from trectools_plus.benchmark.multilingual import (
    MultilingualReport,
    MultilingualResult,
)
from trectools_plus.benchmark.report_folder import StoredDocuments
from trectools_plus.benchmark.run.output_folder import (
    CHECKSUMS_FILE,
    DOCUMENTS_FILE,
    HTML_FILE,
    LATENCY_FILE,
    MARKDOWN_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    PLOTS_FOLDER,
    QRELS_FILE,
    REPORT_FILE,
    SWEEP_FILE,
    SWEEP_HTML_FILE,
    SWEEP_MARKDOWN_FILE,
    TOPICS_FILE,
    WINNER_FILE,
)
from trectools_plus.benchmark.run.runner import BenchmarkResult
from trectools_plus.benchmark.sweep import SweepReport, SweepResult, SweepVariant
from trectools_plus.benchmark.verdict import add_result
from trectools_plus.display import Cell
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.writing import write_parquet, write_qrels, write_run
from trectools_plus.reporting.benchmark import render_markdown
from trectools_plus.reporting.comparison import (
    describe_difference_intervals,
    difference_cells,
    difference_row,
    mean_cell,
    name_test,
    narrow_lines,
)
from trectools_plus.reporting.document import (
    Block,
    Fold,
    Heading,
    Paragraph,
    show,
    show_ci,
    table_of,
)
from trectools_plus.reporting.export import render_json, write_renderings, write_text
from trectools_plus.reporting.page import QueryEvidence, render_html
from trectools_plus.reporting.plots import can_draw, draw_variants, save_plots, write_plots
from trectools_plus.statistics.comparison import alpha_of
from trectools_plus.text import plural


def write_reports(
    result: BenchmarkResult,
    *,
    plots: bool = False,
) -> dict[str, Path]:
    """Write all files of a benchmark into its output folder, or none of them.

    The files are first written into a hidden folder: runs, qrels and all renderings of the report.
    They are then moved to the output folder, and replace the files of an earlier benchmark there;
    its runs and plots are removed. If a step fails, the output folder does not change.

    Args:
        result: The result to write. It can be written once.
        plots: Also draw the plots as PNG and SVG files in ``visualizations``, which takes most of
            the time. The plots of the page do not need these files.

    Returns:
        The files by name: ``json``, ``markdown``, ``html``, ``per_query``, ``checksums``.

    Raises:
        InputError: If a file cannot be written.
        UsageError: If this result was already written.
        MissingExtraError: If ``plots`` is true and the extra ``plots`` is not installed.
    """
    folder = result.folder
    if not folder.discard.alive:
        raise UsageError(
            "this result was already written or discarded",
            where=str(folder.path),
            remedy="run the benchmark again",
        )
    with folder.discarded_on_errors():
        render_files(result, plots=plots)
        folder.publish()
    return {
        "json": folder.path / REPORT_FILE,
        "markdown": folder.path / MARKDOWN_FILE,
        "html": folder.path / HTML_FILE,
        "per_query": folder.path / PER_QUERY_FILE,
        "checksums": folder.path / CHECKSUMS_FILE,
    }


def render_files(result: BenchmarkResult, *, plots: bool) -> None:
    """Write all files of a report beside the run files that are not yet published.

    With the queries and the titles of documents, it can be verified without the original data.

    Args:
        result: The result.
        plots: As in :func:`write_reports`.

    Raises:
        InputError: If a file cannot be written.
    """
    folder, report, dataset = result.folder.partial, result.report, result.dataset
    evidence = QueryEvidence(
        result.per_query, {name: mode.first for name, mode in result.modes.items()}
    )
    write_parquet(result.per_query, folder / PER_QUERY_FILE)
    if result.latency is not None:
        write_parquet(result.latency, folder / LATENCY_FILE)
    if dataset is not None:
        evidence = replace(evidence, qrels=dataset.qrels, topics=dataset.topics)
        # With the judgments beside the runs, other tools need only this folder.
        write_qrels(dataset.qrels, folder / QRELS_FILE)
        if dataset.topics is not None:
            write_parquet(dataset.topics.frame, folder / TOPICS_FILE)
        if dataset.corpus is not None:
            shown = pl.concat([mode.first.frame["doc_id"] for mode in result.modes.values()])
            documents = dataset.corpus.find(shown.unique()).sort("doc_id")
            titles = documents.select("doc_id", "title").filter(pl.col("title") != "")
            if titles.height:
                write_parquet(titles, folder / DOCUMENTS_FILE)
                evidence = replace(evidence, corpus=StoredDocuments(titles, count=titles.height))
    texts = {
        MARKDOWN_FILE: render_markdown(report),
        REPORT_FILE: render_json(report),
        HTML_FILE: render_html(report, evidence),
    }
    for mode, of_mode in report.modes.items():
        failing, primary = report.failing_queries, report.primary_measure
        if dataset is not None:
            run, definition = {mode: result.modes[mode]}, of_mode.measures[primary].definition
            failing = find_failing(dataset, run, result.per_query, primary, definition)
        only = {
            "modes": {mode: of_mode},
            "unscored": {},
            "comparisons": [],
            "best_mode": dict.fromkeys(report.best_mode),
            "best_mode_significant": dict.fromkeys(report.best_mode_significant, False),
            "unranked": [],
            "groups": {},
            "strata": {
                field: {value: {mode: of[mode]} for value, of in values.items() if mode in of}
                for field, values in report.strata.items()
            },
            "failing_queries": failing,
            "diagnosis": [pattern for pattern in report.diagnosis if pattern.mode == mode],
        }
        texts[f"{MODE_REPORTS_FOLDER}/{mode}.json"] = render_json(
            add_result(report.model_copy(update=only))
        )
    make_folder(folder / MODE_REPORTS_FOLDER)
    for name, text in texts.items():
        write_text(folder / name, text)
    if plots:
        write_plots(result, folder)


_READING = (
    "Each language has its own evaluation and test set. Mean, variance (ddof 0) and gap (highest "
    "minus lowest) are over the means of the languages, with equal weights. No figure pools "
    "queries of two languages."
)


def write_multilingual(result: MultilingualResult) -> dict[str, Path]:
    """Write the report of each language into a folder, then the summary of all languages.

    Args:
        result: From :func:`run_multilingual`. It can be written once.

    Returns:
        The files ``json`` and ``md``, and the HTML page of each language by its code.

    Raises:
        InputError: If a file cannot be written; reports that are already written remain.
        UsageError: If this result was already written.
    """
    pages = {language: write_reports(one)["html"] for language, one in result.results.items()}
    report, names = result.report, (LANGUAGES_FILE, LANGUAGES_MARKDOWN_FILE)
    files = write_renderings(report, multilingual_blocks(report), result.output_dir, *names)
    return files | pages


def multilingual_blocks(report: MultilingualReport) -> list[Block]:
    """Return the blocks: the languages, the means of each mode, and differences of languages.

    Args:
        report: The summary of all languages.
    """
    sets = (
        {
            "Language": code,
            "Test set": result.test_set,
            "Version": result.version,
            "Queries": result.queries,
            "Report": f"{Path(result.folder).name}/{HTML_FILE}",
        }
        for code, result in report.languages.items()
    )
    means = (
        {
            "Mode": report.mode_names[mode],
            "Metric": measure,
            **{
                code: mean_cell(result.modes[mode][measure], result.queries)
                for code, result in report.languages.items()
            },
            "Mean": across.mean,
            "Variance": across.cross_lingual_variance,
            "Gap": across.gap,
        }
        for mode, measures in report.across.items()
        for measure, across in measures.items()
    )
    differences = (
        {
            "Mode": report.mode_names[mode],
            "Languages": f"{pair.contrast} − {pair.baseline}",
            **difference_row(pair, pair.n),
        }
        for mode, pairs in report.differences.items()
        for pair in pairs
    )
    parallel = "The sets are not parallel, so languages are not compared query by query."
    for pair, *_ in [*report.differences.values()][:1]:
        parallel = (
            "The sets are parallel: intervals and p-values are of differences query by query. "
            f"{describe_difference_intervals(pair)} *: significant. Adj. p: "
            f"{name_test(pair.family, pair.test, pair.correction)}."
        )
    return [
        Heading("Comparison of languages", 1),
        Paragraph(f"Documents: {report.corpus}."),
        table_of(sets),
        table_of(means),
        Fold("Differences of languages", [table_of(differences)]),
        Paragraph(_READING, "small"),
        Paragraph(parallel, "small"),
        *(
            Paragraph(f"Note on {language}: {note}", "note")
            for language, result in report.languages.items()
            for note in result.notes
        ),
        Paragraph(f"Created by: {report.command}" if report.command else ""),
    ]


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
        partial, report = folder.partial, result.report
        if can_draw():
            save_plots({"sweep": draw_variants(report)}, partial / PLOTS_FOLDER)
        names = SWEEP_FILE, SWEEP_MARKDOWN_FILE, SWEEP_HTML_FILE
        write_renderings(report, sweep_blocks(report), partial, *names)
        write_parquet(result.per_query, partial / PER_QUERY_FILE)
        write_qrels(result.qrels, partial / QRELS_FILE)
        if len(result.run.frame):
            write_run(result.run, partial / WINNER_FILE, tag="winner")
        written = [path.relative_to(partial) for path in partial.rglob("*.*")]
        folder.publish()
    return {path.suffix.removeprefix("."): folder.path / path for path in written}


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
        Paragraph(f"{plural(more, 'more variant')}: see {SWEEP_MARKDOWN_FILE}" if more else ""),
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
        row |= difference_cells(variant.advantage, "Interval of Δ")
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
        test = name_test(family, config["test"], config["correction"])
        level = f"p ≤ {alpha_of(config['confidence']):g}"
        lines.append(
            f"Δ: minus {report.baseline}, query by query; * significant ({test}, {level})."
        )
    intervals = [*(one.ci for one in report.variants), *(one.ci for one in advantages)]
    return [*lines, *narrow_lines(intervals), *report.notes]
