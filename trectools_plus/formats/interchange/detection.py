"""The formats of runs and qrels, a row each, and the one place that asks which a file has.

Every command reads Parquet, JSON and tables with a header. Lines without a header can be confused
with each other, so only ``runs convert`` and ``qrels convert`` read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import polars as pl

from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.arrangement import arrange_table
from trectools_plus.formats.interchange.json_forms import (
    LISTED,
    JsonForm,
    UnknownFormError,
    read_json,
)
from trectools_plus.formats.interchange.names import (
    KINDS,
    ColumnNames,
    Kind,
    KindName,
    find_fields,
)
from trectools_plus.formats.interchange.table_files import (
    BLANKS,
    Format,
    HeadedTable,
    find_header,
    headed,
    lines_of,
    read_parquet,
    read_table,
    without_comments,
)

_JSON_START = re.compile(rb"[\s\xef\xbb\xbf]*[\[{]")
_MAPPING_REMEDY = (
    "name columns of the header, or give their numbers: query=1,doc_id=2,score=3; in JSON, name "
    "the keys of the objects"
)


def as_table(
    source: FileContent,
    kind: KindName,
    columns: ColumnNames | None,
    forms: Iterable[Format],
) -> Columns | None:
    """Read a file in the first format that it has, as the columns of a run or qrels.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The columns of some fields.
        forms: The formats that are asked.

    Returns:
        ``None`` if the file has another format.

    Raises:
        UnknownFormError: If it is JSON in another form.
        FormatError: If a Parquet file cannot be read as this kind, or a column does not exist.
    """
    tables = (form.read(source, KINDS[kind], columns) for form in forms)
    table = next(filter(None, tables), None)
    return arrange_table(source, KINDS[kind], table, columns) if table else None


def read_direct(source: FileContent, kind: KindName, columns: ColumnNames | None) -> Columns | None:
    """Read what every command reads; see :func:`as_table`."""
    try:
        return as_table(source, kind, columns, DIRECT)
    except UnknownFormError:
        if columns is None:
            return None
        raise


def convert_columns(
    source: FileContent, kind: KindName, name: str | None, columns: ColumnNames | None = None
) -> Columns:
    """Read a run or qrels in any format, and as TREC form what has no shorter lines.

    Args:
        source: The file.
        kind: The kind of file.
        name: The name of the format; ``None`` detects it.
        columns: The columns of some fields in a table.

    Raises:
        FormatError: If the file does not have this format, or no format.
        UsageError: If there is no such format.
    """
    if name not in (None, *options_of(kind)):
        raise UsageError(f"there is no format {name!r}; use one of {', '.join(options_of(kind))}")
    lines = [form for form in LINES if name in (None, form.option)]
    is_named = name and lines and columns is None
    forms = lines if is_named else [*DIRECT, *lines]
    if table := as_table(source, kind, columns, forms):
        return table
    scanned = scan_columns(source, len(KINDS[kind].columns))
    is_short = 0 < scanned.misshapen.n_fields.max(initial=0) < scanned.n_fields
    if name in (None, "trec") and (scanned.n_rows or not is_short):
        return scanned
    raise FormatError(
        "the content has no known format",
        path=source.path,
        remedy=f"see `trectools-plus {kind.rstrip('s')}s convert -h`, or add --columns",
    )


def text_of(source: FileContent) -> str:
    """Return the text of a file without byte order mark; U+FFFD replaces invalid bytes."""
    return source.data.decode("utf-8", "replace").removeprefix("\ufeff")


# JSON.


def _read_json(source: FileContent, kind: Kind, columns: ColumnNames | None) -> HeadedTable | None:
    if _JSON_START.match(source.head) is None:
        return None
    forms = [form for form in FORMATS if isinstance(form, JsonForm)]
    return read_json(text_of(source), source.path, kind, columns, forms)


def json_problem(source: FileContent, kind: KindName) -> UnknownFormError | None:
    """Return the error of a JSON file that cannot be read."""
    try:
        _read_json(source, KINDS[kind], None)
    except UnknownFormError as error:
        return error
    return None


def _only_split(predictions: Any, about: Any) -> Any:
    """Return the only split of the only subset in predictions of MTEB."""
    (subset,) = (value for value in predictions.values() if value is not about)
    (split,) = subset.values()
    return split


def _passages(_: Any, passages: Any) -> list[Any]:
    """Return the ids of passages, each once. Their scores are those of a search, and no grades."""
    names = ("docid", "passage_id", "psg_id", "wikipedia_id")
    return [
        *dict.fromkeys(
            [next(passage[name] for name in names if name in passage) for passage in passages]
        )
    ]


def _pages(query: Any, outputs: Any) -> list[Any]:
    """Return the pages in all outputs of KILT, of which one must have some."""
    first, *others = (output["provenance"] for output in outputs if "provenance" in output)
    return _passages(query, chain(first, *others))


# Tables with a header.


def _read_headed(
    source: FileContent, kind: Kind, columns: ColumnNames | None
) -> HeadedTable | None:
    """Read a table whose header names the fields, other than TREC's columns in their order."""
    if columns is not None:
        return _read_mapped(source, kind, columns)
    text = text_of(source)
    header = find_header(text, lambda names: kind.find(names) is not None)
    places = kind.find(header.names) if header else None
    if not header or not places:
        return None
    in_order = len(header.names) == len(kind.columns) and all(
        places.get(field) == place
        for place, field in enumerate(kind.columns)
        if field in (*kind.required, "rank")
    )
    if in_order and header.separator in (BLANKS, "\t") and '"' not in header.text:
        return None  # R105 and Q103 report such a header
    table = read_table(text, header, places)
    doc_ids = table.rows[f"c{places['doc_id'] + 1}"]
    if (doc_ids == "").all() and len(table.misshapen) + len(doc_ids):
        # For example three names above four columns: a header above TREC's form.
        return None if scan_columns(source, len(kind.columns)).n_rows else table
    return table


