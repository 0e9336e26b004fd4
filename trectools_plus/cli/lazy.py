"""Command groups that import a command's module when it is called, and help in panels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from trectools_plus import benchmark, formats
from trectools_plus.cli.verbosity import add_verbosity, note_later

_COMMANDS = "trectools_plus.cli.commands"
_DEVICES = {"--gpu": "cuda", "--cpu": "cpu"}
"""Flags that stand for a value of ``--device``."""


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command that is not yet imported.

    Attributes:
        home: ``module:function``, below ``trectools_plus.cli.commands``.
        summary: The first line of the help; the function's docstring is the rest.
        settings: Settings of the Typer context.
        reads_flags: Whether the command parses all flags itself, ``-q`` and ``-v`` included.
        results: Parameters that name files for results; see :func:`guard_outputs`.
        data: Parameters that name a run, qrels or a test set to write.
    """

    home: str
    summary: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    reads_flags: bool = False
    results: Sequence[str] = ()
    data: Sequence[str] = ()


class Command(TyperCommand):
    """A command whose help shows its options in panels, and that knows ``--gpu``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line; ``--gpu`` is left out, with a note, on a machine without a GPU."""
        if any("--device" in parameter.opts for parameter in self.params):
            args = [word for given in args for word in _with_device(given)]
        return super().parse_args(ctx, args)

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


def _with_device(word: str) -> list[str]:
    if word == "--gpu":
        from trectools_plus.retrieval import has_cuda

        if not has_cuda():
            note_later("no GPU found; models run on the CPU")
            return []
    return ["--device", _DEVICES[word]] if word in _DEVICES else [word]


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
    callback: Callable[..., None] = getattr(import_module(f"{_COMMANDS}.{module}"), function)
    description = getdoc(callback) or ""
    if entry.results or entry.data:
        callback = guard_outputs(callback, entry.results, entry.data)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(
        name,
        cls=Command,
        help=f"{entry.summary}\n\n{description}",
        context_settings=dict(entry.settings),
    )(callback if entry.reads_flags else add_verbosity(callback))
    return get_command(single)


def guard_outputs(
    command: Callable[..., None], results: Collection[str], data: Collection[str]
) -> Callable[..., None]:
    """Return a command that refuses outputs that would destroy data, before it does anything.

    Args:
        command: The command.
        results: Parameters that name files for results. They replace neither an input of the
            command nor any run, qrels or topics.
        data: Parameters that name a run, qrels or a test set to write. They replace no input.
    """

    @wraps(command)
    def guarded(**values: Any) -> None:
        outputs = {*results, *data}
        inputs = [path for name in values.keys() - outputs for path in _paths(values[name])]
        for name in outputs:
            for output in _paths(values[name]):
                if str(output) != "-":
                    _refuse_inputs(output, inputs)
                    if name in results:
                        formats.refuse_lost_data(output)
        command(**values)

    return guarded


def _refuse_inputs(output: str | Path, inputs: Sequence[str | Path]) -> None:
    for path in inputs:
        # The value can also be NAME=FILE.
        formats.refuse_overwriting(output, [path, str(path).partition("=")[2]])
        if isinstance(path, Path) or Path(path).is_dir():
            benchmark.refuse_overwriting_in(Path(path), output)


def _paths(value: Any) -> list[str | Path]:
    """Return the paths in the value of a parameter."""
    values = value if isinstance(value, list | tuple) else [value]
    return [path for path in values if isinstance(path, str | Path)]
