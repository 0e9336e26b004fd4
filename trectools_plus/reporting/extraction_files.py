"""The files of an extraction, each written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from trectools_plus.errors import InputError
from trectools_plus.extraction.predictions import write_predictions
from trectools_plus.extraction.report import REPORT_FILE, ExtractionReport
from trectools_plus.extraction.runner import ExtractionResult
from trectools_plus.extraction.sweep import Sweep
from trectools_plus.formats.atomic import atomic_write
from trectools_plus.reporting.extraction_comparison_text import sweep_document
from trectools_plus.reporting.extraction_text import render_extraction_markdown
from trectools_plus.reporting.plots.files import save_plots
from trectools_plus.reporting.plots.tradeoff import draw_tradeoff

MARKDOWN_FILE = "ExtractionReport.md"
PREDICTIONS_FILE = "predictions.jsonl"
SWEEP_FILE = "sweep.json"


def render_extraction_json(report: ExtractionReport) -> str:
    """The report as JSON: two blanks of indent, floats by their shortest exact spelling."""
    return report.model_dump_json(indent=2) + "\n"


def write_extraction(result: ExtractionResult, folder: str | Path) -> dict[str, Path]:
    """Write the report as JSON and Markdown, and the predictions; the folder is made.

    Returns:
        The files: ``json``, ``markdown``, ``predictions``.

    Raises:
        InputError: If a file cannot be written.
    """
    target = _made(folder)
    files = {
        "predictions": target / PREDICTIONS_FILE,
        "markdown": target / MARKDOWN_FILE,
        "json": target / REPORT_FILE,
    }
    texts = {
        "markdown": render_extraction_markdown(result.report),
        "json": render_extraction_json(result.report),
    }
    write_predictions(result.predictions, files["predictions"])
    for name, text in texts.items():
        with atomic_write(files[name]) as stream:
            stream.write(text)
    return files


def write_sweep(sweep: Sweep, folder: str | Path) -> list[Path]:
    """Write ``sweep.json`` and the plot as PNG and SVG; the folder is made.

    Raises:
        InputError: If a file cannot be written.
    """
    target = _made(folder)
    plots = save_plots([draw_tradeoff(sweep)], target)
    with atomic_write(target / SWEEP_FILE) as stream:
        stream.write(json.dumps(sweep_document(sweep), indent=2) + "\n")
    return [target / SWEEP_FILE, *plots]


def _made(folder: str | Path) -> Path:
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the output folder cannot be made: {(error.strerror or str(error)).lower()}",
            where=str(target),
            remedy="name another folder",
        ) from error
    return target
