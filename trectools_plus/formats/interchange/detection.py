"""The formats of runs and qrels: how each is detected and read.

Tables with a header and JSON are read wherever a run or qrels are accepted. The other formats can
be confused with each other, so only ``runs convert`` and ``qrels convert`` read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Columns, Origin, scan_columns
from trectools_plus.formats.columns.decimals import DECIMAL, INTEGER
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.interchange.arrangement import arrange, arrange_table
from trectools_plus.formats.interchange.json_rows import (
    Form,
    JsonRows,
    UnknownFormError,
    read_json_rows,
)
from trectools_plus.formats.interchange.names import (
    KINDS,
    QRELS,
    RUN,
    ColumnNames,
    Kind,
    KindName,
)
from trectools_plus.formats.interchange.table_files import (
    BLANKS,
    Header,
    find_header,
    read_parquet_table,
    read_table,
)
from trectools_plus.text import plural

_JSON_START = re.compile(rb"[\s\xef\xbb\xbf]*[\[{]")
_SMALL_GRADE = r"^[+-]?[0-9]{1,3}$"


@dataclass(frozen=True, slots=True)
class Format:
    """A format of runs or qrels.

    Attributes:
        name: Its name as an option.
        label: Its name in messages.
        read: Reads a file as columns; ``None`` if the file has another format.
        is_direct: True if every command reads it.
    """

    name: str
    label: str
    read: Callable[[FileContent], Columns | None]
    is_direct: bool = False


def read_direct(source: FileContent, kind: KindName, columns: ColumnNames | None) -> Columns | None:
    """Read a table or JSON, which every command reads.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The columns of some fields in a table.

    Returns:
        ``None`` if the file has another format.

    Raises:
        FormatError: If a Parquet file cannot be read as this kind, or a column does not exist.
    """
    layout = KINDS[kind]
    if source.is_parquet:
        table, places = read_parquet_table(source, layout, columns)
        return arrange_table(source, layout, table, places, columns=columns)
    if columns is not None and _JSON_START.match(source.head) is not None:
        try:
            found = read_json_rows(text_of(source), layout, columns)
        except UnknownFormError as error:
            remedy = error.remedy or _MAPPING_REMEDY
            raise FormatError(str(error), path=source.path, remedy=remedy) from None
        return _arrange_json(source, found, layout, columns)
    return _read_table(source, layout, columns) or _read_json(source, layout)


_MAPPING_REMEDY = (
    "name columns of the header, or give their numbers: query=1,doc_id=2,score=3; in JSON, name "
    "the keys of the objects"
)


def convert_columns(
    source: FileContent, kind: KindName, name: str | None, columns: ColumnNames | None = None
) -> Columns:
    """Read a run or qrels in any format.

    Args:
        source: The file.
        kind: The kind of file.
        name: The name of the format; ``None`` detects it.
        columns: The columns of some fields in a table.

    Raises:
        FormatError: If the file does not have this format, or no format.
    """
    if source.is_parquet or columns is not None:
        found_directly = read_direct(source, kind, columns)
        assert found_directly is not None
        return found_directly
    formats = FORMATS[kind]
    if (read := _find(source, formats, name)) is not None:
        return read[1]
    remedy = f"see `{_COMMANDS[kind]} -h` for the formats"
    what, json_remedy = json_problem(source, kind) or (None, None)
    remedy = json_remedy or remedy
    if name is not None:
        found = next((one for one in formats.values() if one.read(source) is not None), None)
        what = what or f"the content is not {formats[name].label}"
        if found is not None:
            remedy = f"it looks like {found.label}: --from {found.name}"
    other: KindName = "qrels" if kind == "run" else "run"
    if what is None and any(one.read(source) is not None for one in FORMATS[other].values()):
        what, remedy = f"this looks like {_NOUNS[other]}", f"use `{_COMMANDS[other]}`"
    raise FormatError(what or "the format is not recognised", path=source.path, remedy=remedy)


def find_convertible(source: FileContent, kind: KindName) -> Format | None:
    """Return the format of a file that only ``runs convert`` and ``qrels convert`` read."""
    others = {name: one for name, one in FORMATS[kind].items() if not one.is_direct}
    found = _find(source, others, None)
    # TREC's columns are read by every command, unless they are separated by commas.
    is_trec = found is not None and found[0].name == "trec" and found[1].source is source
    return None if found is None or is_trec else found[0]


def _find(
    source: FileContent, formats: Mapping[str, Format], name: str | None
) -> tuple[Format, Columns] | None:
    """Return the format of a file, and its columns.

    Values with delimiters, but without a header, have the formats of columns.
    """
    chosen = formats.values() if name is None else (formats[name],)
    without_header = [one for one in formats.values() if not one.is_direct and one.name != "tsv"]
    plain = _without_delimiters(source)
    tried = [(one, source) for one in chosen if one.is_direct]
    if plain is not None:
        is_any = name in (None, "csv", "tsv")
        tried += [(one, plain) for one in (without_header if is_any else chosen)]
    tried += [(one, source) for one in chosen if not one.is_direct]
    for one, content in tried:
        if (columns := one.read(content)) is not None:
            return one, columns
    return None


def _without_delimiters(source: FileContent) -> FileContent | None:
    """Return a file of values with delimiters as one with tabs; ``None`` for another file."""
    first = find_header(source.head.decode("utf-8", "replace"), lambda _: True)
    if first is None or first.separator not in ",;|":
        return None
    texts: list[str] = []
    for line in text_of(source).split("\n"):
        values = [] if line.startswith("#") or not line.strip() else first.split(line.rstrip("\r"))
        if values and any(len(value.split()) != 1 for value in values):
            return None
        texts.append("\t".join(values))
    return FileContent(source.path, "\n".join(texts).encode())


_COMMANDS: dict[KindName, str] = {"run": "runs convert", "qrels": "qrels convert"}
_NOUNS: dict[KindName, str] = {"run": "a run", "qrels": "qrels"}


def json_problem(source: FileContent, kind: KindName) -> tuple[str, str | None] | None:
    """Return why a JSON file cannot be read, and what to do if that is known."""
    if _JSON_START.match(source.head) is None:
        return None
    try:
        read_json_rows(text_of(source), KINDS[kind])
    except UnknownFormError as error:
        return str(error), error.remedy
    return None


def text_of(source: FileContent) -> str:
    """Return the text of a file without byte order mark; U+FFFD replaces invalid bytes."""
    return source.data.decode("utf-8", "replace").removeprefix("\ufeff")


# Tables with a header.


def _read_table(
    source: FileContent, kind: Kind, columns: ColumnNames | None = None
) -> Columns | None:
    """Read a table with a header.

    Raises:
        FormatError: If the user names columns, and one of them does not exist.
    """
    head = source.head.decode("utf-8", "ignore").removeprefix("\ufeff")
    header = find_header(head, lambda names: kind.find(names, columns) is not None)
    if columns is not None:
        header = _mapped_header(source, kind, columns, header, find_header(head, lambda _: True))
    elif header is None or _is_trec_header(header, kind):
        return None
    places = kind.find(header.names, columns)
    assert places is not None
    table = read_table(text_of(source), header)
    found = arrange_table(source, kind, table, places, columns=columns)
    if columns is None and not found.n_rows and len(found.misshapen):
        # For example three names above four columns: a header above TREC's form.
        return None if scan_columns(source, len(kind.columns)).n_rows else found
    return found


_POSITION = re.compile(r"-?([0-9]+)(?:(?:[^\w\s]|_)[1-9])?", re.ASCII)
"""A number of a column, which can be negated or split."""


def _mapped_header(
    source: FileContent,
    kind: Kind,
    columns: ColumnNames,
    header: Header | None,
    first: Header | None,
) -> Header:
    """Return the header of a table of which the user names columns, or their numbers.

    Args:
        source: The file.
        kind: The kind of file.
        columns: The names or numbers of columns, by field.
        header: The header that has them, if there is one.
        first: The first line with several values, if there is one.

    Raises:
        FormatError: If a column does not exist.
    """
    has_positions = all(map(_POSITION.fullmatch, columns.values()))
    if has_positions and first is not None and not _names_fields(first, columns):
        names = tuple(str(number) for number in range(1, len(first.names) + 1))
        is_complete = kind.find(names, columns) is not None
        header = Header(0, "", names, first.separator) if is_complete else None
    if header is None:
        shown = "no table" if first is None else f"columns: {', '.join(first.names[:20])}"
        given = ", ".join(f"{field}={name}" for field, name in columns.items())
        needed = "a score or a rank" if kind is RUN else "a grade"
        raise FormatError(
            f"expected columns {given}, with a query id, a document id and {needed}, but got "
            f"{shown}",
            path=source.path,
            remedy=_MAPPING_REMEDY,
        )
    return header


def _names_fields(header: Header, columns: ColumnNames) -> bool:
    """Return whether a first line is a header: the values in the named columns are no numbers."""
    numbers = (
        int(_POSITION.sub(r"\1", name))
        for field, name in columns.items()
        if field in ("score", "rank", "relevance")
    )
    places = [number - 1 for number in numbers if number <= len(header.names)]
    return any(re.match(DECIMAL, header.names[place]) is None for place in places)


def _is_trec_header(header: Header, kind: Kind) -> bool:
    """Return whether a header names TREC's columns in their order; R105 and Q103 report it."""
    if header.separator not in (BLANKS, "\t") or '"' in header.text:
        return False
    places = kind.find(header.names) or {}
    named = ("query_id", "doc_id", "rank", "score", "relevance")
    return len(header.names) == len(kind.columns) and all(
        places.get(field) == place for place, field in enumerate(kind.columns) if field in named
    )


