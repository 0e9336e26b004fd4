"""The formats of runs and qrels: how each is detected and read.

Tables with a header and JSON are read wherever a run or qrels are accepted. The other formats can
be confused with each other, so only ``runs convert`` and ``qrels convert`` read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.columns.columns import Columns, Origin, scan_columns
from trectools_plus.formats.columns.numbers import DECIMAL, INTEGER
from trectools_plus.formats.files.source import Source
from trectools_plus.formats.interchange.arrangement import (
    RANK_AS_SCORE,
    arrange_qrels,
    arrange_qrels_table,
    arrange_run,
    arrange_run_table,
    qrels_fields,
    run_fields,
    text_of,
)
from trectools_plus.formats.interchange.delimited import (
    BLANKS,
    Header,
    find_header,
    read_table,
)
from trectools_plus.formats.interchange.json_rows import (
    Form,
    JsonRows,
    UnknownFormError,
    read_json_rows,
)
from trectools_plus.formats.interchange.names import ColumnNames
from trectools_plus.text import plural

Kind = Literal["run", "qrels"]

N_RUN_FIELDS, N_QRELS_FIELDS = 6, 4
_JSON_START = re.compile(rb"[\s\xef\xbb\xbf]*[\[{]")
_LEVEL = r"^[Ll][0-9]$"
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
    read: Callable[[Source], Columns | None]
    is_direct: bool = False


def read_direct(source: Source, kind: Kind, columns: ColumnNames | None) -> Columns | None:
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
    if source.is_parquet:
        from trectools_plus.formats.interchange.parquet import read_parquet_table

        arrange = arrange_run_table if kind == "run" else arrange_qrels_table
        return arrange(source, read_parquet_table(source, kind, columns), "Parquet", columns)
    if columns is not None:
        return _read_mapped(source, kind, columns)
    for one in (RUN_FORMATS if kind == "run" else QRELS_FORMATS).values():
        if one.is_direct and (found := one.read(source)) is not None:
            return found
    return None


def _read_mapped(source: Source, kind: Kind, columns: ColumnNames) -> Columns:
    """Read a table or JSON of which the user names columns.

    Raises:
        FormatError: If a column does not exist.
    """
    if _JSON_START.match(source.head) is not None:
        try:
            found = read_json_rows(text_of(source), kind, columns)
        except UnknownFormError as error:
            remedy = error.remedy or _MAPPING_REMEDY
            raise FormatError(str(error), path=source.path, remedy=remedy) from None
        return _arrange_json(source, found, kind, names_systems="tag" in columns)
    fields = run_fields if kind == "run" else qrels_fields
    arrange = arrange_run_table if kind == "run" else arrange_qrels_table
    head = source.head.decode("utf-8", "ignore").removeprefix("\ufeff")
    header = find_header(head, lambda names: fields(names, columns) is not None)
    first = find_header(head, lambda _: True)
    has_positions = all(name.isascii() and name.isdigit() for name in columns.values())
    if has_positions and first is not None and not _names_fields(first, columns):
        names = tuple(str(number) for number in range(1, len(first.names) + 1))
        header = Header(0, "", names, first.separator)
        if fields(names, columns) is None:
            header = None
    if header is None:
        shown = "no table" if first is None else f"columns: {', '.join(first.names[:20])}"
        given = ", ".join(f"{field}={name}" for field, name in columns.items())
        needed = "a score or a rank" if kind == "run" else "a grade"
        raise FormatError(
            f"expected columns {given}, with a query id, a document id and {needed}, but got "
            f"{shown}",
            path=source.path,
            remedy=_MAPPING_REMEDY,
        )
    return arrange(source, read_table(text_of(source), header), header.format, columns)


def _names_fields(header: Header, columns: ColumnNames) -> bool:
    """Return whether a first line is a header: the values in the named columns are no numbers."""
    places = [
        int(name) - 1
        for field, name in columns.items()
        if field in ("score", "rank", "relevance") and int(name) <= len(header.names)
    ]
    return any(re.match(DECIMAL, header.names[place]) is None for place in places)


_MAPPING_REMEDY = (
    "name columns of the header, or give their numbers: query=1,doc_id=2,score=3; in JSON, name "
    "the keys of the objects"
)


def convert_columns(
    source: Source, kind: Kind, name: str | None, columns: ColumnNames | None = None
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
    formats = RUN_FORMATS if kind == "run" else QRELS_FORMATS
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
    other: Kind = "qrels" if kind == "run" else "run"
    others = QRELS_FORMATS if kind == "run" else RUN_FORMATS
    if what is None and any(one.read(source) is not None for one in others.values()):
        what, remedy = f"this looks like {_NOUNS[other]}", f"use `{_COMMANDS[other]}`"
    raise FormatError(what or "the format is not recognised", path=source.path, remedy=remedy)


def find_convertible(source: Source, kind: Kind) -> Format | None:
    """Return the format of a file that only ``runs convert`` and ``qrels convert`` read."""
    formats = RUN_FORMATS if kind == "run" else QRELS_FORMATS
    others = {name: one for name, one in formats.items() if not one.is_direct}
    found = _find(source, others, None)
    # TREC's columns are read by every command, unless they are separated by commas.
    is_trec = found is not None and found[0].name == "trec" and found[1].source is source
    return None if found is None or is_trec else found[0]


def _find(
    source: Source, formats: Mapping[str, Format], name: str | None
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


def _without_delimiters(source: Source) -> Source | None:
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
    return Source(source.path, "\n".join(texts).encode())


_COMMANDS: dict[Kind, str] = {"run": "runs convert", "qrels": "qrels convert"}
_NOUNS: dict[Kind, str] = {"run": "a run", "qrels": "qrels"}


def json_problem(source: Source, kind: Kind) -> tuple[str, str | None] | None:
    """Return why a JSON file cannot be read, and what to do if that is known."""
    if _JSON_START.match(source.head) is None:
        return None
    try:
        read_json_rows(text_of(source), kind)
    except UnknownFormError as error:
        return str(error), error.remedy
    return None


# Tables with a header.


def _read_table(source: Source, kind: Kind) -> Columns | None:
    fields = run_fields if kind == "run" else qrels_fields
    head = source.head.decode("utf-8", "ignore").removeprefix("\ufeff")
    header = find_header(head, lambda names: fields(names) is not None)
    if header is None or _is_trec_header(header, kind):
        return None
    arrange = arrange_run_table if kind == "run" else arrange_qrels_table
    columns = arrange(source, read_table(text_of(source), header), header.format)
    if not columns.n_rows and len(columns.misshapen):
        # For example three names above four columns: a header above TREC's form.
        plain = scan_columns(source, N_RUN_FIELDS if kind == "run" else N_QRELS_FIELDS)
        return None if plain.n_rows else columns
    return columns


_TREC_PLACES = {
    "run": ({"query_id": 0, "doc_id": 2, "rank": 3, "score": 4}, N_RUN_FIELDS),
    "qrels": ({"query_id": 0, "doc_id": 2, "relevance": 3}, N_QRELS_FIELDS),
}


def _is_trec_header(header: Header, kind: Kind) -> bool:
    """Return whether a header names TREC's columns in their order; R105 and Q103 report it."""
    if header.separator not in (BLANKS, "\t") or '"' in header.text:
        return False
    fields = run_fields(header.names) if kind == "run" else qrels_fields(header.names)
    places, n_columns = _TREC_PLACES[kind]
    return len(header.names) == n_columns and places.items() <= (fields or {}).items()


