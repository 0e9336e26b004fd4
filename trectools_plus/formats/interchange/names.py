"""The names of columns and keys that are understood, by the field that they stand for.

Case, spaces and punctuation in names are ignored, except in ``…_KEYS`` of test sets. If several
names can stand for one field, the first in the list wins: PyTerrier writes ``docid``, a number,
beside ``docno``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trectools_plus.errors import UsageError


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

TEXT_KEYS = names_of("text query_text query title")
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
LONG_TEXTS = names_of("narrative narr context background")
"""``JOINED_TEXTS`` that explain a text instead of being part of it, unless they are alone."""
TABLE_TEXTS = names_of(
    "text querytext query question title topictext questiontext searchquery utterance topic q"
)
"""Names of the text in the header of a table."""

# Test sets.

ID_KEYS = names_of("query_id id qid _id case_id")
GRADED_KEYS = names_of("relevant relevant_docs relevant_documents judgments qrels")
"""Names of judgments with a grade for each document."""
LISTED_KEYS = ("expected_hpo_ids", "hpo_ids")
"""Names of judgments that are a list of relevant ids."""
JUDGED_KEYS = (*GRADED_KEYS, *LISTED_KEYS)
NOTE_KEYS = names_of("category difficulty query_type hpo_domain language description")
CASE_KEYS = (*ID_KEYS, *TEXT_KEYS, *JUDGED_KEYS, *NOTE_KEYS)
DOC_ID_KEYS = names_of("doc_id docid document_id docno corpus_id id hpo_id term_id")
"""Names of the document id in a judgment."""
GRADE_KEYS = names_of("grade relevance rel relevance_grade")
"""Names of the grade in a judgment."""
SPAN_KEY = "span"
"""The name of the words of the text that name a document, in its judgment."""
TOP_KEYS = ("metadata", "queries", "test_cases")


# Runs, qrels and corpora.

QUERY_IDS = names_of(
    "query_id qid topic_id question_id search_id query_no topic_no query_number topic_number q_id "
    "qno narrative_id topic q query query_text case_id"
)
DOC_IDS = names_of(
    "docno doc_id document_id corpus_id passage_id pid doc_no document_no doc_key "
    "document_key did doc document item_id product_id article_id result_id entity_id concept_id "
    "term_id hpo_id item passage iid"
)
GRADES = names_of(
    "relevance rel grade label judgment judgement rating gain relevance_label relevance_grade "
    "relevance_judgment relevant is_relevant relevance_score score"
)
SCORES = names_of("score similarity sim similarity_score relevance_score rsv")
RANKS = names_of("rank ranking position pos rank_position")
TAGS = names_of("tag run run_tag run_id run_name system system_id system_name")
SYSTEMS = names_of(
    "system system_name system_id system_number model model_name method method_name run run_name "
    "run_id run_tag tag retriever retriever_name ranker ranker_name engine algorithm strategy "
    "approach pipeline experiment experiment_id experiment_name"
)
"""Names of the column that says which system found a document."""
JUDGMENT_TYPES = names_of("type judgment_type aspect criterion criteria dimension facet subtopic")
"""Names of the column that says what was judged."""

Fields = Mapping[str, Sequence[str]]
"""The names of each field, in order of preference."""

KindName = Literal["run", "qrels"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of table.

    Attributes:
        name: Its name in messages.
        fields: Its fields, with the names of their columns.
        required: The fields without which it cannot be built.
        columns: The columns of a run or of qrels in TREC's form, in order.
    """

    name: str
    fields: Fields
    required: tuple[str, ...]
    columns: tuple[str, ...] = ()

    @property
    def accepted(self) -> str:
        """The values that it is built from, for messages."""
        return f"a dictionary, a path, or a pandas or Polars frame with {', '.join(self.required)}"

    def value_in(self, found: Container[str]) -> str | None:
        """Return the field that has the grade or the score, or else the rank, if one was found."""
        fields = filter(self.fields.__contains__, (self.required[-1], "rank"))
        return next((field for field in fields if field in found), None)

    def is_complete(self, found: Container[str]) -> bool:
        """Return whether all fields that a run or qrels need were found."""
        return "query_id" in found and "doc_id" in found and self.value_in(found) is not None

    def find(
        self, names: Sequence[str], columns: ColumnNames | None = None
    ) -> dict[str, int] | None:
        """Return the places of the fields in a header; ``None`` for that of another file."""
        found = find_fields(names, self.fields, columns)
        is_run = columns is None and "rank" in find_fields(names, {"rank": RANKS})
        return found if self.is_complete(found) and (self is RUN or not is_run) else None


RUN = Kind(
    "run",
    {
        "query_id": QUERY_IDS,
        "doc_id": DOC_IDS,
        "score": SCORES,
        "rank": RANKS,
        "tag": TAGS,
    },
    ("query_id", "doc_id", "score"),
    ("query_id", "q0", "doc_id", "rank", "score", "tag"),
)
QRELS = Kind(
    "qrels",
    {
        "query_id": QUERY_IDS,
        "doc_id": DOC_IDS,
        "relevance": GRADES,
        "iteration": ("iteration", "iter"),
    },
    ("query_id", "doc_id", "relevance"),
    ("query_id", "iteration", "doc_id", "relevance"),
)
TOPICS = Kind(
    "topics",
    {"query_id": TABLE_TOPIC_IDS, "text": TABLE_TEXTS},
    ("query_id", "text"),
)
CORPUS = Kind(
    "corpus",
    {
        "doc_id": (*DOC_IDS, "id", "_id"),
        "text": ("text", "contents", "body", "content", "abstract"),
        "title": ("title",),
    },
    ("doc_id", "text"),
)
KINDS: Mapping[str, Kind] = {"run": RUN, "qrels": QRELS}


