"""``demo`` and ``files``: the sample data and other files of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

import trectools_plus
from trectools_plus import benchmark, formats
from trectools_plus.cli.commands.benchmark import ReportOptions
from trectools_plus.cli.options import output_dir_option
from trectools_plus.cli.printing import write_document
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError

FILES = {
    "examples/benchmark.yaml": "a configuration for benchmark run --config",
    "examples/gate.yml": "a GitHub workflow that fails if a measure dropped",
    "schema/BenchmarkReport.schema.json": "JSON Schema of BenchmarkReport.json",
    "schema/ExtractionReport.schema.json": "JSON Schema of ExtractionReport.json",
    "schema/MultilingualReport.schema.json": "JSON Schema of MultilingualReport.json",
    "schema/removed.md": "the keys that earlier versions of these documents had",
    "schema/TestSet.schema.json": "JSON Schema of test sets",
    "monitoring/prometheus.yml": "a Prometheus configuration that scrapes the service",
    "monitoring/alerts.yml": "alert rules for Prometheus",
    "monitoring/alerts.test.yml": "tests of the alert rules for promtool",
    "monitoring/grafana-dashboard.json": "a dashboard for Grafana",
    "sample/README.md": "description of the sample (--dataset sample)",
    "sample/corpus.jsonl": "its 60 documents",
    "sample/topics.tsv": "its 30 queries",
    "sample/qrels.txt": "its judgments",
    "sample/runs/lexical.run": "the run of keyword search",
    "sample/runs/vector.run": "the run of vector search",
    "sample/runs/hybrid.run": "the run of both, merged",
}
"""The files that a user can copy: the name, which begins with a folder, and what it is."""


def packaged_files(
    names: Annotated[
        list[str] | None,
        Argument(
            metavar="NAME",
            help="Files or folders of the list, with or without the folder. Without a name, the "
            "files are listed.",
            show_default=False,
        ),
    ] = None,
    output_dir: Annotated[Path, output_dir_option("Folder for the files.")] = Path(),
) -> None:
    """Examples, JSON Schemas, rules for monitoring, and the sample collection are part of the
    package. An existing file is never overwritten. Test sets are written by testset convert.

    \b
    Examples:
      trectools-plus files
      trectools-plus files benchmark.yaml gate.yml
      trectools-plus files monitoring sample --output-dir copies
    """
    if not names:
        write_document(FILES, "text")
        return
    contents: dict[Path, bytes] = {}
    for given in names:
        inside = [name for name in FILES if name.startswith(f"{given}/")]  # keep their folder
        single = [name for name in FILES if given in (name, Path(name).name)]
        if not inside and not single:
            raise UsageError(
                f"the package contains no file '{given}'",
                remedy="see the list: trectools-plus files",
            )
        contents |= {output_dir / name: _packaged_path(name).read_bytes() for name in inside}
        contents |= {
            output_dir / Path(name).name: _packaged_path(name).read_bytes() for name in single
        }
    for path in formats.write_new(contents):
        typer.echo(path)


def _packaged_path(name: str) -> Path:
    """Return a file of the installed package; in a checkout, most are in ``docs``."""
    folder, _, rest = name.partition("/")
    if folder == formats.SAMPLE:
        return formats.SAMPLE_FOLDER / rest
    package = Path(str(trectools_plus.__file__)).parent
    packaged = package / "files" / name
    return packaged if packaged.is_file() else package.parent / "docs" / name


_DEMO_FOLDER = Path("trectools-plus-demo")


def demo(
    output_dir: Annotated[
        Path,
        output_dir_option("Folder for the sample and the report.  [default: trectools-plus-demo]"),
    ] = _DEMO_FOLDER,
) -> None:
    """The sample has 60 documents, 30 queries, relevance judgments and three runs. The command
    writes these files into a folder, searches with the modes lexical, vector and
    hybrid, scores and compares the results, and writes a report. It needs no network, and never
    overwrites files that it did not write. The sample is also a dataset of other commands:
    --dataset sample.

    \b
    Examples:
      trectools-plus demo
      trectools-plus demo --output-dir first-steps
    """
    report_folder, files = output_dir / "report", formats.sample_files(output_dir)
    formats.refuse_other_content(files)
    _refuse_other_files(report_folder)
    config = benchmark.load_config(
        options={"dataset": formats.SAMPLE, "output_dir": str(report_folder)}
    )
    ReportOptions().run(config)
    formats.write_new(files)


def _refuse_other_files(folder: Path) -> None:
    """Raise an error if the folder for the report contains anything but a report on the sample."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        dataset = benchmark.load_report(folder / "BenchmarkReport.json").manifest.dataset.id
    except TrectoolsPlusError:
        dataset = None
    if dataset != formats.SAMPLE:
        raise InputError(
            "the folder contains files that demo did not write",
            where=str(folder),
            remedy="name another folder with --output-dir; nothing was written",
        )
