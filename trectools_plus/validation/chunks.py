"""Check a run in chunks of whole queries, without loading the whole run.

The scope of a rule declares the data that it needs. Rules on single rows or queries are checked on
each chunk, and the counts of their findings are added. Rules on the whole file either combine their
hits in the chunks (``chunk_accumulator``) or need only the beginning of the file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.columns.rows import RUN_FIELDS
from trectools_plus.formats.files.content import BOM
from trectools_plus.formats.files.source import Source, source_of
from trectools_plus.formats.lexing import lex_run
from trectools_plus.formats.query_chunks import Chunk, double_byte_order_mark
from trectools_plus.validation.catalogue import RULES
from trectools_plus.validation.engine import run_rules
from trectools_plus.validation.findings import Finding
from trectools_plus.validation.limits import DEFAULT_MAX_DEPTH
from trectools_plus.validation.registry import LINES_KEPT, ChunkAccumulator, Hit, Rule, Subject
from trectools_plus.validation.views.order import Repeats
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.runs import DocumentSwapSigns, RunView, ScoreSwapSigns
from trectools_plus.validation.views.shape import SNIFFED_BYTES, Shape, shape_of_run

Chunks = Callable[[], Iterable[Chunk]]

Condition = Literal["valid", "checked"]
"""Conditions on a chunk.

- ``valid``: no findings that block scoring, and no header, which only the whole file determines.
- ``checked``: part of a run that was checked before, so the chunk is not checked again.
"""


class SplitQueryError(Exception):
    """A query is in two chunks."""


def open_chunk(
    path: str, data: bytes, condition: Condition
) -> tuple[RunView, list[Finding]] | None:
    """Return the view of a chunk of a run, if it can be scored independently.

    If a run breaks a rule that blocks scoring, and it is grouped by query, then at least one chunk
    breaks the rule too. Check the whole run to find the cause.

    Args:
        path: The run's file.
        data: Lines of whole queries.
        condition: The required condition. A ``valid`` chunk may have no rows.

    Returns:
        The view, and the findings with the line numbers of the chunk (none for ``checked``);
        ``None`` if the chunk does not meet the condition.
    """
    if condition == "checked":
        return _view_of_chunk(path, data, Shape()), []
    view = _view_of_chunk(path, data)
    if view.shape.header is not None:
        return None
    findings = run_rules(view, ("file", "run"), view)
    findings += run_rules(PairView(view), ("pair",), view)
    return None if any(map(_needs_whole_run, findings)) else (view, findings)


def _needs_whole_run(finding: Finding) -> bool:
    """Return whether a finding on a chunk blocks scoring, or has a note about the whole run."""
    is_counted = RULES[finding.code].chunk_accumulator is not None
    return finding.blocks_scoring or bool(finding.note and is_counted)


def _view_of_chunk(path: str, data: bytes, shape: Shape | None = None) -> RunView:
    """Return the view of a chunk; ``shape`` is the shape of the whole file, if known."""
    view = RunView.for_scoring(
        scan_columns(source_of(path, data), RUN_FIELDS), DEFAULT_MAX_DEPTH, shape
    )
    if shape is not None and view.columns is not None:
        # The whole file has another encoding than UTF-16 or UTF-32.
        guess = None if view.columns.facts.bad_utf8 is None else "latin-1"
        facts = replace(view.columns.facts, encoding_guess=guess)
        view.columns = replace(view.columns, facts=facts)
    view.is_chunk = True
    return view


@dataclass(frozen=True, eq=False)
class FileStart:
    """The beginning of a run file, which determines its shape.

    Attributes:
        view: The first lines, and the later chunks that determine the shape.
        head: The bytes up to the end of a header line; empty if there is none.
    """

    view: RunView
    head: bytes

    @property
    def shape(self) -> Shape:
        """The shape of the whole file."""
        return self.view.shape

    @property
    def n_skipped_bytes(self) -> int:
        """Number of bytes before the first row: those of the head, or of a byte order mark."""
        columns = self.view.columns
        has_mark = columns is not None and columns.facts.has_bom
        return max(len(self.head), len(BOM) if has_mark else 0)

    def after_head(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Yield the file's chunks without its ``head``."""
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