# JSON.


def _read_json(source: FileContent, kind: Kind, form: Form | None = None) -> Columns | None:
    """Read JSON of a form that only conversion reads, or of any other form."""
    if _JSON_START.match(source.head) is None:
        return None
    try:
        found = read_json_rows(text_of(source), kind)
    except UnknownFormError:
        return None
    is_converted = found.form in ("results", "turns")
    if found.form != form and (is_converted or form is not None):
        return None
    return _arrange_json(source, found, kind)


def _arrange_json(
    source: FileContent, found: JsonRows, kind: Kind, columns: ColumnNames | None = None
) -> Columns:
    notes = []
    if found.form == "turns":
        notes.append("the order of the responses and of their passages gives the ranking")
    if found.n_repeated:
        notes.append(f"{plural(found.n_repeated, 'passage')} repeated in a turn left out")
    if kind is QRELS and found.form in ("lists", "results"):
        notes.append(_LISTED)
    table, places = found.as_table(kind)
    names = {
        field: f"{'-' * key.startswith('-')}{table.header.names[places[field]]}"
        for field, key in (columns or {}).items()
        if field in places
    }
    return arrange_table(source, kind, table, places, notes=notes, columns=names)


_LISTED = "listed documents have grade 1"


# Columns without a header.


def _read_columns(source: FileContent, patterns: Mapping[str, str]) -> pl.DataFrame | None:
    """Return the rows by field if every line has these fields, and their values match."""
    columns = scan_columns(source, len(patterns))
    if len(columns.misshapen) or not columns.n_rows:
        return None
    frame = columns.rows.rename(dict(zip(columns.rows.columns[1:], patterns, strict=True)))
    matched = (frame[field].str.contains(pattern).all() for field, pattern in patterns.items())
    return frame if all(matched) else None


