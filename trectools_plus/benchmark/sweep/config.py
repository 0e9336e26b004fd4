"""The configuration of a sweep: that of a benchmark, and the grid of the varied settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, field_validator

from trectools_plus.benchmark.run.config import BenchmarkConfig, FileName, MeasureNames
from trectools_plus.benchmark.run.config_file import ConfigOptions, load_config
from trectools_plus.choices import MEASURE_HELP, Panel
from trectools_plus.retrieval.setting_types import Names, Option, setting
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.text import split_list

_USED, _HELD_OUT = "-used.json", "-held-out.json"
"""Ends of the files that ``testset split`` writes."""


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
    """The settings of a sweep: those of a benchmark, ``grid`` and ``held_out``.

    Without ``modes``, the mode is ``hybrid``. ``retrieval`` has only the settings that were given:
    the others depend on the varied ones.
    """

    grid: Annotated[dict[str, tuple[str, ...]], BeforeValidator(_read_grid)] = setting(
        dict,
        "Values of a setting, comma-separated, for example fusion.weights=0.4,0.5,0.6; the parts "
        "of one value are separated by colons, for example 0.2:0.3:0.5. Repeatable: every "
        "combination is a variant.",
    )
    modes: Names = setting(
        ("hybrid",),
        "Modes to vary, comma-separated; with several, each variant of each mode is a candidate.",
        Option("NAMES", default="hybrid"),
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
        "Compare every variant with this variant, run or mode.",
        Option("NAME", default="the best of the runs that are fused; otherwise none"),
    )
    held_out: FileName | None = setting(
        None,
        "Test set on which the chosen variant is scored, once.",
        Option("SET", Panel.DATA, default="the file …-held-out.json beside a set …-used.json"),
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
                raise ValueError(
                    f"{name} has {'a value twice' if values else 'no value'} — "
                    f"write {name}=0.4,0.5,0.6"
                )
        return grid

    def _check_names(self) -> None:
        """Check the backend, and the number of baselines: a variant, a run or a mode is one."""
        if self.runs is None and not self.is_embedded:
            raise ValueError(
                f"`backend`: a sweep searches with the embedded modes, not with {self.backend} — "
                "fetch a run for each variant, and give them with `runs`"
            )
        if len(self.baseline or ()) > 1:
            raise ValueError("`baseline`: a sweep has one baseline — name one")

    def _check_headlines(self) -> None:
        """Check the names only: a sweep also scores a primary measure beside its measures."""
        names = filter(None, [self.primary_measure, *self.headline_measures])
        for name in names:
            self.bind_measures([name])

    def find_held_out(self) -> str | None:
        """Return the held-out part: the given one, or the file beside the used part."""
        found = self.name_held_out()
        return found if self.held_out is not None or (found and Path(found).is_file()) else None

    def name_held_out(self) -> str | None:
        """Return the name that the held-out part has if there is one."""
        used = self.test_file or ""
        if self.held_out is not None or not used.endswith(_USED):
            return self.held_out
        return used.removesuffix(_USED) + _HELD_OUT


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
