"""The files of a benchmark's report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from trectools_plus.benchmark.diagnostics import find_failing
from trectools_plus.benchmark.report_folder import StoredDocuments
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
from trectools_plus.benchmark.verdict import report_of_mode
from trectools_plus.errors import UsageError
from trectools_plus.formats.files.atomic import make_folder
from trectools_plus.formats.writing import write_parquet
from trectools_plus.measures.judged import first_documents
from trectools_plus.reporting.export import render_json, write_text
from trectools_plus.reporting.html.page import DEEPEST, QueryEvidence, render_html
from trectools_plus.reporting.plots import write_plots
from trectools_plus.reporting.results.benchmark import render_markdown


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
    evidence = QueryEvidence(result.per_query, result.runs)
    write_parquet(result.per_query, folder / PER_QUERY_FILE)
    if result.latency is not None:
        write_parquet(result.latency, folder / LATENCY_FILE)
    if dataset is not None:
        evidence = replace(evidence, qrels=dataset.qrels, topics=dataset.topics)
    if dataset is not None and dataset.topics is not None:
        write_parquet(dataset.topics.frame, folder / TOPICS_FILE)
    if dataset is not None and dataset.corpus is not None:
        shown = [first_documents(run, DEEPEST)["doc_id"] for run in result.runs.values()]
        found = dataset.corpus.find(pl.concat(shown).unique(maintain_order=True))
        titles = found.select("doc_id", "title").filter(pl.col("title") != "").sort("doc_id")
        if titles.height:
            write_parquet(titles, folder / DOCUMENTS_FILE)
            evidence = replace(evidence, corpus=StoredDocuments(titles, count=titles.height))
    write_text(folder / MARKDOWN_FILE, render_markdown(report))
    write_text(folder / REPORT_FILE, render_json(report))
    make_folder(folder / MODE_REPORTS_FOLDER)
    for mode, of_mode in report.modes.items():
        failing, primary = report.failing_queries, report.primary_measure
        if dataset is not None:
            run, definition = {mode: result.runs[mode]}, of_mode.measures[primary].definition
            failing = find_failing(dataset, run, result.per_query, primary, definition)
        text = render_json(report_of_mode(report, mode, failing))
        write_text(folder / mode_report_name(mode), text)
    write_text(folder / HTML_FILE, render_html(report, evidence))
    if plots:
        write_plots(result, folder)
