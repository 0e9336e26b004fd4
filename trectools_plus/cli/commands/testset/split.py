"""``testset split`` and ``testset refresh``: new test sets from existing ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import testsets
from trectools_plus.choices import StratumField
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import TextOrJson, output_dir_option
from trectools_plus.cli.printing import print_table, write_json
from trectools_plus.errors import UsageError
from trectools_plus.text import plural

Set = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="Test set: a file or a shipped name.",
        autocompletion=completion.complete_test_set,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Seed of the selection of queries; the same seed selects the same queries.",
    ),
]


StratifyBy = Annotated[
    StratumField | None,
    typer.Option(
        metavar="FIELD",
        help="Stratify by this field only: query_type, category, difficulty, hpo_domain or "
        "language.  [default: query_type, then category, then difficulty]",
    ),
]


def testset_split(
    source: Set,
    output_dir: Annotated[
        Path, output_dir_option("Folder for the two files; created if missing.")
    ] = Path(),
    held_out: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the queries to hold out, between 0 and 1."),
    ] = 0.2,
    stratify_by: StratifyBy = None,
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
      trectools-plus testset split mine.json --stratify-by hpo_domain
    """
    test_set = testsets.load_test_set(source)
    split = testsets.split_test_set(test_set, held_out, seed, stratify_by=stratify_by)
    field = testsets.strata_fields(test_set, stratify_by=stratify_by)[0]
    files = testsets.write_split(split, output_dir)
    parts = {"used": split.used, "held_out": split.held_out}
    if output_format == "json":
        fields = {"categories": "category", testsets.PLURALS[field]: field}
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
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="File to write, ending in .json or .yaml.")
    ],
    pool: Annotated[
        str,
        typer.Option(
            metavar="SET",
            help="Test set with the new queries: a file or a shipped name.",
            autocompletion=completion.complete_test_set,
        ),
    ],
    count: Annotated[
        int,
        typer.Option("--count", "-n", min=1, metavar="N", help="Number of queries to replace."),
    ],
    stratify_by: StratifyBy = None,
    seed: Seed = 42,
    new_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="Version of the new set.  [default: the next minor version]"
        ),
    ] = None,
    annotators: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Grades of the new queries by two annotators, test sets or qrels: NAME=FILE, or "
            "files named after the annotators. Their kappa must be above 0.6.",
        ),
    ] = None,
    accept_low_agreement: Annotated[
        bool,
        typer.Option(
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
    if output.suffix not in (".json", ".yaml", ".yml"):
        raise UsageError(f"expected a .json or .yaml file but got {output}", where="OUTPUT")
    if annotators is None and not accept_low_agreement:
        raise UsageError(
            "the agreement of the annotators of the new queries is unknown",
            where="--annotators",
            remedy="give --annotators A B with their grades, or --accept-low-agreement",
        )
    done = testsets.refresh_test_set(
        testsets.load_test_set(source),
        testsets.load_test_set(pool),
        count,
        seed=seed,
        version=new_version,
        stratify_by=stratify_by,
    )
    agreement = None
    if annotators is not None:
        names, files = zip(*map(_annotator, annotators), strict=True)
        agreement = testsets.grade_agreement(*map(testsets.read_grades, files))
        done = testsets.record_annotators(
            done, names, agreement, accept_low_agreement=accept_low_agreement
        )
    testsets.write_test_set(done.test_set, output)
    version = done.test_set.metadata.version
    if output_format == "json":
        removed = [{"query_id": one.query_id, "text": one.text} for one in done.removed]
        added = [{"query_id": one.query_id, "text": one.text} for one in done.added]
        path = str(output)
        changes = (done.test_set.metadata.model_extra or {})["changes"]
        write_json(
            {
                "path": path,
                "version": version,
                "removed": removed,
                "added": added,
                "agreement": changes[-1].get("agreement"),
            }
        )
        return
    for old, new in zip(done.removed, done.added, strict=True):
        typer.echo(f"- {old.query_id}  {old.text}\n+ {new.query_id}  {new.text}")
    typer.echo(f"{output}: version {version}, {len(done.added)} queries replaced")
    if agreement is not None:
        typer.echo(
            f"kappa of {' and '.join(names)}: {agreement.kappas['none'].value:.4f} "
            f"({plural(agreement.pairs, 'pair')})"
        )


def _annotator(value: str) -> tuple[str, str]:
    """Return name and file of ``NAME=FILE``; a file alone is named after the file."""
    name, equals, path = value.partition("=")
    return (name, path) if equals else (Path(value).name.partition(".")[0], value)


def _counts(test_set: testsets.TestSet, field: str) -> dict[str, int]:
    return dict(Counter(getattr(query, field) or "" for query in test_set.queries))


def _print_parts(used: testsets.TestSet, held_out: testsets.TestSet, field: str) -> None:
    one, other = _counts(used, field), _counts(held_out, field)
    rows = [
        [name or "none", str(one.get(name, 0)), str(other.get(name, 0))]
        for name in dict.fromkeys([*one, *other])
    ]
    rows.append(["all", f"{len(used.queries):,}", f"{len(held_out.queries):,}"])
    header = [field.replace("_", " ").capitalize(), "Used", "Held out"]
    print_table(header, rows, right=("Used", "Held out"))
