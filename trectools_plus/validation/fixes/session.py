"""A file while it is being fixed, and the session of fixing it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.choices import MAX_TAG_LENGTH, Dedup, OnConflict
from trectools_plus.errors import UsageError
from trectools_plus.formats.columns.ids import Rows, join_texts
from trectools_plus.formats.files.content import FileContent
from trectools_plus.formats.lexing import lex_qrels, lex_run
from trectools_plus.validation.registry import Registry, RuleFix
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class FixOptions:
    """Options of fixes that can be applied in several ways.

    Attributes:
        encoding: For F103: the encoding of the file, for example ``latin-1`` or ``utf-16``;
            ``None`` converts only the lines that are not UTF-8, from Windows-1252 or ISO Latin-1.
        tag: For R101, R151, R152: the tag to write; ``None`` uses the first tag or the file name.
        dedup: For R131: which row of a repeated document to keep.
        on_conflict: For Q142: which grade to keep of a document that is judged twice.
        max_tag_length: For R101, R151, R152: the longest tag, in characters.
        before_deletion: Called before the file is written, with a text on each fix that deletes
            rows.
    """

    encoding: str | None = None
    tag: str | None = None
    dedup: Dedup = "best"
    on_conflict: OnConflict = "max"
    max_tag_length: int = MAX_TAG_LENGTH
    before_deletion: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """A fix that was applied.

    Attributes:
        code: The rule's code.
        name: The rule's name.
        count: Number of places that broke the rule.
        what: A description of the change, in the past tense.
        deleted: Number of rows that were deleted.
    """

    code: str
    name: str
    count: int
    what: str
    deleted: int = 0


@dataclass(slots=True)
class FixSession:
    """The options and the log that all fix steps share.

    Attributes:
        rules: All rules.
        kind: ``run``, ``qrels`` or ``topics``.
        requested: Codes of rules whose fix was requested by name.
        options: Options of single fixes.
        max_depth: Results allowed per query; ``None`` for no limit.
        other: The other file, whose spelling of ids is used.
        applied: The fixes that were applied, in order.
        notes: The fixes that were not applied, and why.
    """

    rules: Registry
    kind: str
    requested: frozenset[str]
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
        for code in sorted(self.requested):
            if code not in known:
                raise UsageError(
                    f"there is no fix {code} for {self.kind}",
                    where="--fix",
                    remedy=f"see trectools-plus explain {code}; fixes: {', '.join(known)}",
                )

    def wants(self, code: str) -> bool:
        """Return whether to apply the fix of a rule."""
        return self._fix_of(code).applied_by_default or code in self.requested

    def done(self, code: str, count: int, what: str | None = None) -> None:
        """Log that a fix was applied in ``count`` places."""
        name = self.rules[code].name
        self.applied.append(Applied(code, name, count, what or self._fix_of(code).what))

    def skip(self, code: str, why: str) -> None:
        """Log why a wanted fix was not applied."""
        if self.wants(code):
            self.notes.append(f"{code} not fixed: {why}")

    def _fix_of(self, code: str) -> RuleFix:
        rule_fix = self.rules[code].rule_fix
        assert rule_fix is not None
        return rule_fix


LineNumbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class FileDraft:
    """A run or qrels between two fix steps.

    Attributes:
        path: The file as the user named it.
        kind: ``run`` or ``qrels``.
        data: The text.
        origin: For each line of ``data``, its line number in the input; ``None`` for 1, 2, 3, …
    """

    path: str
    kind: str
    data: bytes = field(repr=False)
    origin: LineNumbers | None = field(default=None, repr=False)

    @cached_property
    def view(self) -> RunView | QrelsView:
        """The view of the text, as used by rules."""
        source = FileContent(self.path, self.data)
        if self.kind == "run":
            return RunView.of_file(lex_run(source))
        return QrelsView.of_file(lex_qrels(source))

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
        """The separator of columns in the output: a tab if all rows use tabs, else a space."""
        columns = self.view.columns
        assert columns is not None
        return "\t" if columns.facts.tabbed_rows and not columns.facts.spaced_rows else " "

    @cached_property
    def fields(self) -> pl.DataFrame:
        """The rows as strings, with columns ``c1``, ``c2``, …, without a header line."""
        columns, shape = self.view.columns, self.view.shape
        assert columns is not None
        rows = columns.rows.drop("line")
        # In the view, a file that is neither a run nor qrels has no rows.
        return rows.slice(int(shape.header_in_rows)) if self.view.n_rows else rows.clear()

    def with_fields(self, **columns: pl.Series) -> FileDraft:
        """Return a draft with new strings in some of the columns ``c1``, ``c2``, …."""
        return self.rewritten(self.fields.with_columns(**columns))

    def write(
        self, session: FixSession, code: str, column: str, texts: pl.Series, what: str | None = None
    ) -> FileDraft:
        """Return a draft with new strings in a column, and log the fix if any of them differ.

        Args:
            session: The log.
            code: The rule that is fixed.
            column: ``c1``, ``c2``, ….
            texts: The strings.
            what: A description of the change; by default that of the rule.
        """
        n_changed = int((texts != self.fields[column]).sum())
        if not n_changed:
            return self
        session.done(code, n_changed, what)
        return self.with_fields(**{column: texts})

    def drop(
        self, session: FixSession, code: str, rows: Rows, what: str | None = None
    ) -> FileDraft:
        """Return a draft without some rows, and log the fix if there are any; see :meth:`write`."""
        if not len(rows):
            return self
        session.done(code, len(rows), what)
        return self.without_rows(rows)

    def with_rows(self, rows: Rows) -> FileDraft:
        """Return a draft with only these rows, in this order."""
        return self.rewritten(self.fields[rows], rows)

    def without_rows(self, dropped: Rows) -> FileDraft:
        """Return a draft without some rows."""
        kept = np.ones(self.view.n_rows, np.bool_)
        kept[dropped] = False
        return self.with_rows(np.flatnonzero(kept))

    def rewritten(
        self,
        fields: pl.DataFrame,
        rows: Rows | None = None,
        fixed: Mapping[int, str] | None = None,
    ) -> FileDraft:
        """Return a new draft: one separator between columns, LF, no comments, no blank lines.

        Args:
            fields: The new rows as strings.
            rows: For each new row, its position in this draft; ``None`` if they are the same rows.
            fixed: The new texts of some unparsed lines, by line.
        """
        import polars as pl

        lines = self.view.line_numbers
        assert lines is not None
        texts = fields.select(
            line=pl.Series(lines if rows is None else lines[rows]),
            text=pl.concat_str(fields.columns, separator=self.separator),
        )
        unparsed_lines = self.view.unparsed_lines.frame
        if fixed is not None:
            new = {"line": list(fixed), "text": list(fixed.values())}
            new_lines = pl.DataFrame(new, unparsed_lines.schema)
            unparsed_lines = unparsed_lines.update(new_lines, on="line")
        if unparsed_lines.height:
            texts = pl.concat([texts, unparsed_lines]).sort("line", maintain_order=True)
        data = join_texts(texts["text"] + "\n").encode()
        # A missing line end at the end of the file is kept, because the file may be truncated.
        data = data.removesuffix(b"\n") if self.view.ends_in_unparsed_line() else data
        return self.replaced(data, texts["line"].to_numpy())

    def replaced(self, data: bytes, lines: LineNumbers | None) -> FileDraft:
        """Return a draft with a new text.

        Args:
            data: The text.
            lines: For each line of the text, its line number in this draft.
        """
        origin = self.origin
        if lines is not None:
            origin = lines if origin is None else origin[lines - np.uint32(1)]
        return FileDraft(self.path, self.kind, data, origin)

    def pair_with(self, other: RunView | QrelsView) -> PairView:
        """Return the view of this draft and another file, for rules on pairs."""
        if isinstance(self.view, RunView):
            assert isinstance(other, QrelsView)
            return PairView(self.view, other)
        assert isinstance(other, RunView)
        return PairView(other, self.view, report_on="qrels")


@dataclass(frozen=True, eq=False)
class TopicsDraft:
    """Topics or a test set between two fix steps.

    Attributes:
        form: The form of the file, for example ``tsv``; see ``formats/topic_records/forms.py``.
        lines: The lines, without LF.
        origin: For each line, its line number in the input.
        final_newline: Whether the last line ends in LF.
    """

    form: str
    lines: Sequence[str] = field(repr=False)
    origin: Sequence[int] = field(repr=False)
    final_newline: bool

    @classmethod
    def of_text(cls, text: str, form: str) -> TopicsDraft:
        """Return the draft of a whole file."""
        lines = text.removesuffix("\n").split("\n")
        return cls(form, lines, range(1, len(lines) + 1), text.endswith("\n"))

    @property
    def text(self) -> str:
        """The text of the file."""
        return "\n".join(self.lines) + "\n" * self.final_newline

    @property
    def is_line_based(self) -> bool:
        """True if each line is a topic."""
        return self.form in ("tsv", "jsonl")

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """For each line of TSV, the id, the tab and the text; without a tab, only the id."""
        return [line.partition("\t") for line in self.lines]

    def write(self, session: FixSession, code: str, lines: Sequence[str]) -> TopicsDraft:
        """Return a draft with new lines, and log the fix if any of them differ."""
        n_changed = sum(new != old for new, old in zip(lines, self.lines, strict=True))
        if n_changed:
            session.done(code, n_changed)
        return replace(self, lines=lines)

    def drop(self, session: FixSession, code: str, dropped: Collection[int]) -> TopicsDraft:
        """Return a draft without the lines at some positions, and log the fix if there are any."""
        if not dropped:
            return self
        session.done(code, len(dropped))
        kept = [at for at in range(len(self.lines)) if at not in dropped]
        return replace(
            self,
            lines=[self.lines[at] for at in kept],
            origin=[self.origin[at] for at in kept],
        )


def is_blank(line: str) -> bool:
    """Return whether a line of topics has no text."""
    return not line.strip(" \t\v\f")
