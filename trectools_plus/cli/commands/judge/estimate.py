"""``judge estimate`` and ``judge qrels``: what people and a model have judged."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from trectools_plus import formats, judging, reporting
from trectools_plus.cli.options.common import Confidence, TextMarkdownJson, measure_option
from trectools_plus.cli.options.runs import split_measures
from trectools_plus.cli.printing import write_as, write_files
from trectools_plus.cli.verbosity import inform
from trectools_plus.text import plural


def judge_estimate(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of the plan.")],
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="RUN...", help="Names of runs of the plan.  [default: all]"),
    ] = None,
    measures: Annotated[list[str] | None, measure_option("those of the plan")] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The model, if several have judged the plan."),
    ] = None,
    relevant: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=3,
            metavar="GRADE",
            help="Lowest relevant grade of measures whose names do not state one.  [default: the "
            "lowest that the model's prompt calls relevant, otherwise 1]",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the intervals of agreement.")
    ] = 42,
    output_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the files.  [default: the plan's folder]"),
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
      judge estimate plan
      judge estimate plan bm25 fusion -m nDCG@10 -m P@10 -m RR@10
      judge estimate plan --model llama-3.1-8b --format json
    """
    folder = judging.PlanFolder(plan)
    reporting.check_judgment_folder(output_dir or folder.path)
    chosen, names = split_measures(runs or [], measures)
    report = judging.estimate(
        folder,
        measures=names or None,
        runs=chosen or None,
        model=model,
        relevant=relevant,
        confidence=confidence,
        seed=seed,
    )
    written = reporting.write_judgment_report(report, output_dir or folder.path)
    judging.write_judgments(folder, model, output_dir or folder.path)
    judging.record_estimate(folder, report)
    write_as(
        output_format,
        json=lambda: reporting.render_json(report),
        markdown=lambda: reporting.markdown(reporting.judgment_blocks(report)),
        text=lambda: reporting.print_blocks(reporting.judgment_blocks(report), sys.stdout),
    )
    if output_format == "text":
        write_files(written)
    if not report.is_complete:
        raise typer.Exit(1)


def judge_qrels(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of the plan.")],
    qrels: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write; - is standard output.")
    ] = Path("-"),
    by: Annotated[
        Literal["people", "model", "both"],
        typer.Option(
            help="Judgments of people, of a model, or of both: those of the model where people "
            "have not judged.",
        ),
    ] = "both",
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The model, if several have judged the plan."),
    ] = None,
) -> None:
    """The second column of each line names who judged: person, or model:NAME. Pairs without a grade
    are left out. No interval of compare or benchmark run covers the errors of a model; both print a
    note on such qrels.

    \b
    Examples:
      judge qrels plan --qrels judged.txt
      judge qrels plan --by model --model llama-3.1-8b --qrels model.txt
    """
    formats.refuse_link_out(qrels, plan if plan.is_dir() else plan.parent)
    folder = judging.PlanFolder(plan)
    labels = judging.select_labels(folder, by, model)
    judging.write_qrels(labels, qrels)
    graded = Counter(
        "people" if label.kind == "person" else label.annotator
        for label in labels
        if label.grade is not None
    )
    inform(", ".join(f"{plural(count, 'judgment')} of {name}" for name, count in graded.items()))
