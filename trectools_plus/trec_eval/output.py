"""trec_eval's output lines (name padded to 22 characters, tab, query, tab, value), and its help.

Sums add the values query by query, starting at 0.0, so that they equal trec_eval's bit for bit.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from trectools_plus.display import Displayed
from trectools_plus.measures.definitions.trec_eval_measures import sets_of
from trectools_plus.trec_eval.arguments import FLAGS, USAGE, Arguments, Requested
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
    if arguments.per_query and any(requested.measure.per_query for requested in scores.requested):
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
    template_of_texts = _template(names, ["%s" if spec == _REAL else spec for spec in formats])
    tables = [scores.values[requested.measure.name].tolist() for requested in shown]
    for query_id, *rows in zip(scores.query_ids, *tables, strict=True):
        values = [value for row in rows for value in row]
        lines = template
        if any(value != value for value in values):  # NaN; texts equal themselves
            lines = template_of_texts
            values = [
                format_real(value) if spec == _REAL else value
                for value, spec in zip(values, formats, strict=True)
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
    return "\n".join(f"{name}\t{_QUERY}\t{spec}" for name, spec in zip(names, formats, strict=True))


def _summary_lines(requested: Requested, scores: Scores, complete: bool) -> Iterator[str]:
    if requested.measure.name == "runid":
        shown = [scores.run_id]
    else:
        figures = summarise(requested, scores, complete=complete)
        is_real = _format_of(requested, scores) == _REAL
        shown = [format_real(figure) if is_real else _INTEGER % figure for figure in figures]
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


FORMATS = """\
Columns of QRELS:  query_id iteration doc_id grade
with -R prefs:     query_id judge list doc_id level (qrels_prefs: no list)
Columns of RUN:    query_id Q0 doc_id rank score tag
Documents are ranked by score, highest first, then by document id, descending; the rank column is
ignored. A line that begins with # is a comment. - is standard input; gzip, bz2, xz and zstd files
are decompressed. Queries without judgments are left out; without -c, also queries without results.
"""

_GAINS = (
    " The gain of a document is its grade; -m {name}.1=3,2=9 sets the gains of grades, which may "
    "be 0 or negative."
)
_CUTOFFS = " One line for each cutoff; -m {name}.5,10 sets them."

_PREFERENCES = (
    " A judge prefers one document to another if both are in one list and its level is higher. "
    "The preference is fulfilled if that document is ranked above the other or only it was "
    "retrieved."
)
_BOTH_RETRIEVED = " Only preferences between two retrieved documents count."
_ONE_RETRIEVED = " Preferences between two documents that were not retrieved do not count."
_JUDGES = " Averaged over the judges (column 2) of the query."
_PREFERENCE_MEASURES = {
    "prefs_simp": "Fulfilled preferences, divided by all.",
    "prefs_pair": (
        "The mean over pairs of documents of the share of judges whose preference is fulfilled."
    ),
    "prefs_avgjg": "Fulfilled preferences of a judge, divided by all of the judge." + _JUDGES,
}
_EQUAL_NUMBERS = (
    "prefs_avgjg with as many documents of level 0 as there are relevant ones: the first ones in "
    "the ranking, or further ones that count as ranked last."
)

EXPLANATIONS: Mapping[str, str] = {
    "runid": "The last column of the run's last row. In the summary only.",
    "num_q": (
        "Number of queries in the means: those with results and judgments, or with -c all queries "
        "of the qrels. In the summary only."
    ),
    "num_ret": "Documents retrieved, after -M and -J. Summed over queries.",
    "num_rel": (
        "Relevant documents in the qrels. Summed over queries; with -c the sum counts every "
        "grade above 0 of all queries, whatever -l is."
    ),
    "num_rel_ret": "Relevant documents retrieved. Summed over queries.",
    "map": (
        "Average precision: the precision at the rank of each relevant document, summed and "
        "divided by the number of relevant documents; those not retrieved add 0."
    ),
    "gm_map": (
        "The geometric mean of map over queries, with 0.00001 as the lowest value, so that poor "
        "queries have more weight. In the summary only."
    ),
    "Rprec": "Precision at rank R, where R is the number of relevant documents.",
    "bpref": (
        "For each relevant document retrieved, 1 minus the share of judged non-relevant documents "
        "above it (at most R of them, divided by R or by the number of judged non-relevant "
        "documents, whichever is less); averaged over the R relevant documents. Unjudged documents "
        "do not count."
    ),
    "recip_rank": (
        "1 divided by the rank of the first relevant document; 0 if none is retrieved. It takes "
        "no cutoff: use -M."
    ),
    "iprec_at_recall": (
        "The highest precision at any rank at which at least this share of the relevant documents "
        "is found. One line for each share; -m {name}..10,.20 sets them. Version 9 converts a "
        "share of R to a number of documents by adding 0.9 and truncating, version 10 by rounding."
    ),
    "P": ("Relevant documents in the first k, divided by k, even if fewer were retrieved.")
    + _CUTOFFS,
    "relstring": (
        "The grades of the first 10 documents as a text: one digit each, > for a grade above 9, - "
        "for a document that is not in the qrels, . for a negative grade. -m {name}.20 sets the "
        "number of documents. Printed per query only, with -q."
    ),
    "recall": "Relevant documents in the first k, divided by all relevant ones." + _CUTOFFS,
    "infAP": (
        "Inferred average precision, for qrels of a sampled pool: the precision above each "
        "relevant document is estimated from the judged documents. A negative grade marks a "
        "document that was in the pool but not judged. Without such grades it equals map."
    ),
    "gm_bpref": (
        "The geometric mean of bpref over queries, with 0.00001 as the lowest value. In the "
        "summary only."
    ),
    "Rprec_mult": "Precision at the rank x times R, for several x. -m {name}.0.5,2 sets them.",
    "utility": (
        "a times relevant retrieved, plus b times other retrieved, plus c times relevant not "
        "retrieved, plus d times all other documents of the collection (-N is its size). a,b,c,d "
        "are 1,-1,0,0 by default; -m {name}.2,-1,0,0 sets them. Averaged over queries."
    ),
    "11pt_avg": (
        "The mean of iprec_at_recall over 0, 0.1, … 1. -m {name}..25,.5,.75 sets the points."
    ),
    "binG": "As G, with the same gain for every relevant document.",
    "G": (
        "Each document's gain, divided by log2 of 2 plus the amount by which the total gain down "
        "to its rank falls short of an ideal ranking's; summed, and divided by the total gain."
    )
    + _GAINS,
    "dcg": "Discounted cumulative gain: the sum of gain / log2(rank + 1)." + _GAINS,
    "ideal_dcg": "The highest dcg over all orders of the judged documents." + _GAINS,
    "ndcg": "dcg divided by the dcg of the best possible order; over the whole ranking." + _GAINS,
    "ndcg_rel": (
        "ndcg taken at the rank of each relevant document and averaged over them; a relevant "
        "document not retrieved counts with the ndcg at the end."
    )
    + _GAINS,
    "Rndcg": (
        "ndcg averaged over the ranks at which an ideal ranking changes to the next lower gain, "
        "and the end of the ranking."
    )
    + _GAINS,
    "ndcg_cut": (
        "dcg of the first k documents, divided by the highest possible dcg. Gains are the grades."
    )
    + _CUTOFFS,
    "map_cut": "map of the first k documents; divided by all relevant ones, not by k." + _CUTOFFS,
    "relative_P": (
        "Precision at k divided by the highest possible: relevant documents in the first k, "
        "divided by k or the number of relevant documents, whichever is less."
    )
    + _CUTOFFS,
    "success": "1 if a relevant document is in the first k, else 0." + _CUTOFFS,
    "set_P": "Relevant documents retrieved, divided by documents retrieved; ranks do not matter.",
    "set_relative_P": "set_P divided by its highest possible value for this number of documents.",
    "set_recall": "Relevant documents retrieved, divided by all relevant ones.",
    "set_map": "set_P times set_recall: map for sets without an order.",
    "set_F": (
        "(x + 1) P R / (R + x P) with P = set_P and R = set_recall. x is 1 by default: their "
        "harmonic mean; -m {name}.0.5 sets it."
    ),
    "num_nonrel_judged_ret": (
        "Documents retrieved that were judged and are not relevant. Summed over queries."
    ),
    "prefs_num_prefs_poss": "Number of preferences. Summed over queries.",
    "prefs_num_prefs_ful": "Number of fulfilled preferences. Summed over queries." + _PREFERENCES,
    "prefs_num_prefs_ful_ret": (
        "Number of fulfilled preferences between two retrieved documents. Summed over queries."
    ),
    **{name: text + _PREFERENCES for name, text in _PREFERENCE_MEASURES.items()},
    "prefs_avgjg_Rnonrel": _EQUAL_NUMBERS,
    **{f"{name}_ret": text + _BOTH_RETRIEVED for name, text in _PREFERENCE_MEASURES.items()},
    "prefs_avgjg_Rnonrel_ret": _EQUAL_NUMBERS + _BOTH_RETRIEVED,
    **{f"{name}_imp": text + _ONE_RETRIEVED for name, text in _PREFERENCE_MEASURES.items()},
    "map_avgjg": "map with the grades of each judge." + _JUDGES,
    "P_avgjg": "P with the grades of each judge." + _JUDGES + _CUTOFFS,
    "Rprec_mult_avgjg": (
        "Rprec_mult with the grades of each judge." + _JUDGES + " -m {name}.0.5,2 sets the shares."
    ),
    "yaap": (
        "log((1 + s) / (1 + R - s)), where s is the sum that map divides by R. Differences between "
        "high values of map are larger on this scale. It is not in any set of measures."
    ),
    "rbp": (
        "Rank-biased precision: (1 - p) times the sum of gain p^(rank - 1), the expected gain of a "
        "user who reads the next document with probability p = 0.9. Gains outside 0 to 1 are "
        "scaled to that range. -m {name}.p=0.8,1=0.5 sets p and gains."
    ),
    "rbp_resid": (
        "The increase of rbp if all unjudged documents had gain 1; 0 if all documents retrieved "
        "are judged. -m {name}.p=0.8 sets p."
    ),
    "unj": "Share of documents in the first k that are not judged." + _CUTOFFS,
}


def help_lines(arguments: Arguments) -> Iterator[str]:
    """Yield the help, with explanations of the measures that are named.

    Args:
        arguments: The command line with ``-h``.
    """
    yield from [f"Usage: {USAGE}", "", "Score a run as trec_eval does.", ""]
    for flag in FLAGS:
        letter = flag.letter and f"-{flag.letter}"
        yield f"  {letter:2}  --{flag.name:24}  {flag.help}"
    yield from ["", *FORMATS.splitlines(), ""]
    for name, members in sets_of(arguments.version).items():
        yield from _paragraph(f"{name}: {' '.join(members)}", "")
    yield ""
    if not arguments.measures:
        yield "Explain measures by naming them with -m: -h -m all_trec"
        return
    for requested in arguments.requested:
        yield requested.measure.name
        explanation = EXPLANATIONS[requested.measure.name]
        yield from _paragraph(explanation.replace("{name}", requested.measure.name), "    ")


def _paragraph(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 96, initial_indent=indent, subsequent_indent="    ")