_POSITION = re.compile(r"-?[0-9]+(?:(?:[^\w\s]|_)[1-9])?", re.ASCII)
"""A number of a column, which can be negated or split."""
_NAME = re.compile(r"(?i)(?!(?:nan?|n/a|inf(?:inity)?|null|nil|none|true|false)$)[^\W\d]")
"""A word that can name a column."""


def _read_mapped(source: FileContent, kind: Kind, columns: ColumnNames) -> HeadedTable:
    """Read a table of which the user names columns, or their numbers.

    Numbers are positions. The first line is then a header if it has only words, and no other line
    has its query id.

    Raises:
        FormatError: If a column does not exist.
    """
    text = text_of(source)
    # Numbers of fewer columns stand beside names of the header.
    is_numbered = len(columns) > 2 and all(map(_POSITION.fullmatch, columns.values()))
    named = _numbered if is_numbered else tuple
    header = find_header(text, lambda names: kind.find(named(names), columns) is not None)
    if header is None:
        first = find_header(text, lambda _: True)
        shown = f"columns: {', '.join(first.names[:20])}" if first else "no table"
        raise FormatError(
            f"expected columns {', '.join(map('='.join, columns.items()))}, with a query id, a "
            f"document id, and a score or a rank, or a grade in qrels, but got {shown}",
            path=source.path,
            remedy=_MAPPING_REMEDY,
        )
    if not is_numbered or all(map(_NAME.match, filter(None, header.names))):
        places = find_fields(header.names, kind.fields, columns)
        table, query = read_table(text, header, places), places["query_id"]
        if not is_numbered:
            return table
        if header.names[query] not in table.rows[f"c{query + 1}"]:
            return replace(table, notes=(f"line {header.line} is read as a header",))
    header = replace(header, line=0, text="", names=_numbered(header.names))
    return read_table(text, header, find_fields(header.names, kind.fields, columns))


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(number) for number, _ in enumerate(names, 1))


# Lines without a header.


@dataclass(frozen=True, slots=True)
class LineForm(Format):
    """A format of lines without a header, which only ``convert`` reads.

    A mark is a regular expression of a line, whose groups are the fields. Any blanks stand for a
    blank.

    Attributes:
        arrange: Returns the rows as they are read; none of them if they have another format.
        notes: What is added or left out.
    """

    arrange: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows
    notes: tuple[str, ...] = ()

    def read(self, source: FileContent, kind: Kind, _: ColumnNames | None) -> HeadedTable | None:
        """Return the rows if all lines have the mark."""
        if not (mark := self.mark(kind)):
            return None
        lines = without_comments(lines_of(text_of(source)))[0]
        pattern = f"^ ?{mark} ?$".replace(" ?", r"[\x20\t\v\f]*").replace(" ", r"[\x20\t\v\f]+")
        frame = lines.select("line", pl.col("text").str.extract_groups(pattern)).unnest("text")
        if frame["doc_id"].has_nulls() or not frame.height:
            return None
        fields = [column for column in frame if column.null_count() < frame.height]
        rows = self.arrange(pl.DataFrame(fields).fill_null(""))
        numbers, *texts = rows.iter_columns()
        places = find_fields(rows.columns[1:], kind.fields)
        table = headed(numbers, texts, self.label, places=places, notes=self.notes)
        return table if rows.height else None


