"""Command groups that import a command's module when it is called, and help in panels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from trectools_plus import benchmark, formats
from trectools_plus.cli.options.groups import Grouped
from trectools_plus.cli.verbosity import Verbosity


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command that is not yet imported.

    Attributes:
        home: ``module:function``, below ``trectools_plus.cli.commands``.
        summary: The first line of the help; the function's docstring is the rest.
        reads_flags: Whether the command parses all flags itself, ``-q``, ``-v`` and ``-h`` too.
        results: Parameters that name files for results. They replace neither an input of the
            command nor any run, qrels or topics.
        data: Parameters that name a run, qrels or a test set to write. They replace no input.
    """

    home: str
    summary: str
    reads_flags: bool = False
    results: Sequence[str] = ()
    data: Sequence[str] = ()


class Command(TyperCommand):
    """A command whose help shows its options in panels."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options without a panel, and the panels."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                usual = f"{parameter.param_type_name.capitalize()}s"
                panel = getattr(parameter, "rich_help_panel", None) or usual
                panels.setdefault(panel, []).append(record)
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class LazyGroup(TyperGroup):
    """A group that lists its commands from a table, and imports only the command that is called."""

    entries: ClassVar[Mapping[str, CommandEntry]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        listed = {
            name: TyperCommand(name, short_help=entry.summary)
            for name, entry in self.entries.items()
        }
        self.commands = {**listed, **self.commands}

    def load(self, name: str) -> Any:
        """Return a command or group by name; import the command's module."""
        if name not in self.entries:
            return self.commands[name]
        return load_command(name, self.entries[name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.load(name), rest


def load_command(name: str, entry: CommandEntry) -> Any:
    """Import a command's module, and make a Typer command from its function."""
    module, _, function = entry.home.partition(":")
    command = getattr(import_module(f"trectools_plus.cli.commands.{module}"), function)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings: dict[str, Any] = {}
    if entry.reads_flags:
        settings = {"help_option_names": ["--help"], "ignore_unknown_options": True}
        settings["allow_interspersed_args"] = False
    single.command(
        name,
        cls=Command,
        help=f"{entry.summary}\n\n{inspect.getdoc(command) or ''}",
        context_settings=settings,
    )(make_callback(command, entry))
    return get_command(single)


def make_callback(command: Callable[..., None], entry: CommandEntry) -> Callable[..., None]:
    """Return a function for a command that has a parameter for each option, for Typer."""
    options = Grouped(command)
    verbosity = None if entry.reads_flags else Grouped(Verbosity)

    def call(**values: Any) -> None:
        if verbosity is not None:
            Verbosity.current = verbosity.collect(values)
        _guard_outputs(values, entry)
        options.collect(values)

    parameters = {**options.parameters(), **(verbosity.parameters() if verbosity else {})}
    call.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()}
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of)
            for name, (of, default) in parameters.items()
        ]
    )
    return call


def _guard_outputs(values: Mapping[str, Any], entry: CommandEntry) -> None:
    """Refuse outputs that would destroy data, before the command does anything."""
    outputs = {*entry.results, *entry.data}
    inputs = [path for name in values.keys() - outputs for path in _paths(values[name])]
    named = [str(path).partition("=")[2] for path in inputs]  # NAME=FILE
    for name in outputs:
        for output in _paths(values[name]):
            if str(output) == "-":
                continue
            formats.refuse_overwriting(output, [*inputs, *named])
            for path in inputs:
                if isinstance(path, Path) or Path(path).is_dir():
                    benchmark.refuse_overwriting_in(Path(path), output)
            if name in entry.results:
                formats.refuse_lost_data(output)


def _paths(value: Any) -> list[str | Path]:
    """Return the paths in the value of a parameter."""
    values = value if isinstance(value, list | tuple) else [value]
    return [path for path in values if isinstance(path, str | Path)]
