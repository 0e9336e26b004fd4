"""``testset validate``, ``agreement`` and ``overfitting``: is a test set sound?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trectools_plus.cli.printing import write_json
from trectools_plus.cli.validate_options import (
    Config,
    Every,
    Format,
    Ignore,
    Output,
    OutputFormat,
    ProfileName,
    Select,
    Statistics,
    Strict,
    readable,
    settle,
)
from trectools_plus.cli.validate_output import finish
from trectools_plus.errors import InputError, SeveralFilesError, TrectoolsPlusError, raise_all

if TYPE_CHECKING:
    from trectools_plus.validation.findings import FileReport

JsonOrText = Annotated[
    Literal["text", "json"], typer.Option("--format", help="text to read, json for programs.")
]


def testset_validate(
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SET...", help="Test sets: files, shipped names; - is standard input."
        ),
    ],
    ontology: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="An OBO file to look ids up in, in place of the installed HPO."
        ),
    ] = None,
    apart: Annotated[
        bool,
        typer.Option("--apart", help="Several sets are no parts of a split: look for no leakage."),
    ] = False,
    profile: ProfileName = None,
    select: Select = None,
    ignore: Ignore = None,
    strict: Strict = None,
    every: Every = False,
    statistics: Statistics = False,
    output_format: Format = OutputFormat.TEXT,
    config: Config = None,
) -> None:
    """Check test sets (YAML, JSON): ids, texts, grades, terms, language, near-duplicates, leakage.

    All that `topics validate` finds, and what needs an ontology or the other parts of a split:
    unknown and obsolete term ids with the replacement, grades outside 0 to 3, queries with nothing
    to find, several languages, texts that are nearly the same, in one set or in two.
    Leaves with 0 if there is no error, 1 if there is one, 2 if a file cannot be read.
    Settings come from [tool.trectools-plus.validate] in the nearest pyproject.toml, or [validate]
    in trectools.toml.

    \b
    Examples:
      trectools-plus testset validate mine.json
      trectools-plus testset validate parts/mine-used.json parts/mine-held-out.json
      trectools-plus testset validate mine.yaml --ontology hp.obo --format json
    """
    from trectools_plus.testsets.validation import TestSetChecker

    output = Output(output_format, every, statistics)
    choices = settle(config, profile=profile, select=select, ignore=ignore, strict=strict)
    chosen, unread = _readable_sets(sets, ontology)
    checker = TestSetChecker(ontology, apart=apart, every_line=every)

    def reports() -> Iterator[FileReport]:
        for name in chosen:
            yield checker.check(name)
        if checker.unchecked:
            typer.echo(
                f"note: term ids of {', '.join(checker.unchecked)} were not looked up: install "
                "trectools-plus[hpo], or name an ontology with --ontology",
                err=True,
            )

    finish(reports(), choices, output, n_files=len(sets), unread=unread)


def _readable_sets(
    sets: Sequence[str], ontology: Path | None
) -> tuple[list[str], list[TrectoolsPlusError]]:
    """Sets that are shipped or can be read, and what is wrong with the others.

    Raises:
        InputError: If none can be read, or the ontology cannot.
    """
    from trectools_plus.testsets.loading import find_test_set, shipped_names

    errors: list[TrectoolsPlusError] = []
    files = []
    for name in sets:
        try:
            find_test_set(name)
        except InputError as error:
            errors.append(error)
        else:
            files += [name] if name not in shipped_names() else []
    try:
        errors += readable(files, (ontology,))[1] if files else []
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
        str, typer.Argument(metavar="A", help="One annotator's grades: a test set, or qrels.")
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="The other's.")],
    weights: Annotated[
        Literal["none", "linear", "quadratic"],
        typer.Option(help="Which kappa decides: how much farther grades count for more."),
    ] = "none",
    threshold: Annotated[float, typer.Option(help="What kappa has to be above.")] = 0.6,
    confidence: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples of the pairs.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 42,
    every: Annotated[
        bool, typer.Option("--all", help="List every disagreement and not only the first 20.")
    ] = False,
    output_format: JsonOrText = "text",
) -> None:
    """Compare two annotators' grades: Cohen's kappa with its interval, and where they differ.

    Looked at are the pairs of query and term that both have graded; how many only one has is
    told. Leaves with 1 if kappa is not above the threshold, 3 if no pair was graded by both.

    \b
    Examples:
      trectools-plus testset agreement anna.json ben.json
      trectools-plus testset agreement anna.qrels ben.qrels --weights quadratic --format json
    """
    from trectools_plus.reporting.results.testsets import agreement_document, print_agreement
    from trectools_plus.statistics.resamples import Resampling
    from trectools_plus.testsets.agreement import grade_agreement, read_grades

    found = grade_agreement(
        read_grades(first),
        read_grades(second),
        weights=weights,
        threshold=threshold,
        resampling=Resampling(resamples, seed, confidence),
    )
    if output_format == "json":
        write_json(agreement_document(found))
    else:
        print_agreement(found, (first, second), sys.stdout, every=every)
    if not found.accepted:
        raise typer.Exit(1)


def testset_overfitting(
    reports: Annotated[
        list[Path],
        typer.Argument(
            metavar="REPORT...", help="A report on all queries, or reports on the parts."
        ),
    ],
    used: Annotated[str, typer.Option(metavar="SET", help="The part that was developed with.")],
    held_out: Annotated[str, typer.Option(metavar="SET", help="The part held out.")],
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="NAME",
            help="A measure, or several with commas; may be repeated [default: the first one].",
        ),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Level of the intervals; p up to 1 minus it is flagged.")
    ] = 0.95,
    resamples: Annotated[int, typer.Option(help="Permutations of the test.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the permutations.")] = 42,
    output_format: JsonOrText = "text",
) -> None:
    """Flag modes that do better on the used part than on the held-out one, beyond chance.

    The values per query of a benchmark's report are compared between the parts of a split: a
    two-sample permutation test, adjusted for the number of modes and measures, and Welch's
    interval of the difference. Leaves with 1 if a mode differs, in whichever direction.

    \b
    Examples:
      trectools-plus testset overfitting results/today --used used.json --held-out held-out.json
      trectools-plus testset overfitting r/a r/b --used a.json --held-out b.json -m RR@10,nDCG@10
    """
    from trectools_plus.benchmark.overfitting import check_overfitting
    from trectools_plus.measures.parser import split_names
    from trectools_plus.reporting.results.testsets import overfitting_document, print_overfitting
    from trectools_plus.statistics.resamples import Resampling
    from trectools_plus.testsets.loading import load_test_set

    found = check_overfitting(
        reports,
        load_test_set(used),
        load_test_set(held_out),
        measures=None if measures is None else split_names(",".join(measures)),
        resampling=Resampling(resamples, seed, confidence),
    )
    if output_format == "json":
        write_json(overfitting_document(found))
    else:
        print_overfitting(found, sys.stdout)
    if found.flagged:
        raise typer.Exit(1)
