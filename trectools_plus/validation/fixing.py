"""Write fixed copies of files: safe changes of their text, which change no figure.

A finding says whether it has a fix (``Finding.fix``). All fixes that apply are made at once, and
the copy is checked again until nothing is left to fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.columns.ids import Rows, join_texts
from trectools_plus.formats.files.content import BOM, FileContent, read_file
from trectools_plus.formats.files.outputs import refuse_overwriting
from trectools_plus.formats.lexing import lex_qrels, lex_run
from trectools_plus.formats.writing import open_output, valid_tag
from trectools_plus.text import plural
from trectools_plus.validation.catalogue import RULES
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.findings import Finding, Fix
from trectools_plus.validation.rules.file.shared import conversion_remedy
from trectools_plus.validation.rules.qrels.grades import repeats
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView

if TYPE_CHECKING:
    import polars as pl

Codes = Set[str]
_View = TypeVar("_View", RunView, QrelsView)

_MAX_ROUNDS = 5
_CODE = re.compile(r"[FRQTP][0-9]{3}")
_FIRST = {"F102", "F105"}
_RANKS = {"R120", "R122", "R123", "R124", "R125"}


@dataclass(frozen=True, slots=True)
class Applied:
    """A fix that was applied.

    Attributes:
        code: The rule's code.
        name: The rule's name.
        count: Number of places that broke the rule.
        what: A description of the change, in the past tense.
    """

    code: str
    name: str
    count: int
    what: str


@dataclass(frozen=True, slots=True, repr=False)
class FixSummary(Displayed):
    """The result of fixing a file.

    Attributes:
        path: The input, as the user named it.
        output: The file written; ``None`` if none was.
        refused: The reason why nothing was written.
        lines_before, lines_after: Number of lines of input and output.
        applied: The applied fixes, in order; none if the file had nothing to fix.
        notes: Fixes that were not applied, and why.
    """

    path: str
    output: str | None
    refused: str | None = None
    lines_before: int = 0
    lines_after: int = 0
    applied: tuple[Applied, ...] = ()
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the summary as text of several lines."""
        size = f"{plural(self.lines_before, 'line')}, now {self.lines_after:,}"
        result = f"fixed, written to {self.output} ({size})"
        if self.output is None:
            result = f"not fixed, nothing written: {self.refused}"
        elif not self.applied:
            result = f"nothing was fixed, copied to {self.output}"
        lines = [f"{self.path}: {result}"]
        lines += [f"  {fix.code} {fix.name}: {fix.what} ({fix.count:,})" for fix in self.applied]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes), ""])

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return asdict(self)


