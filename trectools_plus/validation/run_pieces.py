"""Judging a run by its pieces, exactly as it is judged as a whole.

Most rules look at rows, or at the rows of a query: a run breaks them where one of its pieces
does. Some ask what kind of file it is, what a column holds in every row, or how many queries are
like this. Of those, a piece knows only its share: what is counted adds up over the pieces, and
what kind of file it is its opening tells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from trectools_plus.formats.columns import Columns, scan_columns
from trectools_plus.formats.lexer import BOM
from trectools_plus.formats.query_chunks import Chunk, with_mark_kept
from trectools_plus.formats.run import N_FIELDS
from trectools_plus.formats.source import Source, source_of
from trectools_plus.text import plural
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.changed_places import RankAndScore, SecondAndThird
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.order import Rows
from trectools_plus.validation.registry import LINES_KEPT, Hit
from trectools_plus.validation.rules.files import empty_file
from trectools_plus.validation.rules.hashed import run_row_behind_hash
from trectools_plus.validation.rules.run_columns import header_line, other_format, wrong_kind
from trectools_plus.validation.rules.run_ranks import (
    count_judged,
    is_most,
    reversal,
    reversed_queries,
    scores_reversed,
)
from trectools_plus.validation.rules.run_swapped import columns_swapped
from trectools_plus.validation.rules.run_ties import (
    all_tied,
    is_every_query_tied,
    only_ties,
    tied_queries,
)
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.shape import SNIFFED_BYTES, Shape, shape_of_run
from trectools_plus.validation.views import NO_REPEATS

Chunks = Callable[[], Iterable[Chunk]]

_BY_OPENING = (other_format.code, wrong_kind.code, header_line.code)
_HASHED = run_row_behind_hash.code
_REVERSED = scores_reversed.code
_TIED = all_tied.code
_BY_COUNTS = (empty_file.code, _HASHED, _REVERSED, _TIED)


class ScatteredError(Exception):
    """A query is in two pieces."""


@dataclass(frozen=True, eq=False)
class Opening:
    """What tells of which kind a run file is.

    Attributes:
        view: Its first lines, and of later ones as many as the verdict hangs on.
        head: All up to the end of a header line; empty if there is none.
    """

    view: RunView
    head: bytes

    @property
    def shape(self) -> Shape:
        """The verdict on the whole file."""
        return self.view.shape

    @property
    def n_left_out(self) -> int:
        """Bytes at the beginning that are no part of any row: the head, or a byte order mark."""
        columns = self.view.columns
        has_mark = columns is not None and columns.facts.has_bom
        return max(len(self.head), len(BOM) if has_mark else 0)

    def after_head(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The file's pieces without its ``head``."""
        left = len(self.head)
        for chunk in chunks:
            if not left:
                yield chunk
                continue
            data = chunk()
            rest = data[left:]
            left = max(0, left - len(data))
            if rest:
                yield functools.partial(with_mark_kept, rest)


def find_opening(path: str, chunks: Iterable[Chunk]) -> Opening:
    """Read as many of a file's pieces as it takes to tell of which kind it is.

    Args:
        path: The run.
        chunks: Its pieces, in order.
    """
    data = b""
    n_rows = 0
    has_lines = has_other = False
    overlong = None
    for chunk in chunks:
        source = source_of(path, chunk())
        columns, overlong = scan_columns(source, N_FIELDS), source.overlong
        shape = shape_of_run(columns)
        # Rows tell a run, and where there are none, lines that are not those of qrels.
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


