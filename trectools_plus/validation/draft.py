"""A file while it is being fixed, and the job of fixing it.

A draft is the file's text, with the origin of each line and what a validator sees of it.

Each step of a fix takes a draft and returns the next one. A step looks at its draft through the
same views as the rules do, so it decides on what a validator would see in a file of that text;
therefore a file that went through all steps gives none of them anything to do.
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
        encoding: For F103: what the bytes are, a name such as ``latin-1`` or ``utf-16``; ``None``
            decodes only the lines that are not UTF-8, as Windows or ISO Latin-1.
        tag: For R101, R151, R152: the run's name; ``None`` takes the file's first one, or its name.
        dedup: For R131: which row of a repeated document stays.
        on_conflict: For Q142: which grade of a document judged twice stays.
        subtopic: For Q143: the subtopic (column 2) whose judgments stay; ``None`` merges all, the
            highest grade wins.
        max_tag_length: For R101, R151, R152: characters that a tag may have.
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
        code: The rule's code; ``None`` for what no rule is about.
        name: The rule's name.
        count: In how many places the rule was broken.
        what: What was done, in the past tense.
    """

    code: str | None
    name: str
    count: int
    what: str


@dataclass(slots=True)
class Job:
    """The request and the log that the steps of a fix share.

    Attributes:
        rules: All rules.
        kind: ``run``, ``qrels`` or ``topics``.
        asked: Codes of rules whose fix was asked for by name.
        options: The choices of the user.
        max_depth: Results allowed per query; ``None`` for no limit.
        other: The other file, for ids that should be the same.
        applied: What was done, in order.
        notes: What was not done, and why.
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
        """Refuse codes that have no fix for this kind of file.

        Raises:
            UsageError: If there is one.
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
        """Return whether a fix is to be applied where its rule is broken."""
        return self._fix_of(code).safe or code in self.asked

    def done(self, code: str, count: int, what: str | None = None) -> None:
        """Note that a fix was applied in ``count`` places."""
        name = self.rules[code].name
        self.applied.append(Applied(code, name, count, what or self._fix_of(code).what))

    def skip(self, code: str, why: str) -> None:
        """Note why a fix was not applied, if it would have been."""
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
        data: Its text.
        max_depth: Results allowed per query, for the view.
        origin: For each line of ``data``, its line in the input; ``None`` for 1, 2, 3, …
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
        """Separator of the output's columns: tabs if the rows have nothing else."""
        columns = self.view.columns
        assert columns is not None
        return "\t" if columns.facts.tabbed_rows and not columns.facts.spaced_rows else " "

    @cached_property
    def fields(self) -> pl.DataFrame:
        """The rows as texts, ``c1`` …, without a header line."""
        columns, shape = self.view.columns, self.view.shape
        assert columns is not None
        rows = columns.rows.drop("line")
        # A file that is no run or qrels at all has no rows to a view.
        return rows.slice(int(shape.header_in_rows)) if self.view.n_rows else rows.clear()

    def with_fields(self, **columns: pl.Series) -> Draft:
        """The draft with other texts in some of its columns ``c1`` …."""
        return self.rewritten(self.fields.with_columns(**columns))

    def with_rows(self, rows: Rows) -> Draft:
        """The draft with these of its rows, in this order."""
        return self.rewritten(self.fields[rows], rows)

    def without_rows(self, dropped: Rows) -> Draft:
        """The draft without some of its rows."""
        kept = np.ones(self.view.n_rows, np.bool_)
        kept[dropped] = False
        return self.with_rows(np.flatnonzero(kept))

    def rewritten(
        self,
        fields: pl.DataFrame,
        rows: Rows | None = None,
        fixed: pl.DataFrame | None = None,
    ) -> Draft:
        """The draft written anew: one blank between columns, LF, no comments, no blank lines.

        Args:
            fields: The rows as texts, one column each.
            rows: The row of this draft that each of them comes from; ``None`` for all in order.
            fixed: ``line, text`` of strays, of this draft, that have become another text.
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
        # The end of a file that was cut off in mid-line is not made to look whole.
        data = data.removesuffix(b"\n") if self.view.ends_in_stray() else data
        return self.replaced(data, texts["line"].to_numpy())

    def replaced(self, data: bytes, lines: LineNumbers | None) -> Draft:
        """The draft with another text, whose lines come from these lines of this draft."""
        origin = self.origin
        if lines is not None:
            origin = lines if origin is None else origin[lines - np.uint32(1)]
        return Draft(self.path, self.kind, data, self.max_depth, origin)

    def has_only_strays(self, job: Job, code: str) -> bool:
        """Return whether all lines are rows of the wrong width; if only some are, note it."""
        n_hashed, n_strays = self.view.rows_behind_hash.height, self.view.strays.height
        if n_strays > n_hashed and (self.view.n_rows or n_hashed):
            job.skip(code, "only some rows lack a column")
            return False
        return n_strays > n_hashed

    def from_strays(self, form: str, fields: Sequence[pl.Series], lines: pl.Series) -> Draft:
        """The draft with rows made of strays.

        Args:
            form: A row, ``{1}`` for the first of their fields.
            fields: Their fields.
            lines: Their lines in this draft.
        """
        table = pl.DataFrame({f"c{number}": field for number, field in enumerate(fields, 1)})
        names = {f"{{{number}}}": f"c{number}" for number in range(1, len(fields) + 1)}
        parts = [pl.col(names[p]) if p in names else pl.lit(p) for p in form.split(" ")]
        texts = table.select(text=pl.concat_str(parts, separator=" "))["text"]
        return self.replaced(("\n".join(texts) + "\n").encode(), lines.to_numpy())

    def beside(self, other: RunView | QrelsView) -> PairView:
        """The draft and the other file, as rules for pairs see them."""
        if isinstance(self.view, RunView):
            assert isinstance(other, QrelsView)
            return PairView(self.view, other)
        assert isinstance(other, RunView)
        return PairView(other, self.view, at="qrels")


def _as_csv(fields: pl.DataFrame, separator: str) -> bytes:
    # Fields hold neither blanks nor line ends, so nothing ever needs a quote.
    stream = BytesIO()
    fields.write_csv(stream, include_header=False, separator=separator, quote_style="never")
    return stream.getvalue()
