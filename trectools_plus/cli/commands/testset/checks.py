"""``testset validate``, ``agreement`` and ``overfitting``: checks of test sets."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, measures, reporting, statistics, testsets, validation
from trectools_plus.choices import KappaWeights, UnknownTerms
from trectools_plus.cli import completion
from trectools_plus.cli.options.common import Confidence, Seed, TextOrJson, measure_option
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.validation import OutputOptions, RuleOptions, find_readable
from trectools_plus.cli.printing import write_json
from trectools_plus.cli.validation import finish
from trectools_plus.cli.verbosity import note
from trectools_plus.errors import InputError, SeveralFilesError, TrectoolsPlusError, raise_all


@with_groups
def testset_validate(
    *,
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET...",
            help="Test sets: files or shipped names; - is standard input.",
            autocompletion=completion.complete_test_set,
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
        int, typer.Option(metavar="N", help="Number of bootstrap resamples of the pairs.")
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
        reporting.print_agreement(found, (first, second), sys.stdout, every=every)
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
        reporting.print_overfitting(found, sys.stdout)
    if found.flagged:
        raise typer.Exit(1)