def judge_pieces(
    path: str, opening: Opening, chunks: Chunks, *, known_lines: bool
) -> list[Finding]:
    """Find what forbids scoring a run, as ``check_view`` does for a whole one.

    Args:
        path: The run.
        opening: What its first lines tell.
        chunks: Its pieces without the opening's ``head``, whole queries each; called twice.
        known_lines: Whether they are in the order of the file.

    Returns:
        The findings, one for each rule. Where a rule is broken in several pieces, the message is
        that on the first one, and says how many places there are behind it.

    Raises:
        ScatteredError: If a query is in two pieces.
    """
    of_opening = check_view(opening.view, forbidding_only=True)
    if opening.shape.verdict == "not-text":
        return [finding for finding in of_opening if finding.blocks_scoring]
    whole = _Whole()
    for view in _views(path, opening, chunks):
        whole.look_at(view)
    tally = _Tally(path, whole, known_lines)
    for view in _views(path, opening, chunks):
        tally.judge(view)
    found = tally.findings()
    found += [finding for finding in of_opening if finding.code in _BY_OPENING]
    if opening.shape.first_line is None:
        found += tally.findings_without_rows()
    order = [rule.code for rule in CATALOGUE]
    return sorted(found, key=lambda finding: order.index(finding.code))


def view_of_piece(path: str, data: bytes, shape: Shape | None = None) -> RunView:
    """A view of a piece; ``shape`` is the verdict on the whole file, if that is known."""
    columns = scan_columns(source_of(path, data), N_FIELDS)
    view = RunView.of_file(columns if shape is None else _not_wide(columns), shape=shape)
    view.is_piece = True
    return view


def _not_wide(columns: Columns) -> Columns:
    """A piece of a file that is not in UTF-16 or UTF-32: neither is the piece."""
    guess = None if columns.facts.bad_utf8 is None else "latin-1"
    return replace(columns, facts=replace(columns.facts, encoding_guess=guess))


def _views(path: str, opening: Opening, chunks: Chunks) -> Iterator[RunView]:
    """Views of the header, if there is one, and of all pieces, up to an endless line."""
    if opening.head:
        yield view_of_piece(path, opening.head, opening.shape)
    shape = Shape(opening.shape.verdict)
    for chunk in chunks():
        view = view_of_piece(path, chunk(), shape)
        yield view
        if view.columns is not None and view.columns.facts.stopped_at is not None:
            return


@dataclass(eq=False)
class _Whole:
    """What is so in the whole file, added up over its pieces."""

    query_ids: set[str] = field(default_factory=set)
    second_and_third: SecondAndThird = field(default_factory=SecondAndThird)
    rank_and_score: RankAndScore = field(default_factory=RankAndScore)
    has_bad_bytes: bool = False

    def look_at(self, view: RunView) -> None:
        """Add what a piece shows."""
        query_ids: list[str] = view.blocks.query_ids.to_list()
        if not self.query_ids.isdisjoint(query_ids):
            raise ScatteredError
        self.query_ids.update(query_ids)
        self.second_and_third += SecondAndThird.of(view.frame)
        self.rank_and_score += view.rank_and_score
        if view.columns is not None and view.columns.facts.bad_utf8 is not None:
            self.has_bad_bytes = True

    def tell(self, view: RunView) -> None:
        """Let a piece know what does not follow from its own rows."""
        if view.n_rows:
            view.documents_in_column_2 = self.second_and_third.have_changed_places
            view.swapped_columns = self.rank_and_score.have_changed_places
        if self.has_bad_bytes or not view.n_rows:
            view.repeats = NO_REPEATS


@dataclass(eq=False)
class _Sum:
    """The findings of one rule: the first, and what there is behind it."""

    first: Finding
    count: int = 0
    lines: tuple[int, ...] = ()

    def add(self, finding: Finding) -> None:
        self.count += finding.count
        self.lines = (*self.lines, *finding.lines)[:LINES_KEPT]

    def finding(self, message: str | None = None) -> Finding:
        """The finding on the whole file; ``message`` if it is not that on the first place."""
        if message is None:
            further = self.count - self.first.count
            message = self.first.message + (f"; {further:,} more further on" if further else "")
        return replace(self.first, message=message, count=self.count, lines=self.lines)