def split_fix_values(values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Separate the output file from the rule codes in the values of a repeated ``--fix``.

    A value is a list of codes if each of its comma-separated parts is one letter of F, R, Q, T, P
    and three digits, in upper or lower case. Everything else is a path; write ``./R152`` for a file
    whose name is a code.

    Args:
        values: The values from the command line: ``["clean.run", "R151,R152"]``.

    Returns:
        The path to write, and the codes in upper case, each once.

    Raises:
        UsageError: Unless exactly one value is a path.
    """
    parts = {value: value.upper().replace(",", " ").split() for value in values}
    outputs = [value for value in values if not all(map(_CODE.fullmatch, parts[value]))]
    if len(outputs) != 1:
        raise UsageError(
            f"expected one file to write but got {len(outputs) or 'none'}",
            where="--fix",
            remedy="--fix OUT applies the safe fixes, --fix OUT --fix R151,R152 these two as well",
        )
    codes = (code for value in values if value not in outputs for code in parts[value])
    return outputs[0], tuple(dict.fromkeys(codes))


def fix_run(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    max_tag_length: int = MAX_TAG_LENGTH,
) -> FixSummary:
    """Write a fixed copy of a run; the run itself is never changed.

    Safe fixes are always applied, others only if named. No fix changes the ranking that is
    evaluated. Fixing the output again with the same codes does not change it. Problems without a
    fix are copied unchanged, so validate the output too; :func:`convert_run` reads runs with other
    columns or in another format.

    Nothing is written if a line is not a row, a comment, blank or a header, if a score is not a
    number, if scores rise with rank, or if the file contains bytes that are not text.

    Args:
        path: The run; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``R152``.
        max_tag_length: Characters allowed in the run tag, for ``R152``.

    Returns:
        The applied fixes, and the fixes that were not applied.

    Raises:
        UsageError: If the output is the input, or a code has no fix for runs.
        InputError: If a file cannot be read, or the output cannot be written.
    """

    def fix(view: RunView, found: Codes) -> bytes:
        fields = _fields_of(view)
        if "R107" in found and not may_hold_documents(view):
            fields = _with_column(fields, "c2", "Q0")
        if found & {"R151", "R152"}:
            fields = _with_tags(fields, found, max_tag_length)
        if "R131" in found:
            fields = _without_rows(fields, view.copies)
        if found & _RANKS:
            fields = _numbered(_in_order(fields, by_score(view)))
        elif found & {"R126", "R127"}:
            ordered = view.ranked if "R126" in found else view.grouped
            fields = _in_order(fields, ordered.rows(np.arange(view.n_rows)))
        return _text_of(view, fields)

    def open_view(source: FileContent) -> RunView:
        view = RunView.of_file(lex_run(source))
        view.max_tag_length = max_tag_length
        return view

    return _write_fixed("run", open_view, fix, path, output, codes)


def fix_qrels(path: str | Path, output: str | Path, *, codes: Sequence[str] = ()) -> FixSummary:
    """Write a fixed copy of qrels; see :func:`fix_run`.

    Args:
        path: The qrels; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones.

    Returns:
        The fixes applied and not applied.

    Raises:
        UsageError: If the output is the input, or a code has no fix for qrels.
        InputError: If a file cannot be read, or the output cannot be written.
    """

    def fix(view: QrelsView, found: Codes) -> bytes:
        fields = _fields_of(view)
        if "Q111" in found:
            whole = fields["c4"].str.replace(r"^([+-]?[0-9]+)\.0*$", "${1}")
            fields = _with_column(fields, "c4", whole)
        if "Q141" in found:
            fields = _without_rows(fields, repeats(view, agree=True).rows)
        if "Q151" in found:
            fields = _in_order(fields, np.argsort(view.blocks.query, kind="stable"))
        return _text_of(view, fields)

    def open_view(source: FileContent) -> QrelsView:
        return QrelsView.of_file(lex_qrels(source))

    return _write_fixed("qrels", open_view, fix, path, output, codes)


def _write_fixed(
    kind: str,
    open_view: Callable[[FileContent], _View],
    fix: Callable[[_View, Codes], bytes],
    path: str | Path,
    output: str | Path,
    codes: Sequence[str],
) -> FixSummary:
    """Apply fixes until nothing is left to fix; first those of bytes."""
    _check_arguments(kind, path, output, {*codes})
    try:
        source = read_file(path)
    except FormatError as error:
        return FixSummary(str(path), None, error.what)
    text, applied, wanted = source.data, dict[str, Applied](), dict[str, Finding]()
    for _ in range(_MAX_ROUNDS):
        view = open_view(FileContent(str(path), text))
        findings = check_view(view)
        for finding in findings:
            if finding.fix is Fix.NO and RULES[finding.code].blocks_fixing:
                reason = f"{finding.message} ({finding.code}). {finding.remedy}"
                return FixSummary(source.path, None, reason)
        if view.is_arranged:
            return FixSummary(source.path, None, conversion_remedy(view))
        wanted = {
            finding.code: finding
            for finding in findings
            if finding.fix is Fix.SAFE or (finding.fix is Fix.ASK and finding.code in codes)
        }
        first = wanted.keys() & _FIRST or wanted.keys()
        if first <= _FIRST:
            after = text.removeprefix(BOM) if wanted else text
            after = after if b"\n" in after else after.replace(b"\r", b"\n")
        else:
            after = fix(view, first)
        if after == text:
            break
        for code in (code for code in wanted if code in first):
            finding = wanted[code]
            what = RULES[code].fixed
            applied.setdefault(code, Applied(code, finding.name, finding.count, what))
        text = after
    with open_output(output) as stream:
        stream.write(text)
    return FixSummary(
        source.path,
        str(output),
        None,
        len(source.data.splitlines()),
        len(text.splitlines()),
        tuple(fix for code, fix in applied.items() if code not in wanted),
        tuple(f"{code} {finding.name} is not fixed" for code, finding in wanted.items()),
    )


def _check_arguments(kind: str, path: str | Path, output: str | Path, codes: Codes) -> None:
    if str(output) == "-":
        raise UsageError(
            "cannot write a fixed file to standard output", where="--fix -", remedy="name a file"
        )
    refuse_overwriting(output, [path])
    known = [rule.code for rule in RULES if kind in rule.fixed_kinds]
    for code in sorted(codes - {*known}):
        raise UsageError(
            f"there is no fix {code} for {kind}",
            where="--fix",
            remedy=f"see trectools-plus explain {code}; fixes: {', '.join(known)}",
        )


def _fields_of(view: RunView | QrelsView) -> pl.DataFrame:
    """Return the rows as strings, in columns ``c1``, ``c2``, …, with their number in ``row``."""
    rows = view.file.rows.drop("line").slice(int(view.shape.header_in_rows))
    return rows.with_row_index("row")


def _with_column(fields: pl.DataFrame, name: str, texts: pl.Series | str) -> pl.DataFrame:
    import polars as pl

    return fields.with_columns(pl.lit(texts).alias(name))


def _without_rows(fields: pl.DataFrame, rows: Rows) -> pl.DataFrame:
    return fields.filter(~np.isin(fields["row"].to_numpy(), rows))


def _in_order(fields: pl.DataFrame, order: Rows) -> pl.DataFrame:
    """Return the rows in the order of all rows of the file."""
    place = np.argsort(order)
    return fields[np.argsort(place[fields["row"].to_numpy()])]


def _numbered(fields: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    ranks = pl.int_range(1, pl.len() + 1).over("c1").cast(pl.String)
    return fields.with_columns(c4=ranks)


def _with_tags(fields: pl.DataFrame, found: Codes, longest: int) -> pl.DataFrame:
    """Write one tag (R151), or replace invalid characters in tags (R152)."""
    tags = fields["c6"].unique(maintain_order=True).to_list()
    valid = [valid_tag(tag, longest) for tag in tags] if "R152" in found else tags
    if "R151" in found:
        valid = valid[:1] * len(tags)
    return _with_column(fields, "c6", fields["c6"].replace_strict(tags, valid))


def may_hold_documents(run: RunView) -> bool:
    """Return whether column 2 may contain the document ids, which must not be overwritten."""
    second, third = (len(ids.numbered()[1]) for ids in (run.rows.second, run.doc_ids))
    return second > third


def by_score(run: RunView) -> Rows:
    """Return the rows by query, falling score, rising rank and falling document id."""
    falling_ids = [~key for key in run.doc_ids.sort_keys()]
    rank = np.nan_to_num(run.rank, nan=np.inf) if run.rank.dtype.kind == "f" else run.rank
    return np.lexsort((*falling_ids, rank, -run.score, run.blocks.query))


def _text_of(view: RunView | QrelsView, fields: pl.DataFrame) -> bytes:
    """Return the text of rows: one separator, LF, no comments, headers and blank lines."""
    import polars as pl

    facts = view.file.facts
    separator = "\t" if facts.has_tabs and not facts.has_spaces else " "
    texts = fields.select(text=pl.concat_str(pl.exclude("row"), separator=separator) + "\n")
    return join_texts(texts["text"]).encode()
