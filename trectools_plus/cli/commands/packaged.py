"""``files``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import trectools_plus
from trectools_plus import formats
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import output_dir_option
from trectools_plus.cli.printing import print_table
from trectools_plus.errors import UsageError

FILES = {
    "examples/benchmark.yaml": "a configuration for benchmark run --config",
    "examples/gate.yml": "a GitHub workflow that fails if a measure dropped",
    "schema/BenchmarkReport.schema.json": "JSON Schema of BenchmarkReport.json",
    "schema/ExtractionReport.schema.json": "JSON Schema of ExtractionReport.json",
    "schema/MultilingualReport.schema.json": "JSON Schema of MultilingualReport.json",
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
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Files or folders of the list, with or without the folder. Without a name, the "
            "files are listed.",
            autocompletion=lambda incomplete: completion.complete_words(_names())(incomplete),
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
        print_table(["File", "Content"], [[name, text] for name, text in FILES.items()])
        return
    contents = {
        output_dir / target: _source(name).read_bytes()
        for given in names
        for target, name in _find(given).items()
    }
    for path in formats.write_new(contents):
        typer.echo(path)


def _names() -> list[str]:
    """Return everything that a user can write for a file or folder."""
    folders = (name.partition("/")[0] for name in FILES)
    return list(dict.fromkeys([*folders, *(Path(name).name for name in FILES), *FILES]))


def _find(given: str) -> dict[str, str]:
    """Return the chosen files by the path to write; a folder is written as a folder.

    Raises:
        UsageError: If there is no such file or folder.
    """
    asked = Path(given).as_posix()
    if inside := {name: name for name in FILES if name.startswith(f"{asked}/")}:
        return inside
    if found := [name for name in FILES if name == asked or name.endswith(f"/{asked}")]:
        return {Path(name).name: name for name in found}
    raise UsageError(
        f"the package contains no file '{given}'", remedy="see the list: trectools-plus files"
    )


def _source(name: str) -> Path:
    """Return a file of the installed package; in a checkout, most are in ``docs``."""
    folder, _, rest = name.partition("/")
    if folder == formats.SAMPLE:
        return formats.SAMPLE_FOLDER / rest
    package = Path(str(trectools_plus.__file__)).parent
    packaged = package / "files" / name
    return packaged if packaged.is_file() else package.parent / "docs" / name
