"""What of a file a program can mend: lines that no fix may drop, and fixes that they keep back.

``--fix`` and the findings that offer it ask here, so that no finding offers what is then refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from trectools_plus.validation.findings import Finding, Fix
from trectools_plus.validation.rules.hashed import rows_behind_hash
from trectools_plus.validation.rules.run_ranks import scores_reversed
from trectools_plus.validation.run_view import RunView
from trectools_plus.validation.views import TableView

RANK_RULES = ("R120", "R122", "R123", "R124", "R125")
ORDER_RULES = (*RANK_RULES, "R126", "R127", "R128")
HEADER_RULES = ("R105", "Q103")
_CUT_OFF = "F109"


def strays(view: TableView) -> pl.DataFrame:
    """``line, text`` of lines that are no rows and that no fix may drop.

    These are rows of the wrong width, and rows that were commented out. They are copied as they
    are; as long as there are any, the rows keep their order and their ranks.
    """
    columns, shape = view.columns, view.shape
    assert columns is not None
    found = [columns.misshapen.select("line", "text")]
    if shape.verdict == "rows" and shape.header is not None:
        line, text = shape.header
        if drops_header(view):
            found = [found[0].filter(pl.col("line") != line)]
        elif shape.header_in_rows:
            found.append(pl.DataFrame({"line": [line], "text": [text]}, found[0].schema))
    found.append(rows_behind_hash(view).select("line", "text"))
    return pl.concat(found).sort("line")


def drops_header(view: TableView) -> bool:
    """Whether there is a header with a row below it: then it is a header, and goes."""
    columns, shape = view.columns, view.shape
    if columns is None or shape.verdict != "rows" or shape.header is None:
        return False
    below = columns.lines[int(shape.header_in_rows) :]
    if below.is_empty():
        return False
    between = columns.misshapen["line"].is_between(shape.header[0], int(below[0]), "none")
    return not between.any()


def ends_in_stray(view: TableView, kept: pl.DataFrame) -> bool:
    """Whether the last line is one of these strays and has no line end: the file was cut off."""
    assert view.columns is not None
    data = view.columns.source.data
    if data.endswith(b"\n") or kept.is_empty():
        return False
    return int(kept["line"][-1]) == data.count(b"\n") + 1


def why_not_ordered(run: RunView, kept: pl.DataFrame) -> str | None:
    """Why the rows of a run with these strays cannot be put in order; ``None`` if they can."""
    if kept.height:
        return "some rows cannot be read, and their places would be lost"
    if run.swapped_columns:
        return "columns 4 and 5 look swapped (R121)"
    if np.isnan(run.score).any():
        return "some scores are no numbers, so their places are not known"
    return None


def with_true_offers(view: TableView, findings: list[Finding]) -> list[Finding]:
    """The findings on a file; those whose fix would be refused for this one offer none.

    Where the file must first be asked to become UTF-8, every other fix has to wait for that.
    """
    if view.columns is None or all(finding.fix is Fix.NO for finding in findings):
        return findings
    by_code = {finding.code: finding for finding in findings}
    vain = set(_vain(view, by_code))
    waits = "F103" in by_code
    offered = []
    for finding in findings:
        if finding.code in vain:
            finding = replace(finding, fix=Fix.NO)
        elif waits and finding.fix is Fix.SAFE:
            finding = replace(finding, fix=Fix.ASK)
        offered.append(finding)
    return offered


def _vain(view: TableView, by_code: dict[str, Finding]) -> Iterator[str]:
    """Codes of findings that this file's fixes do not mend."""
    if _is_never_written(by_code):
        yield from by_code
        return
    if {*HEADER_RULES} & by_code.keys() and view.shape.verdict == "rows" and not drops_header(view):
        yield from HEADER_RULES
    if not {_CUT_OFF, *ORDER_RULES} & by_code.keys():
        return
    kept = strays(view)
    if ends_in_stray(view, kept):
        yield _CUT_OFF
    if isinstance(view, RunView) and {*ORDER_RULES} & by_code.keys():
        if why_not_ordered(view, kept) is not None:
            yield from ORDER_RULES
        elif scores_reversed.check(view) is not None:
            yield from RANK_RULES


def _is_never_written(by_code: dict[str, Finding]) -> bool:
    """Whether no fix is ever applied to a file with such findings."""
    if {"F101", "F106", "R104", "Q104"} & by_code.keys():
        return True
    return any(code in by_code and by_code[code].fix is Fix.NO for code in ("F105", "R103"))
