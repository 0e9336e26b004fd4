"""``testset list`` and ``testset convert``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import formats, reporting, testsets
from trectools_plus.choices import TestSetForm
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.options.topics import IdField, TextFields, topic_options
from trectools_plus.cli.printing import print_table, write_json
from trectools_plus.cli.verbosity import note

TextFieldName = Annotated[
    Literal["text", "description"],
    typer.Option(
        help="Field with the texts of the queries; with description, --language is its language."
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        help="Language of the texts, for example de, if the set names none; if topics have "
        "texts in several languages, the one to choose.",
    ),
]


def testset_list(output_format: TextOrJson = "text") -> None:
    """\b
    Examples:
      trectools-plus testset list
      trectools-plus testset list --format json
    """
    found = testsets.list_test_sets()
    if output_format == "json":
        write_json({"test_sets": [asdict(one) for one in found]})
    else:
        _print_list(found)


def testset_convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Test set, folder in TREC or BEIR layout, or topics with --qrels.",
            autocompletion=completion.complete_test_set,
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT",
            help="File ending in .json or .yaml, or folder; - is standard output, with --to json.",
        ),
    ],
    to: Annotated[
        TestSetForm | None,
        typer.Option(
            help="Format of OUTPUT. trec: topics.tsv and qrels.txt; trec-jsonl: topics.jsonl with "
            "all fields, and qrels.txt; beir: queries.jsonl and qrels/test.tsv.  [default: from "
            "the ending of OUTPUT]"
        ),
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judgments, if SOURCE contains topics.")
    ] = None,
    text_field: TextFieldName = "text",
    language: Language = None,
    id_field: IdField = None,
    text_fields: TextFields = None,
) -> None:
    """A folder also contains metadata.json with the set's metadata. TSV topics contain ids and
    texts only; the other formats contain categories and all other fields.

    \b
    Examples:
      trectools-plus testset convert hpo-en-tiny tiny --to trec
      trectools-plus testset convert hpo-en-tiny tiny-beir --to beir
      trectools-plus testset convert topics.tsv set.json --qrels qrels.txt --language en
      trectools-plus testset convert german.json english.json --text-field description --language en
    """
    form = to or testsets.form_of_output(output)
    fields = topic_options(id_field, text_fields, language)
    test_set = _read_source(source, qrels, text_field, fields)
    written = testsets.convert_test_set(test_set, output, form)
    dropped = written.dropped
    if dropped:
        note(f"TSV topics leave out {', '.join(dropped)}; --to trec-jsonl keeps them")
    if str(output) != "-":
        typer.echo(f"{len(test_set.queries)} queries: {', '.join(map(str, written.files))}")


def _read_source(
    source: str,
    qrels: Path | None,
    text_field: Literal["text", "description"],
    fields: formats.TopicOptions,
) -> testsets.TestSet:
    language = fields.language
    if qrels is None and formats.is_catalogue_name(source):
        qrels = Path(source)
    if qrels is not None:
        read = testsets.read_parts(source, qrels, options=fields, note=note)
        return testsets.with_text_field(read, text_field, language, source)
    if Path(source).is_dir():
        return testsets.with_text_field(testsets.read_folder(source), text_field, language, source)
    return testsets.load_test_set(source, text_field=text_field, language=language)


def _print_list(found: list[testsets.ListedTestSet]) -> None:
    description = reporting.Column(reporting.Cell("Description"), fills=True)
    rows = [
        [one.name, one.language, f"{one.queries:,}", one.version, one.description] for one in found
    ]
    print_table(["Name", "Language", "Queries", "Version", description], rows, ("Queries",))
