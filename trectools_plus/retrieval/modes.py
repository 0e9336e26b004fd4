"""The embedded retrieval modes by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Corpus
from trectools_plus.retrieval.base import Progress, Retriever, no_progress
from trectools_plus.retrieval.document_set import DocumentSet
from trectools_plus.retrieval.hybrid import HybridRetriever, fusion_of
from trectools_plus.retrieval.lexical import LexicalRetriever
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.vector import VectorRetriever

_INDEXED: dict[str, Callable[[DocumentSet, RetrievalSettings, Progress], Retriever]] = {
    "lexical": LexicalRetriever,
    "vector": VectorRetriever,
}
_COMPONENTS = {"hybrid": ("lexical", "vector")}

MODES = (*_INDEXED, *_COMPONENTS)


def build_retrievers(
    corpus: Corpus,
    modes: Sequence[str],
    settings: RetrievalSettings | None = None,
    progress: Progress = no_progress,
) -> dict[str, Retriever]:
    """Make a retriever for each mode; indexes come from the cache or are built into it.

    Modes share their indexes: ``hybrid`` beside ``lexical`` uses the same lexical retriever.

    Args:
        corpus: The documents.
        modes: Names of ``MODES``, none twice.
        settings: The defaults if ``None``.
        progress: Told of the building of indexes.

    Raises:
        UsageError: If a mode is unknown or repeated, or there is none.
        InputError: If the corpus is empty or an id repeated, or an index cannot be written.
    """
    check_modes(modes)
    settings = settings or RetrievalSettings()
    documents = DocumentSet.from_corpus(corpus)
    needed = {part for mode in modes for part in _COMPONENTS.get(mode, (mode,))}
    indexed = {
        mode: make(documents, settings, progress)
        for mode, make in _INDEXED.items()
        if mode in needed
    }
    return {mode: indexed.get(mode) or _merged(mode, indexed, settings) for mode in modes}


def check_modes(modes: Sequence[str]) -> None:
    """See that all modes exist and none is asked for twice.

    Raises:
        UsageError: If not.
    """
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown or not modes:
        what = f"unknown mode '{unknown[0]}'" if unknown else "no mode given"
        raise UsageError(what, remedy=f"there are {', '.join(MODES)}")
    if len(set(modes)) < len(modes):
        raise UsageError(f"a mode is given twice: {', '.join(modes)}", remedy="name each once")


def _merged(mode: str, indexed: dict[str, Retriever], settings: RetrievalSettings) -> Retriever:
    components = [indexed[part] for part in _COMPONENTS[mode]]
    return HybridRetriever(components, fusion_of(settings), settings.candidates)
