"""The variants of a sweep, and their runs: given, fused from given runs, or searched.

Variants share what they can: given runs are read once, an index is opened once for all variants
with the same settings of it, and searched once for each query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.sweep.config import SweepConfig
from trectools_plus.choices import ALL_MODES, RANK_FUSION
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Corpus, Run, Topics
from trectools_plus.progress import Progress
from trectools_plus.retrieval.backends.embedded.backend import (
    Leaves,
    SharedSearch,
    build_retrievers,
)
from trectools_plus.retrieval.backends.embedded.modes import unused_settings
from trectools_plus.retrieval.fusion import Fusion, fuse
from trectools_plus.retrieval.run_fusion import rankings_of
from trectools_plus.retrieval.settings import BATCH_SIZE, RetrievalSettings, make_settings
from trectools_plus.retrieval.source import (
    BackendRequest,
    Query,
    Ranking,
    Retriever,
    check_ids,
    empty_ranking,
    run_of,
)
from trectools_plus.validation import check_pair, refuse_errors
from trectools_plus.validation.loading import load_run_with_findings

DEPTH = "depth"
_PREFIXES = ("fusion.", "retrieval.", "reranker.")
_SPELLINGS = {
    "fusion.method": "fusion",
    "fusion_method": "fusion",
    "fusion.k": "rrf_k",
    "reranker.model": "reranker_model",
    "reranker.depth": "rerank_depth",
}
_OF_FUSION = {
    "fusion": "method",
    "rrf_k": "k",
    "weights": "weights",
    "normalisation": "normalisation",
    "missing_documents": "missing_documents",
}
"""Fields of :class:`Fusion` by setting."""
_LISTS = ("weights", "components", "aggregation_weights", "stopwords")
"""Settings whose values have several parts."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a sweep.

    Attributes:
        name: Its settings as the user wrote them, or the name of its run or mode.
        settings: Values of the varied settings, as the user wrote them.
        mode: The mode; empty if nothing is searched.
        values: Values by canonical name of the setting.
    """

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    mode: str = ""
    values: dict[str, str] = field(default_factory=dict)


class Variants(ABC):
    """Variants that make runs of the queries of a dataset.

    Attributes:
        variants: The candidates, each once.
        components: The runs that the variants fuse, if they are given.
    """

    variants: list[Variant]
    components: Sequence[Variant] = ()

    @abstractmethod
    def reference(self, name: str) -> Variant | None:
        """Return what a name that is not a variant means: a run or mode, or ``None``."""

    @abstractmethod
    def runs(self, chosen: Sequence[Variant], dataset: Dataset) -> Iterator[Run]:
        """Yield the run of each variant, for the queries of a dataset."""

    def find(self, name: str) -> Variant:
        """Return the variant, run or mode of a name.

        Raises:
            UsageError: If there is none.
        """
        found = next((one for one in self.variants if one.name == name), self.reference(name))
        if found is None:
            known = ", ".join(one.name for one in (*self.components, *self.variants[:5]))
            raise UsageError(
                f"'{name}' is not one of the variants", where="--baseline", remedy=f"use {known}"
            )
        return found


def list_variants(config: SweepConfig, dataset: Dataset, progress: Progress) -> Variants:
    """Return the variants of a configuration.

    Raises:
        UsageError: If a setting is unknown, not used or out of range, or there is one variant only.
    """
    made: Variants
    if config.runs is None:
        made = SearchVariants(config, dataset, progress)
    elif config.grid:
        made = FusedVariants(config)
    else:
        made = GivenVariants(config)
    if len(made.variants) < 2:
        raise UsageError(
            f"there is nothing to choose from: {len(made.variants)} variant",
            where="sweep",
            remedy="give several values, as in --grid fusion.weights=0.4,0.5,0.6, or several runs",
        )
    return made


class GivenVariants(Variants):
    """Runs of variants that were made elsewhere."""

    def __init__(self, config: SweepConfig) -> None:
        self._files = dict(config.runs or {})
        self.variants = [Variant(name) for name in self._files]

    def reference(self, name: str) -> None:  # noqa: ARG002
        """Return nothing: every run is a variant."""
        return

    def runs(self, chosen: Sequence[Variant], dataset: Dataset) -> Iterator[Run]:
        """Read the runs."""
        return (read_run(one.name, self._files[one.name], dataset) for one in chosen)


def read_run(name: str, path: str, dataset: Dataset) -> Run:
    """Read a run and check it against the judgments."""
    run, _ = load_run_with_findings(path, max_depth=None)
    refuse_errors(check_pair(run, dataset.qrels, dataset.topics))
    return Run(run.frame, name)


class FusedVariants(Variants):
    """Fusions of given runs."""

    def __init__(self, config: SweepConfig) -> None:
        self._files = dict(config.runs or {})
        if len(self._files) < 2:
            raise UsageError(
                "one run cannot be fused", where="--runs", remedy="name two or more, or no --grid"
            )
        allowed = (*_OF_FUSION, DEPTH)
        self.variants = _without_repeats(_combine(config.grid, allowed), self._unused)
        for one in self.variants:
            self._fusion(one).check_count(len(self._files))
        self.components = [Variant(name, mode=name) for name in self._files]
        self._read: tuple[Dataset, list[Run]] | None = None

    @cached_property
    def _rankings(self) -> list[dict[str, Ranking]]:
        assert self._read is not None
        return [rankings_of(run) for run in self._read[1]]

    def reference(self, name: str) -> Variant | None:
        """Return one of the runs that are fused."""
        return next((one for one in self.components if one.name == name), None)

    def runs(self, chosen: Sequence[Variant], dataset: Dataset) -> Iterator[Run]:
        """Fuse the runs, which are read once."""
        if self._read is None:
            runs = [read_run(name, path, dataset) for name, path in self._files.items()]
            self._read = dataset, runs
        names = list(self._files)
        for one in chosen:
            if one.mode:
                yield self._read[1][names.index(one.mode)]
                continue
            fusion, depth = self._fusion(one), _depth_of(one)
            query_ids = list(dict.fromkeys(query for table in self._rankings for query in table))
            empty = empty_ranking()
            rankings = [
                fuse([table.get(query, empty) for table in self._rankings], fusion, depth)
                for query in query_ids
            ]
            yield run_of(query_ids, rankings, one.name)

    def _method(self, values: Mapping[str, str]) -> str:
        return values.get("fusion") or ("weighted" if "weights" in values else "rrf")

    def _unused(self, one: Variant) -> dict[str, str]:
        method = self._method(one.values)
        needed = {"rrf_k": "rrf", "weights": "weighted"}
        unused = {name: which for name, which in needed.items() if method != which}
        if method in RANK_FUSION:
            of_scores = "a method that uses scores"
            unused |= {"normalisation": of_scores, "missing_documents": of_scores}
        return {name: f"no variant has fusion.method={which}" for name, which in unused.items()}

    def _fusion(self, one: Variant) -> Fusion:
        fields: dict[str, Any] = {
            _OF_FUSION[name]: text for name, text in one.values.items() if name in _OF_FUSION
        }
        fields["method"] = self._method(one.values)
        if "weights" in fields:
            fields["weights"] = fields["weights"].split(",")
        try:
            return Fusion(**fields)
        except UsageError as error:
            raise UsageError(error.what, where=_where(one), remedy=error.remedy) from error


class SearchVariants(Variants):
    """Modes of the embedded backend with different settings."""

    def __init__(self, config: SweepConfig, dataset: Dataset, progress: Progress) -> None:
        self._config = config
        self._corpus = dataset.corpus
        self._progress = progress
        self._leaves: Leaves = {}
        allowed = (*RetrievalSettings.model_fields, DEPTH)
        several = len(config.modes) > 1
        candidates = (
            Variant(
                "", {"mode": mode, **one.settings} if several else one.settings, mode, one.values
            )
            for mode in config.modes
            for one in _combine(config.grid, allowed)
        )
        self.variants = _without_repeats(candidates, self._unused)

    def reference(self, name: str) -> Variant | None:
        """Return a mode with the settings that are not varied."""
        return Variant(name, mode=name) if name in ALL_MODES else None

    def runs(self, chosen: Sequence[Variant], dataset: Dataset) -> Iterator[Run]:
        """Search; each index is searched once for each query."""
        if dataset.topics is None or not isinstance(self._corpus, Corpus):
            raise InputError("nothing to search: no corpus or no topics", where=dataset.id)
        retrievers = [self._retriever(one) for one in chosen]
        depths = [_depth_of(one) or self._config.depth for one in chosen]
        alone = self._config.exclude_self
        request = BackendRequest(self._corpus, (), depth=max(depths) + alone, exclude_self=alone)
        shared = SharedSearch(retrievers, request)
        queries = _queries_of(dataset.topics)
        size = self._config.retrieval.batch_size or BATCH_SIZE
        for one, retriever, depth in zip(chosen, retrievers, depths, strict=True):
            rankings: list[Ranking] = []
            for start in range(0, len(queries), size):
                found, _ = shared.search(retriever, queries[start : start + size], depth)
                rankings += (ranking.head(depth) for ranking in found)
            yield run_of(dataset.topics.query_ids, rankings, one.name)

    def _settings(self, one: Variant) -> RetrievalSettings:
        base = self._config.retrieval
        given = base.model_dump(include=set(base.model_fields_set))
        varied = {name: value for name, value in one.values.items() if name != DEPTH}
        try:
            made = make_settings({**given, **varied})
        except UsageError as error:
            raise UsageError(error.what, where=_where(one), remedy=error.remedy) from error
        return made.for_documents(has_parts=self._config.has_terms)

    def _unused(self, one: Variant) -> dict[str, str]:
        return unused_settings(self._modes(one), self._settings(one))

    def _modes(self, one: Variant) -> list[str]:
        """Return the mode, and splade if hybrid shall merge it."""
        return list(dict.fromkeys([one.mode, *({"splade"} & {*self._config.modes})]))

    def _retriever(self, one: Variant) -> Retriever:
        assert isinstance(self._corpus, Corpus)
        if not self._leaves:
            check_ids(self._corpus.frame["doc_id"], "document", self._corpus.path)
        settings = self._settings(one)
        made = build_retrievers(
            self._corpus, self._modes(one), settings, self._progress, self._leaves
        )
        return made[one.mode]


def _where(one: Variant) -> str:
    return " ".join(["--grid", *(f"{name}={text}" for name, text in one.settings.items())])


def _queries_of(topics: Topics) -> list[Query]:
    return [Query(*row) for row in topics.frame.select("query_id", "text").iter_rows()]


def _depth_of(one: Variant) -> int | None:
    if DEPTH not in one.values:
        return None
    try:
        depth = int(one.values[DEPTH])
    except ValueError:
        depth = 0
    if depth < 1:
        raise UsageError(
            f"expected a whole number of at least 1 but got '{one.values[DEPTH]}'",
            where="--grid depth",
        )
    return depth


def _combine(grid: Mapping[str, Sequence[str]], allowed: Collection[str]) -> list[Variant]:
    """Return a variant without a name for each combination of values."""
    canonical = {name: _canonical(name, allowed) for name in grid}
    if len(set(canonical.values())) < len(canonical):
        raise UsageError("a setting is given twice", where="--grid", remedy="name it once")
    variants = []
    for texts in product(*grid.values()):
        settings = dict(zip(grid, texts, strict=True))
        values = {canonical[name]: _read(canonical[name], text) for name, text in settings.items()}
        variants.append(Variant("", settings, values=values))
        _depth_of(variants[-1])
    return variants


def _canonical(name: str, allowed: Collection[str]) -> str:
    short = _SPELLINGS.get(name, name)
    for prefix in _PREFIXES:
        short = short.removeprefix(prefix)
    if short not in allowed:
        raise UsageError(
            f"'{name}' cannot be varied", where="--grid", remedy=f"use one of {', '.join(allowed)}"
        )
    return short


def _read(name: str, text: str) -> str:
    """Return a value as in a configuration; a single weight w means w and 1 - w."""
    if name != "weights" or ":" in text:
        return text.replace(":", ",") if name in _LISTS else text
    try:
        return f"{text},{round(1.0 - float(text), 12)!r}"
    except ValueError:
        return text


def _without_repeats(
    variants: Iterable[Variant], find_unused: Callable[[Variant], Mapping[str, str]]
) -> list[Variant]:
    """Return each variant once, with a name, and without the settings that it does not use.

    Raises:
        UsageError: If no variant uses a setting.
    """
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Variant] = {}
    reasons: dict[str, str] = {}
    used: set[str] = set()
    for one in variants:
        unused = find_unused(one)
        of_mode = {name: text for name, text in one.settings.items() if name == "mode"}
        varied = {name: text for name, text in one.settings.items() if name != "mode"}
        spelled = dict(zip(varied, one.values, strict=True))
        reasons |= {name: unused[short] for name, short in spelled.items() if short in unused}
        kept = {name: varied[name] for name, short in spelled.items() if short not in unused}
        used |= {*kept}
        texts = [f"{name}={text}" for name, text in kept.items()]
        name = " ".join([one.mode, *texts] if of_mode or not texts else texts)
        values = {spelled[name]: one.values[spelled[name]] for name in kept}
        key = one.mode, tuple(values.items())
        found.setdefault(key, Variant(name, {**of_mode, **kept}, one.mode, values))
    for name, reason in reasons.items():
        if name not in used:
            raise UsageError(
                f"'{name}' changes nothing: {reason}", where="--grid", remedy="leave it out"
            )
    return list(found.values())
