"""The backend ``embedded``: it builds indexes of documents and searches them in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

from trectools_plus.display import Displayed, Progress, no_progress
from trectools_plus.formats.tables import Corpus
from trectools_plus.models import package_versions
from trectools_plus.retrieval.backends.modes import (
    canonical_mode,
    check_modes,
    expand_modes,
    kind_of,
    merged_modes,
    model_of,
    models_used,
    unused_settings,
)
from trectools_plus.retrieval.fusion import HybridRetriever, fusion_of
from trectools_plus.retrieval.index.encoder import make_encoder
from trectools_plus.retrieval.index.lexical import LexicalRetriever
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.retrieval.index.ngram import NgramRetriever
from trectools_plus.retrieval.index.parts import TextParts
from trectools_plus.retrieval.index.sparse import SparseRetriever
from trectools_plus.retrieval.index.vector import MultiVectorRetriever, VectorRetriever
from trectools_plus.retrieval.rerank import RerankingRetriever, RewordedRetriever, open_rewording
from trectools_plus.retrieval.settings import BATCH_SIZE, RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    CompositeRetriever,
    FetchOptions,
    Hits,
    Query,
    Ranking,
    Retriever,
    SearchRequest,
    Source,
    check_ids,
    leaves_of,
)

LATENCY_SAMPLE = 100
"""Queries whose latency is measured: the mean is known to a tenth of the standard deviation, and
the 95th percentile depends on the five slowest."""


class EmbeddedBackend(Backend):
    """The built-in modes.

    Args:
        retrievers: Open retrievers by mode; ``None`` builds them from the documents.
    """

    name = "embedded"
    needs_corpus = True
    keeps_journal = False

    def __init__(self, retrievers: Mapping[str, Retriever] | None = None) -> None:
        self._retrievers = retrievers
        self.needs_corpus = retrievers is None

    def request_facts(self, request: SearchRequest) -> dict[str, Any]:
        """Return package versions, models, merged modes, and the hash of the documents' parts."""
        corpus, modes = request.corpus, request.modes
        return {
            "packages": package_versions(),
            "models": {
                role: model.sha256 for role, model in models_used(modes, request.settings).items()
            },
            "merged": merged_modes(modes, request.settings)
            if "hybrid" in map(kind_of, modes)
            else None,
            "parts": None
            if corpus is None or corpus.parts is None
            else TextParts.from_corpus(corpus).sha256,
        }

    def models(
        self, mode: str, modes: Sequence[str], settings: RetrievalSettings
    ) -> dict[str, SourceFile]:
        """Return the local models that one of the requested modes uses, by role."""
        merged = merged_modes(modes, settings, model_of(mode)) if kind_of(mode) == "hybrid" else []
        return models_used([mode, *merged], settings)

    def open(self, request: SearchRequest, progress: Progress) -> dict[str, Source]:
        """Build retrievers, which share their indexes, and a source for each.

        Raises:
            UsageError: If a mode is unknown or repeated, or the model of a mode is missing.
            InputError: If ids cannot be written to a run, or an index cannot be built.
        """
        retrievers = self._retrievers
        if retrievers is None:
            assert request.corpus is not None
            check_ids(request.corpus.frame["doc_id"], "document", request.corpus.path)
            retrievers = build_retrievers(request.corpus, request.modes, request.settings, progress)
            # The first access to memory-mapped files must not count as a query's latency.
            for retriever in retrievers.values():
                retriever.search(["warm up"], 1)
        shared = SharedSearch([retrievers[mode] for mode in request.modes], request.options)
        return {mode: EmbeddedSource(retrievers[mode], shared) for mode in request.modes}


class EmbeddedSource(Source):
    """A retriever in this process.

    Args:
        retriever: The retriever.
        shared: Searches the retriever's components.
    """

    batch_size = BATCH_SIZE
    latency_sample = LATENCY_SAMPLE

    def __init__(self, retriever: Retriever, shared: SharedSearch) -> None:
        self._retriever, self._shared = retriever, shared

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits]:
        """Search for all queries at once and divide the time evenly among them."""
        depth = min(depth, self._shared.options.depth)
        return [
            Hits(ranking.doc_ids, ranking.scores, ms)
            for ranking, ms in self._shared.search(self._retriever, queries, depth)
        ]

    def index_keys(self) -> dict[str, str]:
        """Return the key of each searched index, by mode."""
        return {
            leaf.name: key
            for leaf in leaves_of(self._retriever)
            if (key := getattr(leaf, "index_key", None)) is not None
        }


