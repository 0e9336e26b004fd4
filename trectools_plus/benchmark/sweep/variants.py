"""The variants of a sweep, and their runs: given, fused from given runs, or searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, field_validator

from trectools_plus.benchmark.run.config import BenchmarkConfig, MeasureNames
from trectools_plus.benchmark.run.config_file import ConfigOptions, load_config
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.choices import MEASURE_HELP
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.modes import unused_settings
from trectools_plus.retrieval.fusion import Fusion, fuse
from trectools_plus.retrieval.setting_types import Names, Option, setting
from trectools_plus.retrieval.settings import RetrievalSettings, make_settings
from trectools_plus.text import split_list
from trectools_plus.validation import check_pair, refuse_errors
from trectools_plus.validation.loading import load_run_with_findings


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
    """The settings of a sweep: those of a benchmark and ``grid``.

    ``retrieval`` has only the settings that were given: the others depend on the varied ones.
    """

    grid: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_read_grid)] = setting(
        dict,
        "Values of a setting, comma-separated, for example fusion.weights=0.4,0.5,0.6; the parts "
        "of one value are separated by colons, for example 0.2:0.3:0.5. Repeatable: every "
        "combination is a variant.",
    )
    modes: Names = setting(
        ("hybrid",), "The mode whose settings are varied.", Option("NAME", default="hybrid")
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

    @field_validator("retrieval")
    @classmethod
    def _for_documents(
        cls,
        settings: RetrievalSettings,
        info: ValidationInfo,  # noqa: ARG003
    ) -> RetrievalSettings:
        """Leave the settings open that depend on the documents and on the grid."""
        return settings

    @field_validator("grid")
    @classmethod
    def _has_values(cls, grid: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for name, values in grid.items():
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{name} has no value, or one twice — write {name}=0.4,0.5,0.6")
        return grid

    def _check_names(self) -> None:
        """Check that a sweep can make the variants: a variant or a run is one baseline."""
        if self.runs is None and not self.is_embedded:
            raise ValueError(
                f"`backend`: a sweep searches with the embedded modes, not with {self.backend} — "
                "fetch a run for each variant, and give them with `runs`"
            )
        if self.exclude is not None:
            raise ValueError("`exclude`: a sweep leaves out no documents — leave them out before")
        for name, values in (("modes", self.modes), ("baseline", self.baseline or ())):
            if len(values) > 1:
                raise ValueError(f"`{name}`: a sweep has one — name one")

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


_FUSION = {
    "fusion": "method",
    "rrf_k": "k",
    "weights": "weights",
    "normalisation": "normalisation",
}
"""Fields of :class:`Fusion` by setting; a grid also names them ``fusion.method`` and so on."""
_SETTINGS = {f"fusion.{field}": name for name, field in _FUSION.items()}


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


_Prepared = tuple[Mapping[str, str], Callable[[str], Run]]
"""The settings that a variant ignores, each with the reason; and its run by its name."""


def list_variants(
    config: SweepConfig, dataset: Dataset, progress: Progress = no_progress
) -> tuple[list[Variant], list[Variant]]:
    """Return the variants of a configuration, and those of which the best one is the baseline.

    Args:
        config: The settings.
        dataset: The data to search, and the judgments.
        progress: Called as ``progress(description, done, total)``.

    Raises:
        UsageError: If a setting is unknown, not used or out of range, there is one variant only,
            or no variant or run has the name of the baseline.
    """
    runs = [
        Variant(name, {}, partial(_read_run, name, path, dataset))
        for name, path in (config.runs or {}).items()
    ]
    variants, baselines = runs, []
    if config.grid or not runs:
        prepare = _prepare_fusions(runs) if runs else _prepare_search(config, dataset, progress)
        variants, baselines = _combine(config.grid, prepare), runs
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
    run, _ = load_run_with_findings(path, max_depth=None)
    refuse_errors(check_pair(run, dataset.qrels, dataset.topics))
    return Run(run.frame, name)


def _prepare_fusions(runs: list[Variant]) -> Callable[..., _Prepared]:
    if len(runs) < 2:
        raise UsageError("one run cannot be fused", where="--runs", remedy="name two or more")
    read = cache(lambda: {run.name: run.make() for run in runs})

    def prepare(values: dict[str, Any], depth: int | None) -> _Prepared:
        if unknown := {*values} - {*_FUSION}:
            raise UsageError(
                f"'{min(unknown)}' cannot be varied", remedy=f"use {', '.join(_SETTINGS)}"
            )
        method = values.get("fusion") or ("weighted" if "weights" in values else "rrf")
        unused = unused_settings(["hybrid"], make_settings({"fusion": method}))
        fields = {_FUSION[name]: value for name, value in values.items() if name not in unused}
        fusion = Fusion(**{**fields, "method": method})
        fusion.check_count(len(runs))
        return unused, lambda name: fuse(read(), fusion, depth, name)

    return prepare


def _prepare_search(
    config: SweepConfig, dataset: Dataset, progress: Progress
) -> Callable[..., _Prepared]:
    from trectools_plus.retrieval.fetch.fetch import FetchRequest, fetch_runs
    from trectools_plus.retrieval.fetch.outcome import refuse_unscorable
    from trectools_plus.retrieval.source import FetchOptions

    topics, corpus, modes = dataset.topics, dataset.corpus, config.modes
    if topics is None or corpus is None:
        raise InputError("nothing to search: no corpus or no topics", where=dataset.id)
    base = config.retrieval.model_dump(include=config.retrieval.model_fields_set)

    def prepare(values: dict[str, Any], depth: int | None) -> _Prepared:
        settings = make_settings({**base, **values}).for_documents(has_parts=config.has_terms)
        options = FetchOptions(depth or config.depth, config.exclude_self)
        request = FetchRequest(corpus, topics, modes, options, settings)

        def search(name: str) -> Run:
            fetched = fetch_runs(request, progress=progress)
            refuse_unscorable(fetched)
            return Run(fetched[modes[0]].run.frame, name)

        return unused_settings(modes, settings), search

    return prepare


def _combine(
    grid: Mapping[str, tuple[str, ...]], prepare: Callable[..., _Prepared]
) -> list[Variant]:
    """Return a variant for each combination of values, without the settings that it ignores."""
    variants: dict[str, Variant] = {}
    ignored: dict[str, str] = {}
    for texts in product(*grid.values()):
        settings = dict(zip(grid, texts, strict=True))
        values: dict[str, Any] = {
            _SETTINGS.get(name, name): _read_value(name, text) for name, text in settings.items()
        }
        try:
            depth = _read_depth(values.pop("depth", None))
            unused, make = prepare(values, depth)
        except UsageError as error:
            error.where = " ".join(["--grid", *map("=".join, settings.items())])
            raise
        ignored |= {name: unused.get(_SETTINGS.get(name, name), "") for name in grid}
        used = {name: text for name, text in settings.items() if not ignored[name]}
        name = " ".join(map("=".join, used.items()))
        variants.setdefault(name, Variant(name, used, partial(make, name)))
    for name in grid:
        if not any(name in one.settings for one in variants.values()):
            what = f"'{name}' changes nothing: {ignored[name]}"
            raise UsageError(what, where="--grid", remedy="leave it out")
    return list(variants.values())


def _read_depth(text: str | None) -> int | None:
    if text is not None and not (text.isdecimal() and int(text)):
        raise UsageError(f"expected a whole number of at least 1 but got '{text}'")
    return None if text is None else int(text)


def _read_value(name: str, text: str) -> Any:
    """Return a value as in a configuration; a single weight w means w and 1 - w."""
    if not name.endswith("weights"):
        return text.replace(":", ",") if name == "components" else text
    try:
        weights = [float(part) for part in text.split(":")]
    except ValueError as error:
        raise UsageError(f"expected weights but got '{text}'", where=f"--grid {name}") from error
    return weights if len(weights) > 1 else [*weights, round(1.0 - weights[0], 12)]
