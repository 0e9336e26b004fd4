"""``ir_metadata`` headers: comments at the top of a run file that describe its origin.

The schema is by Breuer, Keller and Schaer, ir_metadata: An Extensible Metadata Schema for IR
Experiments (SIGIR 2022, https://www.ir-metadata.org): YAML after ``#``, with the components
platform, research goal, implementation, method, actor and data. A header contains only what the
report contains; users add the actor. Runs have a header only on request, because some tools read a
comment as a result.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.run.config import resampling_of
from trectools_plus.benchmark.run.output_folder import ANNOTATED_FOLDER
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.files.atomic import atomic_write

START = "# ir_metadata.start"
END = "# ir_metadata.end"


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