def read_file_start(path: str, chunks: Iterable[Chunk]) -> FileStart:
    """Read chunks of a file until they determine its shape.

    Args:
        path: The run.
        chunks: Its chunks, in order.

    Raises:
        UsageError: If it is a table with a header, for example CSV, which is read as a whole.
    """
    data = b""
    n_rows = 0
    has_lines = has_other = False
    overlong = None
    for chunk in chunks:
        source = source_of(path, chunk())
        columns, overlong = scan_columns(source, RUN_FIELDS), source.overlong
        shape = shape_of_run(columns)
        # A file is a run if it has rows or, without rows, lines that are not those of qrels.
        is_other = shape.first_line is not None and shape.verdict != "wrong-kind"
        is_start = not has_lines or len(data) < SNIFFED_BYTES
        if is_start or columns.n_rows or (is_other and not has_other):
            data, n_rows = data + source.data, n_rows + columns.n_rows
            has_lines = has_lines or shape.first_line is not None
            has_other = has_other or is_other
        if overlong is not None or (n_rows > 1 and len(data) >= SNIFFED_BYTES):
            break
    origin = lex_run(Source(path, data)).origin
    if origin is not None:
        raise UsageError(
            f"--low-memory reads only TREC form, and this is {origin.format}",
            where=path,
            remedy=f"leave it out, or convert the run: runs convert {path} --output run.txt",
        )
    if overlong is not None:
        overlong = replace(overlong, line=data.count(b"\n") + 1)
    view = RunView.for_scoring(
        scan_columns(Source(path, data, overlong=overlong), RUN_FIELDS), DEFAULT_MAX_DEPTH
    )
    if view.shape.header is None:
        return FileStart(view, b"")
    line, _ = view.shape.header
    rest = data.split(b"\n", line)[line:]
    return FileStart(view, data[: len(data) - sum(map(len, rest))])


def check_chunks(
    path: str, file_start: FileStart, chunks: Chunks, *, known_lines: bool
) -> list[Finding]:
    """Return the findings on a run, like ``check_view`` for a whole run.

    Errors are the same. Warnings and infos that need the whole file may be missing.

    Args:
        path: The run.
        file_start: Its beginning.
        chunks: Returns its chunks without the ``head``, each with whole queries; called twice.
        known_lines: True if the chunks are in the order of the file, so that line numbers are
            known.

    Returns:
        At most one finding per rule. If a rule is broken in several chunks, the message is that of
        the first one, followed by the number of places in later ones.

    Raises:
        SplitQueryError: If a query is in two chunks.
    """
    if file_start.shape.verdict == "not-text":
        return run_rules(file_start.view, ("file", "run"), file_start.view)
    facts = _RunFacts()
    for view in _views(path, file_start, chunks):
        facts.add(view)
    start = file_start.view
    start.other_query_ids |= facts.query_ids
    at_start = run_rules(start, ("file", "run"), start)
    sums = _FindingSums(path, known_lines)
    for view in _views(path, file_start, chunks):
        facts.apply_to(view)
        sums.add(view)
    found = sums.findings()
    found += [one for one in at_start if _needs_only_start(RULES[one.code])]
    return in_catalogue_order(found)


def _needs_only_start(rule: Rule) -> bool:
    return rule.scope == "file" and rule.chunk_accumulator is None


def _views(path: str, file_start: FileStart, chunks: Chunks) -> Iterator[RunView]:
    """Yield views of the header and of all chunks, up to a line that is too long to read."""
    if file_start.head:
        yield _view_of_chunk(path, file_start.head, file_start.shape)
    shape = Shape(file_start.shape.verdict)
    for chunk in chunks():
        view = _view_of_chunk(path, chunk(), shape)
        yield view
        if view.columns is not None and view.columns.facts.stopped_at is not None:
            return


@dataclass(eq=False)
class _RunFacts:
    """Facts about the whole run, combined from its chunks."""

    query_ids: set[str] = field(default_factory=set)
    document_swap_signs: DocumentSwapSigns = field(default_factory=DocumentSwapSigns)
    score_swap_signs: ScoreSwapSigns = field(default_factory=ScoreSwapSigns)
    has_invalid_utf8: bool = False

    def add(self, view: RunView) -> None:
        """Add a chunk."""
        query_ids = view.query_ids
        if not self.query_ids.isdisjoint(query_ids):
            raise SplitQueryError
        self.query_ids.update(query_ids)
        self.document_swap_signs += DocumentSwapSigns.of(view.rows)
        self.score_swap_signs += view.score_swap_signs
        if view.columns is not None and view.columns.facts.bad_utf8 is not None:
            self.has_invalid_utf8 = True

    def apply_to(self, view: RunView) -> None:
        """Set the properties of a chunk that depend on the whole run."""
        if view.n_rows:
            view.documents_in_column_2 = self.document_swap_signs.are_swapped
            view.swapped_columns = self.score_swap_signs.are_swapped
        if self.has_invalid_utf8 or not view.n_rows:
            view.repeats = Repeats.none()


