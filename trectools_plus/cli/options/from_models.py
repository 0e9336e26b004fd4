"""Options of commands, made from the settings of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trectools_plus.cli.options.common import split_assignments
from trectools_plus.cli.options.groups import Parameters
from trectools_plus.retrieval.setting_types import Option

Given = dict[str, Any]
"""Settings that the user gave, by name; those of a nested model are a dictionary."""

_ASSIGNMENTS = "NAME=VALUE"


@dataclass(frozen=True, slots=True)
class SettingOption:
    """An option of a setting, perhaps of a nested model.

    Attributes:
        place: The name of the setting; for a nested model, the names on the way to it.
        field: Its declaration.
        option: Its option.
    """

    place: tuple[str, ...]
    field: FieldInfo
    option: Option

    @property
    def names(self) -> list[str]:
        """The spellings, for example ``--test-file``."""
        return self.option.names.split() or [f"--{self.place[-1].replace('_', '-')}"]

    @property
    def annotation(self) -> Any:
        """The annotation of the parameter, from which Typer makes the option."""
        option, names = self.option, self.names
        kind, words = _kind_of(self.field.annotation)
        if option.constant is not None:
            kind = bool
        elif option.is_repeated or option.metavar == _ASSIGNMENTS:
            kind = list[str]
        elif kind is bool and self.field.default is None:
            names = [f"{names[0]}/--no-{names[0].removeprefix('--')}"]
        elif words and not option.metavar:
            kind = Literal[words]
        made = typer.Option(
            *names,
            metavar=option.metavar or None,
            help=self._help,
            rich_help_panel=option.panel,
            min=option.minimum,
        )
        return Annotated[kind | None, made]

    @property
    def _help(self) -> str:
        text, default = self.option.help or self.field.description, self.option.default
        value = self.field.default
        if default == "" and not isinstance(value, bool) and self.field.default_factory is None:
            default = ",".join(value) if isinstance(value, tuple) else value
        return f"{text}  [default: {default}]" if default not in (None, "") else f"{text}"

    def read(self, value: Any) -> Any:
        """Return the setting for a value of the option; ``None`` if it is not given."""
        constant = self.option.constant
        if constant is not None or self.field.default is False:
            return (True if constant is None else constant) if value else None
        if self.option.metavar == _ASSIGNMENTS:
            return split_assignments(value or [], self.names[0]) or None
        if isinstance(value, list):
            return ",".join(value) if value else None
        return value


class SettingOptions:
    """The options of a model, a group for :func:`~trectools_plus.cli.options.groups.with_groups`.

    The command gets a dictionary of the settings that the user gave::

        def command(*, given: Annotated[Given, SettingOptions(BenchmarkConfig, "seed")]) -> None:

    Args:
        model: A model whose fields are made by
            :func:`~trectools_plus.retrieval.setting_types.setting`.
        names: The settings; all that have an option if none is given. A nested model is named
            like a setting, and stands for all its options; one of them is named with a dot.
    """

    def __init__(self, model: type[BaseModel], *names: str) -> None:
        self._options = {"_".join(one.place): one for one in _find_options(model, names)}

    def parameters(self) -> Parameters:
        """Return the parameters for Typer."""
        return {name: (one.annotation, None) for name, one in self._options.items()}

    def collect(self, values: dict[str, Any]) -> Given:
        """Take the values of the options out of those of a command, and return the settings.

        Raises:
            UsageError: If an assignment cannot be read.
        """
        given: Given = {}
        for parameter, option in self._options.items():
            value = option.read(values.pop(parameter))
            if value is not None:
                *path, name = option.place
                inside = given
                for step in path:
                    inside = inside.setdefault(step, {})
                old = inside.get(name, {})
                inside[name] = {**old, **value} if isinstance(value, dict) else value
        return given

    def name_options(self) -> dict[str, str]:
        """Return the option of each setting."""
        return {".".join(one.place): one.names[0] for one in self._options.values()}


def _find_options(
    model: type[BaseModel], names: Sequence[str], place: tuple[str, ...] = ()
) -> Iterable[SettingOption]:
    for path in names or model.model_fields:
        name, _, inner = path.partition(".")
        field = model.model_fields[name]
        if isinstance(field.json_schema_extra, Option) and not inner:
            yield SettingOption((*place, name), field, field.json_schema_extra)
        nested = nested_model(field.annotation)
        if nested is not None:
            yield from _find_options(nested, [inner] if inner else [], (*place, name))


def nested_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model of a setting that is one, perhaps optional."""
    kind = _kind_of(annotation)[0]
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _kind_of(annotation: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the type of the values of an option, and the values if they are listed."""
    origin, parameters = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind_of(parameters[0])
    if origin in (Union, UnionType):
        return _kind_of(next(one for one in parameters if one is not NoneType))
    if origin is Literal:
        return str, parameters
    is_plain = annotation in (bool, int, float)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return (annotation if is_plain or is_model else str), ()
