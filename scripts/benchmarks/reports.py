"""Tasks that make a whole report, with indexes that an earlier run stored in the cache."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measuring import Task, process, warmed

MODES = "lexical,vector,hybrid"


def warm_benchmark(python: Path, dataset: str, folder: Path) -> Task:
    """A task that runs the three modes on a dataset.

    Args:
        python: The interpreter of a version of this project.
        dataset: The value of ``--dataset``.
        folder: A folder for the cache and the reports of this version.
    """
    command = [python, "-P", "-m", "trectools_plus", "benchmark", "run", "--no-cache"]
    command += ["--dataset", dataset, "--modes", MODES, "--output-dir", folder / "report"]
    return warmed(process(command, {"TRECTOOLS_PLUS_CACHE": str(folder / "cache")}))
