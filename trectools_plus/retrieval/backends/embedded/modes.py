"""The embedded retrieval modes by name.

``bm25`` is another name of ``lexical`` and ``dense`` one of ``vector``; a run is called what the
user calls its mode. Each aggregation strategy is a mode too: the search of a multi-vector index
with that strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Corpus
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.fusion import HybridRetriever, fusion_of
from trectools_plus.retrieval.index.encoder import Encoder, make_encoder
from trectools_plus.retrieval.index.lexical import LexicalRetriever
from trectools_plus.retrieval.index.models import ModelRecord, record_models
from trectools_plus.retrieval.index.parts import AGGREGATIONS, TextParts
from trectools_plus.retrieval.index.sparse import SparseRetriever
from trectools_plus.retrieval.index.vector import MultiVectorRetriever, VectorRetriever
from trectools_plus.retrieval.rerank import RerankingRetriever, make_reranker
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import Retriever

ALIASES = {"bm25": "lexical", "dense": "vector"}
STRATEGIES = tuple(AGGREGATIONS)
MODES = ("lexical", "vector", "hybrid")
"""What is searched by default."""
ALL_MODES = (*MODES, "splade", *STRATEGIES, *ALIASES)
_FUSED = ("lexical", "vector", "splade")
"""What ``hybrid`` can merge, in the order of its weights."""


def canonical_mode(mode: str) -> str:
    """The mode that a name stands for."""
    return ALIASES.get(mode, mode)


def uses_vectors(mode: str) -> bool:
    """Whether a mode embeds texts, hybrids included."""
    return canonical_mode(mode) not in ("lexical", "splade")


def models_used(modes: Sequence[str], settings: RetrievalSettings) -> dict[str, ModelRecord]:
    """The models that searching in these modes rests on, by what they do.

    Raises:
        InputError: If a model's folder is missing or cannot be read.
    """
    roles = {"reranker"}
    if any(map(uses_vectors, modes)):
        roles.add("embedding")
    if "splade" in modes:
        roles.add("splade")
    return record_models(settings, roles)


def build_retrievers(
    corpus: Corpus,
    modes: Sequence[str],
    settings: RetrievalSettings | None = None,
    progress: Progress = no_progress,
) -> dict[str, Retriever]:
    """Make a retriever for each mode; indexes come from the cache or are built into it.

    Modes share their indexes: ``hybrid`` beside ``lexical`` uses the same lexical retriever.
    ``hybrid`` merges lexical and vector, and splade where that is among the modes.

    Args:
        corpus: The documents.
        modes: Names of ``ALL_MODES``, none twice.
        settings: The defaults if ``None``.
        progress: Told of the building of indexes.

    Raises:
        UsageError: If a mode is unknown or repeated, or there is none; or a model that a mode
            needs is not named.
        MissingExtraError: If a model is named and the extra ``neural`` is not installed.
        InputError: If the corpus is empty or an id repeated, an index cannot be written, or a
            model cannot be opened.
    """
    check_modes(modes)
    settings = settings or RetrievalSettings()
    maker = _Maker(corpus, settings, progress)
    made = {mode: maker.make(mode, fused_names(modes)) for mode in modes}
    reranker = make_reranker(settings, corpus)
    if reranker is None:
        return made
    return {
        mode: RerankingRetriever(retriever, reranker, settings.rerank_depth)
        for mode, retriever in made.items()
    }


def fused_names(modes: Sequence[str]) -> dict[str, str]:
    """What ``hybrid`` merges beside these modes: names as the user gave them, by mode."""
    given = {canonical_mode(mode): mode for mode in modes}
    return {mode: given.get(mode, mode) for mode in _FUSED if mode != "splade" or mode in given}


def left_out(retrievers: dict[str, Retriever]) -> dict[tuple[str, str], Retriever]:
    """For each mode that merges rankings, and each of these: the same mode without it.

    Returns:
        By mode and component, named as in the retrievers of :func:`build_retrievers`.
    """
    found: dict[tuple[str, str], Retriever] = {}
    for mode, retriever in retrievers.items():
        outer = retriever if isinstance(retriever, RerankingRetriever) else None
        inner = retriever if outer is None else outer.inner
        if not isinstance(inner, HybridRetriever):
            continue
        for name in inner.names:
            rest = inner.without(name)
            found[mode, name] = (
                rest if outer is None else RerankingRetriever(rest, outer.reranker, outer.depth)
            )
    return found


def check_modes(modes: Sequence[str]) -> None:
    """See that all modes exist and none is asked for twice.

    Raises:
        UsageError: If not.
    """
    unknown = [mode for mode in modes if mode not in ALL_MODES]
    if unknown or not modes:
        what = f"unknown mode '{unknown[0]}'" if unknown else "no mode given"
        raise UsageError(what, remedy=f"there are {', '.join(ALL_MODES)}")
    if len(set(map(canonical_mode, modes))) < len(modes):
        same = " and ".join(f"{alias} is {mode}" for alias, mode in ALIASES.items())
        raise UsageError(
            f"a mode is given twice: {', '.join(modes)}", remedy=f"name each once ({same})"
        )


class _Maker:
    """Makes retrievers that share what they can."""

    def __init__(self, corpus: Corpus, settings: RetrievalSettings, progress: Progress) -> None:
        self._corpus = corpus
        self._documents = corpus.in_index_order()
        self._settings = settings
        self._progress = progress
        self._made: dict[str, Retriever] = {}
        self._encoder: Encoder | None = None
        self._multi: MultiVectorRetriever | None = None

    def make(self, name: str, fused: dict[str, str]) -> Retriever:
        mode = canonical_mode(name)
        if mode not in self._made:
            self._made[mode] = self._hybrid(fused) if mode == "hybrid" else self._indexed(mode)
        return self._made[mode]

    def _hybrid(self, fused: dict[str, str]) -> HybridRetriever:
        fusion = fusion_of(self._settings, len(fused))
        fusion.check_count(len(fused))  # before any index is built
        components = [self.make(mode, fused) for mode in fused]
        return HybridRetriever(components, fusion, self._settings.candidates, tuple(fused.values()))

    def _indexed(self, mode: str) -> Retriever:
        if mode == "lexical":
            return LexicalRetriever(self._documents, self._settings, self._progress)
        if mode == "splade":
            return SparseRetriever(self._documents, self._settings, self._progress)
        self._encoder = self._encoder or make_encoder(self._settings)
        if mode == "vector" and not self._settings.multi_vector:
            return VectorRetriever(self._documents, self._settings, self._progress, self._encoder)
        strategy = self._settings.aggregation_strategy if mode == "vector" else mode
        if self._multi is None:
            self._multi = MultiVectorRetriever(
                TextParts.from_corpus(self._corpus),
                self._settings.model_copy(update={"aggregation_strategy": strategy}),
                self._progress,
                self._encoder,
            )
        return self._multi.with_strategy(strategy)
