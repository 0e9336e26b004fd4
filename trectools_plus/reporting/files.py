"""The files of a benchmark's report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.report import load_report
from trectools_plus.benchmark.report.diagnostics import find_failing
from trectools_plus.benchmark.report.folder import StoredDocuments
from trectools_plus.benchmark.report.verdict import report_of_mode
from trectools_plus.benchmark.run.output_folder import (
    CHECKSUMS_FILE,
    DOCUMENTS_FILE,
    LATENCY_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    REPORT_FILE,
    TOPICS_FILE,
    mode_report_name,
)
from trectools_plus.benchmark.run.output_folder import HTML_FILE as HTML_FILE
from trectools_plus.benchmark.run.output_folder import MARKDOWN_FILE as MARKDOWN_FILE
from trectools_plus.benchmark.run.runner import BenchmarkResult
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.writing import write_parquet
from trectools_plus.measures.judged import first_documents
from trectools_plus.reporting.export import render_json, write_text
from trectools_plus.reporting.html.page import render_html
from trectools_plus.reporting.html.per_query import DEEPEST, QueryEvidence
from trectools_plus.reporting.plots.figures import write_plots
from trectools_plus.reporting.results.benchmark import render_markdown


def write_reports(
    result: BenchmarkResult,
    *,
    plots: bool = False,
) -> dict[str, Path]:
    """Write all files of a benchmark into its output folder, or none of them.

    The files are first written into a hidden folder: runs, qrels and all renderings of the report.
    The JSON report is then read back, and all files are moved to the output folder. They replace
    the files of an earlier benchmark there; its runs and plots are removed. If a step fails, the
    output folder does not change.

    Args:
        result: The result to write. It can be written once.
        plots: Also draw the plots as PNG and SVG files in ``visualizations``, which takes most of
            the time. The plots of the page do not need these files.

    Returns:
        The files by name: ``json``, ``markdown``, ``html``, ``per_query``, ``checksums``,
        ``reports/<mode>.json``, and each plot by its file name.

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
    try:
        with folder.final_names():
            modes, images = render_files(result, plots=plots)
            load_report(folder.partial / REPORT_FILE)
        folder.publish()
    except BaseException:
        folder.discard()
        raise
    return {
        "json": folder.path / REPORT_FILE,
        "markdown": folder.path / MARKDOWN_FILE,
        "html": folder.path / HTML_FILE,
        "per_query": folder.path / PER_QUERY_FILE,
        "checksums": folder.path / CHECKSUMS_FILE,
        **{name: folder.path / name for name in modes},
        **{image.name: folder.path / image.relative_to(folder.partial) for image in images},
    }


def render_files(
    result: BenchmarkResult,
    *,
    plots: bool,
) -> tuple[list[str], list[Path]]:
    """Write all files of a report beside the run files that are not yet published.

    Args:
        result: The result.
        plots: As in :func:`write_reports`.

    Returns:
        The names of the reports of modes, and the files of the plots.

    Raises:
        InputError: If a file cannot be written.
    """
    folder = result.folder.partial
    tables = _list_tables(result)
    for name, table in tables.items():
        write_parquet(table, folder / name)
    write_text(folder / MARKDOWN_FILE, render_markdown(result.report))
    write_text(folder / REPORT_FILE, render_json(result.report))
    modes = _write_mode_reports(result, folder)
    _write_page(result, tables.get(DOCUMENTS_FILE))
    images = write_plots(result, folder) if plots else []
    return modes, images


def _list_tables(result: BenchmarkResult) -> dict[str, pl.DataFrame]:
    """Return the tables of a result by file name: values, latencies, queries and titles.

    With queries and titles, the report can be verified without the original data.
    """
    tables = {PER_QUERY_FILE: result.per_query}
    if result.latency is not None:
        tables[LATENCY_FILE] = result.latency
    dataset = result.dataset
    if dataset is not None and dataset.topics is not None:
        tables[TOPICS_FILE] = dataset.topics.frame
    if dataset is not None and dataset.corpus is not None:
        shown = [first_documents(run, DEEPEST)["doc_id"] for run in result.runs.values()]
        found = dataset.corpus.find(pl.concat(shown).unique(maintain_order=True))
        titles = found.select("doc_id", "title").filter(pl.col("title") != "").sort("doc_id")
        if titles.height:
            tables[DOCUMENTS_FILE] = titles
    return tables


def _write_mode_reports(result: BenchmarkResult, folder: Path) -> list[str]:
    """Write the report of each mode; return the names of the files."""
    report, dataset = result.report, result.dataset
    names, primary = [], report.primary_measure
    make_folder(folder / MODE_REPORTS_FOLDER)
    for mode, of_mode in report.modes.items():
        definition, failing = of_mode.measures[primary].definition, report.failing_queries
        if dataset is not None:
            run = {mode: result.runs[mode]}
            failing = find_failing(dataset, run, result.per_query, primary, definition)
        names.append(mode_report_name(mode))
        write_text(folder / names[-1], render_json(report_of_mode(report, mode, failing)))
    return names


def _write_page(result: BenchmarkResult, titles: pl.DataFrame | None) -> None:
    corpus = None if titles is None else StoredDocuments(titles, titles.height)
    evidence = QueryEvidence(result.per_query, result.runs, corpus=corpus)
    if (dataset := result.dataset) is not None:
        evidence = replace(evidence, qrels=dataset.qrels, topics=dataset.topics)
    write_text(result.folder.partial / HTML_FILE, render_html(result.report, evidence))