class SharedSearch:
    """Searches each component once for each query, even if several retrievers use it.

    All components are searched to the same depth, so that a component's ranking is also the result
    of its mode. The document with the query's id is dropped before rankings are merged.

    Args:
        retrievers: All retrievers that will search.
        options: The depth, and whether the document with the query's id is dropped.
    """

    def __init__(self, retrievers: Sequence[Retriever], options: FetchOptions) -> None:
        self.options = options
        self._leaf_depth = max(_depth_needed(retriever, options.depth) for retriever in retrievers)
        self._found: dict[tuple[int, str], tuple[Ranking, float]] = {}

    def search(
        self, retriever: Retriever, queries: Sequence[Query], depth: int
    ) -> list[tuple[Ranking, float]]:
        """Return each query's ranking to the given depth, and its latency in milliseconds.

        The latency of a hybrid is the sum of its components' latencies and the time of merging.
        """
        if not isinstance(retriever, CompositeRetriever):
            return [
                (ranking.head(depth), ms) for ranking, ms in self._search_leaf(retriever, queries)
            ]
        component_depth = retriever.component_depth(depth)
        parts = [
            self.search(component, queries, component_depth) for component in retriever.components
        ]
        merged = []
        for query, *of_query in zip(queries, *parts, strict=True):
            started = perf_counter()
            rankings, spent = zip(*of_query, strict=True)
            ranking = retriever.combine(query.text, rankings, depth)
            merged.append((ranking, 1000 * (perf_counter() - started) + sum(spent)))
        return merged

    def _search_leaf(
        self, leaf: Retriever, queries: Sequence[Query]
    ) -> list[tuple[Ranking, float]]:
        missing = [query for query in queries if (id(leaf), query.query_id) not in self._found]
        if missing:
            started = perf_counter()
            texts = [query.text for query in missing]
            depth = self._leaf_depth + self.options.exclude_self
            if isinstance(leaf, RewordedRetriever):
                rankings = leaf.search_in(texts, [query.language for query in missing], depth)
            else:
                rankings = leaf.search(texts, depth)
            ms = 1000 * (perf_counter() - started) / len(missing)
            for query, ranking in zip(missing, rankings, strict=True):
                rest = ranking.without(query.query_id) if self.options.exclude_self else ranking
                self._found[id(leaf), query.query_id] = rest.head(self._leaf_depth), ms
        return [self._found[id(leaf), query.query_id] for query in queries]


def _depth_needed(retriever: Retriever, depth: int) -> int:
    """Return the depth of the index searches for a result of ``depth`` documents."""
    if not isinstance(retriever, CompositeRetriever):
        return depth
    component_depth = retriever.component_depth(depth)
    return max(_depth_needed(component, component_depth) for component in retriever.components)


def build_retrievers(
    corpus: Corpus,
    modes: Sequence[str],
    settings: RetrievalSettings | None = None,
    progress: Progress = no_progress,
    leaves: Leaves | None = None,
) -> dict[str, Retriever]:
    """Build a retriever for each mode; indexes are read from the cache or added to it.

    Modes share their indexes: ``hybrid`` and ``lexical`` use the same lexical retriever.
    ``hybrid`` merges the ``components`` of the settings, and splade if it is among the modes.

    Args:
        corpus: The documents.
        modes: Names of ``ALL_MODES`` without repetition; with several embedding models, from
            :func:`~trectools_plus.retrieval.backends.modes.expand_modes`.
        settings: ``None`` uses the defaults.
        progress: Receives the progress of building indexes.
        leaves: Retrievers of indexes that earlier calls for these documents built. They are used
            again where their settings are the same; new ones are added.

    Returns:
        The retrievers by mode.

    Raises:
        UsageError: If there is no mode, a mode is unknown or repeated, or the model of a mode is
            missing.
        MissingExtraError: If a setting names a model and the extra ``neural`` is not installed.
        InputError: If the corpus is empty or an id is repeated, an index cannot be written, or a
            model cannot be opened.
    """
    settings = (settings or RetrievalSettings()).for_documents(has_parts=corpus.parts is not None)
    check_modes(modes, settings)
    leaf_of = _leaf_builder(corpus, settings, progress, {} if leaves is None else leaves)
    rewording = open_rewording(corpus, settings)

    @cache
    def reworded(mode: str) -> Retriever:
        return leaf_of(mode) if rewording is None else RewordedRetriever(leaf_of(mode), rewording)

    names = TextParts.from_corpus(corpus).names() if settings.reranker else None
    retrievers = dict[str, Retriever]()
    for mode in modes:
        retriever: Retriever
        if kind_of(mode) == "hybrid":
            merged = merged_modes(modes, settings, model_of(mode))
            fusion = fusion_of(settings, [*map(kind_of, merged)])
            retriever = HybridRetriever([*map(reworded, merged)], fusion, settings.candidates)
        else:
            retriever = (reworded if kind_of(mode) == "ngram" else leaf_of)(canonical_mode(mode))
        if names is not None:
            retriever = RerankingRetriever(retriever, names, settings.rerank_depth)
        retrievers[mode] = retriever
    return retrievers


