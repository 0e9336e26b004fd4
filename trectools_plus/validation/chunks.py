"""Checks of a run in chunks of whole queries, which never load the whole run.

The scope of a rule declares the data that it needs. Rules on single rows or queries are checked on
each chunk, and their findings are added up. Rules on the whole file are added up over the chunks,
or decided by the beginning of the file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from trectools_plus.formats.columns.columns import Columns, scan_columns
from trectools_plus.formats.columns.lexer import BOM
from trectools_plus.formats.files.source import Source, source_of
from trectools_plus.formats.query_chunks import Chunk, double_byte_order_mark
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import check_view, run_rules
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.registry import LINES_KEPT, ChunkCount, Rule, Subject
from trectools_plus.validation.views.runs import RankAndScore, RunView, SecondAndThird
from trectools_plus.validation.views.shape import SNIFFED_BYTES, Shape, shape_of_run
from trectools_plus.validation.views.tables import NO_REPEATS

Chunks = Callable[[], Iterable[Chunk]]

Condition = Literal["clean", "valid", "judged"]
"""Conditions on a chunk: only rows, and no findings that block scoring; no such findings; or part
of a run that has been checked already."""


class SplitQueryError(Exception):
    """A query is in two chunks."""


def open_chunk(path: str, data: bytes, condition: Condition) -> RunView | None:
    """Return the view of a chunk of a run, if it can be scored independently.

    If a run breaks a rule that blocks scoring and the rows of each query are together, at least one
    chunk breaks it too. Check the whole run to find the cause.

    Args:
        path: The run's file.
        data: Lines of whole queries.
        condition: The required condition. A ``clean`` chunk has rows, and neither comments nor
            lines that are not rows; a ``valid`` chunk may have no rows.

    Returns:
        The view; ``None`` if the chunk does not meet the condition.
    """
    if condition == "judged":
        return _view_of_chunk(path, data, Shape())
    view = _clean_view(path, data) if condition == "clean" else _view_of_chunk(path, data)
    if view is None:
        return None
    findings = check_view(view, blocking_only=True)
    return None if any(finding.blocks_scoring for finding in findings) else view


def _clean_view(path: str, data: bytes) -> RunView | None:
    columns = scan_columns(Source(path, data), N_FIELDS)
    if columns.misshapen.height or columns.comments.height or columns.facts.long_lines:
        return None
    view = RunView.of_file(columns)
    return None if view.n_rows == 0 or view.blocks.interleaved else view


def _view_of_chunk(path: str, data: bytes, shape: Shape | None = None) -> RunView:
    """A view of a chunk; ``shape`` is the shape of the whole file, if it is known."""
    columns = scan_columns(source_of(path, data), N_FIELDS)
    view = RunView.of_file(columns if shape is None else _not_wide(columns), shape=shape)
    view.is_chunk = True
    return view


def _not_wide(columns: Columns) -> Columns:
    """Remove a guess of UTF-16 or UTF-32: the file is not in these, so the chunk is not either."""
    guess = None if columns.facts.bad_utf8 is None else "latin-1"
    return replace(columns, facts=replace(columns.facts, encoding_guess=guess))


@dataclass(frozen=True, eq=False)
class Opening:
    """The beginning of a run file, which determines its shape.

    Attributes:
        view: The first lines, and those later ones that the shape depends on.
        head: Everything up to the end of a header line; empty if there is none.
    """

    view: RunView
    head: bytes

    @property
    def shape(self) -> Shape:
        """The shape of the whole file."""
        return self.view.shape

    @property
    def n_left_out(self) -> int:
        """Number of bytes before the first row: the head, or a byte order mark."""
        columns = self.view.columns
        has_mark = columns is not None and columns.facts.has_bom
        return max(len(self.head), len(BOM) if has_mark else 0)

    def after_head(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The file's chunks without its ``head``."""
        left = len(self.head)
        for chunk in chunks:
            if not left:
                yield chunk
                continue
            data = chunk()
            rest = data[left:]
            left = max(0, left - len(data))
            if rest:
                yield functools.partial(double_byte_order_mark, rest)


def find_opening(path: str, chunks: Iterable[Chunk]) -> Opening:
    """Read as many chunks of a file as determine its shape.

    Args:
        path: The run.
        chunks: Its chunks, in order.
    """
    data = b""
    n_rows = 0
    has_lines = has_other = False
    overlong = None
    for chunk in chunks:
        source = source_of(path, chunk())
        columns, overlong = scan_columns(source, N_FIELDS), source.overlong
        shape = shape_of_run(columns)
        # A file is a run if it has rows or, without rows, lines that are not those of qrels.
        is_other = shape.first_line is not None and shape.verdict != "wrong-kind"
        is_opening = not has_lines or len(data) < SNIFFED_BYTES
        if is_opening or columns.n_rows or (is_other and not has_other):
            data, n_rows = data + source.data, n_rows + columns.n_rows
            has_lines = has_lines or shape.first_line is not None
            has_other = has_other or is_other
        if overlong is not None or (n_rows > 1 and len(data) >= SNIFFED_BYTES):
            break
    if overlong is not None:
        overlong = replace(overlong, line=data.count(b"\n") + 1)
    view = RunView.of_file(scan_columns(Source(path, data, overlong=overlong), N_FIELDS))
    if view.shape.header is None:
        return Opening(view, b"")
    line, _ = view.shape.header
    rest = data.split(b"\n", line)[line:]
    return Opening(view, data[: len(data) - sum(map(len, rest))])


