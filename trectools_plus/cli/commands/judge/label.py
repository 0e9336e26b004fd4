"""``judge label``: labels of models."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from trectools_plus import judging
from trectools_plus.cli.options.common import TextOrJson, refuse_options, split_assignments
from trectools_plus.cli.printing import write_document
from trectools_plus.cli.verbosity import inform, show_progress
from trectools_plus.errors import UsageError


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
    model: Annotated[str | None, Option(metavar="NAME", help="The model that judges.")] = None
    key_from_env: Annotated[
        str | None,
        Option(metavar="VARIABLE", help="Environment variable with the key of the service."),
    ] = None
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
    concurrency: Annotated[
        int,
        Option(min=1, max=64, help="Maximum number of simultaneous requests."),
    ] = 4

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
        endpoint = judging.EndpointOptions(
            self.endpoint,
            self.model,
            parameters=_parse_parameters(self.setting or []),
            key=key or None,
            concurrency=self.concurrency,
        )
        return judging.ModelLabeller(endpoint, judging.read_prompt(self.prompt))


def judge_label(
    plan: Annotated[Path, Argument(metavar="PLAN", help="The folder of the plan.")],
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
            help="Ask this proportion of the documents twice, for example 0.05; review show prints "
            "the agreement.",
        ),
    ] = 0.0,
    max_calls: Annotated[
        int | None,
        Option(min=1, help="Stop after this number of calls, with retries."),
    ] = None,
    resume: Annotated[
        bool, Option("--resume", help="Ask only what has no answer from this judge yet.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before the first call.")] = False,
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
    """
    if judge is None:
        labeller = model.labeller()
    else:
        of_models = {"--endpoint": model.endpoint, "--model": model.model, "--prompt": model.prompt}
        refuse_options(of_models, "has no effect with --judge")
        labeller = judging.FunctionLabeller(judge)
    options = judging.LabelOptions(repeat=repeat, max_calls=max_calls, resume=resume)
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
    write_document(summary.as_dict(), output_format)
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
        raise UsageError(
            "the command asks before the first call, and there is no terminal",
            where="judge label",
            remedy="add --yes if the calls are wanted",
        )
    try:
        return typer.confirm(f"{announcement}\nContinue?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
