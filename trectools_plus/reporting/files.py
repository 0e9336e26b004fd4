"""The files of a benchmark's report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport, load_report
from trectools_plus.benchmark.report.diagnostics import find_failing_of_mode
from trectools_plus.benchmark.report.folder import StoredDocuments
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import (
    ANNOTATED_FOLDER,
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
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.atomic import atomic_write, make_folder
from trectools_plus.formats.writing import write_parquet
from trectools_plus.measures.judged import first_documents
from trectools_plus.reporting.export import render_json, write_text
from trectools_plus.reporting.html.page import render_html
from trectools_plus.reporting.html.per_query import DEEPEST, QueryEvidence
from trectools_plus.reporting.markdown import render_markdown
from trectools_plus.reporting.plots.figures import write_plots

START = "# ir_metadata.start"
END = "# ir_metadata.end"


def write_reports(
    result: BenchmarkResult,
    *,
    ir_metadata: bool = False,
    plots: bool = False,
) -> dict[str, Path]:
    """Write all files of a benchmark into its output folder, or none of them.

    The files are first written into a hidden folder: runs, qrels and all renderings of the report.
    The JSON report is then read back, and all files are moved to the output folder. They replace
    the files of an earlier benchmark there; its runs and plots are removed. If a step fails, the
    output folder does not change.

    Args:
        result: The result to write. It can be written once.
        ir_metadata: Also write every run as ``annotated/<mode>.run`` with an ``ir_metadata``
            header.
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
            modes, images = render_files(result, ir_metadata=ir_metadata, plots=plots)
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
    ir_metadata: bool = False,
    plots: bool,
) -> tuple[list[str], list[Path]]:
    """Write all files of a report beside the run files that are not yet published.

    Args:
        result: The result.
        ir_metadata: As in :func:`write_reports`.
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
    if ir_metadata:
        write_annotated_runs(result.report, folder)
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
    names = []
    make_folder(folder / MODE_REPORTS_FOLDER)
    for mode in report.modes:
        failing = (
            report.failing_queries
            if dataset is None
            else find_failing_of_mode(report, mode, result.per_query, dataset, result.runs[mode])
        )
        names.append(mode_report_name(mode))
        write_text(folder / names[-1], render_json(report.of_mode(mode, failing)))
    return names


def _write_page(result: BenchmarkResult, titles: pl.DataFrame | None) -> None:
    dataset, folder = result.dataset, result.folder.partial
    evidence = QueryEvidence(
        result.per_query,
        result.runs,
        None if dataset is None else dataset.qrels,
        None if dataset is None else dataset.topics,
        None if titles is None else StoredDocuments(titles, titles.height),
        None if dataset is None else dataset.judged,
    )
    write_text(folder / HTML_FILE, render_html(result.report, evidence))


def ir_metadata_header(report: BenchmarkReport, mode: str) -> str:
    """Return the ``ir_metadata`` header of a mode's run, to be written before its first line.

    The schema is by Breuer, Keller and Schaer (SIGIR 2022, https://www.ir-metadata.org).

    Args:
        report: The report with the scores of the run.
        mode: The mode.

    Returns:
        Lines that begin with ``#`` and end with a line break.

    Raises:
        UsageError: If the report does not have the mode.
    """
    import yaml

    if mode not in report.modes:
        known = ", ".join(report.modes)
        raise UsageError(f"the report has no mode {mode!r}", remedy=f"it has {known}")
    text = yaml.safe_dump(
        _metadata(report, mode), sort_keys=False, allow_unicode=True, width=4096, line_break="\n"
    )
    lines = [f"# {line}" for line in text.splitlines()]
    return "\n".join([START, *lines, END]) + "\n"


def write_annotated_runs(report: BenchmarkReport, folder: str | Path) -> list[Path]:
    """Write a copy of each run of a report with its header into ``annotated/``.

    Args:
        report: The report.
        folder: The folder of the report, with ``runs/<mode>.run``. The function writes
            ``annotated/<mode>.run``.

    Returns:
        The files; modes without results have none.

    Raises:
        InputError: If a run cannot be read or a file cannot be written.
    """
    files = []
    for mode, result in report.modes.items():
        if result.run.path is None:
            continue
        source = Path(folder, result.run.path)
        path = Path(folder, ANNOTATED_FOLDER, source.name)
        try:
            rows = source.read_bytes()
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"the run cannot be annotated: {error.strerror or error}", where=str(source)
            ) from error
        with atomic_write(path, "wb") as stream:
            stream.write(ir_metadata_header(report, mode).encode() + rows)
        files.append(path)
    return files


def _metadata(report: BenchmarkReport, mode: str) -> dict[str, Any]:
    manifest = report.manifest
    resamples = resampling_of(manifest.config)["resamples"]
    figures = report.modes[mode].measures.values()
    methods = dict.fromkeys(one.ci.method for one in figures if one.ci is not None)
    intervals = f"{' or '.join(methods)}, {report.confidence:g}, {resamples} resamples"
    baselines = list(dict.fromkeys(entry.baseline for entry in report.comparisons))
    given = report.modes[mode].run.source is not None
    implementation: dict[str, Any] = {"source": {"lang": ["Python"]}}
    if manifest.command is not None and not given:
        implementation = {"executable": {"cmd": manifest.command}, **implementation}
    return {
        "tag": mode,
        "platform": {
            "operating system": {"platform": manifest.platform},
            "software": {
                "python": manifest.python,
                "libraries": {
                    "python": [f"{name}=={at}" for name, at in manifest.packages.items()]
                },
            },
        },
        "research goal": {
            "evaluation": {
                "reported_measures": list(report.canonical_names.values()),
                **({"baseline": baselines} if baselines else {}),
                "confidence intervals": intervals,
            }
        },
        # The report does not say how a given run file was made.
        **({} if given else {"implementation": implementation}),
        "method": _method(report, mode, given),
        "data": {"test collection": _collection(report)},
    }


def _method(report: BenchmarkReport, mode: str, given: bool) -> dict[str, Any]:
    ties = "reverse alphabetical order"
    if given:
        return {"score ties": ties}
    config = report.manifest.config
    settings = {key: config[key] for key in ("depth", "retrieval") if key in config}
    return {
        "automatic": True,
        "score ties": ties,
        "retrieval": [{"name": mode, **({"parameters": settings} if settings else {})}],
    }


def _collection(report: BenchmarkReport) -> dict[str, Any]:
    dataset = report.manifest.dataset
    collection: dict[str, Any] = {"name": dataset.id.removeprefix("irds:")}
    if dataset.id.startswith("irds:"):
        collection["ir_datasets"] = collection["name"]
    for part in ("qrels", "topics"):
        if part in dataset.files:
            collection[part] = dataset.files[part].path
    return {**collection, "sha256": dataset.sha256}
