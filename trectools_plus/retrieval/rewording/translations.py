"""The user's translations: a glossary, or a Babelon table of translated names.

Babelon (https://github.com/monarch-initiative/babelon) is the format in which the translations of
the HPO are published: a tab-separated file with the columns ``subject_id``, ``predicate_id``,
``translation_value`` and others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import polars as pl

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.tables import PARTS_SCHEMA, Corpus
from trectools_plus.retrieval.rewording.glossary import parse_glossary
from trectools_plus.retrieval.rewording.lay_terms import normalise_name

_SUBJECT, _PREDICATE, _VALUE, _STATUS = (
    "subject_id",
    "predicate_id",
    "translation_value",
    "translation_status",
)
_NOT_A_NAME = "IAO:0000115|definition|comment"
_UNUSED_STATUS = ("NOT_TRANSLATED", "REJECTED")
_ID = re.compile(r"([A-Za-z]+)[_:](\d+)$")


def read_translations(path: str) -> dict[str, str] | pl.DataFrame:
    """Read a glossary as English words by stem, or a Babelon table as ``doc_id, text``.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If it is neither.
    """
    source = read_file(path)
    header, _, rows = source.text.partition("\n")
    columns = [name.strip() for name in header.split("\t")]
    if not {_SUBJECT, _VALUE} <= {*columns}:
        if "\t" in header:
            raise FormatError(
                f"expected the columns {_SUBJECT} and {_VALUE}",
                path=source.path,
                line=1,
                remedy="use a Babelon table, or a glossary with stem=english in each line",
            )
        return parse_glossary(source.text, source.path)
    fields = [
        dict(zip(columns, row.rstrip("\r").split("\t"), strict=False)) for row in rows.split("\n")
    ]
    names = [
        (f"{found[1]}:{found[2]}", row[_VALUE].strip())
        for row in fields
        if (found := _ID.search(row.get(_SUBJECT, "").strip()))
        and row.get(_VALUE, "").strip()
        and row.get(_STATUS, "") not in _UNUSED_STATUS
        and not re.search(_NOT_A_NAME, row.get(_PREDICATE, ""))
    ]
    return pl.DataFrame(names, schema={"doc_id": pl.String, "text": pl.String}, orient="row")


def add_names(corpus: Corpus, translations: str | None) -> Corpus:
    """Return a corpus whose terms also have the names of a Babelon table, as synonyms.

    Args:
        corpus: The documents.
        translations: The table; a corpus with a glossary, or without a file, does not change.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If it is not valid, or has none of the terms.
    """
    table = None if translations is None else read_translations(translations)
    if translations is None or not isinstance(table, pl.DataFrame):
        return corpus
    known = table.filter(pl.col("doc_id").is_in(corpus.frame["doc_id"].implode())).unique(
        maintain_order=True
    )
    if corpus.parts is None or known.is_empty():
        raise FormatError(
            "the table has no names of these documents",
            path=translations,
            remedy="search the ontology that the table translates",
        )
    added = known.with_columns(kind=pl.lit("synonym")).select(list(PARTS_SCHEMA))
    parts = pl.concat([corpus.parts, added]).unique(maintain_order=True)
    by_name: dict[str, list[str]] = {}
    for doc_id, text in known.iter_rows():
        by_name.setdefault(normalise_name(text), []).append(doc_id)
    return replace(corpus, parts=parts, find_exact=partial(_find, corpus.find_exact, by_name))


def _find(
    find_exact: Callable[[str], list[str]] | None, by_name: dict[str, list[str]], text: str
) -> list[str]:
    """Return the documents with this name, those with a translated name last."""
    own = [] if find_exact is None else find_exact(text)
    return list(dict.fromkeys([*own, *by_name.get(normalise_name(text), ())]))