def check_chunks(
    path: str, opening: Opening, chunks: Chunks, *, known_lines: bool
) -> list[Finding]:
    """Find what blocks scoring a run, like ``check_view`` for a whole run.

    Args:
        path: The run.
        opening: Its beginning.
        chunks: Its chunks without the opening's ``head``, whole queries each; called twice.
        known_lines: True if they are in the order of the file.

    Returns:
        The findings, one for each rule. Where a rule is broken in several chunks, the message is
        that on the first one, with the number of places behind it.

    Raises:
        SplitQueryError: If a query is in two chunks.
    """
    of_opening = [one for one in check_view(opening.view, blocking_only=True) if one.blocks_scoring]
    if opening.shape.verdict == "not-text":
        return of_opening
    whole = _Whole()
    for view in _views(path, opening, chunks):
        whole.add(view)
    sums = _Sums(path, known_lines)
    for view in _views(path, opening, chunks):
        whole.apply_to(view)
        sums.add(view)
    found = sums.findings()
    found += [one for one in of_opening if _is_decided_by_opening(CATALOGUE[one.code])]
    order = [rule.code for rule in CATALOGUE]
    return sorted(found, key=lambda finding: order.index(finding.code))


def _is_decided_by_opening(rule: Rule) -> bool:
    return rule.scope == "file" and rule.chunk_count is None


def _views(path: str, opening: Opening, chunks: Chunks) -> Iterator[RunView]:
    """Views of the header, if there is one, and of all chunks, up to an endless line."""
    if opening.head:
        yield _view_of_chunk(path, opening.head, opening.shape)
    shape = Shape(opening.shape.verdict)
    for chunk in chunks():
        view = _view_of_chunk(path, chunk(), shape)
        yield view
        if view.columns is not None and view.columns.facts.stopped_at is not None:
            return


@dataclass(eq=False)
class _Whole:
    """Facts on the whole file, added up over its chunks."""

    query_ids: set[str] = field(default_factory=set)
    second_and_third: SecondAndThird = field(default_factory=SecondAndThird)
    rank_and_score: RankAndScore = field(default_factory=RankAndScore)
    has_bad_bytes: bool = False

    def add(self, view: RunView) -> None:
        """Add a chunk."""
        query_ids: list[str] = view.blocks.query_ids.to_list()
        if not self.query_ids.isdisjoint(query_ids):
            raise SplitQueryError
        self.query_ids.update(query_ids)
        self.second_and_third += SecondAndThird.of(view.frame)
        self.rank_and_score += view.rank_and_score
        if view.columns is not None and view.columns.facts.bad_utf8 is not None:
            self.has_bad_bytes = True

    def apply_to(self, view: RunView) -> None:
        """Set the facts of a chunk that its rows do not determine."""
        if view.n_rows:
            view.documents_in_column_2 = self.second_and_third.are_swapped
            view.swapped_columns = self.rank_and_score.are_swapped
        if self.has_bad_bytes or not view.n_rows:
            view.repeats = NO_REPEATS


@dataclass(eq=False)
class _Sum:
    """The sum of the findings of one rule."""

    first: Finding
    count: int = 0
    lines: tuple[int, ...] = ()

    def add(self, finding: Finding) -> None:
        self.count += finding.count
        self.lines = (*self.lines, *finding.lines)[:LINES_KEPT]

    def finding(self, message: str) -> Finding:
        return replace(self.first, message=message, count=self.count, lines=self.lines)

    def message(self) -> str:
        further = self.count - self.first.count
        return self.first.message + (f"; {further:,} more further on" if further else "")


class _Sums:
    """The findings of a file, added up over its chunks."""

    def __init__(self, path: str, known_lines: bool) -> None:
        self._path = path
        self._known_lines = known_lines
        self._n_lines = 0
        self._sums: dict[str, _Sum] = {}
        self._counts: dict[str, ChunkCount] = {
            rule.code: rule.chunk_count() for rule in CATALOGUE if rule.chunk_count is not None
        }

    def add(self, view: RunView) -> None:
        """Add the findings of a chunk."""
        kinds: tuple[Subject, ...] = ("file", "run")
        for finding in run_rules(view, kinds, view, blocking_only=True, scopes=("row", "query")):
            if finding.blocks_scoring:
                self._add(finding)
        for code, counted in self._counts.items():
            hit = counted.add(view)
            if hit is not None:
                self._add(CATALOGUE[code].finding(hit, self._path))
        assert view.columns is not None
        self._n_lines += view.columns.facts.n_lines

    def findings(self) -> list[Finding]:
        """Return the findings on the whole file."""
        found = []
        for code, added in self._sums.items():
            counted = self._counts.get(code)
            message = (
                counted.message(added.first.message, added.count) if counted else added.message()
            )
            if message is not None:
                found.append(added.finding(message))
        return found

    def _add(self, finding: Finding) -> None:
        known = self._known_lines
        moved = replace(
            finding,
            line=finding.line + self._n_lines if known and finding.line else None,
            lines=tuple(line + self._n_lines for line in finding.lines) if known else (),
            column=finding.column if known else None,
        )
        self._sums.setdefault(finding.code, _Sum(moved)).add(moved)