# JSON.


def _read_json(source: Source, kind: Kind, *, form: Form | None = None) -> Columns | None:
    """Read JSON of a form that must be named, or of any other form."""
    if _JSON_START.match(source.head) is None:
        return None
    try:
        found = read_json_rows(text_of(source), kind)
    except UnknownFormError:
        return None
    if (found.form if found.form in _JSON_FORMS else None) != form:
        return None
    return _arrange_json(source, found, kind)


def _arrange_json(
    source: Source, found: JsonRows, kind: Kind, *, names_systems: bool = False
) -> Columns:
    frame = found.frame
    label = _JSON_FORMS.get(found.form, "JSON")
    value = "score" if kind == "run" else "relevance"
    notes = []
    if found.form == "turns":
        notes.append("the order of the responses and of their passages gives the ranking")
        if found.n_repeated:
            notes.append(f"{plural(found.n_repeated, 'passage')} repeated in a turn left out")
    if kind == "run" and (frame["value"] == "").all() and (frame["rank"] != "").all():
        frame = frame.drop("value")
        notes.append(RANK_AS_SCORE)
        value = "rank"
    else:
        if kind == "qrels" and found.form in ("lists", "results"):
            notes.append("listed documents have grade 1")
        frame = frame.rename({"value": value}).drop("rank")
    wrong = (frame["query_id"] == "") | (frame["doc_id"] == "") | (frame[value] == "")
    text = pl.concat_str("query_id", "doc_id", value, separator=" ")
    count = pl.sum_horizontal(pl.col("query_id", "doc_id", value) != "")
    misshapen = frame.filter(wrong).select("line", n_fields=count, text=text)
    misshapen = misshapen.cast({"n_fields": pl.UInt32})
    required = ("query_id", "doc_id", value)
    further = {name: f"f{at}" for at, name in enumerate(found.further_names)}
    origin = Origin(label, None, required, tuple(notes), tuple(further), has_lines=found.has_lines)
    frame = frame.filter(~wrong)
    if kind == "qrels":
        return arrange_qrels(source, frame, misshapen=misshapen, origin=origin, candidates=further)
    return arrange_run(
        source,
        frame,
        misshapen=misshapen,
        origin=origin,
        candidates={found.tag_name: "tag", **further},
        system="tag" if names_systems else None,
    )


