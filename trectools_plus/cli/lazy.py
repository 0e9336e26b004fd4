"""Command groups that import a command's module when it is called, and help in panels.

Recent versions of Typer convert every value with Pydantic, whose import takes longer than a small
command. Here the values that need no conversion, and simple numbers and paths, are converted
directly. All other values, also invalid ones, are left to Typer, which reports them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import getdoc
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin

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


_WHOLE = re.compile(r"0|[1-9][0-9]{0,14}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_USUAL_PATH = {"exists": False, "resolve_path": False, "writable": False, "path_type": None}
_USUAL_PATH |= {"allow_dash": False, "file_okay": True, "dir_okay": True}
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
        convert_plain_values(self.get_params(ctx))
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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the command."""
        convert_plain_values(self.get_params(ctx))
        return super().parse_args(ctx, args)

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


class _NotPlainError(Exception):
    """A value must be converted by Typer."""


def convert_plain_values(parameters: Iterable[Any]) -> None:
    """Let parameters convert plain values without Pydantic; see the module.

    Args:
        parameters: The parameters of a command of Typer. Those of versions without Pydantic are
            not changed.
    """
    for parameter in parameters:
        if hasattr(parameter, "type_descriptor") and "process_value" not in vars(parameter):
            parameter.process_value = _converter(parameter, parameter.process_value)


def _converter(parameter: Any, by_typer: Callable[..., Any]) -> Callable[..., Any]:
    descriptor = parameter.type_descriptor

    def process_value(context: Any, value: Any) -> Any:
        if parameter.required and parameter.value_is_missing(value):
            return by_typer(context, value)
        if value is None:
            converted: Any = () if parameter.multiple or parameter.nargs == -1 else None
        else:
            try:
                converted = _convert(value, descriptor.annotation, descriptor.parameter_info)
            except _NotPlainError:
                return by_typer(context, value)
        if parameter.callback is not None:
            converted = parameter.callback(context, parameter, converted)
        return converted

    return process_value


def _convert(value: Any, annotation: Any, info: Any) -> Any:
    """Convert a value, or raise an error if it may be invalid."""
    if get_origin(annotation) is list and isinstance(value, list | tuple):
        return [_convert(item, get_args(annotation)[0], info) for item in value]
    if info.parser is not None:
        raise _NotPlainError
    if annotation is bool and isinstance(value, bool):
        return value
    if annotation is str and isinstance(value, str) and _is_text(value):
        return value
    if get_origin(annotation) is Literal and isinstance(value, str):
        if value in get_args(annotation):
            return value
    elif annotation is Path and isinstance(value, str | Path) and _is_text(str(value)):
        return _as_path(value, info)
    elif annotation in (int, float):
        return _as_number(value, annotation, info)
    raise _NotPlainError


def _is_text(value: str) -> bool:
    """Return whether a value has no NUL, and no bytes that are not UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _as_path(value: str | Path, info: Any) -> Path:
    is_usual = all(getattr(info, name) == usual for name, usual in _USUAL_PATH.items())
    path = Path(value)
    if not is_usual or (path.exists() and not os.access(path, os.R_OK)):
        raise _NotPlainError
    return path


def _as_number(value: Any, kind: type, info: Any) -> Any:
    if isinstance(value, str) and (_WHOLE if kind is int else _DECIMAL).fullmatch(value):
        value = kind(value)
    in_range = type(value) is kind and (
        (info.min is None or value >= info.min) and (info.max is None or value <= info.max)
    )
    if not in_range or info.clamp:
        raise _NotPlainError
    return value
