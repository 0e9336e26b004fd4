"""A check, before any search, that topics, qrels and documents have ids in common."""

from __future__ import annotations

from trectools_plus.errors import CheckFailedError
from trectools_plus.formats.corpus import DocumentCollection
from trectools_plus.formats.tables import Qrels, Topics
from trectools_plus.text import listed, plural, visible
from trectools_plus.validation.id_matching import common_affix, near_matches, unify_spelling

_SHOWN = 3


def check_id_overlap(
    corpus: DocumentCollection | None, topics: Topics | None, qrels: Qrels, dataset: str
) -> None:
    """Check that queries are judged and that judged documents exist.

    Args:
        corpus: The documents, if there are any.
        topics: The queries, if they are given.
        qrels: The judgments.
        dataset: The name of data that are not files.

    Raises:
        CheckFailedError: If topics and qrels have no query in common, or spell one in two ways;
            or if no judged document is in the corpus. It shows ids of both sides.
    """
    if topics is not None:
        _check_queries(topics, qrels, dataset)
    if corpus is not None:
        _check_documents(corpus, qrels, dataset)


def _check_queries(topics: Topics, qrels: Qrels, dataset: str) -> None:
    topic_ids, judged = topics.query_ids, qrels.query_ids
    shared = set(topic_ids) & set(judged)
    near = near_matches(
        [query_id for query_id in topic_ids if query_id not in shared],
        [query_id for query_id in judged if query_id not in shared],
    )
    where = _places(topics.path, qrels.path, dataset)
    if near:
        ours, (theirs, cause) = next(iter(near.items()))
        raise CheckFailedError(
            f"query {visible(ours, marks=True)} of the topics is {visible(theirs, marks=True)} in "
            f"the qrels ({cause}); {plural(len(near), 'such query', 'such queries')}",
            where=where,
            remedy="use the same query ids in both",
        )
    if not shared:
        raise CheckFailedError(
            f"no query id is in both topics and qrels (topics: {listed(topic_ids, _SHOWN)}; "
            f"qrels: {listed(judged, _SHOWN)})",
            where=where,
            remedy="give topics and qrels of the same collection",
        )


def _check_documents(corpus: DocumentCollection, qrels: Qrels, dataset: str) -> None:
    judged_ids = qrels.frame["doc_id"].unique(maintain_order=True)
    if corpus.has_any(judged_ids):
        return
    known, judged = list(corpus.doc_ids), judged_ids.to_list()
    raise CheckFailedError(
        f"none of {plural(len(judged), 'judged document')} is in the corpus "
        f"(corpus: {listed(known[:_SHOWN])}; "
        f"qrels: {listed(judged[:_SHOWN])})",
        where=_places(corpus.path, qrels.path, dataset),
        remedy=_explain(known, judged) or "give corpus and qrels of the same collection",
    )


def _explain(known: list[str], judged: list[str]) -> str | None:
    """Describe the difference in spelling of document ids that are otherwise equal."""
    if not set(map(unify_spelling, judged)).isdisjoint(map(unify_spelling, known)):
        return "they differ in case, Unicode normal form or invisible characters: use the same ids"
    for side, ours, theirs in (("corpus", known, judged), ("qrels", judged, known)):
        affix = common_affix(ours, theirs)
        if affix is not None:
            return f"ids of the {side} have the {affix[0]} '{affix[1]}': use the same ids"
    return None


def _places(first: str | None, second: str | None, dataset: str) -> str:
    names = dict.fromkeys(path for path in (first, second) if path is not None)
    return " and ".join(names) or dataset
