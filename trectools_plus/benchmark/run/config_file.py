"""Reading ``benchmark.yaml``, also of a sweep, and merging it with the options of commands."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ValidationError, field_validator
from pydantic_core import ErrorDetails

from trectools_plus.benchmark.run.config import (
    FETCHING,
    TEST_CASES,
    BenchmarkConfig,
    FetchSettings,
    MeasureNames,
    move_fusion,
)
from trectools_plus.choices import MEASURE_HELP, STRATEGIES
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.collection import is_catalogue_name, is_named_collection
from trectools_plus.formats.files.opening import is_address
from trectools_plus.formats.nodes import (
    Node,
    TreeError,
    find_line,
    load_value,
    parse_yaml,
)
from trectools_plus.models import explain_problem
from trectools_plus.retrieval.setting_types import BUILTIN, Names, Option, setting
from trectools_plus.text import split_list

_SUPERSEDES = {
    "dataset": ("corpus", "topics", "qrels", "runs", "test_file", *TEST_CASES),
    "corpus": ("dataset", "test_file", "runs", *TEST_CASES),
    "test_file": ("corpus", "topics", "qrels", "runs"),
    "runs": ("dataset", "test_file", *TEST_CASES, "corpus", *FETCHING),
}
"""By option, the settings of the file that it replaces."""
_MODELS = ("embedding_model", "splade_model")
"""Folders among the settings of ``retrieval`` and ``http``."""
_MERGED = ("retrieval", "http", "collapse")
"""Mappings of which the command line may set a part."""
_PATHS = (
    *("test_file", "corpus", "topics", "qrels", "runs", "exclude"),
    *("ontology", "annotations", "output_dir"),
)

_Settings = TypeVar("_Settings", bound=FetchSettings)
ConfigOptions = Mapping[str, Any]
"""Settings by field of :class:`BenchmarkConfig`; ``None`` counts as not given.

