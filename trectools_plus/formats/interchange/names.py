"""The names of columns that are understood, by the field that they stand for.

Case, spaces and punctuation in names are ignored. If several columns can stand for one field, the
first name in the list wins: PyTerrier writes ``docid``, a number, beside ``docno``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


QUERY_IDS = _names(
    "query_id qid topic_id question_id search_id query_no topic_no query_number topic_number q_id "
    "qno case_id narrative_id topic q query"
)
DOC_IDS = _names(
    "docno doc_id document_id corpus_id passage_id pid doc_no document_no doc_key "
    "document_key did doc document item_id product_id article_id result_id entity_id concept_id "
    "term_id hpo_id item passage iid"
)
GRADES = _names(
    "relevance rel grade label judgment judgement rating gain relevance_label relevance_grade "
    "relevance_judgment relevance_score score"
)
SCORES = _names("score similarity sim similarity_score relevance_score rsv")
RANKS = _names("rank ranking position pos rank_position")
TAGS = _names("tag run run_tag run_id run_name system system_id system_name")
ITERATIONS = _names("iteration iter")
TOPIC_IDS = _names(
    "query_id qid topic_id question_id search_id query_no topic_no query_number topic_number q_id "
    "qno case_id id _id number num topic q query"
)
TEXTS = _names(
    "text query_text query question title topic_text question_text search_query utterance topic q"
)

Fields = Mapping[str, Sequence[str]]
"""The names of each field, in order of preference."""

RUN_FIELDS: Fields = {
    "query_id": QUERY_IDS,
    "doc_id": DOC_IDS,
    "score": SCORES,
    "rank": RANKS,
    "tag": TAGS,
}
QRELS_FIELDS: Fields = {
    "query_id": QUERY_IDS,
    "doc_id": DOC_IDS,
    "relevance": GRADES,
    "iteration": ITERATIONS,
}
CASE_FIELDS: Fields = {
    "query_id": _names(
        "query_id qid topic_id question_id query_no topic_no case_id id _id number num"
    ),
    "text": TEXTS,
    "doc_ids": _names(
        "relevant_docs relevant_documents relevant_doc_ids relevant_ids relevant doc_ids "
        "document_ids expected_ids expected_docs expected_doc_ids expected_hpo_ids hpo_ids "
        "gold_ids expected"
    ),
    "doc_id": _names(
        "docno doc_id document_id corpus_id passage_id pid item_id product_id article_id "
        "entity_id concept_id term_id hpo_id relevant_doc relevant_document relevant_doc_id "
        "expected_id expected_doc"
    ),
    "grade": _names("grade grades relevance relevances rel label rating judgment judgement gain"),
    "language": _names("language lang"),
    "category": _names("category"),
    "query_type": _names("query_type type"),
    "difficulty": _names("difficulty"),
    "span": _names("span"),
}
"""The fields of test cases: one document or several in a row."""
TOPIC_FIELDS: Fields = {"query_id": TOPIC_IDS, "text": TEXTS}
CORPUS_FIELDS: Fields = {
    "doc_id": (*DOC_IDS, *_names("id _id")),
    "text": _names("text contents body content abstract"),
    "title": _names("title"),
}

RESULT_FIELDS: Fields = {
    "doc_id": (*DOC_IDS, *_names("id _id")),
    "score": SCORES,
    "rank": RANKS,
}
"""The fields of the results of one query, as a function returns them."""

_IGNORED = re.compile(r"[\W_]+")


def normalize(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return _IGNORED.sub("", name).lower()


def find_fields(names: Iterable[str], fields: Fields) -> dict[str, int]:
    """Return the position of each field in a header, from 0.

    A column stands for one field, the first that can have it. Fields without a column are left out.

    Args:
        names: The names of the columns, as written.
        fields: The fields, for example :data:`RUN_FIELDS`.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places.setdefault(normalize(name), place)
    found: dict[str, int] = {}
    for field, spellings in fields.items():
        for spelling in map(normalize, spellings):
            if spelling in places and places[spelling] not in found.values():
                found[field] = places[spelling]
                break
    return found
