"""Judgments of people and models: the commands of ``judge`` and ``review``."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from trectools_plus import benchmark, formats, judging, reporting, service, statistics, validation
from trectools_plus.choices import DEFAULT_PEOPLE, DEFAULT_POOL_DEPTH
from trectools_plus.cli.options import (
    Confidence,
    Host,
    KeyFromEnv,
    Measures,
    Port,
    TextMarkdownJson,
    TextOrJson,
    measure_names,
    output_dir_option,
    parse_runs,
    refuse_options,
    split_assignments,
)
from trectools_plus.cli.printing import inform, print_result, show_progress, write_document
from trectools_plus.cli.settings import (
    Given,
    SettingOptions,
    open_data,
    open_documents,
)
from trectools_plus.errors import UsageError
from trectools_plus.text import split_list

_DATA = SettingOptions(benchmark.FetchSettings, "dataset", "topics", "corpus", assigns=False)
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
    data: Annotated[Given, _DATA],
    extend: Annotated[
        Path | None,
        Option(
            help="A plan to which the runs are added: with its queries in the same order, its runs "
            "and all its judgments.",
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
    measure: Measures = None,
    seed: Annotated[int | None, Option(min=0, help="Random seed.  [default: 42]")] = None,
    output_format: TextOrJson = "text",
) -> None:
    """The first results of all runs are pooled, and queries are put into a random order, in which
    people judge them. The plan's folder needs no other file, so others can judge and estimate with
    it. The same inputs and seed give the same plan. With --extend, only pairs that the other plan
    lacks are left to judge.

    \b
    Examples:
      trectools-plus judge plan a.run b.run --topics topics.tsv --corpus corpus.jsonl -o plan
      trectools-plus judge plan runs/*.run --dataset irds:cranfield --people 50 -o plan
      trectools-plus judge plan a.run b.run --dataset DIR --depth 5 -m nDCG@5 --output-dir plan
      trectools-plus judge plan new.run --extend plan --output-dir plan2
    """
    if extend is not None:
        refuse_options(
            {
                "--topics": data.get("topics"),
                "--depth": depth,
                "--seed": seed,
                "--people": people,
                "--measure": measure,
            },
            "is that of the plan that is extended",
        )
    options = judging.PlanOptions(
        depth or DEFAULT_POOL_DEPTH,
        people or DEFAULT_PEOPLE,
        42 if seed is None else seed,
        measure_names(measure),
    )
    with show_progress():
        arguments = parse_runs(runs, "RUN")
        tables = [validation.load_run(run.path) for run in arguments]
        loaded = formats.name_runs(tables, [run.given_name for run in arguments])
        if extend is None:
            documents, queries = open_data(benchmark.load_fetch_settings(None, data))
            assert documents is not None
            plan = judging.make_plan(loaded, queries, documents, output_dir, options)
        else:
            old = judging.PlanFolder(extend)
            added = open_documents(data) if data else None
            plan = judging.extend_plan(old, loaded, output_dir, added)
    write_document(plan.summary(), output_format)


def judge_pilot(
    plan: Plan,
    width: Annotated[
        float,
        Option(help="Wished difference between the ends of an interval, for example 0.1."),
    ],
    measure: Measures = None,
    output_format: TextOrJson = "text",
) -> None:
    """From at least 10 queries that people have judged, estimate for each mean and each difference
    how many they need in all, with each model that has judged the plan and without one.

    \b
    Examples:
      trectools-plus judge pilot plan --width 0.1
      trectools-plus judge pilot plan --width 0.05 -m nDCG@10 --format json
    """
    names = measure_names(measure) or None
    pilot = judging.plan_people(judging.PlanFolder(plan), width, names)
    write_document(asdict(pilot), output_format)


@dataclass(frozen=True)
class ModelOptions:
    """The model that judges, and the requests to it."""

    endpoint: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="An OpenAI-compatible service for chat completions, for example "
            "http://localhost:8080.",
        ),
    ] = None
    model: Annotated[str | None, Option(help="The model that judges.")] = None
    key_from_env: KeyFromEnv = None
    prompt: Annotated[
        Path | None,
        Option(
            help="Another prompt, with {query} and {document} where the texts belong.",
        ),
    ] = None
    setting: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=VALUE",
            help="Parameter of the requests; none leaves one out. Repeatable.  [default: "
            "temperature=0, max_tokens=1024]",
        ),
    ] = None

    def labeller(self) -> judging.Labeller:
        """Return the model.

        Raises:
            UsageError: If none is named.
        """
        if self.endpoint is None or self.model is None:
            raise UsageError(
                "no judge given", remedy="give --endpoint and --model, or --judge MODULE:FUNCTION"
            )
        key = self.key_from_env and judging.read_key(self.key_from_env, "--key-from-env")
        return judging.ModelLabeller(
            self.model,
            judging.RequestLimits(self.endpoint),
            judging.read_prompt(self.prompt),
            _parse_parameters(self.setting or []),
            key or None,
        )


def judge_label(
    plan: Plan,
    model: ModelOptions,
    judge: Annotated[
        str | None,
        Option(
            metavar="MODULE:FUNCTION",
            help="A function (query, document) that returns a grade from 0 to 3, instead of a "
            "model.",
        ),
    ] = None,
    repeat: Annotated[
        float,
        Option(
            min=0,
            max=1,
            help="Ask this proportion of the documents twice, for example 0.05; review show prints "
            "the agreement.",
        ),
    ] = 0.0,
    max_calls: Annotated[
        int | None,
        Option(min=1, help="Ask at most this number of documents now."),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Ask only what has no answer from this judge yet.")
    ] = False,
    reuse: Annotated[
        list[Path] | None,
        Option(
            metavar="PLAN",
            help="Another plan, whose answers are reused if texts, prompt, model and parameters "
            "are equal. Repeatable.",
        ),
    ] = None,
    price: Annotated[
        tuple[float, float] | None,
        Option(
            metavar="IN OUT",
            help="Price of a million tokens of questions and of answers; the output has the cost.",
        ),
    ] = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before the first call.")] = False,
    output_format: TextOrJson = "text",
) -> None:
    """Asks a model to grade each pooled document of a plan from 0 (not relevant) to 3 (highly
    relevant), and stores every answer in labels.jsonl of the plan. An answer without a grade is a
    missing judgment, never 0. Before the first call, the command says how much it will send and to
    which host, and asks. Nothing is asked twice; after an interruption, continue with --resume.

    \b
    Examples:
      trectools-plus judge label plan --endpoint http://localhost:8080 --model llama-3.1-8b
      trectools-plus judge label plan --endpoint http://localhost:11434 --model qwen3:8b --yes
      trectools-plus judge label plan --endpoint https://api.example.org/v1 --model large \\
        --key-from-env LLM_KEY --max-calls 500
      trectools-plus judge label plan --judge my_module:grade
    """
    if judge is None:
        labeller = model.labeller()
    else:
        of_models = {"--endpoint": model.endpoint, "--model": model.model, "--prompt": model.prompt}
        refuse_options(of_models, "has no effect with --judge")
        labeller = judging.FunctionLabeller(judge)
    options = judging.LabelOptions(
        repeat=repeat, max_calls=max_calls, resume=resume, reuse=reuse or ()
    )
    with closing(judging.Labelling(judging.PlanFolder(plan), labeller, options)) as labelling:
        if labelling.questions and not _confirm(labelling.announcement, yes=yes):
            inform("nothing was asked")
            return
        with show_progress() as progress:
            summary = labelling.run(progress)
    write_document(summary.as_dict(price), output_format)
    judging.raise_if_stopped(summary)


def _parse_parameters(assignments: list[str]) -> dict[str, Any]:
    """Return parameters as JSON values; what is not JSON is a text."""
    parameters: dict[str, Any] = {}
    for name, text in split_assignments(assignments, "--set").items():
        try:
            parameters[name] = json.loads(text)
        except ValueError:
            parameters[name] = None if text.lower() == "none" else text
    return parameters


def _confirm(announcement: str, *, yes: bool) -> bool:
    """Say what will be sent, and return whether the user agrees.

    Raises:
        UsageError: If nobody can be asked.
    """
    if yes or not sys.stdin.isatty():
        inform(announcement)
        if yes:
            return True
        raise UsageError(
            "the command asks before the first call, and there is no terminal",
            where="judge label",
            remedy="add --yes if the calls are wanted",
        )
    try:
        return typer.confirm(f"{announcement}\nContinue?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None


Model = Annotated[str | None, Option(help="The model, if several have judged the plan.")]


def judge_estimate(
    plan: Plan,
    runs: Annotated[
        list[str] | None,
        Argument(metavar="RUN...", help="Names of runs of the plan.  [default: all]"),
    ] = None,
    measures: Measures = None,
    model: Model = None,
    confidence: Confidence = 0.95,
    output_dir: Annotated[
        Path | None,
        Option(help="Folder for the files.  [default: the plan's folder]"),
    ] = None,
    output_format: TextMarkdownJson = "text",
) -> None:
    """Estimates the mean of each measure for each run, and the difference of each pair of runs,
    from the queries that people judged, from all queries that the model judged, and from both. The
    intervals from both hold whatever the model does; a good model makes them narrower.

    People must have judged at least 20 queries in the order of the plan. The command writes
    JudgmentReport.json, JudgmentReport.md, JudgmentReport.html, people.qrels and model.qrels. The
    exit code is 1 if an interval from both is refused.

    \b
    Examples:
      trectools-plus judge estimate plan
      trectools-plus judge estimate plan bm25 fusion -m nDCG@10 -m P@10 -m RR@10
      trectools-plus judge estimate plan --model llama-3.1-8b --format json
    """
    folder = judging.PlanFolder(plan)
    target = output_dir or folder.path
    reporting.check_judgment_folder(target)
    report = judging.estimate(
        folder,
        measures=measure_names(measures) or None,
        runs=runs,
        model=model,
        confidence=confidence,
    )
    written = reporting.write_judgment_report(report, target)
    judging.write_judgments(folder, model, target)
    judging.record_estimate(folder, report)
    blocks = reporting.judgment_blocks(report)
    print_result(output_format, report, blocks, files=written)
    if not report.is_complete:
        raise typer.Exit(1)


def judge_qrels(
    plan: Plan,
    qrels: Annotated[Path, Option(help="File to write; - is standard output.")] = Path("-"),
    by: Annotated[
        Literal["people", "model", "both"],
        Option(
            help="Judgments of people, of a model, or of both: those of the model where people "
            "have not judged.",
        ),
    ] = "both",
    model: Model = None,
) -> None:
    """The second column of each line names who judged: person, or model:NAME. Pairs without a grade
    are left out. No interval of compare or benchmark run covers the errors of a model; both print a
    note on such qrels.

    \b
    Examples:
      trectools-plus judge qrels plan --qrels judged.txt
      trectools-plus judge qrels plan --by model --model llama-3.1-8b --qrels model.txt
    """
    formats.refuse_link_out(qrels, plan if plan.is_dir() else plan.parent)
    folder = judging.PlanFolder(plan)
    labels = judging.select_labels(folder, by, model)
    judging.write_qrels(labels, qrels)


Database = Annotated[
    Path, Argument(metavar="DB", help="The review database, or the folder with its review.db.")
]


def review_serve(
    report: Annotated[
        Path,
        Argument(
            metavar="REPORT", help="A BenchmarkReport.json, a plan of judge plan, or its folder."
        ),
    ],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    modes: Annotated[
        str | None,
        Option(help="Modes to show, comma-separated.  [default: all]"),
    ] = None,
    depth: Annotated[
        int, Option(min=1, max=100, help="Maximum number of results per query and mode.")
    ] = 10,
    key_from_env: KeyFromEnv = None,
    share: Annotated[
        bool,
        Option(
            "--share",
            help="Let people share the queries of a plan: after the first ten, which everyone "
            "judges, each query is judged by one person.",
        ),
    ] = False,
) -> None:
    """The page shows the first results of a report's modes next to each other, in random order and
    without the names of the modes. Every judgment is written to the database before the page
    confirms it. For a plan of judge plan, it shows the pooled documents of one query after the
    other, in random order, and people grade them. Needs the extra service.

    \b
    Examples:
      trectools-plus review serve results/today
      trectools-plus review serve plan
      trectools-plus review serve plan --share
      trectools-plus review serve results/today --modes lexical,hybrid --depth 5
      trectools-plus review serve results/today --host 0.0.0.0 --key-from-env REVIEW_KEY
    """
    options = service.ReviewOptions(
        modes=None if modes is None else split_list(modes),
        depth=depth,
        key=None if key_from_env is None else service.read_key(key_from_env),
        share=share,
    )
    service.run_review(report, options, host=host, port=port, notify=inform)


def review_show(
    database: Database, confidence: Confidence = 0.95, output_format: TextOrJson = "text"
) -> None:
    """The command works while the page is served. The output names the modes; do not show it to
    annotators who have not finished. Of a plan, it shows how many queries people and models have
    judged, and their agreement, with intervals that resample queries.

    \b
    Examples:
      trectools-plus review show results/today/review.db
      trectools-plus review show results/today/review.db --format json
      trectools-plus review show plan
    """
    resampling = statistics.Resampling(confidence=confidence)
    if (plan := judging.find_plan(database)) is not None:
        write_document(service.summarise_plan(plan, resampling).as_dict(), output_format)
        return
    with closing(service.read_store(database)) as store:
        summary = service.summarise_review(store, resampling)
    write_document(summary.as_dict(), output_format)


def review_export(
    database: Database,
    qrels: Annotated[Path, Option(help="File to write; - is standard output.")] = Path("-"),
    annotator: Annotated[
        str | None,
        Option(
            help="Export the judgments of this annotator only.  [default: all annotators, merged]",
        ),
    ] = None,
    choices: Annotated[
        bool,
        Option(
            "--choices", help="Export the chosen results, with relevance 1, instead of the grades."
        ),
    ] = False,
) -> None:
    """If several annotators graded a pair, the merged qrels contain the median of their grades; of
    an even number, the lower of the two middle grades. Results flagged as irrelevant have grade 0.

    \b
    Examples:
      trectools-plus review export results/today/review.db --qrels judged.txt
      trectools-plus review export results/today/review.db --annotator Anna --qrels anna.txt
      trectools-plus review export results/today/review.db --choices --qrels chosen.txt
    """
    formats.refuse_link_out(qrels, database if database.is_dir() else database.parent)
    with closing(service.read_store(database)) as store:
        exported = service.export_qrels(store, annotator, choices=choices)
    formats.write_qrels(exported, qrels)


def review_import(
    plan: Plan,
    qrels: Annotated[
        Path, Argument(metavar="QRELS", help="Judgments of people, with grades up to 3.")
    ],
    annotator: Annotated[str, Option(help="The name under which they are stored.")] = "qrels",
) -> None:
    """The judgments become those of an annotator of the plan, as if they were made on the page.
    Negative grades count as 0. If the qrels lack at most a tenth of the pooled documents of a
    query, these count as documents that cannot be judged; otherwise the page asks about them. An
    annotator who has judged before gets the judgments that are new.

    \b
    Examples:
      trectools-plus review import plan judged.txt --annotator Anna
    """
    judgments = validation.load_qrels(qrels)
    imported = service.import_judgments(judging.PlanFolder(plan), judgments, annotator)
    write_document(imported._asdict(), "text")