_IDS = {"query_id": "", "doc_id": ""}


def _read_trec(source: FileContent, kind: Kind) -> Columns | None:
    columns = scan_columns(source, len(kind.columns))
    return columns if columns.n_rows else None


def _read_msmarco_run(source: FileContent) -> Columns | None:
    """Read ``query_id doc_id rank``, or ColBERT's ``query_id doc_id rank score``."""
    ranked = {**_IDS, "rank": r"^[0-9]{1,9}$"}
    frame = _read_columns(source, ranked)
    if frame is None:
        frame = _read_columns(source, {**ranked, "score": DECIMAL})
    if frame is None:
        return None
    ranks = frame.select("query_id", rank=pl.col("rank").cast(pl.Int64))
    first = ranks.group_by("query_id").agg(
        is_ranking=pl.col("rank").min().is_in([0, 1]) & (pl.col("rank").diff() > 0).all()
    )
    is_list = "score" in frame.columns or ranks.height == 1 or first.height < ranks.height
    if not is_list or not first["is_ranking"].all():
        return None
    required = ("qid", "pid", "rank", "score")[: len(frame.columns) - 1]
    return arrange(source, RUN, frame, Origin("MS MARCO", None, required))


def _read_scores(source: FileContent) -> Columns | None:
    """Read ``query_id doc_id score``."""
    frame = _read_columns(source, {**_IDS, "score": DECIMAL})
    if frame is None or frame["score"].str.contains(INTEGER).all():
        return None  # ranks, scores or grades
    return arrange(source, RUN, frame, Origin("three columns", None, RUN.required))


def _read_msmarco_qrels(source: FileContent) -> Columns | None:
    """Read ``query_id doc_id grade``."""
    frame = _read_columns(source, {**_IDS, "relevance": _SMALL_GRADE})
    if frame is None:
        return None
    return arrange(source, QRELS, frame, Origin("MS MARCO", None, ("qid", "pid", "grade")))


