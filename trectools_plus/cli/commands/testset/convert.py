"""``testset list`` and ``testset convert``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import formats, reporting, testsets
from trectools_plus.choices import TestSetForm, UnknownTerms
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import TextOrJson
from trectools_plus.cli.options.topics import IdField, TextFields, topic_options
from trectools_plus.cli.printing import print_table, write_json
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import UsageError
from trectools_plus.text import plural

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
    split_languages: Annotated[
        bool,
        typer.Option(
            "--split-languages",
            help="Write one set per language: OUTPUT with -<language> before the ending, or a "
            "sub-folder of OUTPUT.",
        ),
    ] = False,
    unknown_terms: Annotated[
        UnknownTerms | None,
        typer.Option(
            help="Write the ids of the ontology's terms: resolve alternative and replaced ids, and "
            "refuse (error) or drop ids that are not terms.  [default: keep all ids]"
        ),
    ] = None,
    ontology: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="OBO file for --unknown-terms.  [default: the installed HPO]",
        ),
    ] = None,
) -> None:
    """A folder also contains metadata.json with the set's metadata. TSV topics contain ids and
    texts only; the other formats contain categories and all other fields.

    \b
    Examples:
      trectools-plus testset convert hpo-en-tiny tiny --to trec
      trectools-plus testset convert hpo-en-tiny tiny-beir --to beir
      trectools-plus testset convert topics.tsv set.json --qrels qrels.txt --language en
      trectools-plus testset convert german.json english.json --text-field description --language en
      trectools-plus testset convert all.json out.json --split-languages --unknown-terms drop
    """
    if ontology is not None and unknown_terms is None:
        raise UsageError("--ontology needs --unknown-terms", remedy="give --unknown-terms error")
    if split_languages and str(output) == "-":
        raise UsageError("--split-languages writes several files", where="OUTPUT")
    form = to or testsets.form_of_output(output)
    fields = topic_options(id_field, text_fields, language)
    test_set = _read_source(source, qrels, text_field, fields)
    if unknown_terms is not None:
        test_set = _resolve(test_set, ontology, unknown_terms, source)
    sets = {output: test_set}
    if split_languages:
        parts = testsets.split_languages(test_set, source)
        sets = {testsets.path_of_language(output, form, code): one for code, one in parts.items()}
    dropped: dict[str, None] = {}
    for path, one in sets.items():
        written = testsets.convert_test_set(one, path, form)
        dropped |= dict.fromkeys(written.dropped)
        if str(output) != "-":
            number = plural(len(one.queries), "query", "queries")
            typer.echo(f"{number}: {', '.join(map(str, written.files))}")
    if dropped:
        note(f"TSV topics leave out {', '.join(dropped)}; --to trec-jsonl keeps them")


def _resolve(
    test_set: testsets.TestSet, ontology: Path | None, unknown_terms: UnknownTerms, source: str
) -> testsets.TestSet:
    found = testsets.resolve_terms(test_set, ontology, unknown_terms, where=source)
    for one in found.notes:
        note(one)
    return found.test_set


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
    test_set, notes = testsets.load_with_notes(source, text_field=text_field, language=language)
    for one in notes:
        note(one)
    return test_set


def _print_list(found: list[testsets.ListedTestSet]) -> None:
    description = reporting.TableColumn(reporting.Cell("Description"), fills=True)
    rows = [
        [one.name, one.language, f"{one.queries:,}", one.version, one.description] for one in found
    ]
    print_table(["Name", "Language", "Queries", "Version", description], rows, ("Queries",))
