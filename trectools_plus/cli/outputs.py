"""Outputs of commands never replace what the commands read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from trectools_plus import benchmark, formats


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
        outputs = {name: _paths(values[name]) for name in (*results, *data)}
        if any(outputs.values()):
            inputs = {name: value for name, value in values.items() if name not in outputs}
            for name, paths in outputs.items():
                for path in paths:
                    _check(path, inputs, is_result=name in results)
        command(**values)

    return guarded


def _check(output: str | Path, inputs: Mapping[str, Any], *, is_result: bool) -> None:
    if str(output) == "-":
        return
    for name, value in inputs.items():
        for path in _paths(value):
            # The value can also be NAME=FILE.
            formats.refuse_overwriting(output, [path, str(path).partition("=")[2]])
            if isinstance(path, Path) or name == "source":
                benchmark.refuse_overwriting_in(Path(path), output)
    if is_result:
        formats.refuse_lost_data(output)


def _paths(value: Any) -> list[str | Path]:
    """Return the paths in the value of a parameter."""
    values = value if isinstance(value, list | tuple) else [value]
    return [path for path in values if isinstance(path, str | Path)]
