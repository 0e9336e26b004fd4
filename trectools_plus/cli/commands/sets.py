"""``testset …``: check, compare, list, convert, split and refresh; also ``demo`` and ``files``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

import trectools_plus
from trectools_plus import benchmark, formats, reporting, testsets
from trectools_plus.choices import TestSetForm
from trectools_plus.cli.commands.benchmark import ReportOptions
from trectools_plus.cli.options import Seed, TextOrJson, output_dir_option
from trectools_plus.cli.printing import note, write_document
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.text import plural

Set = Annotated[str, Argument(metavar="SET", help="Test set: a file or a shipped name.")]


def testset_agreement(
    first: Annotated[
        str, Argument(metavar="A", help="Grades of one annotator: a test set or qrels.")
    ],
    second: Annotated[str, Argument(metavar="B", help="Grades of the other annotator.")],
    weights: Annotated[
        Literal["none", "linear", "quadratic"],
        Option(
            help="Kappa to compare with the threshold 0.6: unweighted (none), or with linear or "
            "quadratic weights of the distance between grades."
        ),
    ] = "none",
    output_format: TextOrJson = "text",
) -> None:
    """The comparison uses the pairs of query and term that both annotators graded, and reports the
    number of pairs that only one of them graded. Exit code: 1 if kappa is not above 0.6, 3 if no
    pair was graded by both.

    \b
    Examples:
      trectools-plus testset agreement anna.json ben.json
      trectools-plus testset agreement anna.qrels ben.qrels --weights quadratic --format json
    """
    grades = map(testsets.read_grades, (first, second))
    agreement = testsets.grade_agreement(*grades, weights=weights)
    if output_format == "json":
        write_document(reporting.agreement_document(agreement))
    else:
        reporting.print_blocks(reporting.agreement_blocks(agreement, (first, second)), sys.stdout)
    if not agreement.accepted:
        raise typer.Exit(1)


def testset_list(output_format: TextOrJson = "text") -> None:
    """\b
    Examples:
      trectools-plus testset list
      trectools-plus testset list --format json
    """
    listed = [asdict(test_set) for test_set in testsets.list_test_sets()]
    write_document({"test_sets": listed}, output_format)


def testset_convert(
    source: Annotated[str, Argument(metavar="SOURCE", help="Test set, or topics with --qrels.")],
    output: Annotated[
        Path,
        Argument(
            metavar="OUTPUT",
            help="File ending in .json or .yaml, or folder; - is standard output, with --to json.",
        ),
    ],
    to: Annotated[
        TestSetForm | None,
        Option(
            help="Format of OUTPUT. trec: topics.tsv and qrels.txt; trec-jsonl: topics.jsonl with "
            "all fields, and qrels.txt; beir: queries.jsonl and qrels/test.tsv.  [default: from "
            "the ending of OUTPUT]"
        ),
    ] = None,
    qrels: Annotated[Path | None, Option(help="Judgments, if SOURCE contains topics.")] = None,
    language: Annotated[
        str | None,
        Option(
            help="Language of the texts, for example de, if the set names none.",
        ),
    ] = None,
    split_languages: Annotated[
        bool,
        Option(
            "--split-languages",
            help="Write one set per language: OUTPUT with -<language> before the ending, or a "
            "sub-folder of OUTPUT.",
        ),
    ] = False,
) -> None:
    """A folder also contains metadata.json with the set's metadata. TSV topics contain ids and
    texts only; the other topics contain all fields but spans.

    \b
    Examples:
      trectools-plus testset convert hpo-en-tiny tiny --to trec
      trectools-plus testset convert hpo-en-tiny tiny-beir --to beir
      trectools-plus testset convert topics.tsv set.json --qrels qrels.txt --language en
      trectools-plus testset convert all.json out.json --split-languages
    """
    if split_languages and str(output) == "-":
        raise UsageError("--split-languages writes several files", where="OUTPUT")
    form = to or testsets.form_of_output(output)
    if qrels is None:
        test_set = testsets.load_test_set(source, language=language)
    else:
        test_set = testsets.read_parts(source, qrels, note=note)
        test_set = testsets.with_text_field(test_set, "text", language, source)
    sets = {output: test_set}
    if split_languages:
        parts = testsets.split_languages(test_set, source)
        sets = {testsets.path_of_language(output, form, code): parts[code] for code in parts}
    for path, part in sets.items():
        written = testsets.convert_test_set(part, path, form)
        if str(output) != "-":
            number = plural(len(part.queries), "query", "queries")
            typer.echo(f"{number}: {', '.join(map(str, written.files))}")


def testset_split(
    source: Set,
    output_dir: Annotated[
        Path, output_dir_option("Folder for the two files; created if missing.")
    ] = Path(),
    held_out: Annotated[
        float,
        Option(help="Share of the queries to hold out, between 0 and 1."),
    ] = 0.2,
    seed: Seed = 42,
    output_format: TextOrJson = "text",
) -> None:
    """The parts have the same proportions of query types, within these of categories, and within
    these of difficulties (largest remainder). Queries with nearly the same text
    stay in one part. The files are <dataset_id>-used.json and <dataset_id>-held-out.json; their
    metadata contains the seed and the original set.

    \b
    Examples:
      trectools-plus testset split hpo-en-standard --output-dir parts
      trectools-plus testset split mine.json --held-out 0.3 --seed 7
    """
    test_set = testsets.load_test_set(source)
    split = testsets.split_test_set(test_set, held_out, seed)
    document: dict[str, Any] = {"seed": seed}
    parts = {"used": split.used, "held_out": split.held_out}
    for (name, part), path in zip(
        parts.items(), testsets.write_split(split, output_dir), strict=True
    ):
        document[name] = {"path": str(path), "queries": len(part.queries)}
    write_document(document, output_format)


def testset_refresh(
    source: Set,
    output: Annotated[
        Path, Argument(metavar="OUTPUT", help="File to write, ending in .json or .yaml.")
    ],
    pool: Annotated[
        str,
        Option(
            help="Test set with the new queries: a file or a shipped name.",
        ),
    ],
    count: Annotated[int, Option("--count", "-n", min=1, help="Number of queries to replace.")],
    seed: Seed = 42,
    annotators: Annotated[
        tuple[str, str] | None,
        Option(
            metavar="A B",
            help="Grades of the new queries by two annotators, test sets or qrels: NAME=FILE, or "
            "files named after the annotators. Their kappa must be above 0.6.",
        ),
    ] = None,
    accept_low_agreement: Annotated[
        bool,
        Option(
            "--accept-low-agreement",
            help="Write the set with any kappa, and without --annotators.",
        ),
    ] = False,
    output_format: TextOrJson = "text",
) -> None:
    """A new query has the query type, category and difficulty of the query that it replaces, as
    far as set and pool have these fields. Queries whose text is nearly the same as one in the set
    are not used. The field `changes` of the new set's metadata lists the removed and the added
    queries, the seed, the original set, and the annotators with their kappa (testset agreement).
    Exit code: 1 if kappa is not above 0.6, or the annotators did not both grade a term of every
    new query.

    \b
    Examples:
      trectools-plus testset refresh old.json new.json --pool p.json -n 9 --annotators a.json b.json
      trectools-plus testset refresh old.json new.json --pool p.json -n 9 --accept-low-agreement
    """
    if annotators is None and not accept_low_agreement:
        raise UsageError(
            "the agreement of the annotators of the new queries is unknown",
            where="--annotators",
            remedy="give --annotators A B with their grades, or --accept-low-agreement",
        )
    old, new = map(testsets.load_test_set, (source, pool))
    refreshed = testsets.refresh_test_set(old, new, count, seed=seed)
    if annotators is not None:
        names, files = zip(*map(_annotator, annotators), strict=True)
        refreshed = testsets.record_annotators(
            refreshed,
            names,
            testsets.grade_agreement(*map(testsets.read_grades, files)),
            accept_low_agreement=accept_low_agreement,
        )
    testsets.write_test_set(refreshed.test_set, output)
    metadata = refreshed.test_set.metadata
    changes = (metadata.model_extra or {})["changes"]
    document = {
        "path": str(output),
        "version": metadata.version,
        "removed": [
            {"query_id": query.query_id, "text": query.text} for query in refreshed.removed
        ],
        "added": [{"query_id": query.query_id, "text": query.text} for query in refreshed.added],
        "agreement": changes[-1].get("agreement"),
    }
    write_document(document, output_format)


def _annotator(value: str) -> tuple[str, str]:
    """Return name and file of ``NAME=FILE``; a file alone is named after the file."""
    name, equals, path = value.partition("=")
    return (name, path) if equals else (Path(value).name.partition(".")[0], value)


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
            metavar="NAME...",
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
    for argument in names:
        inside = [name for name in FILES if name.startswith(f"{argument}/")]  # keep their folder
        single = [name for name in FILES if argument in (name, Path(name).name)]
        if not inside and not single:
            raise UsageError(
                f"the package contains no file '{argument}'",
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
