"""The hybrid mode: the rankings that other modes give a query, merged."""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.retrieval.base import Ranking, Retriever
from trectools_plus.retrieval.fusion import Fusion, fuse
from trectools_plus.retrieval.settings import RetrievalSettings


class HybridRetriever:
    """Asks its components and merges what they find.

    Args:
        components: The retrievers to ask, in the order of the fusion's weights.
        fusion: How their rankings are merged.
        candidates: Least depth asked of each component, so that a short result does not rest on
            short rankings.
        names: What the components are called; their own names if ``None``.
    """

    name = "hybrid"

    def __init__(
        self,
        components: Sequence[Retriever],
        fusion: Fusion,
        candidates: int,
        names: Sequence[str] | None = None,
    ) -> None:
        fusion.check_count(len(components))
        self.components = tuple(components)
        self.names = tuple(names or (component.name for component in components))
        self._fusion = fusion
        self._candidates = candidates

    def without(self, name: str) -> HybridRetriever:
        """The same fusion of the other components.

        The weights of those that stay keep their proportion; where they are all 0, each is 1.
        """
        kept = [place for place, own in enumerate(self.names) if own != name]
        weights = self._fusion.weights
        if weights is not None:
            rest = tuple(weights[place] for place in kept)
            weights = rest if any(rest) else (1.0,) * len(rest)
        return HybridRetriever(
            [self.components[place] for place in kept],
            self._fusion.model_copy(update={"weights": weights}),
            self._candidates,
            [self.names[place] for place in kept],
        )

    def component_depth(self, depth: int) -> int:
        """How deep the components are asked for a result of ``depth`` documents."""
        return max(depth, self._candidates)

    def search(self, queries: Sequence[str], depth: int) -> list[Ranking]:
        """Rank documents by the merged rankings of the components."""
        asked = self.component_depth(depth)
        found = [component.search(queries, asked) for component in self.components]
        return [self.merge(rankings, depth) for rankings in zip(*found, strict=True)]

    def merge(self, rankings: Sequence[Ranking], depth: int) -> Ranking:
        """Merge one query's rankings, one for each component."""
        return fuse(rankings, self._fusion, depth)


def fusion_of(settings: RetrievalSettings, components: int = 2) -> Fusion:
    """The fusion that the settings ask for, of so many rankings."""
    weights = None
    if settings.fusion == "weighted":
        weights = settings.weights or (1.0 / components,) * components
    return Fusion(
        method=settings.fusion,
        k=settings.rrf_k,
        weights=weights,
        normalisation=settings.normalisation,
    )