@dataclass(eq=False)
class _FindingSum:
    """The findings of one rule in all chunks."""

    first: Finding
    count: int = 0
    lines: tuple[int, ...] = ()

    def add(self, finding: Finding) -> None:
        if finding.blocks_scoring and not self.first.blocks_scoring:
            blocking = replace(self.first, message=finding.message, blocks_scoring=True)
            self.first = replace(blocking, fix=finding.fix)
        elif finding.severity.is_above(self.first.severity):
            self.first = replace(finding, count=self.first.count)
        self.count += finding.count
        self.lines = (*self.lines, *finding.lines)[:LINES_KEPT]

    def finding(self) -> Finding:
        further = self.count - self.first.count
        more = f"; {further:,} more later in the file" if further else ""
        message = self.first.message + more
        return replace(self.first, message=message, count=self.count, lines=self.lines)

    def finding_for(self, whole: Finding) -> Finding:
        """Return the finding on the whole run with the places of the chunks."""
        return replace(
            self.first,
            message=whole.message,
            severity=whole.severity,
            blocks_scoring=whole.blocks_scoring,
            note=whole.note,
            count=self.count,
            lines=self.lines,
        )


@dataclass(frozen=True)
class ChunkFindings:
    """The findings on a chunk of a run that do not block scoring, and facts to combine them.

    Attributes:
        findings: The findings, with the line numbers of the chunk.
        n_lines: The number of lines of the chunk.
        tags: The tags of the first and the last row; empty without rows.
        separators: The characters between columns.
    """

    findings: tuple[Finding, ...] = ()
    n_lines: int = 0
    tags: tuple[str, ...] = ()
    separators: frozenset[str] = frozenset()

    @classmethod
    def of(cls, view: RunView, findings: Iterable[Finding]) -> ChunkFindings:
        """Return the findings on a chunk with its facts."""
        facts = None if view.columns is None else view.columns.facts
        separators = frozenset[str]()
        if facts is not None:
            seen = {" ": facts.spaced_rows, "\t": facts.tabbed_rows}
            separators = frozenset(character for character, found in seen.items() if found)
        tags = tuple(view.rows.tags.texts(np.array([0, -1]))) if view.n_rows else ()
        return cls(tuple(findings), facts.n_lines if facts else 0, tags, separators)


def join_chunk_findings(path: str, chunks: Iterable[ChunkFindings]) -> list[Finding]:
    """Return the findings on a run, given those on its chunks, in order.

    Args:
        path: The run.
        chunks: The findings on each chunk.
    """
    sums = _FindingSums(path, known_lines=True)
    tags: set[str] = set()
    separators: frozenset[str] = frozenset()
    for chunk in chunks:
        sums.add_chunk(chunk)
        tags.update(chunk.tags)
        separators |= chunk.separators
    found = {finding.code: finding for finding in sums.findings()}
    for code, message, applies in (
        ("R151", "several tags; two runs may have been joined", len(tags) > 1),
        ("R106", "mixed tabs and spaces", len(separators) > 1),
    ):
        if applies and code not in found:
            found[code] = RULES[code].finding(Hit(message), path)
    return in_catalogue_order(found.values())


def in_catalogue_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings like the rules."""
    order = {rule.code: at for at, rule in enumerate(RULES)}
    return sorted(findings, key=lambda finding: order[finding.code])


class _FindingSums:
    """The findings of all rules in all chunks."""

    def __init__(self, path: str, known_lines: bool) -> None:
        self._path = path
        self._known_lines = known_lines
        self._n_lines = 0
        self._sums: dict[str, _FindingSum] = {}
        self._counts: dict[str, ChunkAccumulator] = {
            rule.code: rule.chunk_accumulator()
            for rule in RULES
            if rule.chunk_accumulator is not None
        }

    def add(self, view: RunView) -> None:
        """Add the findings of a chunk."""
        kinds: tuple[Subject, ...] = ("file", "run")
        for finding in run_rules(view, kinds, view, scopes=("row", "query")):
            self._add(finding)
        for code, counted in self._counts.items():
            hit = counted.add(view)
            if hit is not None:
                self._add(RULES[code].finding(hit, self._path))
        assert view.columns is not None
        self._n_lines += view.columns.facts.n_lines

    def add_chunk(self, chunk: ChunkFindings) -> None:
        """Add the findings of a chunk for which all rules were run."""
        self._counts = {}
        for finding in chunk.findings:
            if finding.code != "F112":  # the compression of the file is unknown in a chunk
                self._add(finding)
        self._n_lines += chunk.n_lines

    def findings(self) -> list[Finding]:
        """Return the findings on the whole file."""
        found = []
        for code, added in self._sums.items():
            counted = self._counts.get(code)
            if counted is None:
                found.append(added.finding())
            elif (hit := counted.hit(added.first.message, added.count)) is not None:
                found.append(added.finding_for(RULES[code].finding(hit, self._path)))
        return found

    def _add(self, finding: Finding) -> None:
        known = self._known_lines
        moved = replace(
            finding,
            line=finding.line + self._n_lines if known and finding.line else None,
            lines=tuple(line + self._n_lines for line in finding.lines) if known else (),
            column=finding.column if known else None,
        )
        self._sums.setdefault(finding.code, _FindingSum(moved)).add(moved)
