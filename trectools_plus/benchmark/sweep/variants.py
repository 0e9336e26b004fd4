"""The variants of a sweep, and their runs: given, fused from given runs, or searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, field_validator

from trectools_plus.benchmark.run.config import BenchmarkConfig, MeasureNames
from trectools_plus.benchmark.run.config_file import ConfigOptions, load_config
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.choices import MEASURE_HELP
from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.retrieval.fusion import Fusion, fuse
from trectools_plus.retrieval.setting_types import Names, Option, setting
from trectools_plus.text import split_list
from trectools_plus.validation import check_pair, refuse_errors
from trectools_plus.validation.loading import load_run


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
    config = load_config(path, options, SweepConfig)
    assert isinstance(config, SweepConfig)
    return config


_FIELDS = ("method", "k", "weights", "normalisation")
"""The fields of :class:`Fusion` that a grid varies, as ``fusion.method`` and so on."""


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """A variant of a sweep, or a run that it is compared with.

    Attributes:
        name: Its settings as the user wrote them, or the name of its run.
        settings: Values of the varied settings, as the user wrote them.
        make: Returns its run, of this name.
    """

    name: str
    settings: dict[str, str]
    make: Callable[[], Run]


def list_variants(config: SweepConfig, dataset: Dataset) -> tuple[list[Variant], list[Variant]]:
    """Return the variants of a configuration, and those of which the best one is the baseline.

    Args:
        config: The settings.
        dataset: The judgments, and the queries if they are known.

    Raises:
        UsageError: If a setting is unknown or out of range, there is one variant only, or no
            variant or run has the name of the baseline.
    """
    runs = [
        Variant(name, {}, partial(_read_run, name, path, dataset))
        for name, path in (config.runs or {}).items()
    ]
    variants, baselines = (_fuse_runs(config.grid, runs), runs) if config.grid else (runs, [])
    if len(variants) < 2:
        raise UsageError(
            f"there is nothing to choose from: {len(variants)} variant",
            where="sweep",
            remedy="give several values, as in --grid fusion.weights=0.4,0.5,0.6, or several runs",
        )
    for name in config.baseline or ():
        baselines = [one for one in (*runs, *variants) if one.name == name][:1]
        if not baselines:
            raise UsageError(f"'{name}' is not one of the variants", where="--baseline")
    return variants, baselines


def _read_run(name: str, path: str, dataset: Dataset) -> Run:
    run = load_run(path)
    refuse_errors(check_pair(run, dataset.qrels, dataset.topics))
    return Run(run.frame, name)


def _fuse_runs(grid: Mapping[str, tuple[str, ...]], runs: list[Variant]) -> list[Variant]:
    """Return a variant for each combination of values, without the settings that it ignores."""
    if len(runs) < 2:
        raise UsageError("one run cannot be fused", where="--runs", remedy="name two or more")
    known = ("depth", *(f"fusion.{field}" for field in _FIELDS))
    if unknown := {*grid} - {*known}:
        raise UsageError(f"'{min(unknown)}' cannot be varied", remedy=f"use {', '.join(known)}")
    read = cache(lambda: {run.name: run.make() for run in runs})
    variants: dict[str, Variant] = {}
    for texts in product(*grid.values()):
        settings = dict(zip(grid, texts, strict=True))
        default = "weighted" if "fusion.weights" in grid else "rrf"
        method = settings.get("fusion.method", default)
        for field, is_used in (
            ("k", method == "rrf"),
            ("normalisation", method != "rrf"),
            ("weights", method == "weighted"),
        ):
            if not is_used:
                settings.pop(f"fusion.{field}", None)
        name = " ".join(map("=".join, settings.items()))
        try:
            fusion, depth = _read_fusion(settings, method, len(runs))
        except UsageError as error:
            error.where = f"--grid {name}"
            raise
        make = partial(_fuse, read, fusion, depth, name)
        variants.setdefault(name, Variant(name, settings, make))
    return list(variants.values())


def _fuse(read: Callable[[], dict[str, Run]], fusion: Fusion, depth: int | None, name: str) -> Run:
    return fuse(read(), fusion, depth, name)


def _read_fusion(settings: Mapping[str, str], method: str, count: int) -> tuple[Fusion, int | None]:
    """Return the fusion and its depth; a single weight w means w and 1 - w."""
    values: dict[str, Any] = {name.removeprefix("fusion."): text for name, text in settings.items()}
    depth = values.pop("depth", None)
    if depth is not None and not (depth.isdecimal() and int(depth)):
        raise UsageError(f"expected a whole number of at least 1 but got '{depth}'")
    if "weights" in values:
        try:
            weights = [float(part) for part in values["weights"].split(":")]
        except ValueError as error:
            raise UsageError(f"expected weights but got '{values['weights']}'") from error
        values["weights"] = weights if len(weights) > 1 else [*weights, round(1.0 - weights[0], 12)]
    fusion = Fusion(**{**values, "method": method})
    fusion.check_count(count)
    return fusion, None if depth is None else int(depth)
