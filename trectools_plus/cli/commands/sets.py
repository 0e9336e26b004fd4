"""``testset …``: check, compare, list, convert, split and refresh test sets."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from trectools_plus import (
    benchmark,
    formats,
    measures,
    reporting,
    statistics,
    testsets,
    validation,
)
from trectools_plus.choices import TestSetForm, UnknownTerms
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
from trectools_plus.cli.options.validation import OutputOptions, RuleOptions
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.validation import check_files
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import (
    UsageError,
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
    parts: list[testsets.TestSetView] = []
    unchecked: list[str] = []

    def check(name: str) -> validation.FileReport:
        return testsets.check_test_set(
            name,
            None if apart else parts,
            ontology=ontology,
            drops_unknown_terms=unknown_terms == "drop",
            every_line=output.every,
            unchecked=unchecked.append,
        )

    try:
        check_files(sets, check, rules.choices(), output)
    finally:
        if unchecked:
            note(
                f"term ids of {', '.join(unchecked)} were not looked up: install "
                "trectools-plus[hpo], or name an ontology with --ontology"
            )


def testset_agreement(
    first: Annotated[
        str, typer.Argument(metavar="A", help="Grades of one annotator: a test set or qrels.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Grades of the other annotator.")],
    weights: Annotated[
        Literal["none", "linear", "quadratic"],
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
        write_document(reporting.agreement_document(found))
    else:
        blocks = reporting.agreement_blocks(found, (first, second), every=every)
        reporting.print_blocks(blocks, sys.stdout)
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
        write_document(reporting.overfitting_document(found))
    else:
        reporting.print_blocks(reporting.overfitting_blocks(found), sys.stdout)
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
    listed = [asdict(test_set) for test_set in testsets.list_test_sets()]
    write_document({"test_sets": listed}, output_format)


def testset_convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Test set, or topics with --qrels.",
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
    texts only; the other topics contain all fields but spans.

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
        note(f"the topics leave out {', '.join(dropped)}; --to json keeps all fields")


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
    return testsets.load_test_set(source, text_field=text_field, language=language)


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


def testset_split(
    source: Set,
    output_dir: Annotated[
        Path, output_dir_option("Folder for the two files; created if missing.")
    ] = Path(),
    held_out: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Share of the queries to hold out, between 0 and 1."),
    ] = 0.2,
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
    """
    test_set = testsets.load_test_set(source)
    split = testsets.split_test_set(test_set, held_out, seed)
    field = testsets.strata_fields(test_set)[0]
    files = testsets.write_split(split, output_dir)
    document: dict[str, Any] = {"seed": seed}
    fields = {"categories": "category", testsets.PLURALS[field]: field}
    for name, part, path in zip(
        ("used", "held_out"), (split.used, split.held_out), files, strict=True
    ):
        counts = {key: _counts(part, value) for key, value in fields.items()}
        document[name] = {"path": str(path), "queries": len(part.queries), **counts}
    write_document(document, output_format)


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
    seed: ChoiceSeed = 42,
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
    )
    agreement = None
    if annotators is not None:
        names, files = zip(*map(_annotator, annotators), strict=True)
        agreement = testsets.grade_agreement(*map(testsets.read_grades, files))
        done = testsets.record_annotators(
            done, names, agreement, accept_low_agreement=accept_low_agreement
        )
    testsets.write_test_set(done.test_set, output)
    changes = (done.test_set.metadata.model_extra or {})["changes"]
    write_document(
        {
            "path": str(output),
            "version": done.test_set.metadata.version,
            "removed": [{"query_id": case.query_id, "text": case.text} for case in done.removed],
            "added": [{"query_id": case.query_id, "text": case.text} for case in done.added],
            "agreement": changes[-1].get("agreement"),
        },
        output_format,
    )


def _annotator(value: str) -> tuple[str, str]:
    """Return name and file of ``NAME=FILE``; a file alone is named after the file."""
    name, equals, path = value.partition("=")
    return (name, path) if equals else (Path(value).name.partition(".")[0], value)


def _counts(test_set: testsets.TestSet, field: str) -> dict[str, int]:
    return dict(Counter(getattr(query, field) or "" for query in test_set.queries))
