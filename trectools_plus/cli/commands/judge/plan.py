"""``judge plan`` and ``judge pilot``: plans of judgments by people and models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from trectools_plus import benchmark, formats, judging, validation
from trectools_plus.choices import DEFAULT_PEOPLE, DEFAULT_POOL_DEPTH
from trectools_plus.cli.options.common import (
    Confidence,
    TextOrJson,
    measure_names,
    measure_option,
    output_dir_option,
    refuse_options,
)
from trectools_plus.cli.options.runs import parse_runs
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import inform, note, show_progress
from trectools_plus.errors import UsageError

Plan = Annotated[Path, Argument(metavar="PLAN", help="The folder of a plan, made with judge plan.")]


def judge_plan(
    runs: Annotated[
        list[str],
        Argument(
            metavar="RUN...",
            help="Run files, or NAME=FILE; without NAME=, a run is named after its file.",
        ),
    ],
    output_dir: Annotated[Path, output_dir_option("New folder for the plan.")],
    extend: Annotated[
        Path | None,
        Option(
            help="A plan to which the runs are added: with its queries in the same order, its runs "
            "and all its judgments.",
        ),
    ] = None,
    topics: Annotated[
        str | None, Option(metavar="FILE", help="Topics, in any format of topics validate.")
    ] = None,
    corpus: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="Documents as JSON Lines with an id, a text, and optionally a title.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Topics and documents instead of --topics and --corpus: hpo or sample (built in), "
            "irds:<ir_datasets id>, or a folder in BEIR or TREC layout.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        Option(
            min=1,
            help=f"Number of results of each run that are pooled.  [default: {DEFAULT_POOL_DEPTH}]",
        ),
    ] = None,
    people: Annotated[
        int | None,
        Option(
            min=1,
            help=f"Number of queries that people are to judge.  [default: {DEFAULT_PEOPLE}]",
        ),
    ] = None,
    measure: Annotated[
        list[str] | None, measure_option("nDCG, P and RR at 10, or at a smaller --depth")
    ] = None,
    seed: Annotated[int | None, Option(min=0, help="Random seed.  [default: 42]")] = None,
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
    if extend is not None:
        refuse_options(
            {"--topics": topics, "--depth": depth, "--seed": seed},
            "is that of the plan that is extended",
        )
    options = judging.PlanOptions(
        depth or DEFAULT_POOL_DEPTH,
        people or DEFAULT_PEOPLE,
        42 if seed is None else seed,
        measure_names(measure),
    )
    with show_progress() as progress:
        given = parse_runs(runs, "RUN")
        read = [validation.load_run(run.path) for run in given]
        loaded = formats.name_runs(read, [run.name for run in given])
        if extend is None:
            queries, documents = _open_data(dataset, topics, corpus)
            plan = judging.make_plan(loaded, queries, documents, output_dir, options, progress)
            if queries.read_as is not None:
                note(f"{queries.path} {queries.read_as}")
        else:
            old = judging.PlanFolder(extend)
            added: formats.DocumentCollection | None = None
            if dataset is not None:
                added = _open_data(dataset, None, corpus)[1]
            elif corpus is not None:
                added = formats.stream_documents(None, corpus) or formats.load_corpus(corpus)
            options = replace(options, people=people or old.plan.people)
            plan = judging.extend_plan(old, loaded, output_dir, added, options, progress)
    write_document(plan.summary(), output_format)
    inform(f"next: trectools-plus review serve {plan.path}, or judge label {plan.path}")


def judge_pilot(
    plan: Plan,
    width: Annotated[
        float,
        Option(help="Wished difference between the ends of an interval, for example 0.1."),
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
    names = measure_names(measure) or None
    pilot = judging.plan_people(judging.PlanFolder(plan), width, names, confidence)
    write_document(pilot.as_dict(), output_format)


def _open_data(
    dataset: str | None, topics: str | None, corpus: str | None
) -> tuple[formats.Topics, formats.DocumentCollection]:
    """Open topics and documents, as a stream if they can be read twice.

    Raises:
        UsageError: If options exclude each other, or something is missing.
        InputError: If a file cannot be read.
    """
    documents = formats.stream_documents(dataset, corpus)
    if dataset is None:
        if topics is None or corpus is None:
            raise UsageError(
                "no topics and documents given", remedy="give --topics and --corpus, or --dataset"
            )
        return formats.read_topics(topics), documents or formats.load_corpus(corpus)
    refuse_options({"--topics": topics, "--corpus": corpus}, "is that of --dataset")
    if documents is not None:
        return benchmark.load_collection(dataset, with_corpus=False).topics, documents
    collection = benchmark.open_collection(dataset)
    assert collection.corpus is not None  # hpo
    return collection.topics, collection.corpus
