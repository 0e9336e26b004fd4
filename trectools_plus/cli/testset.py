"""``testset list``, ``convert``, ``split`` and ``refresh``: test sets made from test sets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.printing import write_json
from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from trectools_plus.reporting.table import Column
    from trectools_plus.testsets.loading import ListedTestSet
    from trectools_plus.testsets.model import TestQuery, TestSet

_PLURALS = {"category": "categories", "query_type": "query_types"}

Set = Annotated[str, typer.Argument(metavar="SET", help="A test set: a file, or a shipped name.")]
Seed = Annotated[int, typer.Option(min=0, help="Decides which queries; the same gives the same.")]
OutputFormat = Annotated[
    Literal["text", "json"], typer.Option("--format", help="text to read, json for programs.")
]
TextFieldName = Annotated[
    Literal["text", "description"],
    typer.Option(help="Where the texts are: description takes that field's language alone."),
]
Language = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Language of the texts, such as de, for sets without one."),
]


def testset_list(output_format: OutputFormat = "text") -> None:
    """List the test sets that come with the package.

    \b
    Examples:
      trectools-plus testset list
      trectools-plus testset list --format json
    """
    from dataclasses import asdict

    from trectools_plus.testsets.loading import list_test_sets

    found = list_test_sets()
    if output_format == "json":
        write_json({"test_sets": [asdict(one) for one in found]})
    else:
        _print_list(found)


def testset_convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A test set, a folder in TREC or BEIR layout, or topics with --qrels.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="A .json or .yaml file, a folder, or - with --to json."
        ),
    ],
    to: Annotated[
        Literal["json", "yaml", "trec", "trec-jsonl", "beir"] | None,
        typer.Option(
            help="The form; by default what OUTPUT ends in. trec: topics.tsv and qrels.txt; "
            "trec-jsonl: topics.jsonl, which keeps all fields; beir: queries.jsonl, qrels/test.tsv."
        ),
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The judgments, where SOURCE is topics.")
    ] = None,
    text_field: TextFieldName = "text",
    language: Language = None,
) -> None:
    """Convert a test set to topics and qrels, or back.

    What a set says of itself is kept in metadata.json beside topics and qrels. TSV topics have
    room for ids and texts only; the other forms keep categories and all other fields.

    \b
    Examples:
      trectools-plus testset convert hpo-en-tiny tiny --to trec
      trectools-plus testset convert hpo-en-tiny tiny-beir --to beir
      trectools-plus testset convert topics.tsv set.json --qrels qrels.txt --language en
      trectools-plus testset convert german.json english.json --text-field description --language en
    """
    from trectools_plus.testsets.conversion import convert_test_set, form_of_output

    form = to or form_of_output(output)
    test_set = _read_source(source, qrels, text_field, language)
    written = convert_test_set(test_set, output, form)
    dropped = written.dropped
    if dropped:
        typer.echo(
            f"note: TSV topics leave out {', '.join(dropped)}; --to trec-jsonl keeps them", err=True
        )
    if str(output) != "-":
        typer.echo(f"{len(test_set.queries)} queries: {', '.join(map(str, written.files))}")


def testset_split(
    source: Set,
    output_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the two files; made if missing.")
    ] = Path(),
    held_out: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the queries to hold out.")
    ] = 0.2,
    seed: Seed = 42,
    output_format: OutputFormat = "text",
) -> None:
    """Split a test set: a part to develop with, and one to hold out.

    Stratified by category, or by query type in a set without categories, and within each by
    difficulty. Queries with nearly the same text stay in one part. Written are
    <dataset_id>-used.json and <dataset_id>-held-out.json, which name the seed and the set they are
    from.

    \b
    Examples:
      trectools-plus testset split hpo-en-standard --output-dir parts
      trectools-plus testset split mine.json --held-out 0.3 --seed 7
    """
    from trectools_plus.testsets.loading import load_test_set
    from trectools_plus.testsets.splitting import kind_field, split_test_set, write_split

    test_set = load_test_set(source)
    split = split_test_set(test_set, held_out, seed)
    field = kind_field(test_set)
    files = write_split(split, output_dir)
    parts = {"used": split.used, "held_out": split.held_out}
    if output_format == "json":
        fields = {"categories": "category", _PLURALS[field]: field}
        document = {
            name: {
                "path": str(path),
                "queries": len(part.queries),
                **{key: _counts(part, value) for key, value in fields.items()},
            }
            for (name, part), path in zip(parts.items(), files, strict=True)
        }
        write_json({"seed": seed, **document})
        return
    _print_parts(split.used, split.held_out, field)
    typer.echo(f"\nused      {files[0]}\nheld out  {files[1]}")


def testset_refresh(
    source: Set,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="A .json or .yaml file.")],
    pool: Annotated[
        str, typer.Option(metavar="SET", help="Where new queries come from: a file or shipped set.")
    ],
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, help="How many queries to replace.")
    ],
    seed: Seed = 42,
    new_version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Of the new set [default: the next minor version]."),
    ] = None,
    output_format: OutputFormat = "text",
) -> None:
    """Replace queries by new ones of the same category and difficulty: the next version.

    Where the set or the pool has no categories, query types take their place.
    What went and what came stands in `changes` of the new set's metadata, with the seed and the
    set it was made from. Queries of the pool that are nearly in the set already are not taken.

    \b
    Examples:
      trectools-plus testset refresh mine.json mine-1.1.json --pool new.json -n 10
      trectools-plus testset refresh hpo-en-tiny next.json --pool hpo-en-standard -n 3 --seed 7
    """
    from trectools_plus.testsets.conversion import write_test_set
    from trectools_plus.testsets.loading import load_test_set
    from trectools_plus.testsets.refreshing import refresh_test_set

    if output.suffix not in (".json", ".yaml", ".yml"):
        raise UsageError(f"expected a .json or .yaml file but got {output}", where="OUTPUT")
    done = refresh_test_set(
        load_test_set(source), load_test_set(pool), count, seed=seed, version=new_version
    )
    write_test_set(done.test_set, output)
    version = done.test_set.metadata.version
    if output_format == "json":
        removed = [_shown(query) for query in done.removed]
        added = [_shown(query) for query in done.added]
        path = str(output)
        write_json({"path": path, "version": version, "removed": removed, "added": added})
        return
    for old, new in zip(done.removed, done.added, strict=True):
        typer.echo(f"- {old.query_id}  {old.text}\n+ {new.query_id}  {new.text}")
    typer.echo(f"{output}: version {version}, {len(done.added)} queries replaced")


def _read_source(
    source: str,
    qrels: Path | None,
    text_field: Literal["text", "description"],
    language: str | None,
) -> TestSet:
    from trectools_plus.testsets.conversion import read_folder, read_parts
    from trectools_plus.testsets.languages import with_text_field
    from trectools_plus.testsets.loading import load_test_set

    if qrels is not None:
        return with_text_field(read_parts(source, qrels), text_field, language, source)
    if Path(source).is_dir():
        return with_text_field(read_folder(source), text_field, language, source)
    return load_test_set(source, text_field=text_field, language=language)


def _counts(test_set: TestSet, field: str) -> dict[str, int]:
    from collections import Counter

    return dict(Counter(getattr(query, field) or "" for query in test_set.queries))


def _shown(query: TestQuery) -> dict[str, str]:
    return {"query_id": query.query_id, "text": query.text}


def _print_list(found: list[ListedTestSet]) -> None:
    from trectools_plus.reporting.table import Cell, Column

    description = Column(Cell("Description"), fills=True)
    rows = [
        [one.name, one.language, f"{one.queries:,}", one.version, one.description] for one in found
    ]
    _print_table(["Name", "Language", "Queries", "Version", description], rows)


def _print_parts(used: TestSet, held_out: TestSet, field: str) -> None:
    one, other = _counts(used, field), _counts(held_out, field)
    rows = [
        [name or "none", str(one.get(name, 0)), str(other.get(name, 0))]
        for name in dict.fromkeys([*one, *other])
    ]
    rows.append(["all", str(len(used.queries)), str(len(held_out.queries))])
    _print_table([field.replace("_", " ").capitalize(), "Used", "Held out"], rows)


def _print_table(header: Sequence[str | Column], rows: list[list[str]]) -> None:
    from trectools_plus.reporting.table import Table
    from trectools_plus.reporting.terminal import print_table
    from trectools_plus.text import make_console

    table = Table.of(header, rows, right=("Queries", "Used", "Held out"))
    print_table(make_console(sys.stdout), table)
