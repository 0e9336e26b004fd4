"""Check a run in parts of whole queries, without its rows in memory.

Each part shows what the rules need to know of it (:class:`ReadPart`). The parts together make a
view of the run, on which the rules decide as on a run that was read at once.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.distributed.copies import map_in_copies
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.facts import OddLines
from trectools_plus.formats.columns.lexer import scan_columns
from trectools_plus.formats.columns.rows import RUN_FIELDS, QueryBlocks, RunRows
from trectools_plus.formats.files.binary import find_binary
from trectools_plus.formats.files.content import BOM, content_of_chunk
from trectools_plus.formats.files.opening import (
    can_be_read_twice,
    compression_of,
    file_size,
    is_plain_file,
)
from trectools_plus.formats.lexing import lex_run
from trectools_plus.formats.query_chunks import Chunk, iter_query_chunks
from trectools_plus.validation.catalogue import RULES
from trectools_plus.validation.views.facts import PairFacts, RunFacts
from trectools_plus.validation.views.pairs import DocumentIds, PairView
from trectools_plus.validation.views.places import Places
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.tables import SNIFFED_BYTES, Shape, wide_encoding

_BYTES_PER_PROCESS = 4 << 20
"""The smallest share of a file for which starting a process saves time."""

_T = TypeVar("_T")
_R = TypeVar("_R")


Work = Callable[[RunView], tuple[PairFacts | None, _T]]
"""Work on a part: returns the facts about its documents, if it looked them up, and a result to be
pickled."""


class NotInPartsError(Exception):
    """Only the whole file shows what kind of file it is, for example JSON, UTF-16 or no rows."""


@dataclass(frozen=True, eq=False)
class ViewSettings:
    """How the views of parts are made.

    Attributes:
        max_depth: Results allowed per query; ``None`` for no limit.
        max_tag_length: Characters allowed in the run tag.
        optional_rules: Also run the rules that are off by default.
        for_scoring: Ignore words after the tag, as :meth:`RunView.for_scoring` does.
        qrels: The qrels with which the documents of the run are compared, if any.
        collection: The document ids of the collection, if known.
    """

    max_depth: int | None
    max_tag_length: int = MAX_TAG_LENGTH
    optional_rules: bool = False
    for_scoring: bool = False
    qrels: QrelsView | None = None
    collection: DocumentIds | None = None

    def pair(self, view: RunView) -> PairView:
        """Return the view of a run, or of a part of one, with its qrels."""
        return PairView(view, self.qrels, collection=self.collection)

    def apply_to(self, view: RunView) -> RunView:
        """Set the properties of a view."""
        view.max_tag_length = self.max_tag_length
        view.optional_rules = self.optional_rules
        return view

    def view(self, columns: Columns, shape: Shape | None = None) -> RunView:
        """Return the view of a file, or of a part of one."""
        make = RunView.for_scoring if self.for_scoring else RunView.of_file
        return self.apply_to(make(columns, self.max_depth, shape))


def view_part(path: str, data: bytes, settings: ViewSettings, *, is_first: bool) -> RunView:
    """Return the view of a part of a run.

    Args:
        path: The run.
        data: Lines of whole queries.
        settings: How the view is made.
        is_first: Whether the file begins with it.

    Raises:
        NotInPartsError: If the whole file must be read.
    """
    source = content_of_chunk(path, data)
    if source.overlong is not None:
        raise NotInPartsError
    if not is_first:
        columns = scan_columns(source, RUN_FIELDS)
        # The whole file has another encoding than UTF-16 or UTF-32.
        guess = None if columns.facts.bad_utf8 is None else "latin-1"
        facts = replace(columns.facts, encoding_guess=guess)
        view = settings.view(replace(columns, facts=facts), Shape())
    else:
        if find_binary(data) is not None:
            raise NotInPartsError
        columns = lex_run(replace(source, compression=compression_of(path)))
        if columns.origin is not None or columns.n_rows < 2 or wide_encoding(columns) is not None:
            raise NotInPartsError
        view = settings.view(columns)
        if view.shape.verdict != "rows":
            raise NotInPartsError
    return view


@dataclass(frozen=True, eq=False)
class ReadPart(Generic[_T]):
    """A part of a run that was read: the facts about it that rules need, without its rows.

    Attributes:
        columns: The lines that are not rows, and the facts; of the first part also its content.
        shape: The shape of the file, known from the first part.
        words_after_tag: As in the view.
        blocks: The queries.
        tags: The tags of the first and the last row.
        facts: The facts about the rows.
        pair_facts: The facts about the rows and the qrels.
        answers: The places that break rules.
        result: The result of the work on it.
    """

    columns: Columns
    shape: Shape
    words_after_tag: OddLines
    blocks: QueryBlocks
    tags: tuple[str, str]
    facts: RunFacts
    pair_facts: PairFacts
    answers: Mapping[tuple[str, int], Places]
    result: _T

    @classmethod
    def of(
        cls, view: RunView, settings: ViewSettings, work: Work[_T], *, is_first: bool = True
    ) -> ReadPart[_T]:
        """Return what a view shows; if it is not that of the first part, without its content."""
        assert view.columns is not None
        pair = settings.pair(view)
        subjects = {"file": view, "run": view, "pair": pair}
        answers = {
            (rule.code, number): places
            for rule in RULES
            if rule.chunked and rule.on in subjects
            for number, case in enumerate(rule.cases)
            if (places := rule.ask(subjects[rule.on], case)).count
        }
        pair_facts, result = work(view)
        return cls(
            view.columns.without_rows(keep_content=is_first),
            view.shape,
            view.words_after_tag,
            view.blocks,
            (view.tag, view.last_tag),
            view.facts,
            pair_facts or pair.facts,
            answers,
            result,
        )


def read_part(
    path: str,
    chunk: Chunk,
    settings: ViewSettings,
    work: Work[_T],
    *,
    is_first: bool,
) -> ReadPart[_T]:
    """Read a part of a run.

    Args:
        path: The run.
        chunk: Whole queries of it.
        settings: How its view is made.
        work: Called with the view.
        is_first: Whether the file begins with it.

    Raises:
        NotInPartsError: If the rows of a query are not together, or the whole file must be read.
    """
    view = view_part(path, chunk(), settings, is_first=is_first)
    if view.blocks.interleaved:
        raise NotInPartsError
    return ReadPart.of(view, settings, work, is_first=is_first)


def join_parts(parts: Sequence[ReadPart[Any]], settings: ViewSettings) -> RunView:
    """Return the view of a run whose parts, in order, were read; its rows are unknown.

    Raises:
        NotInPartsError: If a query is in two parts, the rows of only some parts have words after
            the tag, so that an id of the others may contain a blank, or a part begins with another
            tag.
    """
    blocks = QueryBlocks.joined([part.blocks for part in parts])
    filled = [part for part in parts if part.blocks.n_rows] or list(parts[:1])
    repeats_query = len(blocks.query_ids) < sum(len(part.blocks.query_ids) for part in parts)
    if repeats_query or len({part.tags[0] for part in filled}) > 1:
        raise NotInPartsError
    columns = Columns.joined([part.columns for part in parts])
    n_lines = [part.columns.facts.n_lines for part in parts]
    lines_before = list(itertools.accumulate(n_lines[:-1], initial=0))
    answers: dict[tuple[str, int], Places] = {}
    for part, before in zip(parts, lines_before, strict=True):
        for key, places in part.answers.items():
            moved = places.moved(before)
            answers[key] = answers[key] + moved if key in answers else moved
    rows = RunRows.of_blocks(blocks)
    view = RunView(columns.source.path, columns, parts[0].shape, rows, settings.max_depth)
    view.answers = answers
    view.words_after_tag = OddLines.joined([part.words_after_tag for part in parts], lines_before)
    view.facts = functools.reduce(operator.add, (part.facts for part in parts))
    view.pair_facts = functools.reduce(
        operator.add,
        (part.pair_facts.moved(n) for part, n in zip(parts, lines_before, strict=True)),
    )
    view.tag, view.last_tag = filled[0].tags[0], filled[-1].tags[1]
    if len(view.words_after_tag) and (view.misshapen.n_fields > RUN_FIELDS).any():
        raise NotInPartsError
    return settings.apply_to(view)


def read_in_parts(
    path: str, chunks: Iterable[Chunk], settings: ViewSettings, work: Work[_T]
) -> tuple[RunView, list[_T]]:
    """Read a run in parts, in this process and in copies of it.

    Args:
        path: The run.
        chunks: Its content, in order, in chunks of whole queries.
        settings: How the views of the parts are made.
        work: Called with the view of each part.

    Returns:
        The view of the whole run, whose rows are unknown; and the results of ``work``, in order.

    Raises:
        NotInPartsError: If the rows of a query are not together, or the whole file must be read.
        InputError: If the file cannot be read.
    """

    def read(item: tuple[int, Chunk]) -> ReadPart[_T]:
        number, chunk = item
        return read_part(path, chunk, settings, work, is_first=number == 0)

    parts = _map_chunks(read, path, enumerate(_with_start(chunks)))
    if not parts:
        raise NotInPartsError
    return join_parts(parts, settings), [one.result for one in parts]


def view_in_parts(path: str, settings: ViewSettings) -> RunView | None:
    """Return the view of a run that is read in parts; ``None`` if it must be read as a whole."""
    if not can_be_read_twice(path):
        return None
    if settings.qrels is not None:
        _ = settings.qrels.pairs  # made once for all processes
    try:
        view, _ = read_in_parts(path, iter_query_chunks(path), settings, lambda _: (None, None))
    except (NotInPartsError, TrectoolsPlusError):
        return None
    return view if has_common_documents(view, settings) else None


def has_common_documents(view: RunView, settings: ViewSettings) -> bool:
    """Return whether the parts of a run share documents with the qrels, if there are any.

    Otherwise the run is read as a whole: P101 and P106 compare all ids with those of the qrels.
    """
    return settings.qrels is None or view.pair_facts.judged.has_common_documents


def _map_chunks(read: Callable[[_T], _R], path: str, items: Iterable[_T]) -> list[_R]:
    """Call a function with each chunk of a file, in several processes if that saves time."""
    if not is_plain_file(path):
        return list(map(read, items))
    n_processes = max(1, file_size(path) // _BYTES_PER_PROCESS)
    return map_in_copies(read, items, n_processes)


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
        yield functools.partial(bytes, start)
    yield from chunks
