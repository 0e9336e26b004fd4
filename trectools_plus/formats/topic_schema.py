"""Accepted field names of topics and test sets, and the detection of a file's format."""

from __future__ import annotations

import re
from typing import Literal

from trectools_plus.formats.interchange.delimited import SEPARATORS
from trectools_plus.formats.interchange.tree import find_topics_header, has_judgments
from trectools_plus.formats.topic_records.lines import NAMES, LineForm, form_of_lines

Form = Literal["tsv", "jsonl", "sgml", "xml", "yaml", "json", "csv"] | LineForm

LINE_FORMS = ("tsv", "jsonl", "csv", *NAMES)
"""Forms in which each line is a topic."""

LINE_ID_KEYS = ("_id", "query_id", "qid", "id")
"""Names of the id in JSON Lines, in order of preference."""
ID_KEYS = ("query_id", "id", "qid", "_id", "case_id")
"""Names of the id in test sets, in order of preference."""
TEXT_KEYS = ("text", "query_text", "query", "title")
GRADED_KEYS = ("relevant", "relevant_docs", "relevant_documents", "judgments", "qrels")
"""Names of judgments with a grade for each document."""
LISTED_KEYS = ("expected_hpo_ids", "hpo_ids")
"""Names of judgments that are a list of relevant ids."""
JUDGED_KEYS = (*GRADED_KEYS, *LISTED_KEYS)
SPELLINGS = {"query_id": ID_KEYS, "text": TEXT_KEYS, "relevant": JUDGED_KEYS}
"""The accepted names of a field, by the name that this package uses."""
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
"""Names of the document id in a judgment, in order of preference."""
GRADE_KEYS = ("grade", "relevance", "rel", "relevance_grade")
"""Names of the grade in a judgment, in order of preference."""
SPAN_KEY = "span"
"""The name of the words of the text that name a document, in its judgment."""
TERM_KEYS = (*DOC_ID_KEYS, *GRADE_KEYS, SPAN_KEY)
TERM_SPELLINGS = {"doc_id": DOC_ID_KEYS, "grade": GRADE_KEYS}
"""The accepted names of a field of a judgment, by the name that this package uses."""
TOP_KEYS = ("metadata", "queries", "test_cases")

# Field names of a header line, in lower case without "-", "_" and white space.
_HEADER_IDS = frozenset({"queryid", "qid", "id", "topicid", "topic", "number"})
_HEADER_TEXTS = frozenset({"text", "query", "title", "topic", "querytext", "question"})

_SNIFFED = 4096
_TSV_COLUMNS = 2
_FIRST_LINE = re.compile(r"^(?![^\S\n]*(?:#|$))", re.MULTILINE)  # neither blank nor a comment
_YAML_START = re.compile(r"---|(?:queries|test_cases|metadata)\s*:|- +\w+\s*:")
_SUFFIX = re.compile(r"\.(ya?ml|jsonl|ndjson|json|tsv|txt)(?:\.\w+)?$", re.IGNORECASE)
_TOPIC_KEY = re.compile(rf'\{{\s*"(?:{"|".join((*ID_KEYS, *TEXT_KEYS))})"\s*:')


def is_header(query_id: str, text: str) -> bool:
    """Return true if the two fields of a TSV row are names of columns, not an id and a text."""
    return _normalize(query_id) in _HEADER_IDS and _normalize(text) in _HEADER_TEXTS


def _normalize(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()


def form_of(path: str, text: str) -> Form:
    """Return the format of a file, from the suffix of its name or else its first characters.

    Args:
        path: The name of the file.
        text: Its text, without byte order mark.
    """
    suffix = _SUFFIX.search(path)
    named = suffix[1].lower() if suffix else ""
    start = text[:_SNIFFED].lstrip(" \t\r\n")
    if named in ("yaml", "yml"):
        return "yaml"
    if named in ("jsonl", "ndjson"):
        return "jsonl"
    if start.startswith(("[", "{")):
        return _form_of_json(named, text)
    if named == "json":
        return "json"
    if start.startswith("<"):
        return "sgml" if re.search(r"<top[\s>]", text, re.IGNORECASE) else "xml"
    if _is_table(start):
        return "csv"
    if named != "tsv" and "\t" not in start.split("\n", 1)[0] and _starts_as_yaml(text):
        return "yaml"
    return form_of_lines(text) or "tsv"


def _is_table(start: str) -> bool:
    """Return true for a table with a header, except two columns with a tab between them."""
    header = find_topics_header(start)
    if header is None or header.separator not in SEPARATORS:
        return False
    if header.separator != "\t" or has_judgments(header.names):
        return True
    rows = start.split("\n", header.line + 1)[header.line : header.line + 1]
    return len(header.names) > _TSV_COLUMNS and all(
        row.count("\t") + 1 == len(header.names) for row in rows
    )


def _starts_as_yaml(text: str) -> bool:
    first = _FIRST_LINE.search(text)
    return first is not None and _YAML_START.match(text, first.start()) is not None


def _form_of_json(named: str, text: str) -> Form:
    first, _, rest = text.lstrip(" \t\r\n").partition("\n")
    if first.startswith("["):
        return "tsv" if named == "tsv" else "json"
    has_two_objects = first.rstrip().endswith("}") and rest.lstrip().startswith("{")
    if has_two_objects or (named != "json" and _TOPIC_KEY.match(first) and "}" in first):
        return "jsonl"
    return "json"
