"""Command groups that import a command's module when it is called, and help in panels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import getdoc
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from trectools_plus.cli.outputs import guard_outputs
from trectools_plus.cli.verbosity import add_verbosity, note_later
from trectools_plus.errors import UsageError

ALIASES = {"--model-name": "--embedding-model", "--model": "--embedding-model"}
"""The options that these stand for, with the same value."""
DEVICES = {"--gpu": "cuda", "--cpu": "cpu"}
"""Flags that stand for a value of ``--device``."""


def replace_aliases(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Replace options of other tools by the options of a command.

    ``--gpu`` is left out, with a note, on a machine without a GPU.

    Args:
        words: The command line after the command's name.
        known: The options of the command. An alias that is one of them is not replaced.
    """
    end = words.index("--") if "--" in words else len(words)
    return [*_replaced(words[:end], known), *words[end:]]


def _replaced(words: Sequence[str], known: Collection[str]) -> Iterator[str]:
    for word in words:
        name, equals, value = word.partition("=")
        option = ALIASES.get(name)
        if name in known:
            yield word
        elif option in known:
            yield f"{option}{equals}{value}"
        elif word in DEVICES and "--device" in known:
            yield from _device(DEVICES[word])
        else:
            yield word


def _device(name: str) -> Sequence[str]:
    if name == "cuda":
        from trectools_plus.retrieval import has_cuda

        if not has_cuda():
            note_later("no GPU found; models run on the CPU")
            return []
    return ["--device", name]


_COMMANDS = "trectools_plus.cli.commands"
_FEW_OPTIONS = 12
"""A command with no more options than this shows them in one panel."""


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
    """A command whose help shows its options in panels, and that accepts aliases of options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line, with aliases of options."""
        known = {name for one in self.params for name in one.opts}
        return super().parse_args(ctx, replace_aliases(args, known))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options without a panel, and the panels, the most used first."""
        from trectools_plus.cli.options.common import sort_panels  # only the help needs it

        records = [(one, one.get_help_record(ctx)) for one in self.get_params(ctx)]
        shown = [(one, record) for one, record in records if record is not None]
        options = [one for one, _ in shown if one.param_type_name == "option"]
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one, (name, text) in shown:
            panel = "Options"
            if one.param_type_name == "argument":
                # Typer appends the type to the metavar, for example "RUN... <list[str]>".
                panel, name = "Arguments", one.metavar or name
            if len(options) > _FEW_OPTIONS:
                panel = getattr(one, "rich_help_panel", None) or panel
            sections.setdefault(panel, []).append((name, text))
        for name in sort_panels(sections):
            if sections[name]:
                with formatter.section(name):
                    formatter.write_dl(sections[name])


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
        self._refuse_command_of_group(args[0])
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.load(name), rest

    def _refuse_command_of_group(self, name: str) -> None:
        """Name the groups that have an unknown command: ``validate`` is ``runs validate``."""
        if name in self.commands or name.startswith("-"):
            return
        homes = [
            f"{group} {name}"
            for group, commands in self.commands.items()
            if name in getattr(commands, "entries", {})
        ]
        if homes:
            raise UsageError(
                f"no such command '{name}'", remedy=f"did you mean {' or '.join(homes)}?"
            )


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
