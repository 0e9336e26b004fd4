"""trec_eval's output lines: name padded to 22 characters, tab, query, tab, value.

Sums add the values query by query, starting at 0.0, so that they equal trec_eval's bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from trectools_plus.display import Displayed
from trectools_plus.trec_eval.arguments import Arguments, Requested
from trectools_plus.validation.findings import Finding

if TYPE_CHECKING:
    import numpy.typing as npt


Table: TypeAlias = "npt.NDArray[Any]"
"""Values of shape (queries, lines): numbers, or the texts of relstring."""
_REAL, _INTEGER, _TEXT = "%6.4f", "%d", "'%s'"
_QUERY = "\0"
"""The placeholder of the query id in a template; no id contains it."""
MIN_GEO_MEAN = 0.00001
"""The lowest value in a geometric mean (``trec_eval.h``)."""


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Displayed):
    """The values to print.

    Attributes:
        requested: The measures, in trec_eval's order.
        query_ids: The evaluated queries, in byte order.
        values: By measure name, shape (queries, lines); relstring has texts.
        run_id: The last column of the run's last row.
        n_qrels: The number of queries in the qrels.
        n_relevant: The number of judgments with a grade above 0, for any relevance level.
        are_zscores: Whether the values are z-scores, printed with four decimals after Z and name.
    """

    requested: Sequence[Requested]
    query_ids: Sequence[str]
    values: Mapping[str, Table]
    run_id: str
    n_qrels: int
    n_relevant: int
    are_zscores: bool = False


def output_lines(scores: Scores, arguments: Arguments) -> Iterator[str]:
    """Yield trec_eval's output, a block of one or more lines at a time.

    Args:
        scores: The values.
        arguments: ``-q``, ``-n`` and ``-c`` are used.

    Returns:
        Blocks without the final line end.
    """
    if arguments.per_query and any(one.measure.per_query for one in scores.requested):
        yield from _query_blocks(scores)
    if arguments.summary:
        for requested in scores.requested:
            if requested.measure.in_summary:
                yield from _summary_lines(requested, scores, arguments.complete)


def format_real(value: float) -> str:
    """Format a number as C's ``%6.4f`` does, including the sign of NaN."""
    if math.isnan(value):
        return f"{'-nan' if math.copysign(1.0, value) < 0 else 'nan':>6}"
    return _REAL % value


def summarise(requested: Requested, scores: Scores, *, complete: bool) -> list[float]:
    """Return the figures over all queries, one for each line of a measure.

    Args:
        requested: A measure whose value is not a text.
        scores: The values of all queries.
        complete: Average over all queries of the qrels; queries without results count 0.
    """
    import numpy as np

    average = requested.measure.average
    n_scored = len(scores.query_ids)
    n_queries = scores.n_qrels if complete else n_scored
    if average == "queries":
        return [float(n_queries)]
    if complete and requested.measure.name == "num_rel":
        # trec_eval counts the grades above 0 in the qrels, for any value of -l.
        return [float(scores.n_relevant)]
    values = scores.values[requested.measure.name]
    first = np.zeros((1, values.shape[1]))
    totals: list[float] = np.add.accumulate(np.concatenate([first, values]))[-1].tolist()
    if average == "sum":
        return totals
    if average == "geometric":
        missing = (n_queries - n_scored) * math.log(MIN_GEO_MEAN)
        return [math.exp((total + missing) / n_queries) for total in totals]
    return [total / n_queries for total in totals]


def _query_blocks(scores: Scores) -> Iterator[str]:
    """Yield all lines of each query as one block.

    Formatting a block with one template is fast. Python formats NaN without a sign, so in blocks
    with NaN each number is formatted by :func:`format_real`.
    """
    shown = [requested for requested in scores.requested if requested.measure.per_query]
    names = [name for requested in shown for name in _names(requested, scores)]
    formats = [_format_of(requested, scores) for requested in shown for _ in requested.names]
    template = _template(names, formats)
    template_of_texts = _template(names, ["%s" if one == _REAL else one for one in formats])
    tables = [scores.values[requested.measure.name].tolist() for requested in shown]
    for query_id, *rows in zip(scores.query_ids, *tables, strict=True):
        values = [value for row in rows for value in row]
        lines = template
        if any(value != value for value in values):  # NaN; texts equal themselves
            lines = template_of_texts
            values = [
                format_real(value) if one == _REAL else value
                for value, one in zip(values, formats, strict=True)
            ]
        yield lines.replace(_QUERY, query_id.replace("%", "%%")) % tuple(values)


def _format_of(requested: Requested, scores: Scores) -> str:
    if requested.measure.average == "text":
        return _TEXT
    return _INTEGER if requested.measure.integer and not _has_zscores(requested, scores) else _REAL


def _names(requested: Requested, scores: Scores) -> list[str]:
    """Return the names of the lines of a measure, padded."""
    prefix = "Z" if _has_zscores(requested, scores) else ""
    return [f"{prefix}{name:<22}" for name in requested.names]


def _has_zscores(requested: Requested, scores: Scores) -> bool:
    return scores.are_zscores and requested.measure.average != "text"


def _template(names: Sequence[str], formats: Sequence[str]) -> str:
    names = [name.replace("%", "%%") for name in names]
    return "\n".join(f"{name}\t{_QUERY}\t{one}" for name, one in zip(names, formats, strict=True))


def _summary_lines(requested: Requested, scores: Scores, complete: bool) -> Iterator[str]:
    if requested.measure.name == "runid":
        shown = [scores.run_id]
    else:
        figures = summarise(requested, scores, complete=complete)
        is_real = _format_of(requested, scores) == _REAL
        shown = [format_real(one) if is_real else _INTEGER % one for one in figures]
    for name, value in zip(_names(requested, scores), shown, strict=True):
        yield f"{name}\tall\t{value}"


def notes_on_files(of_run: Iterable[Finding], of_qrels: Iterable[Finding]) -> list[str]:
    """Return a note for each finding with which other commands or C trec_eval differ.

    Scripts that call trec_eval expect an empty stderr, so other findings are not reported.
    """
    notes = []
    for finding in (*of_qrels, *of_run):
        if finding.blocks_scoring or (finding.note and finding.drop_in == "scores"):
            notes.append(finding.with_note("scored as C trec_eval does"))
        elif finding.note:
            notes.append(finding.with_note(finding.note))
    return notes