They are checked when the configuration is built, with those of the file.
"""


def load_config(
    path: str | Path | None = None, options: ConfigOptions | None = None
) -> BenchmarkConfig:
    """Read a configuration; options override the file, and the file the defaults.

    Paths in the file are relative to its folder, paths in ``options`` to the current folder.

    Args:
        path: A YAML file with the fields of :class:`BenchmarkConfig`, if any.
        options: Settings that override the file.

    Raises:
        InputError: If the file cannot be read.
        UsageError: If it is not a YAML mapping, or a field is unknown or invalid; names the file
            and every such field.
    """
    return _SettingsFile(path, options).validate(BenchmarkConfig)


def load_fetch_settings(
    path: str | Path | None = None, options: ConfigOptions | None = None
) -> FetchSettings:
    """Read data, backend and settings of fetching from the same file; ignore the rest.

    Raises:
        InputError, UsageError: As :func:`load_config`.
    """
    file = _SettingsFile(path, options)
    ignored = BenchmarkConfig.model_fields.keys() - FetchSettings.model_fields.keys()
    if "topics" in file.given:
        ignored |= {"dataset", "test_file"}
    known = {name: value for name, value in file.values.items() if name not in ignored}
    is_hpo = "hpo" in (known.get("dataset"), file.given.get("dataset"))
    if not is_hpo and "test_file" not in {**known, **file.given}:
        ignored |= {"ontology"}  # with other documents, only scoring uses it
    # Judgments and given runs are not fetched.
    return file.validate(FetchSettings, ignored | {"qrels", "runs", "unknown_terms"})


class _SettingsFile:
    """The settings of a file, and those that the user gave as options.

    Args:
        path: The file, if any.
        options: The options.

    Attributes:
        values: The settings of the file, with paths relative to the current folder.
        given: The options that are not ``None``.

    Raises:
        InputError: If the file cannot be read.
        UsageError: If it is not a YAML mapping.
    """

    def __init__(self, path: str | Path | None, options: ConfigOptions | None = None) -> None:
        self._path = path
        self._root: Node | None = None
        self.values: dict[str, Any] = {}
        if path is not None:
            content, self._root = _read_yaml(Path(path))
            self.values = _anchor_paths(move_fusion(content), Path(path).parent)
        self.given = {name: value for name, value in (options or {}).items() if value is not None}
        for name in {name for option in self.given for name in _SUPERSEDES.get(option, ())}:
            self.values.pop(name, None)

    def validate(self, model: type[_Settings], ignored: Collection[str] = ()) -> _Settings:
        """Return the model of the settings: options override the file, parts of mappings too.

        Args:
            model: The model.
            ignored: Settings of the file that are not used.

        Raises:
            UsageError: If a field is unknown or invalid; names the file and every such field.
        """
        values = {name: value for name, value in self.values.items() if name not in ignored}
        merged = {**values, **self.given}
        for name in _MERGED:
            old, new = values.get(name), self.given.get(name)
            if isinstance(old, dict) and isinstance(new, dict):
                merged[name] = {**old, **new}
        try:
            return model.model_validate(merged)
        except ValidationError as error:
            problems = [self._explain(item) for item in error.errors(include_url=False)]
            if len(problems) == 1:
                what, where, remedy = problems[0]
                raise UsageError(what, where=where, remedy=remedy) from error
            parts = [f"{where}: {what}" if where else what for what, where, _ in problems]
            raise UsageError("; ".join(parts)) from error

    def _explain(self, item: ErrorDetails) -> tuple[str, str | None, str | None]:
        """Return the problem of a setting, its place and how to fix it."""
        place = item["loc"]
        if item["type"] == "extra_forbidden":
            names = BenchmarkConfig.model_fields if len(place) == 1 else ()
            near = difflib.get_close_matches(str(place[-1]), names, n=1)
            remedy = f"did you mean '{near[0]}'?" if near else "benchmark run --settings lists them"
            return f"unknown setting '{_dotted(place)}'", self._where(place[:-1] or place), remedy
        what, remedy_of_problem = explain_problem(item)
        spelled = re.search(r"^`(\w+)`: ", what)
        if not place and spelled:
            # A check of several settings that reports one of them.
            place, what = (spelled[1],), what[spelled.end() :]
        return what, self._where(place), remedy_of_problem

    def _where(self, place: tuple[int | str, ...]) -> str | None:
        """Return the name of the field, with the file and the line if it is in the file."""
        name = _dotted(tuple(step for step in place if not isinstance(step, int)))
        if self._path is None or (place and place[0] in self.given):
            return name or None
        line = find_line(self._root, place)
        return f"{self._path}{'' if line is None else f':{line}'}{f': {name}' if name else ''}"


def _read_yaml(path: Path) -> tuple[dict[str, Any], Node | None]:
    """Read the settings of a file as texts, and the tree with their line numbers."""
    try:
        root = parse_yaml(path.read_bytes().decode("utf-8-sig"))
        content = None if root is None else load_value(root, as_text=True)
    except OSError as error:
        what = f"the configuration cannot be read: {error.strerror}"
        raise InputError(what, where=str(path)) from error
    except (TreeError, ValueError, RecursionError) as error:
        where = f"{path}:{error.line}" if isinstance(error, TreeError) else str(path)
        problem = str(error).removeprefix("invalid YAML: ")
        raise UsageError(f"not valid YAML: {problem}", where=where) from error
    if content is None:
        return {}, None
    if not isinstance(content, dict):
        raise UsageError(
            "expected a mapping of settings",
            where=str(path),
            remedy="write lines like `dataset: hpo`",
        )
    return content, root


def _anchor_paths(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Make the file's paths, which are relative to its folder, relative to the current folder."""
    anchored = dict(values)
    for name, value in values.items():
        if name in _PATHS:
            anchored[name] = _anchor(value, folder)
        elif name in ("retrieval", "http") and isinstance(value, dict):
            anchored[name] = _anchor_models(value, folder)
    dataset = values.get("dataset")
    if isinstance(dataset, str) and not is_named_collection(dataset):
        path = _anchor(dataset, folder)  # without "./", a folder could be read as a name
        anchored["dataset"] = f"./{path}" if is_named_collection(path) else path
    return anchored


def _anchor_models(value: Any, folder: Path) -> Any:
    """Anchor the models of settings of search, and of the modes in these."""
    if not isinstance(value, dict):
        return value
    return {
        name: _anchor(part, folder) if name in _MODELS else _anchor_models(part, folder)
        for name, part in value.items()
    }


def _anchor(value: Any, folder: Path) -> Any:
    from trectools_plus.testsets.loading import find_shipped  # the help of commands needs no files

    if isinstance(value, dict):
        return {name: _anchor(path, folder) for name, path in value.items()}
    is_name = value in ("-", BUILTIN) or is_address(value) or is_catalogue_name(value)
    if not isinstance(value, str) or is_name or find_shipped(value) is not None:
        return value
    return str(folder / Path(value).expanduser())


