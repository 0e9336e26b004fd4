"""The confidence in the first result of a query."""

from __future__ import annotations

from trectools_plus.retrieval.source import Retriever, leaves_of

LEAST_SIMILARITY = {("ngram",): 0.4, ("multi-vector",): 0.4, ("multi-vector", "ngram"): 0.37}
"""By the searched indexes: the least mean similarity of a first result that is probably right.

At most a tenth of the right first results of the included test sets are below; see the figures in
docs/retrieval.md.
"""


def is_confident(retriever: Retriever, query: str, doc_id: str, depth: int) -> bool | None:
    """Return whether the first result of a query is similar enough to be right.

    The similarity is that of n-grams and of the built-in embeddings, or their mean.

    Args:
        retriever: The retriever that found it.
        query: The query.
        doc_id: The first result.
        depth: The depth of the searches; a document below it has the similarity 0.

    Returns:
        ``None`` if the retriever searches none of these indexes.
    """
    found = {}
    for leaf in leaves_of(retriever):
        if leaf.name in ("ngram", "multi-vector"):
            (ranking,) = leaf.search([query], depth)
            scores = dict(zip(ranking.doc_ids, ranking.scores.tolist(), strict=True))
            found[leaf.name] = scores.get(doc_id, 0.0)
    least = LEAST_SIMILARITY.get(tuple(sorted(found)))
    return None if least is None else sum(found.values()) / len(found) >= least