@dataclass(eq=False)
class _Tally:
    """The findings of a file, and what has to be counted to make one."""

    path: str
    whole: _Whole
    known_lines: bool
    n_lines: int = 0
    n_comments: int = 0
    n_judged: int = 0
    n_larger: int = 0
    scores: set[float] = field(default_factory=set)
    sums: dict[str, _Sum] = field(default_factory=dict)

    def judge(self, view: RunView) -> None:
        """Add what a piece holds."""
        assert view.columns is not None
        self.whole.tell(view)
        for finding in check_view(view, forbidding_only=True):
            if finding.blocks_scoring and finding.code not in (*_BY_OPENING, *_BY_COUNTS):
                self._add(finding)
        self._add_reversed(view)
        self._add_tied(view)
        self._add_hashed(view)
        self.n_lines += view.columns.facts.n_lines

    def findings(self) -> list[Finding]:
        """What forbids scoring a file that has data in it."""
        n_queries = len(self.whole.query_ids)
        messages: dict[str, str | None] = dict.fromkeys(self.sums)
        messages.pop(_HASHED, None)
        if columns_swapped.code in messages:
            messages[columns_swapped.code] = self.sums[columns_swapped.code].first.message
        if _REVERSED in messages:
            n_reversed = self.sums[_REVERSED].count
            messages[_REVERSED] = reversal(n_reversed, self.n_judged)
            if self.whole.rank_and_score.have_changed_places:
                messages[_REVERSED] = self.sums[_REVERSED].first.message
            elif not is_most(n_reversed, self.n_judged):
                del messages[_REVERSED]
        if _TIED in messages:
            messages[_TIED] = only_ties(self.scores)
            if not is_every_query_tied(self.sums[_TIED].count, self.n_larger, n_queries):
                del messages[_TIED]
        return [self.sums[code].finding(message) for code, message in messages.items()]

    def findings_without_rows(self) -> list[Finding]:
        """What is said of a file that has no data in it."""
        hashed = self.sums.get(_HASHED)
        found = [] if hashed is None else [hashed.finding(hashed.first.message)]
        if hashed is None or hashed.count < self.n_comments:
            comments = plural(self.n_comments, "comment line")
            seen = f" ({comments})" if self.n_comments else ""
            found.append(empty_file.finding(Hit(f"no data rows{seen}"), self.path))
        return found

    def _add(self, finding: Finding) -> None:
        known = self.known_lines
        moved = replace(
            finding,
            line=finding.line + self.n_lines if known and finding.line else None,
            lines=tuple(line + self.n_lines for line in finding.lines) if known else (),
            column=finding.column if known else None,
        )
        self.sums.setdefault(finding.code, _Sum(moved)).add(moved)

    def _add_reversed(self, view: RunView) -> None:
        if self.whole.rank_and_score.have_changed_places:
            hit = (
                scores_reversed.check(view) if view.n_rows and _REVERSED not in self.sums else None
            )
        else:
            self.n_judged += count_judged(view)
            rows = reversed_queries(view)
            hit = _hit(view, rows, rows)
        if hit is not None:
            self._add(scores_reversed.finding(hit, self.path))

    def _add_tied(self, view: RunView) -> None:
        self.n_larger += int((view.blocks.sizes >= 2).sum())
        tied = tied_queries(view)
        rows = view.blocks.first_rows[tied]
        hit = _hit(view, rows, tied)
        if hit is not None:
            self._add(all_tied.finding(replace(hit, severity="error"), self.path))
            if len(self.scores) < 2:
                self.scores.update(view.score[rows].tolist())

    def _add_hashed(self, view: RunView) -> None:
        assert view.columns is not None
        self.n_comments += view.columns.comments.height
        # Without rows, as it is a fault only where no piece has any.
        hit = run_row_behind_hash.check(view) if view.n_rows == 0 else None
        if hit is not None:
            self._add(run_row_behind_hash.finding(hit, self.path))


def _hit(view: RunView, rows: Rows, queries: Rows) -> Hit | None:
    """A hit whose message only the whole file tells."""
    if len(rows) == 0:
        return None
    return Hit("", view.lines(rows), len(queries), query_id=view.query_id(rows[0]))