def normalize(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


ColumnNames = Mapping[str, str]
"""The names of columns by field (:data:`MAPPED`), as the user gave them; numbers are positions."""

MAPPED: Fields = {
    **QRELS.fields,
    **RUN.fields,
    "relevance": GRADES[:-2],
    "tag": TAGS[:5],
}
"""The fields that users can map to columns, with their names."""
_OF_RUNS, _OF_QRELS = {"score", "rank", "tag"}, {"relevance", "iteration"}


def column_names(given: Mapping[str, str] | Iterable[str] | None) -> ColumnNames | None:
    """Return the columns that a user names, by field.

    Args:
        given: Fields with names of columns, or texts like ``query=q,doc_id=_id``.

    Raises:
        UsageError: If a field does not exist or occurs twice.
    """
    if isinstance(given, Mapping):
        pairs = [(str(field), str(name)) for field, name in given.items()]
    else:
        texts = [given] if isinstance(given, str) else given or ()
        parts = [part.partition("=") for text in texts for part in text.split(",")]
        pairs = [(field.strip(), name.strip()) for field, _, name in parts]
    fields = {normalize(name): field for field, names in MAPPED.items() for name in names}
    found: dict[str, str] = {}
    for field, name in pairs:
        known = fields.get(normalize(field))
        if known is None or not name or known in found:
            raise UsageError(
                f"'{field}={name}' is not FIELD=COLUMN, or names the field again",
                where="columns",
                remedy="write for example query=q,doc_id=_id,score=_score; the fields are query, "
                "doc_id, score, rank, relevance, iteration and tag",
            )
        found[known] = name
    return found or None


def columns_for_run(columns: ColumnNames | None) -> ColumnNames | None:
    """Return the columns of a run; ``None`` if the columns are those of qrels."""
    if columns is None or (_OF_QRELS & columns.keys() and not _OF_RUNS & columns.keys()):
        return None
    return {field: name for field, name in columns.items() if field not in _OF_QRELS}


def columns_for_qrels(columns: ColumnNames | None) -> ColumnNames | None:
    """Return the columns of the qrels of a run; ``None`` if no grade is named."""
    if columns is None or "relevance" not in columns:
        return None
    return {field: name for field, name in columns.items() if field not in _OF_RUNS}


def find_fields(
    names: Iterable[str], fields: Fields, columns: ColumnNames | None = None
) -> dict[str, int]:
    """Return the position of each field in a header, from 0.

    A column stands for one field, the first that can have it. Fields without a column are left out.

    Args:
        names: The names of the columns, as written.
        fields: The fields, for example :data:`RUN_FIELDS`.
        columns: The columns of some of the fields. If one does not exist, no field is found.
    """
    names = list(names)
    places = {normalize(name): place for place, name in reversed([*enumerate(names)])}
    values = {field: value_of_column(names, name) for field, name in (columns or {}).items()}
    found = {field: value.place for field, value in values.items() if value is not None}
    if len(found) < len(values):
        return {}
    for field in [field for field in fields if field not in found]:
        near = (places.get(normalize(spelling)) for spelling in fields[field])
        free = [place for place in near if place is not None and place not in found.values()]
        found |= {field: free[0]} if free else {}
    return found


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a field: that of a column, negated, or a part of it.

    Attributes:
        place: The position of the column, from 0.
        is_negated: Whether the value is negated.
        separator: The separator of the parts; empty for the whole value.
        part: The number of the part, from 1.
    """

    place: int
    is_negated: bool = False
    separator: str = ""
    part: int = 0


def value_of_column(names: Sequence[str], text: str) -> ColumnValue | None:
    """Return the value that a user names.

    Args:
        names: The names of the columns.
        text: A column; ``-distance`` is its negated value, and ``key#2`` the second part of a value
            that is split at ``#``. Columns that have such a name come first.
    """
    is_negated = text.startswith("-") and text not in names
    place = place_of_column(names, text.removeprefix("-") if is_negated else text)
    if place is not None:
        return ColumnValue(place, is_negated)
    matched = re.fullmatch(r"(.+)([^\w\s]|_)([1-9])", text)
    if matched is None or (place := place_of_column(names, matched[1])) is None:
        return None
    return ColumnValue(place, separator=matched[2], part=int(matched[3]))


def place_of_column(names: Sequence[str], name: str) -> int | None:
    """Return the position, from 0, of a column: its name as written, nearly so, or its number."""
    for known, text in ((list(names), name), ([*map(normalize, names)], normalize(name))):
        if text and text in known:
            return known.index(text)
    return int(name) - 1 if re.fullmatch("[0-9]+", name) and 0 < int(name) <= len(names) else None