_JSON_FORMS: dict[Form, str] = {"results": "TREC RAG JSON Lines", "turns": "CAsT JSON"}
"""The forms that only conversion reads, with the names of their formats."""


# Columns without a header.


def _read_columns(source: Source, names: tuple[str, ...]) -> pl.DataFrame | None:
    """Return the rows by name if every line has these fields."""
    columns = scan_columns(source, len(names))
    if len(columns.misshapen) or not columns.n_rows:
        return None
    return columns.rows.rename(dict(zip(columns.rows.columns[1:], names, strict=True)))


def _all_match(texts: pl.Series, pattern: str) -> bool:
    return bool(texts.str.contains(pattern).all())


def _read_trec(source: Source, kind: Kind) -> Columns | None:
    columns = scan_columns(source, N_RUN_FIELDS if kind == "run" else N_QRELS_FIELDS)
    return columns if columns.n_rows else None


def _read_msmarco_run(source: Source) -> Columns | None:
    """Read ``query_id doc_id rank``, or ColBERT's ``query_id doc_id rank score``."""
    frame = _read_columns(source, ("query_id", "doc_id", "rank"))
    notes = [RANK_AS_SCORE]
    if frame is None:
        frame = _read_columns(source, ("query_id", "doc_id", "rank", "score"))
        notes = []
    if frame is None or not _all_match(frame["rank"], r"^[0-9]{1,9}$"):
        return None
    ranks = frame.select("query_id", rank=pl.col("rank").cast(pl.Int64))
    first = ranks.group_by("query_id").agg(
        is_ranking=pl.col("rank").min().is_in([0, 1]) & (pl.col("rank").diff() > 0).all()
    )
    if not first["is_ranking"].all() or (
        ranks.height > 1 and first.height == ranks.height and notes
    ):
        return None
    if "score" in frame.columns and not _all_match(frame["score"], DECIMAL):
        return None
    required = ("qid", "pid", "rank", "score")[: len(frame.columns) - 1]
    return arrange_run(source, frame, origin=Origin("MS MARCO", None, required, tuple(notes)))


def _read_scores(source: Source) -> Columns | None:
    """Read ``query_id doc_id score``."""
    frame = _read_columns(source, ("query_id", "doc_id", "score"))
    if frame is None or not _all_match(frame["score"], DECIMAL):
        return None
    if _all_match(frame["score"], INTEGER):
        return None  # ranks, scores or grades
    required = ("query_id", "doc_id", "score")
    return arrange_run(source, frame, origin=Origin("three columns", None, required))


def _read_msmarco_qrels(source: Source) -> Columns | None:
    """Read ``query_id doc_id grade``."""
    frame = _read_columns(source, ("query_id", "doc_id", "relevance"))
    if frame is None or not _all_match(frame["relevance"], r"^[+-]?[0-9]{1,3}$"):
        return None
    return arrange_qrels(source, frame, origin=Origin("MS MARCO", None, ("qid", "pid", "grade")))


def _read_prels(source: Source) -> Columns | None:
    """Read ``query_id doc_id grade method probability`` of the Million Query and Web tracks."""
    names = ("query_id", "doc_id", "relevance", "method", "probability")
    frame = _read_columns(source, names)
    if frame is None or not (
        _all_match(frame["relevance"], INTEGER)
        and _all_match(frame["method"], r"^[0-9]+$")
        and _all_match(frame["probability"], DECIMAL)
    ):
        return None
    probability = frame["probability"].cast(pl.Float64)
    if not probability.is_between(0, 1).all():
        return None
    notes = []
    if (probability < 1).any():
        notes = [
            "the sampling probabilities are left out: measures count each judgment once, which "
            "differs from the estimates of statAP and MTC"
        ]
    origin = Origin("prels", None, names, tuple(notes), ("method", "probability"))
    return arrange_qrels(source, frame.drop("method", "probability"), origin=origin)


