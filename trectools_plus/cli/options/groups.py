"""Groups of options that a command takes as one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, Protocol, get_type_hints


class OptionGroup(Protocol):
    """Options of which a command gets one object."""

    def parameters(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name, annotation and default of each parameter."""

    def collect(self, values: dict[str, Any]) -> Any:
        """Take the values of the options out of those of a command, and return the object."""


class _DataclassGroup:
    """The fields of a dataclass."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def parameters(self) -> Iterator[tuple[str, Any, Any]]:
        types = get_type_hints(self._kind, include_extras=True)
        return ((one.name, types[one.name], one.default) for one in fields(self._kind))

    def collect(self, values: dict[str, Any]) -> Any:
        return self._kind(**{one.name: values.pop(one.name) for one in fields(self._kind)})


def _find_group(annotation: Any) -> OptionGroup | None:
    if is_dataclass(annotation):
        return _DataclassGroup(annotation)
    first = next(iter(getattr(annotation, "__metadata__", ())), None)
    return first if hasattr(first, "collect") else None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with each group of options replaced by one parameter for each option.

    Typer makes options from a signature. A parameter is a group if its type is a dataclass, whose
    fields are the options, or ``Annotated`` with an :class:`OptionGroup`.

    Args:
        command: A command. If its parameters are keyword-only, the groups need no defaults.
    """
    parameters: dict[str, inspect.Parameter] = {}
    groups: dict[str, OptionGroup] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        group = _find_group(hints[name])
        if group is None:
            parameters[name] = parameter.replace(annotation=hints[name])
            continue
        groups[name] = group
        for one, annotation, default in group.parameters():
            parameters[one] = inspect.Parameter(
                one, parameter.kind, default=default, annotation=annotation
            )

    @wraps(command)
    def called(**values: Any) -> None:
        found = {name: group.collect(values) for name, group in groups.items()}
        command(**values, **found)

    called.__annotations__ = {name: one.annotation for name, one in parameters.items()}
    called.__signature__ = inspect.Signature([*parameters.values()])  # type: ignore[attr-defined]
    return called
