"""Check a run in parts of whole queries, without its rows in memory.

Of each part there is a summary of what the rules need to know. Together they make a view of the
run, on which the rules decide as on a run that was read at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.distributed import map_in_copies
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.rows import RUN_FIELDS, RunRows
from trectools_plus.formats.files.content import BOM, content_of_chunk
from trectools_plus.formats.files.opening import (
    compression_of,
    find_binary,
    is_plain_file,
)
from trectools_plus.formats.lexing import lex
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.validation.rules import RULES
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.views.kinds import QrelsView, RunView
from trectools_plus.validation.views.places import PairFacts, Places
from trectools_plus.validation.views.tables import SNIFFED_BYTES

if TYPE_CHECKING:
    import polars as pl

_BYTES_PER_PROCESS = 4 << 20
"""The smallest share of a file for which starting a process saves time."""

_T = TypeVar("_T")


class NotInPartsError(Exception):
    """Only the whole file shows what kind of file it is, for example JSON, UTF-16 or no rows."""


@dataclass(frozen=True, eq=False)
class ViewSettings:
    """How the views of parts are made.

    Attributes:
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        for_scoring: Ignore words after the tag, as :meth:`RunView.for_scoring` does.
        qrels: The qrels with which the documents of the run are compared, if any.
        collection: The document ids of the collection, if known.
    """

    max_depth: int | None
    max_tag_length: int = MAX_TAG_LENGTH
    for_scoring: bool = False
    qrels: QrelsView | None = None
    collection: pl.Series | None = None

    def view(self, columns: Columns, *, is_start: bool = True) -> RunView:
        """Return the view of a file, or of a part of one."""
        make = RunView.for_scoring if self.for_scoring else RunView.of_file
        view = make(columns, is_start=is_start)
        view.max_depth, view.max_tag_length = self.max_depth, self.max_tag_length
        return view


def view_part(path: str, data: bytes, settings: ViewSettings, *, is_first: bool) -> RunView:
    """Return the view of a part of a run.

    Args:
        path: The run.
        data: Lines of whole queries.
        settings: How the view is made.
        is_first: Whether the file begins with it.

    Raises:
        NotInPartsError: If the rows of a query are not together, columns may be swapped, or the
            whole file must be read.
    """
    source = content_of_chunk(path, data)
    if source.overlong is not None or (is_first and find_binary(data) is not None):
        raise NotInPartsError
    if is_first:
        columns = lex(replace(source, compression=compression_of(path)), "run")
        view = settings.view(columns)
        is_clear = columns.origin is None and columns.n_rows > 1 and view.file.verdict == "rows"
    else:
        columns = scan_columns(source, RUN_FIELDS)
        # The whole file has another encoding than UTF-16 or UTF-32.
        guess = None if columns.bad_utf8 is None else "latin-1"
        columns = replace(columns, encoding_guess=guess)
        view, is_clear = settings.view(columns, is_start=False), True
    is_swapped = is_clear and (view.documents_in_column_2 or view.swapped_columns)
    if not is_clear or view.blocks.interleaved or is_swapped:
        raise NotInPartsError
    return view


def summary_of(view: RunView, settings: ViewSettings, *, is_first: bool) -> RunView:
    """Return what the rules need to know of a view, without its rows, to be pickled.

    Args:
        view: A part of a run.
        settings: How its view was made.
        is_first: Whether the file begins with it; its content is then kept.
    """
    pair = PairView(view, settings.qrels, collection=settings.collection)
    source = view.file.source if is_first else replace(view.file.source, data=b"")
    summary = _without_rows(
        view, replace(view.file, source=source, body=b""), view.rows.without_columns()
    )
    summary.words_after_tag = view.words_after_tag
    summary.tag, summary.last_tag = view.tag, view.last_tag
    summary.n_reversed, summary.n_copies = view.n_reversed, view.n_copies
    summary.pair_facts, summary.answers = pair.facts, {}
    for rule in RULES:
        if rule.chunked and rule.on != "qrels":
            summary.answers |= rule.answers(pair if rule.on == "pair" else view, view)
    return summary


def _without_rows(view: RunView, columns: Columns, rows: RunRows) -> RunView:
    """Return a view like another one, of which only the queries are known."""
    summary = RunView(columns.source.path, rows, columns)
    summary.max_depth = view.max_depth
    summary.documents_in_column_2 = summary.swapped_columns = False
    return summary


def join_parts(parts: Sequence[RunView]) -> RunView:
    """Return the view of a run of whose parts, in order, there are summaries.

    Raises:
        NotInPartsError: If a query is in two parts, the rows of only some parts have words after
            the tag, so that an id of the others may contain a blank, or a part begins with another
            tag.
    """
    rows = RunRows.joined([part.rows for part in parts])
    filled = [part for part in parts if part.n_rows]
    repeats_query = len(rows.query_ids) < sum(part.n_queries for part in parts)
    if repeats_query or len({part.tag for part in filled}) > 1:
        raise NotInPartsError
    view = _without_rows(parts[0], Columns.joined([part.file for part in parts]), rows)
    lines_before = list(accumulate((part.file.n_lines for part in parts[:-1]), initial=0))
    view.answers, view.pair_facts = {}, PairFacts()
    for part, before in zip(parts, lines_before, strict=True):
        for key, places in (part.answers or {}).items():
            view.answers[key] = view.answers.get(key, Places()) + places.moved(before)
        if part.pair_facts:
            view.pair_facts = view.pair_facts.plus(part.pair_facts, before)
    view.n_reversed = sum(part.n_reversed for part in parts)
    view.n_copies = sum(part.n_copies for part in parts)
    view.tag, view.last_tag = filled[0].tag, filled[-1].last_tag
    has_words = any(len(part.words_after_tag) for part in parts)
    if has_words and view.misshapen.longer(RUN_FIELDS):
        raise NotInPartsError
    return view


def read_in_parts(
    path: str, chunks: Iterable[Chunk], settings: ViewSettings, work: Callable[[RunView], _T]
) -> tuple[RunView, list[_T]]:
    """Read a run in parts, in this process and in copies of it.

    Args:
        path: The run.
        chunks: Its content, in order, in chunks of whole queries.
        settings: How the views of the parts are made.
        work: Called with the view of each part, whose ``pair_facts`` it may set; returns a result
            to be pickled.

    Returns:
        The view of the whole run, whose rows are unknown; and the results of ``work``, in order.

    Raises:
        NotInPartsError: If the whole file must be read; see :func:`view_part`.
        InputError: If the file cannot be read.
    """

    def read(item: tuple[int, Chunk]) -> tuple[RunView, _T]:
        number, chunk = item
        view = view_part(path, chunk(), settings, is_first=number == 0)
        result = work(view)
        return summary_of(view, settings, is_first=number == 0), result

    n_processes = Path(path).stat().st_size // _BYTES_PER_PROCESS if is_plain_file(path) else 1
    map_chunks = partial(map_in_copies, most=n_processes) if n_processes > 1 else map
    parts = list(map_chunks(read, enumerate(_with_start(chunks))))
    if not parts:
        raise NotInPartsError
    return join_parts([part for part, _ in parts]), [result for _, result in parts]


def view_in_parts(path: str, settings: ViewSettings) -> RunView | None:
    """Return the view of a run in several parts; ``None`` if it must be read as a whole."""
    if settings.qrels is not None:
        _ = settings.qrels.pairs  # made once for all processes
    try:
        view, _ = read_in_parts(path, iter_query_chunks(path), settings, lambda _: None)
    except (NotInPartsError, TrectoolsPlusError):
        return None
    # P101 and P106 compare all ids with those of the qrels.
    return view if PairView(view, settings.qrels).facts.n_common or not settings.qrels else None


def _with_start(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks, the first of them so large that it shows what kind of file it is."""
    chunks = iter(chunks)
    start = b""
    for chunk in chunks:
        # A byte order mark within the file is doubled at the start of a chunk.
        start += chunk().removeprefix(BOM) if start else chunk()
        if len(start) >= SNIFFED_BYTES and start.count(b"\n") > 2:
            break
    if start:
        yield partial(bytes, start)
    yield from chunks