Leaves = dict[tuple[str, str], Retriever]
"""Retrievers of indexes, by mode and the settings that the mode uses."""


def _leaf_builder(
    corpus: Corpus, settings: RetrievalSettings, progress: Progress, leaves: Leaves
) -> Callable[[str], Retriever]:
    """Return a function that builds the retriever of a mode that searches one index.

    Modes share encoders and multi-vector indexes.
    """
    encoder_of = cache(partial(make_encoder, settings))
    parts = cache(partial(TextParts.from_corpus, corpus))

    @cache
    def parts_of(model: str) -> MultiVectorRetriever:
        # all_max accepts any kind of parts.
        chosen = settings.model_copy(update={"aggregation_strategy": "all_max"})
        return MultiVectorRetriever(parts(), chosen, progress, encoder_of(model))

    def leaf_of(mode: str) -> Retriever:
        kind, model = kind_of(mode), model_of(mode)
        unused = {*unused_settings([mode], settings), "reranker", "rerank_depth"}
        key = mode, settings.model_dump_json(exclude=unused)
        if key in leaves:
            return leaves[key]
        if kind == "lexical":
            leaves[key] = LexicalRetriever(corpus, settings, progress)
        elif kind == "splade":
            leaves[key] = SparseRetriever(corpus, settings, progress)
        elif kind == "ngram":
            of_names = None if corpus.parts is None else parts()
            leaves[key] = NgramRetriever(corpus, of_names, progress)
        elif kind == "vector" and not settings.multi_vector:
            leaves[key] = VectorRetriever(corpus, progress, encoder_of(model))
        else:
            strategy = settings.aggregation_strategy if kind == "vector" else kind
            leaves[key] = parts_of(model).with_strategy(strategy)
        return leaves[key]

    return leaf_of


@dataclass(frozen=True, repr=False)
class BuiltIndex(Displayed):
    """An index on disk.

    Attributes:
        kind: ``lexical``, ``vector``, ``multi-vector``, ``ngram`` or ``splade``.
        key: Hash of everything that determines its content.
        folder: Its folder.
        bytes: Its size.
        reused: Whether it was already in the cache.
    """

    kind: str
    key: str
    folder: Path
    bytes: int
    reused: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self) | {"folder": str(self.folder)}


def build_indexes(
    corpus: Corpus,
    modes: Sequence[str],
    settings: RetrievalSettings | None = None,
    progress: Progress = no_progress,
) -> list[BuiltIndex]:
    """Build those indexes of the modes that are not in the cache.

    Args:
        corpus: The documents.
        modes: Names of ``embedded.modes.ALL_MODES``; ``hybrid`` includes its components.
        settings: ``None`` uses the defaults; a reranker has no index.
        progress: Receives the progress of building indexes.

    Returns:
        Each index once, in the order of the modes; with several embedding models, those of each.

    Raises:
        UsageError, InputError: See :func:`build_retrievers`.
    """
    # The index is the same for every strategy, and all_max accepts any kind of parts.
    index_settings = (settings or RetrievalSettings()).model_copy(
        update={"reranker": None, "aggregation_strategy": "all_max"}
    )
    modes = expand_modes(modes, index_settings)
    indexes = {}
    for retriever in build_retrievers(corpus, modes, index_settings, progress).values():
        for leaf in leaves_of(retriever):
            index: Any = leaf.inner if isinstance(leaf, RewordedRetriever) else leaf
            indexes[index.index_key] = index
    return [
        BuiltIndex(
            index.name,
            key,
            index.recipe.folder,
            sum(file.stat().st_size for file in index.recipe.folder.iterdir()),
            index.is_reused,
        )
        for key, index in indexes.items()
    ]
