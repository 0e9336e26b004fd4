"""Write fixed copies of files: safe changes of their text, which change no figure.

A finding says whether it has a fix (``Finding.fix``). All fixes that apply are made at once, and
the copy is checked again until nothing is left to fix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trectools_plus.choices import MAX_TAG_LENGTH
from trectools_plus.display import Displayed
from trectools_plus.errors import FormatError, UsageError
from trectools_plus.formats.columns.columns import Columns
from trectools_plus.formats.columns.ids import join_texts
from trectools_plus.formats.files.content import FileContent, read_file
from trectools_plus.formats.files.guards import refuse_overwriting
from trectools_plus.formats.interchange.names import KINDS, KindName
from trectools_plus.formats.lexing import lex
from trectools_plus.formats.writing import open_output
from trectools_plus.text import plural
from trectools_plus.validation.engine import View, check_view
from trectools_plus.validation.findings import Finding, Fix
from trectools_plus.validation.parts import ViewSettings
from trectools_plus.validation.registry import Rule
from trectools_plus.validation.rules import RULES
from trectools_plus.validation.views.kinds import QrelsView, RunView

_MAX_ROUNDS = 5
_CODES = re.compile(r"(?i)([FRQTP][0-9]{3}[, ]*)*")


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
    """Return the file to write, the first value of a repeated ``--fix``, and the codes after it.

    Args:
        values: The values from the command line: ``["clean.run", "R151,R152"]``.

    Returns:
        The path to write, and the codes in upper case, each once.

    Raises:
        UsageError: If the first value is a code; write ``./R152`` for a file of that name.
    """
    output, *others = values
    if _CODES.fullmatch(output):
        raise UsageError(
            f"expected the file to write but got {output!r}",
            where="--fix",
            remedy="--fix OUT applies the safe fixes, --fix OUT --fix R151,R152 these two as well",
        )
    return output, tuple(dict.fromkeys(",".join(others).upper().replace(",", " ").split()))


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
    view_of = ViewSettings(None, max_tag_length).view
    return _write_fixed("run", view_of, path, output, codes)


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
    return _write_fixed("qrels", QrelsView.of_file, path, output, codes)


def _write_fixed(
    kind: KindName,
    view_of: Callable[[Columns], View],
    path: str | Path,
    output: str | Path,
    codes: Sequence[str],
) -> FixSummary:
    """Apply fixes until nothing is left to fix."""
    _check_arguments(kind, path, output, codes)
    try:
        source = read_file(path)
    except FormatError as error:
        return FixSummary(str(path), None, error.what)
    text, applied, wanted = source.data, dict[str, Applied](), dict[str, Finding]()
    for _ in range(_MAX_ROUNDS):
        view, before = view_of(lex(FileContent(str(path), text), kind)), text
        findings = check_view(view)
        if reason := _reason_against(view, findings):
            return FixSummary(source.path, None, reason)
        wanted = {
            finding.code: finding
            for finding in findings
            if finding.fix is Fix.SAFE or (finding.fix is Fix.ASK and finding.code in codes)
        }
        text = _fixed(view, [RULES[code] for code in wanted])
        if text == before:
            break
        for code, finding in wanted.items():
            what = RULES[code].fixed
            applied.setdefault(code, Applied(code, finding.name, finding.count, what))
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


def _fixed(view: RunView | QrelsView, rules: Sequence[Rule]) -> bytes:
    """Return the content after some fixes.

    A fix of rows leaves out other lines, and writes one separator between columns, and LF.
    """
    content, of_bytes = view.file.source.data, [rule.fix_bytes for rule in rules if rule.fix_bytes]
    for change in of_bytes:
        content = change(content)
    if of_bytes or not rules:
        return content
    import polars as pl

    rows = view.file.rows.drop("line").slice(int(view.file.header_in_rows))
    rows.columns = list(KINDS[view.kind].columns)
    rows = rows.with_row_index("row")
    # Rows are left out (R131) before they are numbered (R120).
    for fix in dict.fromkeys(rule.fix for rule in reversed(rules) if rule.fix):
        rows = fix(view, rows)
    separator = "\t" if view.file.has_tabs and not view.file.has_spaces else " "
    texts = rows.select(text=pl.concat_str(pl.exclude("row"), separator=separator) + "\n")
    return join_texts(texts["text"]).encode()


def _reason_against(view: RunView | QrelsView, findings: Sequence[Finding]) -> str | None:
    """Return why a file cannot be fixed; ``None`` if it can."""
    for finding in findings:
        if finding.fix is Fix.NO and RULES[finding.code].blocks_fixing:
            return f"{finding.message} ({finding.code}). {finding.remedy}"
    if len(view.misshapen):
        return f"line {view.misshapen.line[0]} is not a row"
    return f"it is not in TREC form; {view.conversion}" if view.origin else None


def _check_arguments(
    kind: KindName, path: str | Path, output: str | Path, codes: Sequence[str]
) -> None:
    if str(output) == "-":
        raise UsageError(
            "cannot write a fixed file to standard output", where="--fix -", remedy="name a file"
        )
    refuse_overwriting(output, [path])
    known = [rule.code for rule in RULES if rule.fixed and rule.on in ("file", kind)]
    for code in codes:
        if code not in known:
            raise UsageError(
                f"there is no fix {code} for {kind}",
                where="--fix",
                remedy=f"see trectools-plus explain {code}; fixes: {', '.join(known)}",
            )
