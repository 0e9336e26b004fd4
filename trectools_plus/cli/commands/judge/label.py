"""``judge label``: labels of models."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from trectools_plus import judging
from trectools_plus.choices import DEFAULT_LONGEST, Panel
from trectools_plus.cli.options.common import (
    TextOrJson,
    refuse_options,
    split_assignments,
)
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import inform, show_progress
from trectools_plus.errors import (
    UsageError,
)


def judge_label(
    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="The folder of the plan.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="An OpenAI-compatible service for chat completions, for example "
            "http://localhost:8080.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model that judges.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="A function (query, document) that returns a grade from 0 to 3, instead of a "
            "model.",
        ),
    ] = None,
    key_from_env: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE", help="Environment variable with the key of the service."),
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Another prompt, with {query} and {document} where the texts belong.",
        ),
    ] = None,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print the prompt, and ask nothing.")
    ] = False,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Parameter of the requests; none leaves one out. Repeatable.  [default: "
            "temperature=0, max_tokens=1024]",
        ),
    ] = None,
    max_characters: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Longer documents are cut at the end of a sentence, and marked.",
        ),
    ] = DEFAULT_LONGEST,
    repeat: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="P",
            help="Ask this proportion of the documents twice, for example 0.05; review show prints "
            "the agreement.",
        ),
    ] = 0.0,
    max_calls: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Ask at most this number of documents now."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Ask only what has no answer from this judge yet."),
    ] = False,
    reuse: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PLAN",
            help="Another plan, whose answers are reused if texts, prompt, model, host and "
            "parameters are equal. Repeatable.",
        ),
    ] = None,
    price: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="IN OUT",
            help="Price of a million tokens of questions and of answers, for example 0.15 0.6; the "
            "output has the cost.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before the first call.")
    ] = False,
    concurrency: Annotated[
        int,
        typer.Option(
            min=1,
            max=64,
            metavar="N",
            help="Maximum number of simultaneous requests.",
            rich_help_panel=Panel.WORK,
        ),
    ] = 4,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="Seconds for one request.",
            rich_help_panel=Panel.WORK,
        ),
    ] = 120.0,
    output_format: TextOrJson = "text",
) -> None:
    """Asks a model to grade each pooled document of a plan from 0 (not relevant) to 3 (highly
    relevant), and stores every answer in labels.jsonl of the plan. An answer without a grade is a
    missing judgment, never 0. Before the first call, the command says how much it will send and to
    which host, and asks. Nothing is asked twice; after an interruption, continue with --resume.

    \b
    Examples:
      judge label plan --endpoint http://localhost:8080 --model llama-3.1-8b
      judge label plan --endpoint http://localhost:11434 --model qwen3:8b --repeat 0.05 --yes
      judge label plan --endpoint https://api.example.org/v1 --model large --key-from-env LLM_KEY \\
        --max-calls 500
      judge label plan --judge my_module:grade
      judge label plan2 --endpoint http://localhost:8080 --model llama-3.1-8b --reuse plan
      judge label --show-prompt
    """
    text = judging.read_prompt(prompt)
    if show_prompt:
        typer.echo(text.text, nl=False)
        return
    if plan is None:
        raise UsageError("no plan given", remedy="name its folder: judge label PLAN")
    labeller: judging.Labeller
    if judge is not None:
        of_models: dict[str, object] = {
            "--endpoint": endpoint,
            "--model": model,
            "--prompt": prompt,
            "--key-from-env": key_from_env,
            "--set": setting,
        }
        refuse_options(of_models, "has no effect with --judge")
        labeller = judging.FunctionLabeller(judge)
    else:
        if endpoint is None or model is None:
            raise UsageError(
                "no judge given", remedy="give --endpoint and --model, or --judge MODULE:FUNCTION"
            )
        labeller = judging.ModelLabeller(
            model,
            judging.RequestLimits(endpoint, concurrency, timeout),
            text,
            _parse_parameters(setting or []),
            None if key_from_env is None else judging.read_key(key_from_env, "--key-from-env"),
        )
    options = judging.LabelOptions(max_characters, repeat, max_calls, resume, reuse or ())
    with closing(judging.Labelling(judging.PlanFolder(plan), labeller, options)) as labelling:
        if labelling.questions and not _confirm(labelling.announcement, yes=yes):
            inform("nothing was asked")
            return
        try:
            with show_progress() as progress:
                summary = labelling.run(progress)
        except KeyboardInterrupt:
            inform(f"all answers so far are in {plan}; continue with --resume")
            raise
    write_document(summary.as_dict(price), output_format)
    command = "the same command with --resume" if summary.left else f"judge estimate {plan}"
    inform(f"next: {command}")
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
    if not sys.stdin.isatty():
        raise UsageError(
            "the command asks before the first call, and there is no terminal",
            where="judge label",
            remedy="add --yes if the calls are wanted",
        )
    try:
        return typer.confirm(f"{announcement}\nContinue?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