def _read_prels(source: FileContent) -> Columns | None:
    """Read ``query_id doc_id grade method probability`` of the Million Query and Web tracks."""
    patterns = {**_IDS, "relevance": INTEGER, "method": r"^[0-9]+$", "probability": DECIMAL}
    frame = _read_columns(source, patterns)
    if frame is None:
        return None
    probability = frame["probability"].cast(pl.Float64)
    if not probability.is_between(0, 1).all():
        return None
    notes = [_SAMPLED] if (probability < 1).any() else []
    origin = Origin("prels", None, tuple(patterns), tuple(notes), ("method", "probability"))
    return arrange(source, QRELS, frame, origin)


_SAMPLED = (
    "the sampling probabilities are left out: measures count each judgment once, which differs "
    "from the estimates of statAP and MTC"
)


def _read_smart(source: FileContent) -> Columns | None:
    """Read ``query_id doc_id 0 0`` of SMART's collections, which list relevant documents."""
    frame = _read_columns(source, {**_IDS, "zero": r"^0$", "weight": r"^0+(?:\.0*)?$"})
    if frame is None or frame["doc_id"].n_unique() == 1 < frame.height:
        return None
    frame = frame.with_columns(relevance=pl.lit("1"))
    return arrange(source, QRELS, frame, Origin("SMART", None, ("query_id", "doc_id"), (_LISTED,)))


def _read_five_columns(source: FileContent) -> Columns | None:
    """Read ``query_id iteration doc_id grade`` and a column that is no second grade."""
    patterns = {"query_id": "", "iteration": "", "doc_id": "", "relevance": _SMALL_GRADE}
    frame = _read_columns(source, {**patterns, "further": ""})
    if frame is None:
        return None
    # Otherwise column 5 may be the grade, after an id with a blank.
    further = frame["further"]
    if further.str.contains(_SMALL_GRADE).all() and further.n_unique() > 1:
        return None
    if frame.select("query_id", "doc_id").is_duplicated().any():
        return None
    origin = Origin("five columns", None, QRELS.required, left_out=("column 5",))
    return arrange(source, QRELS, frame, origin)


def _read_ntcir(source: FileContent) -> Columns | None:
    """Read grades L0, L1, … after query and document, with or without an iteration."""
    for names in (QRELS.required, QRELS.columns):
        frame = _read_columns(source, {**dict.fromkeys(names, ""), "relevance": r"^[Ll][0-9]$"})
        if frame is not None:
            grades = frame.with_columns(pl.col("relevance").str.slice(1))
            return arrange(source, QRELS, grades, Origin("NTCIR", None, names))
    return None


def _formats(*formats: Format) -> dict[str, Format]:
    return {one.name: one for one in formats}


FORMATS: Mapping[KindName, Mapping[str, Format]] = {
    "run": _formats(
        Format("csv", "CSV or TSV with a header", partial(_read_table, kind=RUN), is_direct=True),
        Format("tsv", "CSV or TSV with a header", partial(_read_table, kind=RUN)),
        Format("json", "JSON", partial(_read_json, kind=RUN), is_direct=True),
        Format("trec-rag", "TREC RAG JSON Lines", partial(_read_json, kind=RUN, form="results")),
        Format("cast", "CAsT JSON", partial(_read_json, kind=RUN, form="turns")),
        Format("trec", "TREC's six columns", partial(_read_trec, kind=RUN)),
        Format("msmarco", "MS MARCO's columns 'qid pid rank'", _read_msmarco_run),
        Format("scores", "three columns 'query_id doc_id score'", _read_scores),
    ),
    "qrels": _formats(
        Format("csv", "CSV or TSV with a header", partial(_read_table, kind=QRELS), is_direct=True),
        Format("tsv", "CSV or TSV with a header", partial(_read_table, kind=QRELS)),
        Format("beir", "BEIR's TSV", partial(_read_table, kind=QRELS)),
        Format("json", "JSON", partial(_read_json, kind=QRELS), is_direct=True),
        Format("trec-rag", "TREC RAG JSON Lines", partial(_read_json, kind=QRELS, form="results")),
        Format("ntcir", "NTCIR grades L0 to L3", _read_ntcir),
        Format("smart", "SMART's qrels.text", _read_smart),
        Format("trec", "TREC's four columns", partial(_read_trec, kind=QRELS)),
        Format("prels", "prels with five columns", _read_prels),
        Format("five-columns", "TREC's four columns and another one", _read_five_columns),
        Format("msmarco", "MS MARCO's columns 'qid pid grade'", _read_msmarco_qrels),
    ),
}
"""The formats of runs and of qrels by name, in the order of detection."""
