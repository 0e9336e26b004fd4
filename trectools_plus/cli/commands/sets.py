"""``testset …``: check, compare, list, convert, split and refresh test sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import benchmark, formats, measures, reporting, statistics, testsets, validation
from trectools_plus.choices import KappaWeights, StratumField, TestSetForm, UnknownTerms
from trectools_plus.cli.options.common import (
    Confidence,
    IdField,
    Seed,
    TextFields,
    TextOrJson,
    measure_option,
    output_dir_option,
    topic_options,
)
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.validation import OutputOptions, RuleOptions, find_readable
from trectools_plus.cli.printing import print_table, write_json
from trectools_plus.cli.validation import finish
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import (
    InputError,
    SeveralFilesError,
    TrectoolsPlusError,
    UsageError,
    raise_all,
)
from trectools_plus.text import plural


@with_groups
def testset_validate(
    *,
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET...",
            help="Test sets: files or shipped names; - is standard input.",
        ),
    ],
    ontology: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="OBO file to look up term ids in.  [default: the installed HPO]",
        ),
    ] = None,
    apart: Annotated[
        bool,
        typer.Option(
            "--apart", help="Do not check for leakage; the sets are not parts of one split."
        ),
    ] = False,
    unknown_terms: Annotated[
        UnknownTerms,
        typer.Option(
            help="Unknown and obsolete ids are an error, or a warning if you drop them "
            "(benchmark run --unknown-terms drop)."
        ),
    ] = "error",
    rules: RuleOptions,
    output: OutputOptions,
) -> None:
    """Check all rules of `topics validate`, and rules that need an ontology or the other parts of
    a split: unknown and obsolete term ids (with the replacement), grades outside 0 to 3, queries
    without a relevant term, several languages, and texts that are nearly the same, in one set or
    in two.

    Exit code: 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus testset validate mine.json
      trectools-plus testset validate parts/mine-used.json parts/mine-held-out.json
      trectools-plus testset validate mine.yaml --ontology hp.obo --format json
    """
    choices = rules.choices()
    chosen, unread = _readable_sets(sets, ontology)
    checker = testsets.TestSetChecker(
        ontology, apart=apart, unknown_terms=unknown_terms, every_line=output.every
    )

    def reports() -> Iterator[validation.FileReport]:
        for name in chosen:
            yield checker.check(name)
        if checker.unchecked:
            note(
                f"term ids of {', '.join(checker.unchecked)} were not looked up: install "
                "trectools-plus[hpo], or name an ontology with --ontology"
            )

    finish(reports(), choices, output, n_files=len(sets), unread=unread)


def _readable_sets(
    sets: Sequence[str], ontology: Path | None
) -> tuple[list[str], list[TrectoolsPlusError]]:
    """Return the sets that are shipped or can be read, and the errors of the others.

    Raises:
        InputError: If no set can be read, or the ontology cannot.
    """
    errors: list[TrectoolsPlusError] = []
    files = []
    for name in sets:
        try:
            testsets.find_test_set(name)
        except InputError as error:
            errors.append(error)
        else:
            files += [name] if testsets.find_shipped(name) is None else []
    try:
        errors += find_readable(files, (ontology,))[1] if files else []
    except SeveralFilesError as several:
        raise_all([*errors, *several.errors])
    except InputError as error:
        raise_all([*errors, error])
    unreadable = {error.where for error in errors}
    chosen = [name for name in sets if name not in unreadable]
    if not chosen:
        raise_all(errors)
    return chosen, errors


def testset_agreement(
    first: Annotated[
        str, typer.Argument(metavar="A", help="Grades of one annotator: a test set or qrels.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Grades of the other annotator.")],
    weights: Annotated[
        KappaWeights,
        typer.Option(
            help="Kappa to compare with the threshold: unweighted (none), or with linear or "
            "quadratic weights of the distance between grades."
        ),
    ] = "none",
    threshold: Annotated[
        float, typer.Option(metavar="NUMBER", help="Value that kappa must exceed.")
    ] = 0.6,
    confidence: Confidence = 0.95,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Number of bootstrap resamples of the queries.")
    ] = 10_000,
    seed: Seed = 42,
    every: Annotated[
        bool, typer.Option("--all", help="List every disagreement, not only the first 20.")
    ] = False,
    output_format: TextOrJson = "text",
) -> None:
    """The comparison uses the pairs of query and term that both annotators graded, and reports the
    number of pairs that only one of them graded. Exit code: 1 if kappa is not above the threshold,
    3 if no pair was graded by both.

    \b
    Examples:
      trectools-plus testset agreement anna.json ben.json
      trectools-plus testset agreement anna.qrels ben.qrels --weights quadratic --format json
    """
    found = testsets.grade_agreement(
        testsets.read_grades(first),
        testsets.read_grades(second),
        weights=weights,
        threshold=threshold,
        resampling=statistics.Resampling(resamples, seed, confidence),
    )
    if output_format == "json":
        write_json(reporting.agreement_document(found))
    else:
        reporting.print_blocks(reporting.agreement_blocks(found, (first, second), every=every))
    if not found.accepted:
        raise typer.Exit(1)


def testset_overfitting(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT...",
            help="Report on all queries, or reports on the parts: BenchmarkReport.json files, or "
            "their folders.",
        ),
    ],
    used: Annotated[str, typer.Option(metavar="SET", help="The part used for development.")],
    held_out: Annotated[str, typer.Option(metavar="SET", help="The held-out part.")],
    measure: Annotated[list[str] | None, measure_option("the report's first measure")] = None,
    confidence: Annotated[
        float,
        typer.Option(
            metavar="LEVEL",
            help="Confidence level of the intervals, between 0 and 1; modes with p up to 1 - LEVEL "
            "are flagged.",
        ),
    ] = 0.95,
    resamples: Annotated[
        int, typer.Option(metavar="N", help="Number of permutations of the test.")
    ] = 10_000,
    seed: Seed = 42,
    output_format: TextOrJson = "text",
) -> None:
    """The command compares the values per query between the parts of a split, with a two-sample
    permutation test, adjusted for the number of modes and measures, and Welch's interval of the
    difference. Exit code: 1 if the scores of a mode differ, in either direction.

    \b
    Examples:
      trectools-plus testset overfitting results/today --used used.json --held-out held-out.json
      trectools-plus testset overfitting r/a r/b --used a.json --held-out b.json -m RR@10,nDCG@10
    """
    found = benchmark.check_overfitting(
        reports,
        testsets.load_test_set(used),
        testsets.load_test_set(held_out),
        measures=None if measure is None else measures.split_names(",".join(measure)),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    if output_format == "json":
        write_json(reporting.overfitting_document(found))
    else:
        reporting.print_blocks(reporting.overfitting_blocks(found))
    if found.flagged:
        raise typer.Exit(1)


Language = Annotated[
    str | None,
    typer.Option(
        metavar="CODE",
        help="Language of the texts, for example de, if the set names none.",
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
    text_field: Annotated[
        Literal["text", "description"],
        typer.Option(
            help="Field with the texts of the queries; with description, --language is its "
            "language."
        ),
    ] = "text",
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
    fields = topic_options(id_field, text_fields)
    test_set = _read_source(source, qrels, text_field, fields, language)
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
    language: str | None,
) -> testsets.TestSet:
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


Set = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="Test set: a file or a shipped name.",
    ),
]
ChoiceSeed = Annotated[
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
    seed: ChoiceSeed = 42,
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
        ),
    ],
    count: Annotated[
        int,
        typer.Option("--count", "-n", min=1, metavar="N", help="Number of queries to replace."),
    ],
    stratify_by: StratifyBy = None,
    seed: ChoiceSeed = 42,
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