def _read_smart(source: Source) -> Columns | None:
    """Read ``query_id doc_id 0 0`` of SMART's collections, which list relevant documents."""
    frame = _read_columns(source, ("query_id", "doc_id", "zero", "weight"))
    if frame is None or not (
        _all_match(frame["zero"], r"^0$") and _all_match(frame["weight"], r"^0+(?:\.0*)?$")
    ):
        return None
    if frame["doc_id"].n_unique() == 1 < frame.height:
        return None
    frame = frame.select("line", "query_id", "doc_id", relevance=pl.lit("1"))
    notes = ("listed documents have grade 1",)
    return arrange_qrels(source, frame, origin=Origin("SMART", None, ("query_id", "doc_id"), notes))


def _read_five_columns(source: Source) -> Columns | None:
    """Read ``query_id iteration doc_id grade`` and a column that is no second grade."""
    frame = _read_columns(source, ("query_id", "iteration", "doc_id", "relevance", "further"))
    if frame is None or not _all_match(frame["relevance"], _SMALL_GRADE):
        return None
    # Otherwise column 5 may be the grade, after an id with a blank.
    if _all_match(frame["further"], _SMALL_GRADE) and frame["further"].n_unique() > 1:
        return None
    if frame.select("query_id", "doc_id").is_duplicated().any():
        return None
    origin = Origin(
        "five columns", None, ("query_id", "doc_id", "relevance"), left_out=("column 5",)
    )
    return arrange_qrels(source, frame.drop("further"), origin=origin)


def _read_ntcir(source: Source) -> Columns | None:
    """Read grades L0, L1, … after query and document, with or without an iteration."""
    for names in (
        ("query_id", "doc_id", "relevance"),
        ("query_id", "iteration", "doc_id", "relevance"),
    ):
        frame = _read_columns(source, names)
        if frame is not None and _all_match(frame["relevance"], _LEVEL):
            grades = frame.with_columns(pl.col("relevance").str.slice(1))
            return arrange_qrels(source, grades, origin=Origin("NTCIR", None, names))
    return None


def _formats(*formats: Format) -> dict[str, Format]:
    return {one.name: one for one in formats}


RUN_FORMATS = _formats(
    Format("csv", "CSV or TSV with a header", partial(_read_table, kind="run"), is_direct=True),
    Format("tsv", "CSV or TSV with a header", partial(_read_table, kind="run")),
    Format("json", "JSON", partial(_read_json, kind="run"), is_direct=True),
    Format("trec-rag", "TREC RAG JSON Lines", partial(_read_json, kind="run", form="results")),
    Format("cast", "CAsT JSON", partial(_read_json, kind="run", form="turns")),
    Format("trec", "TREC's six columns", partial(_read_trec, kind="run")),
    Format("msmarco", "MS MARCO's columns 'qid pid rank'", _read_msmarco_run),
    Format("scores", "three columns 'query_id doc_id score'", _read_scores),
)
"""The formats of runs, in the order of detection."""

QRELS_FORMATS = _formats(
    Format("csv", "CSV or TSV with a header", partial(_read_table, kind="qrels"), is_direct=True),
    Format("tsv", "CSV or TSV with a header", partial(_read_table, kind="qrels")),
    Format("beir", "BEIR's TSV", partial(_read_table, kind="qrels")),
    Format("json", "JSON", partial(_read_json, kind="qrels"), is_direct=True),
    Format("trec-rag", "TREC RAG JSON Lines", partial(_read_json, kind="qrels", form="results")),
    Format("ntcir", "NTCIR grades L0 to L3", _read_ntcir),
    Format("smart", "SMART's qrels.text", _read_smart),
    Format("trec", "TREC's four columns", partial(_read_trec, kind="qrels")),
    Format("prels", "prels with five columns", _read_prels),
    Format("five-columns", "TREC's four columns and another one", _read_five_columns),
    Format("msmarco", "MS MARCO's columns 'qid pid grade'", _read_msmarco_qrels),
)
"""The formats of qrels, in the order of detection."""
