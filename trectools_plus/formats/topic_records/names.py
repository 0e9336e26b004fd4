"""The names of the fields of topics and of test sets, in order of preference.

The names in ``…_KEYS`` are as written. For all others, case, blanks and punctuation are ignored.
"""

from __future__ import annotations


def names_of(text: str) -> tuple[str, ...]:
    """Return names that are separated by blanks."""
    return tuple(text.split())


# Topics: the id.

TOPIC_IDS = names_of(
    "queryid qid id number num topicid questionid queryno topicno querynumber topicnumber no nr "
    "identifier qno qnum tid caseid requestnumber requestid recordid turnid claimid exampleid "
    "uuid sid docno topic title query name key q index"
)
TABLE_TOPIC_IDS = names_of(
    "queryid qid topicid questionid searchid queryno topicno querynumber topicnumber qno caseid "
    "id number num topic q query"
)
"""Names of the id in the header of a table."""

# Topics: the text.

TEXT_KEYS = ("text", "query_text", "query", "title")
"""Names of the text in test sets."""
TOPIC_TEXTS = names_of(
    "text querytext querytxt query title question topictitle querytitle topictext questiontext "
    "rawutterance utterance userutterance currentquery querystring searchquery requesttext "
    "request keywordquery content contents q keywords keyword topic claim sentence input prompt "
    "name string qstr qtext problemstatement body"
)
JOINED_TEXTS = names_of(
    "disease diseases gene genes variant variants mutation demographic treatment other note "
    "summary description desc topicdescription field patient diagnosis symptoms need context "
    "informationneed narrative narr background"
)
"""Names of fields that are joined if a file has no field of ``TOPIC_TEXTS``."""
LONG_TEXTS = frozenset({"narrative", "narr", "context", "background"})
"""``JOINED_TEXTS`` that explain a text instead of being part of it, unless they are alone."""
TABLE_TEXTS = names_of(
    "text querytext query question title topictext questiontext searchquery utterance topic q"
)
"""Names of the text in the header of a table."""

# Test sets.

ID_KEYS = ("query_id", "id", "qid", "_id", "case_id")
GRADED_KEYS = ("relevant", "relevant_docs", "relevant_documents", "judgments", "qrels")
"""Names of judgments with a grade for each document."""
LISTED_KEYS = ("expected_hpo_ids", "hpo_ids")
"""Names of judgments that are a list of relevant ids."""
JUDGED_KEYS = (*GRADED_KEYS, *LISTED_KEYS)
NOTE_KEYS = ("category", "difficulty", "query_type", "hpo_domain", "language", "description")
NOTE_WORDS = {
    "category": ("exact_match", "synonym", "abbreviation", "layperson", "complex"),
    "difficulty": ("easy", "medium", "hard"),
    "query_type": ("exact_term", "paraphrase", "complex_clinical"),
}
"""Allowed values of fields that accept only these words."""
METADATA_KEYS = ("dataset_id", "version", "language", "description")
"""Metadata fields with text; others may have any type."""
CASE_KEYS = (*ID_KEYS, *TEXT_KEYS, *JUDGED_KEYS, *NOTE_KEYS)
DOC_ID_KEYS = ("doc_id", "docid", "document_id", "docno", "corpus_id", "id", "hpo_id", "term_id")
"""Names of the document id in a judgment."""
GRADE_KEYS = ("grade", "relevance", "rel", "relevance_grade")
"""Names of the grade in a judgment."""
SPAN_KEY = "span"
"""The name of the words of the text that name a document, in its judgment."""
TOP_KEYS = ("metadata", "queries", "test_cases")