def _dotted(place: tuple[int | str, ...]) -> str:
    return ".".join(str(step) for step in place)


SINGLE = "vector"


def compare_vectors_options(
    options: ConfigOptions, strategies: Sequence[str] | None = None, *, single: bool = True
) -> ConfigOptions:
    """Return the settings of a benchmark whose modes are different kinds of vector search.

    Args:
        options: Further settings, for example ``dataset``; see
            :class:`trectools_plus.benchmark.run.config.BenchmarkConfig`.
        strategies: Aggregation strategies of a multi-vector index; all if ``None``.
        single: Include the search with one vector per document and compare every strategy with it;
            otherwise compare every pair of strategies.

    Returns:
        Settings for :func:`trectools_plus.benchmark.run.config_file.load_config`.

    Raises:
        UsageError: If a strategy is unknown, or there is nothing to compare.
    """
    chosen = STRATEGIES if strategies is None else tuple(strategies)
    modes = (SINGLE, *chosen) if single else chosen
    if len(modes) < 2 or {*chosen} - {*STRATEGIES}:
        raise UsageError(
            f"expected {'strategies' if len(modes) > 1 else 'more strategies'} to compare but got "
            f"'{','.join(chosen)}'",
            where="--strategies",
            remedy=f"use some of {', '.join(STRATEGIES)}; at least two with --no-single",
        )
    retrieval = options.get("retrieval") or {}
    if "multi_vector" in retrieval:
        raise UsageError(
            "cannot be set here: the strategies set it for each mode", where="multi_vector"
        )
    compared = {"baseline": (SINGLE,), "mode_names": {SINGLE: "Single-Vector"}} if single else {}
    retrieval = {**retrieval, "multi_vector": False}
    return {**options, "modes": modes, "retrieval": retrieval, **compared}


def _read_grid(grid: Any) -> Any:
    """Return the values of each setting as texts; a list among the values is joined by colons."""
    if not isinstance(grid, Mapping):
        return grid
    return {
        name: tuple(
            ":".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            for value in (values if isinstance(values, list | tuple) else split_list(str(values)))
        )
        for name, values in grid.items()
    }


class SweepConfig(BenchmarkConfig):
    """The settings of a sweep: those of a benchmark of given runs, and ``grid``."""

    grid: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_read_grid)] = setting(
        dict,
        "Values of a setting, comma-separated, for example fusion.weights=0.4,0.5,0.6; the parts "
        "of one value are separated by colons, for example 0.2:0.3:0.5. Repeatable: every "
        "combination is a variant.",
    )
    measures: MeasureNames = setting(
        (),
        MEASURE_HELP,
        Option(
            "NAME",
            names="--measure --measures -m",
            default="only the primary measure",
            is_repeated=True,
        ),
    )
    baseline: Names | None = setting(
        None,
        "Compare every variant with this variant or run.",
        Option("NAME", default="the best of the runs that are fused; otherwise none"),
    )

    @field_validator("grid")
    @classmethod
    def _has_values(cls, grid: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, values in grid.items():
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name} has no value, or one twice — write {name}=0.4,0.5,0.6")
        return grid

    def _check_names(self) -> None:
        """Check that there are runs, and one baseline: a variant or a run."""
        if self.runs is None:
            raise ValueError("`runs`: a sweep needs them — fetch a run for each variant")
        if self.exclude is not None:
            raise ValueError("`exclude`: a sweep leaves out no documents — leave them out before")
        if len(self.baseline or ()) > 1:
            raise ValueError("`baseline`: a sweep has one — name one")

    def _check_headlines(self) -> None:
        """Check the names only: a sweep also scores a primary measure beside its measures."""
        for name in filter(None, [self.primary_measure, *self.headline_measures]):
            self.bind_measures([name])


def load_sweep_config(
    path: str | Path | None = None, options: ConfigOptions | None = None
) -> SweepConfig:
    """Read the configuration of a sweep; see :func:`~trectools_plus.benchmark.load_config`.

    Args:
        path: A YAML file with the fields of :class:`SweepConfig`, if any.
        options: Settings that override the file.
    """
    return _SettingsFile(path, options).validate(SweepConfig)
