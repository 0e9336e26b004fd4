"""Reading ``benchmark.yaml`` and merging it with what the command line says."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trectools_plus.benchmark.config import BenchmarkConfig
from trectools_plus.errors import InputError, UsageError

_SUPERSEDES = {
    "dataset": ("corpus", "topics", "qrels", "runs", "test_file"),
    "corpus": ("dataset", "test_file", "runs"),
    "runs": ("dataset", "test_file", "corpus", "modes"),
}
"""Naming another kind of data on the command line puts the file's choice out of force."""

_PATHS = ("test_file", "corpus", "topics", "qrels", "output_dir")


def load_config(
    path: str | Path | None = None, options: Mapping[str, Any] | None = None
) -> BenchmarkConfig:
    """Read a configuration; options win over the file, the file over the defaults.

    Paths in the file are relative to the file's own folder, paths in ``options`` to the current
    one.

    Args:
        path: A YAML file with the fields of :class:`BenchmarkConfig`; ``None`` for none.
        options: Values by field name; ``None`` values count as not given.

    Raises:
        InputError: If the file cannot be read.
        UsageError: If it is no YAML mapping, or a field is unknown or its value wrong; names the
            file and every such field.
    """
    values = {} if path is None else _read_yaml(Path(path))
    given = {name: value for name, value in (options or {}).items() if value is not None}
    for name, superseded in _SUPERSEDES.items():
        if name in given:
            for other in superseded:
                values.pop(other, None)
    try:
        return BenchmarkConfig.model_validate({**values, **given})
    except ValidationError as error:
        raise _translate(error, path, given) from error


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.load(path.read_bytes(), Loader=_strict_loader())
    except OSError as error:
        raise InputError(
            f"the configuration cannot be read: {error.strerror}", where=str(path)
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise UsageError(f"no valid YAML: {problem}", where=where) from error
    if content is None:
        return {}
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise UsageError(
            "expected a mapping of settings",
            where=str(path),
            remedy="write lines such as `dataset: hpo`",
        )
    return _anchor_paths(content, path.parent)


def _strict_loader() -> type[Any]:
    """PyYAML's safe loader, which otherwise keeps the last of two equal keys without a word."""
    import yaml

    class StrictLoader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key_node, _ in node.value:
                if not isinstance(key_node.value, str):
                    continue  # a list or mapping as key: refused as unhashable below
                if key_node.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key '{key_node.value}' stands here twice", key_node.start_mark
                    )
                seen.add(key_node.value)
            return super().construct_mapping(node, deep)

    return StrictLoader


def _anchor_paths(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Make the file's paths relative to the current folder instead of the file's."""
    anchored = dict(values)
    for name in _PATHS:
        if isinstance(anchored.get(name), str):
            anchored[name] = _anchor(anchored[name], folder)
    dataset = anchored.get("dataset")
    if isinstance(dataset, str) and dataset != "hpo" and not dataset.startswith("irds:"):
        anchored["dataset"] = _anchor(dataset, folder)
    runs = anchored.get("runs")
    if isinstance(runs, dict):
        anchored["runs"] = {
            name: _anchor(file, folder) if isinstance(file, str) else file
            for name, file in runs.items()
        }
    return anchored


def _anchor(path: str, folder: Path) -> str:
    return path if path == "-" else str(folder / Path(path).expanduser())


def _translate(
    error: ValidationError, path: str | Path | None, given: Mapping[str, Any]
) -> UsageError:
    """One line for all wrong fields: each with its name, what is wrong, and the nearest name."""
    details = error.errors(include_url=False)
    from_file = path is not None and any(
        not item["loc"] or item["loc"][0] not in given for item in details
    )
    return UsageError(
        "; ".join(dict.fromkeys(_describe(item) for item in details)),
        where=str(path) if from_file else None,
    )


def _describe(item: ErrorDetails) -> str:
    field = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"unknown setting '{field}'{_nearest(str(item['loc'][-1]), _known_fields(item))}"
    message = item["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:] if message.startswith("Input") else message
    return f"{field}: {message}" if field else message


def _known_fields(item: ErrorDetails) -> Iterable[str]:
    from trectools_plus.benchmark.targets import Target
    from trectools_plus.retrieval.settings import RetrievalSettings

    if len(item["loc"]) == 1:
        return BenchmarkConfig.model_fields
    if item["loc"][0] == "retrieval":
        return RetrievalSettings.model_fields
    return Target.model_fields


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; there are {', '.join(names)}" if names else ""
