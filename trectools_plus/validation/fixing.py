"""Write fixed copies of files: safe changes of their text, which change no figure.

A finding says whether it has a fix (``Finding.fix``). All fixes that apply are made at once, and
the copy is checked again until nothing is left to fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.columns.ids import Rows, join_texts
from trectools_plus.formats.files.content import BOM, FileContent, read_file
from trectools_plus.formats.files.outputs import refuse_overwriting
from trectools_plus.formats.lexing import lex_qrels, lex_run
from trectools_plus.formats.topic_records.forms import form_of
from trectools_plus.formats.writing import open_output, valid_tag
from trectools_plus.text import plural
from trectools_plus.validation.catalogue import CATALOGUE
from trectools_plus.validation.engine import check_view
from trectools_plus.validation.findings import Finding, Fix
from trectools_plus.validation.rules.file.shared import conversion_remedy
from trectools_plus.validation.rules.qrels.grades import repeats
from trectools_plus.validation.rules.run.columns import may_hold_documents, tag_for
from trectools_plus.validation.topics.engine import check_topics, read_view
from trectools_plus.validation.views.qrels import QrelsView
from trectools_plus.validation.views.runs import RunView
from trectools_plus.validation.views.topics import TopicsView

if TYPE_CHECKING:
    import polars as pl

Codes = Set[str]

_MAX_ROUNDS = 5
_CODE = re.compile(r"[FRQTP][0-9]{3}")
_FIRST = ("F102", "F105")
_DELETING = {"R131", "Q141"}
_RANKS = {"R120", "R122", "R123", "R124", "R125"}


@dataclass(frozen=True, slots=True)
class FixOptions:
    """Options of the fixes of runs.

    Attributes:
        tag: For R151, R152: the tag to write; ``None`` uses the tags of the file.
        max_tag_length: For R152: the longest tag, in characters.
    """

    tag: str | None = None
    max_tag_length: int = MAX_TAG_LENGTH


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


@dataclass(frozen=True, slots=True, repr=False)
class FixSummary(Displayed):
    """The result of fixing a file.

    Attributes:
        path: The input, as the user named it.
        kind: ``run``, ``qrels`` or ``topics``.
        output: The file written; ``None`` if none was.
        applied: The applied fixes, in order; none if the file had nothing to fix.
        notes: Fixes that were not applied, and why.
        refused: The reason why nothing was written.
        lines_before, lines_after: Number of lines of input and output.
    """

    path: str
    kind: str
    output: str | None
    applied: tuple[Applied, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str | None = None
    lines_before: int = 0
    lines_after: int = 0

    def to_text(self) -> str:
        """Return the summary as text of several lines."""
        size = f"{plural(self.lines_before, 'line')}, now {self.lines_after:,}"
        result = f"fixed, written to {self.output} ({size})"
        if self.output is None:
            result = f"not fixed, nothing written: {self.refused}"
        elif not self.applied:
            result = f"nothing was fixed, copied to {self.output}"
        lines = [f"{self.path}: {result}"]
        for fix in self.applied:
            deleted = ", rows deleted" if fix.deleted else ""
            lines.append(f"  {fix.code} {fix.name}: {fix.what} ({fix.count:,}{deleted})")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes), ""])

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "path": self.path,
            "output": self.output,
            "refused": self.refused,
            "lines_before": self.lines_before,
            "lines_after": self.lines_after,
            "applied": [
                {
                    "code": fix.code,
                    "name": fix.name,
                    "count": fix.count,
                    "what": fix.what,
                    **({"deleted": fix.deleted} if fix.deleted else {}),
                }
                for fix in self.applied
            ],
            "notes": list(self.notes),
        }


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
    outputs: list[str] = []
    codes: dict[str, None] = {}
    for value in values:
        parts = [part.strip().upper() for part in value.split(",") if part.strip()]
        if parts and all(map(_CODE.fullmatch, parts)):
            codes.update(dict.fromkeys(parts))
        else:
            outputs.append(value)
    if len(outputs) != 1 or not outputs[0]:
        found = f"{len(outputs)} files to write" if outputs else "no file to write"
        raise UsageError(
            f"expected one file to write but got {found}",
            where="--fix",
            remedy="--fix OUT applies the safe fixes, --fix OUT --fix R151,R152 these two as well",
        )
    return outputs[0], tuple(codes)


def fix_run(
    path: str | Path,
    output: str | Path,
    *,
    codes: Sequence[str] = (),
    options: FixOptions = FixOptions(),
) -> FixSummary:
    """Write a fixed copy of a run; the run itself is never changed.

    Safe fixes are always applied, others only if named. No fix changes the ranking that is
    evaluated. Fixing the output again with the same codes does not change it. Problems without a
    fix are copied unchanged, so validate the output too; :func:`convert_run` reads runs with other
    columns or in another format.

    Nothing is written if the file has no rows, is truncated, has another format or kind, or
    contains bytes that are not text (not UTF-8, NUL, single CRs).

    Args:
        path: The run; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones, for example ``R152``.
        options: Options of single fixes.

    Returns:
        The applied fixes, the fixes that were not applied, and the changes line by line.

    Raises:
        UsageError: If the output is the input, or a code has no fix for runs.
        InputError: If a file cannot be read, or the output cannot be written.
    """

    def open_view(data: bytes) -> RunView:
        view = RunView.of_file(lex_run(FileContent(str(path), data)))
        view.max_tag_length = options.max_tag_length
        return view

    def fix(view: RunView, found: Codes) -> bytes:
        fields = _fields_of(view)
        if "R107" in found and not _holds_documents(view):
            fields = _with_column(fields, "c2", "Q0")
        if not {"R151", "R152"}.isdisjoint(found):
            fields = _with_tags(fields, view.path, found, options)
        if "R131" in found:
            fields = _without_rows(fields, view.copies)
        if not _RANKS.isdisjoint(found):
            fields = _numbered(_in_order(fields, by_score(view)))
        elif not {"R126", "R127"}.isdisjoint(found):
            ordered = view.ranked if "R126" in found else view.grouped
            fields = _in_order(fields, ordered.rows(np.arange(view.n_rows)))
        return _text_of(view, fields)

    return _write_fixed(_Fixer(str(path), "run", open_view, fix, check_view), output, {*codes})


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

    def open_view(data: bytes) -> QrelsView:
        return QrelsView.of_file(lex_qrels(FileContent(str(path), data)))

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

    return _write_fixed(_Fixer(str(path), "qrels", open_view, fix, check_view), output, {*codes})


def fix_topics(path: str | Path, output: str | Path, *, codes: Sequence[str] = ()) -> FixSummary:
    """Write a fixed copy of topics or a test set; see :func:`fix_run`.

    In TSV, comments, a header, tabs in texts and repeated topics are removed too. In other forms,
    only line ends, blank lines and the byte order mark are fixed.

    Args:
        path: The topics; ``-`` is standard input.
        output: The file to write; its suffix decides its compression.
        codes: Fixes to apply in addition to the safe ones.

    Returns:
        The fixes applied and not applied.

    Raises:
        UsageError: If the output is the input, or a code has no fix for topics.
        InputError: If a file cannot be read, or the output cannot be written.
    """

    def open_view(data: bytes) -> TopicsView:
        return read_view(FileContent(str(path), data))

    fixer = _Fixer(str(path), "topics", open_view, _fix_topics, check_topics)
    return _write_fixed(fixer, output, {*codes})


@dataclass(frozen=True)
class _Fixer:
    """How files of a kind are fixed.

    Attributes:
        path: The file.
        kind: The kind.
        open: Reads a text.
        rewrite: Returns the text without the problems with some codes.
        check: Returns the findings.
    """

    path: str
    kind: str
    open: Callable[[bytes], Any]
    rewrite: Callable[[Any, Codes], bytes]
    check: Callable[[Any], list[Finding]]

    def fix(self, view: Any, found: Codes) -> bytes:
        """Fix a text; first its bytes."""
        if found.isdisjoint(_FIRST):
            return self.rewrite(view, found)
        data: bytes = view.file.source.data.removeprefix(BOM)
        return data if b"\n" in data else data.replace(b"\r", b"\n")


def _write_fixed(fixer: _Fixer, output: str | Path, codes: Codes) -> FixSummary:
    _check_arguments(fixer, output, codes)
    try:
        source = read_file(fixer.path)
    except FormatError as error:
        return FixSummary(fixer.path, fixer.kind, None, refused=error.what)
    text, applied, wanted = source.data, dict[str, Applied](), dict[str, Finding]()
    for _ in range(_MAX_ROUNDS):
        view = fixer.open(text)
        findings = fixer.check(view)
        refused = _refusal(view, findings)
        if refused is not None:
            return FixSummary(fixer.path, fixer.kind, None, refused=refused)
        wanted = {
            finding.code: finding
            for finding in findings
            if finding.fix is Fix.SAFE or (finding.fix is Fix.ASK and finding.code in codes)
        }
        first = {code: wanted[code] for code in _FIRST if code in wanted} or wanted
        after = fixer.fix(view, first.keys()) if wanted else text
        if after == text:
            break
        applied |= {code: _applied(first[code]) for code in first if code not in applied}
        text = after
    with open_output(output) as stream:
        stream.write(text)
    return FixSummary(
        source.path,
        fixer.kind,
        str(output),
        tuple(fix for code, fix in applied.items() if code not in wanted),
        tuple(f"{code} {finding.name} is not fixed" for code, finding in wanted.items()),
        None,
        _n_lines(source.data),
        _n_lines(text),
    )


def _check_arguments(fixer: _Fixer, output: str | Path, codes: Codes) -> None:
    if str(output) == "-":
        raise UsageError(
            "cannot write a fixed file to standard output", where="--fix -", remedy="name a file"
        )
    refuse_overwriting(output, [fixer.path])
    known = [rule.code for rule in CATALOGUE if fixer.kind in rule.fixed_kinds]
    for code in sorted(codes):
        if code not in known:
            raise UsageError(
                f"there is no fix {code} for {fixer.kind}",
                where="--fix",
                remedy=f"see trectools-plus explain {code}; fixes: {', '.join(known)}",
            )


def _refusal(view: Any, findings: Sequence[Finding]) -> str | None:
    """Return why a file is not fixed, if it is not."""
    for finding in findings:
        if finding.fix is Fix.NO and CATALOGUE[finding.code].blocks_fixing:
            return f"{finding.message} ({finding.code}). {finding.remedy}"
    return conversion_remedy(view) if view.is_arranged else None


def _applied(finding: Finding) -> Applied:
    what = CATALOGUE[finding.code].fixed
    deleted = finding.count if finding.code in _DELETING else 0
    return Applied(finding.code, finding.name, finding.count, what, deleted)


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
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return fields[np.argsort(place[fields["row"].to_numpy()])]


def _numbered(fields: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    ranks = pl.int_range(1, pl.len() + 1).over("c1").cast(pl.String)
    return fields.with_columns(c4=ranks)


def _with_tags(fields: pl.DataFrame, path: str, found: Codes, options: FixOptions) -> pl.DataFrame:
    """Write one tag (R151), or replace invalid characters in tags (R152)."""
    tags, longest = fields["c6"].unique(maintain_order=True).to_list(), options.max_tag_length
    valid = [valid_tag(tag, longest) for tag in tags] if "R152" in found else tags
    if "R151" in found or (options.tag is not None and len(tags) == 1):
        tag = valid[0] if options.tag is None else tag_for(options.tag, path, longest)
        return _with_column(fields, "c6", tag)
    return _with_column(fields, "c6", fields["c6"].replace_strict(tags, valid))


def _holds_documents(run: RunView) -> bool:
    """Return whether column 2 may contain the document ids."""
    return bool(np.isnan(run.score).all()) or may_hold_documents(run)


def by_score(run: RunView) -> Rows:
    """Return the rows by query, falling score, rising rank and falling document id."""
    scored = run.scored
    order: Rows = scored.rows(np.arange(run.n_rows))
    decided = (scored.score[1:] != scored.score[:-1]) | (scored.rank[1:] > scored.rank[:-1])
    undecided = np.flatnonzero(~decided & scored.same_query) + 1
    places: Rows = np.flatnonzero(np.isin(scored.query, scored.query[undecided]))
    falling_ids = [~key for key in run.doc_ids.take(order[places]).sort_keys()]
    by_query = (scored.rank[places], -scored.score[places], scored.query[places])
    order = order.copy()
    order[places] = order[places[np.lexsort((order[places], *falling_ids, *by_query))]]
    return order


def _text_of(view: RunView | QrelsView, fields: pl.DataFrame) -> bytes:
    """Return the text of rows: one separator, LF, no comments, headers and blank lines.

    Lines that are not read as rows are copied; there are none if the order of the rows changes.
    """
    import polars as pl

    facts, numbers = view.file.facts, view.line_numbers
    assert numbers is not None
    separator = "\t" if facts.tabbed_rows and not facts.spaced_rows else " "
    texts = fields.select(
        line=pl.Series(numbers[fields["row"].to_numpy()]),
        text=pl.concat_str(pl.exclude("row"), separator=separator),
    )
    if len(view.unparsed_lines):
        texts = pl.concat([texts, view.unparsed_lines.frame]).sort("line", maintain_order=True)
    data = join_texts(texts["text"] + "\n").encode()
    # A missing line end at the end of the file is kept, because the file may be truncated.
    return data.removesuffix(b"\n") if view.ends_in_unparsed_line() else data


def _fix_topics(topics: TopicsView, found: Codes) -> bytes:
    text = topics.file.source.data.decode().replace("\r\n", "\n")
    lines = list(enumerate(text.removesuffix("\n").split("\n"), 1))
    if topics.is_line_based:
        lines = [(at, line.removesuffix("\r")) for at, line in lines if line.strip(" \t\v\f\r")]
    if topics.form == "tsv":
        lines = _fix_tsv(lines, topics.shape.first_line, found)
    fixed = "\n".join(line for _, line in lines)
    if topics.is_line_based or text.endswith("\n"):
        fixed += "\n"
    # Without its first lines, a file may have another form.
    return (fixed if form_of(topics.path, fixed) == topics.form else text).encode()


def _fix_tsv(
    lines: Sequence[tuple[int, str]], first_line: int | None, found: Codes
) -> list[tuple[int, str]]:
    """Leave out comments, the header and repeated topics, and replace tabs in texts."""
    kept, texts = [], dict[str, str]()
    for at, line in lines:
        query_id, tab, text = line.partition("\t")
        text = text.replace("\t", " ")
        is_left_out = line.startswith("#") or ("T103" in found and at == first_line)
        if is_left_out or (tab and texts.get(query_id) == text.strip(" ")):
            continue
        kept.append((at, query_id + tab + text))
        texts.setdefault(query_id, text.strip(" "))
    return kept


def _n_lines(text: bytes) -> int:
    return text.count(b"\n") + (not text.endswith(b"\n"))
