"""A file while it is being fixed, and the job of fixing it.

A draft is the text of the file with the origin of each line. Each step of a fix takes a draft and
returns the next one. Steps use the same views as the rules, so a file that has passed all steps is
not changed by another pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.choices import Dedup, OnConflict
from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.columns import scan_columns
from trectools_plus.formats.files.source import Source
from trectools_plus.formats.qrels import N_FIELDS as QRELS_FIELDS
from trectools_plus.formats.run import N_FIELDS as RUN_FIELDS
from trectools_plus.validation.registry import Registry, RuleFix
from trectools_plus.validation.views.order import Rows
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import MAX_TAG_LENGTH, RunView


@dataclass(frozen=True, slots=True)
class FixOptions:
    """Choices for fixes that have more than one way.

    Attributes:
        encoding: For F103: the encoding of the file, for example ``latin-1`` or ``utf-16``;
            ``None`` converts only the lines that are not UTF-8, from Windows-1252 or ISO Latin-1.
        tag: For R101, R151, R152: the tag to write; ``None`` uses the first tag or the file name.
        dedup: For R131: the row of a repeated document that stays.
        on_conflict: For Q142: the grade that stays of a document judged twice.
        subtopic: For Q143: the subtopic (column 2) whose judgments stay; ``None`` merges all and
            keeps the highest grade.
        max_tag_length: For R101, R151, R152: the longest tag, in characters.
    """

    encoding: str | None = None
    tag: str | None = None
    dedup: Dedup = "best"
    on_conflict: OnConflict = "max"
    subtopic: str | None = None
    max_tag_length: int = MAX_TAG_LENGTH


@dataclass(frozen=True, slots=True)
class Applied:
    """A fix that was applied.

    Attributes:
        code: The rule's code; ``None`` for a change without a rule.
        name: The rule's name.
        count: Number of places that broke the rule.
        what: A description of the change, in the past tense.
    """

    code: str | None
    name: str
    count: int
    what: str


@dataclass(slots=True)
class Job:
    """The options and the log that the steps of a fix share.

    Attributes:
        rules: All rules.
        kind: ``run``, ``qrels`` or ``topics``.
        asked: Codes of rules whose fix was requested by name.
        options: The choices of the user.
        max_depth: Results allowed per query; ``None`` for no limit.
        other: The other file, whose spelling of ids is used.
        applied: The fixes that were applied, in order.
        notes: The fixes that were not applied, and why.
    """

    rules: Registry
    kind: str
    asked: frozenset[str]
    options: FixOptions
    max_depth: int | None = None
    other: RunView | QrelsView | None = None
    applied: list[Applied] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Check the codes.

        Raises:
            UsageError: If a code has no fix for this kind of file.
        """
        known = [rule.code for rule in self.rules.fixable(self.kind)]
        for code in sorted(self.asked):
            if code not in known:
                raise UsageError(
                    f"there is no fix {code} for {self.kind}",
                    where="--fix",
                    remedy=f"fixes: {', '.join(known)}",
                )

    def wants(self, code: str) -> bool:
        """Return whether to apply the fix of a rule."""
        return self._fix_of(code).safe or code in self.asked

    def done(self, code: str, count: int, what: str | None = None) -> None:
        """Log that a fix was applied in ``count`` places."""
        name = self.rules[code].name
        self.applied.append(Applied(code, name, count, what or self._fix_of(code).what))

    def skip(self, code: str, why: str) -> None:
        """Log why a wanted fix was not applied."""
        if self.wants(code):
            self.notes.append(f"{code} not fixed: {why}")

    def _fix_of(self, code: str) -> RuleFix:
        repair = self.rules[code].repair
        assert repair is not None
        return repair


LineNumbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Draft:
    """A column file between two steps.

    Attributes:
        path: The file as the user named it.
        kind: ``run`` or ``qrels``.
        data: The text.
        max_depth: Results allowed per query; ``None`` for no limit.
        origin: The line in the input of each line of ``data``; ``None`` for 1, 2, 3, …
    """

    path: str
    kind: str
    data: bytes = field(repr=False)
    max_depth: int | None = None
    origin: LineNumbers | None = field(default=None, repr=False)

    @cached_property
    def view(self) -> RunView | QrelsView:
        """The text as rules see it."""
        source = Source(self.path, self.data)
        if self.kind == "run":
            return RunView.of_file(scan_columns(source, RUN_FIELDS), self.max_depth)
        return QrelsView.of_file(scan_columns(source, QRELS_FIELDS))

    @property
    def run(self) -> RunView:
        """The view of a run."""
        assert isinstance(self.view, RunView)
        return self.view

    @property
    def qrels(self) -> QrelsView:
        """The view of qrels."""
        assert isinstance(self.view, QrelsView)
        return self.view

    @cached_property
    def separator(self) -> str:
        """Separator of the output's columns: a tab if all rows use tabs, else a blank."""
        columns = self.view.columns
        assert columns is not None
        return "\t" if columns.facts.tabbed_rows and not columns.facts.spaced_rows else " "

    @cached_property
    def fields(self) -> pl.DataFrame:
        """The rows as texts, ``c1`` …, without a header line."""
        columns, shape = self.view.columns, self.view.shape
        assert columns is not None
        rows = columns.rows.drop("line")
        # In the view, a file that is neither a run nor qrels has no rows.
        return rows.slice(int(shape.header_in_rows)) if self.view.n_rows else rows.clear()

    def with_fields(self, **columns: pl.Series) -> Draft:
        """Replace the texts of some columns ``c1`` …."""
        return self.rewritten(self.fields.with_columns(**columns))

    def with_rows(self, rows: Rows) -> Draft:
        """Keep some rows, in this order."""
        return self.rewritten(self.fields[rows], rows)

    def without_rows(self, dropped: Rows) -> Draft:
        """Remove some rows."""
        kept = np.ones(self.view.n_rows, np.bool_)
        kept[dropped] = False
        return self.with_rows(np.flatnonzero(kept))

    def rewritten(
        self,
        fields: pl.DataFrame,
        rows: Rows | None = None,
        fixed: pl.DataFrame | None = None,
    ) -> Draft:
        """Rewrite the draft: one separator between columns, LF, no comments, no blank lines.

        Args:
            fields: The rows as texts, one column each.
            rows: The row in this draft of each new row; ``None`` for all in order.
            fixed: ``line, text`` of strays with a new text.
        """
        lines = self.view.line_numbers
        assert lines is not None
        lines = lines if rows is None else lines[rows]
        strays = self.view.strays
        if fixed is not None:
            strays = strays.update(fixed, on="line")
        if strays.is_empty():
            return self.replaced(_as_csv(fields, self.separator), lines)
        texts = fields.select(
            line=pl.Series(lines), text=pl.concat_str(fields.columns, separator=self.separator)
        )
        texts = pl.concat([texts, strays]).sort("line", maintain_order=True)
        data = _as_csv(texts.select("text"), self.separator)
        # A file that ends in mid-line keeps this sign of truncation.
        data = data.removesuffix(b"\n") if self.view.ends_in_stray() else data
        return self.replaced(data, texts["line"].to_numpy())

    def replaced(self, data: bytes, lines: LineNumbers | None) -> Draft:
        """Replace the text; ``lines`` are the lines of this draft that the new lines come from."""
        origin = self.origin
        if lines is not None:
            origin = lines if origin is None else origin[lines - np.uint32(1)]
        return Draft(self.path, self.kind, data, self.max_depth, origin)

    def has_only_strays(self, job: Job, code: str) -> bool:
        """Return whether all lines are rows of the wrong width; if only some are, log it."""
        n_hashed, n_strays = self.view.rows_behind_hash.height, self.view.strays.height
        if n_strays > n_hashed and (self.view.n_rows or n_hashed):
            job.skip(code, "only some rows lack a column")
            return False
        return n_strays > n_hashed

    def from_strays(self, form: str, fields: Sequence[pl.Series], lines: pl.Series) -> Draft:
        """Replace the draft by rows made from strays.

        Args:
            form: A row, with ``{1}`` for the first field of a stray.
            fields: The fields of the strays.
            lines: The lines of the strays in this draft.
        """
        table = pl.DataFrame({f"c{number}": field for number, field in enumerate(fields, 1)})
        names = {f"{{{number}}}": f"c{number}" for number in range(1, len(fields) + 1)}
        parts = [pl.col(names[p]) if p in names else pl.lit(p) for p in form.split(" ")]
        texts = table.select(text=pl.concat_str(parts, separator=" "))["text"]
        return self.replaced(("\n".join(texts) + "\n").encode(), lines.to_numpy())

    def beside(self, other: RunView | QrelsView) -> PairView:
        """The view of the draft and another file for rules on pairs."""
        if isinstance(self.view, RunView):
            assert isinstance(other, QrelsView)
            return PairView(self.view, other)
        assert isinstance(other, RunView)
        return PairView(other, self.view, at="qrels")


def _as_csv(fields: pl.DataFrame, separator: str) -> bytes:
    # Fields contain neither blanks nor line ends, so none needs quotes.
    stream = BytesIO()
    fields.write_csv(stream, include_header=False, separator=separator, quote_style="never")
    return stream.getvalue()