def _rankings(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of qrels, and of runs if the ranks of each query rise from 0 or 1."""
    if "rank" not in rows.columns:
        return rows
    rank = pl.col("rank").cast(pl.Int64)
    first, steps = rank.first().over("query_id"), rank.diff().over("query_id")
    rises = rows.select((first.is_in([0, 1]) & (steps.fill_null(1) > 0)).all()).item()
    is_list = "score" in rows.columns or rows["query_id"].n_unique() < max(2, rows.height)
    return rows.filter(rises and is_list)


def _relevant(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with grade 1, unless all have the same document."""
    is_list = rows.height == 1 or rows["doc_id"].n_unique() > 1
    return rows.filter(is_list).with_columns(relevance=pl.lit("1"))


_IDS = r"(?<query_id>\S+) (?<doc_id>\S+)"
FORMATS = (
    Format(
        "Parquet",
        "files of ranx (`q_id`, `doc_id`, `score`), pandas, Polars and others",
        reader=read_parquet,
    ),
    Format(
        "JSON",
        "a dictionary, a list of objects, or an object per line",
        "{",
        "{",
        "json",
        _read_json,
    ),
    JsonForm("Elasticsearch's rank_eval", "the request", qrels="ratings", queries="requests"),
    JsonForm(
        "Elasticsearch's rank_eval",
        "the response, of which rated hits are qrels",
        "hits",
        "hits",
        queries="details",
    ),
    JsonForm(
        "Elasticsearch, OpenSearch or rank_llm",
        '`{query_id: response}`, or `{"query_id": …, "response": …}` on each line; hits with `qid`',
        "hits",
        "hits",
    ),
    JsonForm(
        "an OpenSearch judgment list",
        "the id is the text of `query`",
        qrels="ratings",
        queries="judgmentRatings",
    ),
    JsonForm("BioASQ", "runs in rank order", "documents", "documents", queries="questions"),
    JsonForm(
        "a LlamaIndex data set", "`{query_id: [doc_id, …]}`", qrels="", queries="relevant_docs"
    ),
    JsonForm(
        "MTEB predictions",
        "the only split of the only subset",
        "",
        queries="mteb_model_meta",
        arrange=_only_split,
    ),
    JsonForm("TREC RAG JSON Lines", "runs in rank order", "references", "references", "trec-rag"),
    JsonForm("TREC RAG JSON Lines", "results with scores", "candidates", "candidates"),
    JsonForm("DPR", "results with scores", "ctxs"),
    JsonForm("ragas", "runs in rank order", "retrieved_context_ids", "reference_context_ids"),
    JsonForm("a test set", "`{doc_id: grade}` in JSON Lines", qrels="relevant"),
    *(
        JsonForm("JSON", "objects with scores, ranks or grades, or ids in order", key, key)
        for key in ("results", "response", "body", "ranking", "retrieved", "documents", "docs")
    ),
    JsonForm(
        "DPR",
        "relevant passages",
        qrels="positive_ctxs",
        arrange=_passages,
    ),
    JsonForm(
        "Tevatron",
        "relevant passages; negative passages are left out: most are not judged",
        qrels="positive_passages",
        arrange=_passages,
    ),
    JsonForm("KILT", "pages of all outputs, in order", "output", "output", arrange=_pages),
    Format("CSV", "table with a header", ",", ",", "csv", _read_headed),
    Format("TSV", "table with a header", "\t", "\t", "tsv"),
    Format("TSV", "`query-id`, `corpus-id`, `score`, separated by tabs", None, "\t", "beir"),
    LineForm(
        "MS MARCO",
        "runs: `qid pid rank`, or `qid pid rank score`; qrels: `qid pid grade`",
        _IDS + r" (?<rank>[0-9]{1,9})"
        r"(?: (?<score>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))?",
        _IDS + r" (?<relevance>[+-]?[0-9]{1,3})",
        "msmarco",
        arrange=_rankings,
    ),
    LineForm(
        "LETOR",
        "`grade qid:query_id 1:0.5 … # docid = doc_id` of SVMrank; `# doc_id` too",
        qrels=r"(?<relevance>[0-9]+) qid:(?<query_id>\S+) [^#]*# ?(?:docid ?= ?)?(?<doc_id>[^\s=]+)"
        r"(?: \w+ ?= ?\S+)*",
        option="letor",
    ),
    LineForm(
        "NTCIR",
        "`query_id doc_id L2`, also with an iteration; L0 to L9 become the grades 0 to 9",
        qrels=r"(?<query_id>\S+) (?:(?<iteration>\S+) )?(?<doc_id>\S+) [Ll](?<relevance>[0-9])",
        option="ntcir",
    ),
    LineForm(
        "SMART",
        "`query_id doc_id 0 0`, as in SMART's `qrels.text`; every document is relevant",
        qrels=_IDS + r" 0 0+(?:\.0*)?",
        option="smart",
        arrange=_relevant,
        notes=(LISTED,),
    ),
    LineForm(
        "prels",
        "`query_id doc_id grade method probability`; method and probability are left out",
        qrels=_IDS + r" (?<relevance>[+-]?[0-9]+) (?<method>[0-9]+) "
        r"(?<probability>0?\.[0-9]+(?:[eE]-?[0-9]+)?|[01](?:\.0*)?)",
        option="prels",
        notes=(
            "the sampling probabilities are left out: measures count each judgment once, which "
            "differs from the estimates of statAP and MTC",
        ),
    ),
    LineForm("TREC", "TREC form", "", "", "trec"),
)
"""The formats, in the order in which they are asked.

The row "JSON" reads all files of JSON, and looks for the keys of its forms.
"""
LINES = [form for form in FORMATS if isinstance(form, LineForm)]
DIRECT = [form for form in FORMATS if form not in LINES]
"""The formats that every command reads."""


def options_of(kind: str) -> list[str]:
    """Return the names of the formats of a kind of file for ``--from``."""
    named = (form.option for form in FORMATS if form.mark(KINDS[kind]) is not None)
    return [*filter(None, dict.fromkeys(named))]
