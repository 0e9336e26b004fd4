"""``judge plan`` and ``judge pilot``: plans of judgments by people and models."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus import benchmark, formats, judging, validation
from trectools_plus.choices import DEFAULT_PEOPLE, DEFAULT_POOL_DEPTH, Panel
from trectools_plus.cli.options.common import (
    Columns,
    Confidence,
    TextOrJson,
    TopicFieldOptions,
    measure_option,
    output_dir_option,
    refuse_options,
)
from trectools_plus.cli.options.groups import with_groups
from trectools_plus.cli.options.runs import RunArgument, parse_runs, split_measures
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import inform, note, show_progress
from trectools_plus.errors import (
    CheckFailedError,
    InputError,
    UsageError,
    raise_all,
)
from trectools_plus.text import listed, plural

Plan = Annotated[
    Path, typer.Argument(metavar="PLAN", help="The folder of a plan, made with judge plan.")
]


@with_groups
def judge_plan(
    *,
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Run files, or NAME=FILE; without NAME=, a run is named after its file.",
        ),
    ],
    extend: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="A plan to which the runs are added: with its queries in the same order, its runs "
            "and all its judgments.",
        ),
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Topics, in any format of topics validate.",
            rich_help_panel=Panel.DATA,
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Documents as JSON Lines with an id, a text, and optionally a title.",
            rich_help_panel=Panel.DATA,
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Topics and documents instead of --topics and --corpus: hpo or sample (built in), "
            "irds:<ir_datasets id>, or a folder in BEIR or TREC layout.",
            rich_help_panel=Panel.DATA,
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Number of results of each run that are pooled.  [default: {DEFAULT_POOL_DEPTH}]",
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help=f"Number of queries that people are to judge.  [default: {DEFAULT_PEOPLE}]",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        measure_option("nDCG, P and RR at 10, or at a smaller --depth", "Measure to estimate"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Random seed.  [default: 42]")
    ] = None,
    output_dir: Annotated[Path, output_dir_option("New folder for the plan.")],
    columns: Columns = None,
    fields: TopicFieldOptions,
    output_format: TextOrJson = "text",
) -> None:
    """The first results of all runs are pooled, and queries are put into a random order, in which
    people judge them. The plan's folder needs no other file, so others can judge and estimate with
    it. The same inputs and seed give the same plan. With --extend, only pairs that the other plan
    lacks are left to judge.

    \b
    Examples:
      judge plan bm25.run dense.run --topics topics.tsv --corpus corpus.jsonl --output-dir plan
      judge plan runs/*.run --dataset irds:cranfield --people 50 --output-dir plan
      judge plan a.run b.run --dataset DIR --depth 5 -m nDCG@5 --output-dir plan
      judge plan new.run --extend plan --output-dir plan2
    """
    files, names = split_measures(runs, measure)
    if extend is not None:
        refuse_options(
            {
                "--topics": topics,
                "--depth": depth,
                "--seed": seed,
                "--people": people,
                "--measure": names,
            },
            "is that of the plan that is extended",
        )
    options = judging.PlanOptions(
        DEFAULT_POOL_DEPTH if depth is None else depth,
        DEFAULT_PEOPLE if people is None else people,
        42 if seed is None else seed,
        names,
    )
    old = None if extend is None else judging.PlanFolder(extend)
    queries: formats.Topics | None = None
    with show_progress() as progress:
        found = _load_runs(parse_runs(files, "RUN"), columns)
        if old is None:
            queries, documents = _open_data(dataset, topics, corpus, fields)
            plan = judging.make_plan(found, queries, documents, output_dir, options, progress)
        else:
            added: formats.DocumentCollection | None = None
            if dataset is not None:
                added = _open_data(dataset, None, corpus, fields)[1]
            elif corpus is not None:
                added = formats.stream_documents(None, corpus) or formats.load_corpus(corpus)
            plan = judging.extend_plan(old, found, output_dir, added, progress)
    write_document(plan.summary(), output_format)
    inform(f"next: trectools-plus review serve {plan.path}, or judge label {plan.path}")
    if queries is not None and queries.read_as is not None:
        note(f"{queries.path} {queries.read_as}")
    for text in _notes_on_plan(plan, found):
        note(text)


def judge_pilot(
    plan: Plan,
    width: Annotated[
        float,
        typer.Option(
            metavar="W", help="Wished difference between the ends of an interval, for example 0.1."
        ),
    ],
    measure: Annotated[list[str] | None, measure_option("those of the plan")] = None,
    confidence: Confidence = 0.95,
    output_format: TextOrJson = "text",
) -> None:
    """From at least 10 queries that people have judged, estimate for each mean and each difference
    how many they need in all, with each model that has judged the plan and without one.

    \b
    Examples:
      judge pilot plan --width 0.1
      judge pilot plan --width 0.05 -m nDCG@10 --format json
    """
    names = split_measures([], measure)[1] or None
    pilot = judging.plan_people(judging.PlanFolder(plan), width, names, confidence)
    write_document(asdict(pilot), output_format)


def _load_runs(given: list[RunArgument], columns: list[str] | None) -> dict[str, formats.Run]:
    """Read and check runs, and report the errors of all files together."""
    names = formats.columns_for_run(formats.column_names(columns))
    paths = [run.path for run in given]
    loaded: list[formats.Run] = []
    errors: list[CheckFailedError | InputError] = []
    for path in paths:
        try:
            loaded += validation.load_runs(path, names)
        except (CheckFailedError, InputError) as error:
            errors.append(error)
    raise_all(errors)
    return formats.name_runs_of_files(loaded, paths, given=[run.name for run in given])


def _open_data(
    dataset: str | None, topics: str | None, corpus: str | None, fields: TopicFieldOptions
) -> tuple[formats.Topics, formats.DocumentCollection]:
    """Open topics and documents, as a stream if they can be read twice.

    Raises:
        UsageError: If options exclude each other, or something is missing.
        InputError: If a file cannot be read.
    """
    if dataset is not None:
        refuse_options({"--topics": topics, "--corpus": corpus}, "is that of --dataset")
    documents = formats.stream_documents(dataset, corpus)
    if dataset is None:
        if topics is None or corpus is None:
            raise UsageError(
                "no topics and documents given", remedy="give --topics and --corpus, or --dataset"
            )
        return (
            formats.read_topics(topics, fields.options()),
            documents or formats.load_corpus(corpus),
        )
    if documents is not None:
        collection = benchmark.load_collection(dataset, with_corpus=False)
        return collection.topics, documents
    collection = benchmark.open_collection(dataset)
    assert collection.corpus is not None  # hpo
    return collection.topics, collection.corpus


def _notes_on_plan(found: judging.PlanFolder, runs: dict[str, formats.Run]) -> list[str]:
    plan, notes = found.plan, []
    known = {*plan.queries, *plan.left_out}
    for name, run in runs.items():
        if others := [one for one in run.query_ids if one not in known]:
            queries = plural(len(others), "query", "queries")
            notes.append(f"{name}: {queries} without a topic, not in the plan: {listed(others)}")
    return notes
