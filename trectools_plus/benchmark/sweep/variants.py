"""The variants of a sweep, and their runs: given, fused from given runs, or searched.

Variants share what they can: given runs are read once, an index is opened once for all variants
with the same settings of it, and searched once for each query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, field_validator

from trectools_plus.benchmark.run.config import BenchmarkConfig, MeasureNames
from trectools_plus.benchmark.run.config_file import ConfigOptions, load_config
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.choices import ALL_MODES, MEASURE_HELP
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Run
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.backends.embedded.backend import (
    SharedSearch,
    build_retrievers,
)
from trectools_plus.retrieval.backends.embedded.modes import unused_settings
from trectools_plus.retrieval.fusion import Fusion, fuse_rankings, rankings_of
from trectools_plus.retrieval.setting_types import Names, Option, setting
from trectools_plus.retrieval.settings import BATCH_SIZE, RetrievalSettings, make_settings
from trectools_plus.retrieval.source import (
    FetchOptions,
    check_ids,
    empty_ranking,
    iter_queries,
    run_of,
)
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


DEPTH = "depth"
_NUMBER = re.compile(r"\d*\.?\d+")
_SPELLINGS = {"fusion.method": "fusion", "fusion_method": "fusion", "fusion.k": "rrf_k"}
_OF_FUSION = {
    "fusion": "method",
    "rrf_k": "k",
    "weights": "weights",
    "normalisation": "normalisation",
}
"""Fields of :class:`Fusion` by setting."""
_LISTS = ("weights", "components")
"""Settings whose values have several parts."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a sweep.

    Attributes:
        name: Its settings as the user wrote them, or the name of its run or mode.
        settings: Values of the varied settings, as the user wrote them.
        mode: The mode, or the run; empty for a fusion of runs.
        values: Values by canonical name of the setting.
    """

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    mode: str = ""
    values: dict[str, str] = field(default_factory=dict)

    @property
    def depth(self) -> int | None:
        """The number of results for each query; ``None`` if it is not varied."""
        text = self.values.get(DEPTH)
        if text is not None and not (text.isdecimal() and int(text)):
            raise UsageError(f"expected a whole number of at least 1 but got '{text}'")
        return None if text is None else int(text)


@dataclass(frozen=True, slots=True)
class Variants:
    """Variants that make runs of the queries of a dataset.

    Attributes:
        variants: The candidates, each once.
        references: Runs or modes that are not candidates, but can be the baseline.
        runs: Yields the run of each of some variants.
        baselines: The variants, runs or modes of which the best one is the baseline.
    """

    variants: list[Variant]
    references: Sequence[Variant]
    runs: Callable[[Sequence[Variant]], Iterator[Run]]
    baselines: Sequence[Variant] = ()

    @property
    def scored(self) -> list[Variant]:
        """The candidates, and the baselines that are none."""
        return [*self.variants, *(one for one in self.baselines if one not in self.variants)]


def list_variants(
    config: SweepConfig, dataset: Dataset, progress: Progress = no_progress
) -> Variants:
    """Return the variants of a configuration.

    Args:
        config: The settings.
        dataset: The data to search, and the judgments.
        progress: Called as ``progress(description, done, total)``.

    Raises:
        UsageError: If a setting is unknown, not used or out of range, there is one variant only,
            or no variant, run or mode has the name of the baseline.
    """
    made = _of_runs(config, dataset) if config.runs else _of_search(config, dataset, progress)
    if len(made.variants) < 2:
        raise UsageError(
            f"there is nothing to choose from: {len(made.variants)} variant",
            where="sweep",
            remedy="give several values, as in --grid fusion.weights=0.4,0.5,0.6, or several runs",
        )
    if not config.baseline:
        return replace(made, baselines=made.references if config.runs else ())
    known = {one.name: one for one in (*made.references, *made.variants)}
    name = config.baseline[0]
    if name not in known:
        raise UsageError(
            f"'{name}' is not one of the variants",
            where="--baseline",
            remedy=f"use one of {', '.join([*known][:9])}",
        )
    return replace(made, baselines=[known[name]])


def _of_runs(config: SweepConfig, dataset: Dataset) -> Variants:
    """Return given runs, or fusions of them."""
    files = dict(config.runs or {})
    given = [Variant(name, mode=name) for name in files]
    if not config.grid:
        return Variants(given, (), partial(_read_runs, files, dataset))
    if len(files) < 2:
        raise UsageError(
            "one run cannot be fused", where="--runs", remedy="name two or more, or no --grid"
        )
    fusions = _combine(
        config.grid,
        (*_OF_FUSION, DEPTH),
        lambda one: unused_settings(["hybrid"], make_settings({"fusion": _method_of(one)})),
    )
    for one in fusions:
        with _naming(one):
            _fusion_of(one).check_count(len(files))
    # Given runs are read once.
    read = cache(lambda: {run.name: run for run in _read_runs(files, dataset, given)})

    def fuse(chosen: Sequence[Variant]) -> Iterator[Run]:
        rankings = [rankings_of(run) for run in read().values()]
        query_ids = list(dict.fromkeys(chain.from_iterable(rankings)))
        for one in chosen:
            if one.mode:
                yield read()[one.mode]
                continue
            lists = (
                [table.get(query, empty_ranking()) for table in rankings] for query in query_ids
            )
            fused = [fuse_rankings(ranked, _fusion_of(one), one.depth) for ranked in lists]
            yield run_of(query_ids, fused, one.name)

    return Variants(fusions, given, fuse)


def _read_runs(
    files: Mapping[str, str], dataset: Dataset, chosen: Sequence[Variant]
) -> Iterator[Run]:
    for one in chosen:
        run, _ = load_run_with_findings(files[one.mode], max_depth=None)
        refuse_errors(check_pair(run, dataset.qrels, dataset.topics))
        yield Run(run.frame, one.mode)


def _method_of(one: Variant) -> str:
    return one.values.get("fusion") or ("weighted" if "weights" in one.values else "rrf")


def _fusion_of(one: Variant) -> Fusion:
    fields: dict[str, Any] = {
        field: one.values[name] for name, field in _OF_FUSION.items() if name in one.values
    }
    if "weights" in fields:
        fields["weights"] = fields["weights"].split(",")
    return Fusion(**{**fields, "method": _method_of(one)})


def _of_search(config: SweepConfig, dataset: Dataset, progress: Progress) -> Variants:
    """Return modes of the embedded backend with different settings."""
    topics, corpus = dataset.topics, dataset.corpus
    if topics is None or corpus is None:
        raise InputError("nothing to search: no corpus or no topics", where=dataset.id)
    check_ids(corpus.frame["doc_id"], "document", corpus.path)
    build = partial(build_retrievers, corpus, progress=progress, leaves={})

    def search(chosen: Sequence[Variant]) -> Iterator[Run]:
        """Search; each index is searched once for each query."""
        retrievers = [
            build(_modes_of(config, one), _settings_of(config, one))[one.mode] for one in chosen
        ]
        depths = [one.depth or config.depth for one in chosen]
        options = FetchOptions(max(depths), config.exclude_self)
        shared, queries = SharedSearch(retrievers, options), list(iter_queries(topics))
        batches = [queries[at : at + BATCH_SIZE] for at in range(0, len(queries), BATCH_SIZE)]
        for one, retriever, depth in zip(chosen, retrievers, depths, strict=True):
            answers = chain.from_iterable(shared.search(retriever, some, depth) for some in batches)
            yield run_of(topics.query_ids, [ranking for ranking, _ in answers], one.name)

    variants = _combine(
        config.grid,
        (*RetrievalSettings.model_fields, DEPTH),
        lambda one: unused_settings(_modes_of(config, one), _settings_of(config, one)),
        config.modes,
    )
    return Variants(variants, [Variant(mode, mode=mode) for mode in ALL_MODES], search)


def _settings_of(config: SweepConfig, one: Variant) -> RetrievalSettings:
    base = config.retrieval
    varied = {name: value for name, value in one.values.items() if name != DEPTH}
    made = make_settings({**base.model_dump(include=base.model_fields_set), **varied})
    return made.for_documents(has_parts=config.has_terms)


def _modes_of(config: SweepConfig, one: Variant) -> list[str]:
    """Return the mode, and splade if hybrid shall merge it."""
    return list(dict.fromkeys([one.mode, *({"splade"} & {*config.modes})]))


@contextmanager
def _naming(one: Variant) -> Iterator[None]:
    """Name the variant in errors of the block."""
    try:
        yield
    except UsageError as error:
        error.where = " ".join(["--grid", *map("=".join, one.settings.items())])
        raise


def _combine(
    grid: Mapping[str, Sequence[str]],
    allowed: Collection[str],
    find_unused: Callable[[Variant], Mapping[str, str]],
    modes: Sequence[str] = ("",),
) -> list[Variant]:
    """Return a variant for each mode and combination of values, without those that it ignores.

    Args:
        grid: Texts by setting.
        allowed: The settings that can be varied.
        find_unused: Returns the settings that a variant ignores, each with the reason.
        modes: The modes.

    Raises:
        UsageError: If a setting cannot be varied, or is ignored by all variants.
    """
    canonical = {name: _canonical(name, allowed) for name in grid}
    variants: dict[tuple[Any, ...], Variant] = {}
    ignored: dict[str, str] = {}
    for mode, texts in product(modes, product(*grid.values())):
        settings = dict(zip(grid, texts, strict=True))
        values = {canonical[name]: _read(canonical[name], text) for name, text in settings.items()}
        whole = Variant("", settings, mode, values)
        with _naming(whole):
            unused = find_unused(whole)
            _ = whole.depth  # checked
        ignored |= unused
        settings = {name: one for name, one in settings.items() if canonical[name] not in unused}
        values = {name: value for name, value in values.items() if name not in unused}
        words = [
            *([mode] if len(modes) > 1 or not settings else []),
            *map("=".join, settings.items()),
        ]
        named = {**({"mode": mode} if len(modes) > 1 else {}), **settings}
        one = Variant(" ".join(words), named, mode, values)
        variants.setdefault((mode, *values.items()), one)
    for name in grid:
        if not any(name in one.settings for one in variants.values()):
            raise UsageError(
                f"'{name}' changes nothing: {ignored[canonical[name]]}",
                where="--grid",
                remedy="leave it out",
            )
    return list(variants.values())


def _canonical(name: str, allowed: Collection[str]) -> str:
    short = _SPELLINGS.get(name, name).removeprefix("fusion.").removeprefix("retrieval.")
    if short not in allowed:
        raise UsageError(
            f"'{name}' cannot be varied", where="--grid", remedy=f"use one of {', '.join(allowed)}"
        )
    return short


def _read(name: str, text: str) -> str:
    """Return a value as in a configuration; a single weight w means w and 1 - w."""
    if name == "weights" and _NUMBER.fullmatch(text):
        return f"{text},{round(1.0 - float(text), 12)!r}"
    return text.replace(":", ",") if name in _LISTS else text
