"""The other reports on the same data in a folder of results: what was tried before."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from trectools_plus.benchmark.run.output_folder import REPORT_FILE, SWEEP_FILE
from trectools_plus.text import plural

_START = 1 << 18
"""The part of a report that is read, in bytes. The hash is before all figures."""


def count_other_reports(folder: Path, sha256: str) -> int:
    """Count the reports on a dataset in the folders beside a folder.

    Args:
        folder: The folder of the report that is being made; its own files do not count.
        sha256: The dataset's hash in the manifest. A file that has it is a report on the dataset.
    """
    own, others = folder.resolve(), 0
    for path in (*own.parent.glob(f"*/{REPORT_FILE}"), *own.parent.glob(f"*/{SWEEP_FILE}")):
        if path.parent == own:
            continue
        with suppress(OSError), path.open("rb") as file:
            others += f'"{sha256}"'.encode() in file.read(_START)
    return others


def tried_sentence(others: int, config: Mapping[str, Any], config_hash: str) -> str:
    """Return a line on what else was tried, and whether the primary measure was declared.

    Args:
        others: The number of other reports.
        config: The configuration of the report.
        config_hash: Its hash.
    """
    reports = plural(others, "other report") if others else "no other report"
    declared = f"declared: {config['primary_measure']}" if config.get("primary_measure") else ""
    return (
        f"Tried: {reports} on the same data in the results folder; primary measure "
        f"{declared or 'not declared'} (configuration {config_hash[:12]})."
    )
