"""Tables of trec_eval's measures: all of them for ``trec-eval``, the standard ones for ``eval``.

Names, order, default parameters and sets are those of trec_eval's ``measures.c`` and ``m_*.c``.
trec_eval computes and prints measures in this order, not in the order of the request. Formulas are
those of trec_eval 9.0.8, file ``m_<name>.c``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from trectools_plus.measures.definitions.base import BINARY_GAIN

Version = Literal[9, 10]
ParameterKind = Literal["none", "cutoffs", "points", "numbers", "gains"]
Average = Literal["mean", "sum", "geometric", "queries", "text"]
Sees = Literal["length", "gains", "relevant", "judged", "all"]
Needs = Literal["any", "qrels", "prefs", "qrels_jg"]

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


@dataclass(frozen=True, slots=True)
class TrecMeasure:
    """A measure of trec_eval.

    Attributes:
        name: The name for ``-m``.
        takes: The parameters that may follow the dot. ``cutoffs`` (ranks) and ``points``
            (decimals) give one line each; ``numbers`` and ``gains`` (``grade=gain``) change the
            value of a single line.
        defaults: The default parameters.
        average: The summary over queries: their mean, sum, geometric mean or number, or ``text``
            for none.
        integer: Whether trec_eval prints it as a whole number.
        per_query: Whether ``-q`` prints it.
        in_summary: Whether the summary prints it.
        since: The first version that has it.
        sees: The part of a ranking on which its value depends: its ``length``, the documents with
            ``gains`` (as if the others were not judged), the documents down to the last
            ``relevant`` one or the last ``judged`` one, or ``all``. (Gains for grade 0 make
            "gains" and "relevant" mean "judged".)
        needs: The judgments from which it is computed: qrels, preferences, or qrels of several
            judges.
    """

    name: str
    takes: ParameterKind = "none"
    defaults: tuple[float, ...] = ()
    average: Average = "mean"
    integer: bool = False
    per_query: bool = True
    in_summary: bool = True
    since: Version = 9
    sees: Sees = "relevant"
    needs: Needs = "qrels"


_PREFERENCE_MEASURES = (
    *(
        TrecMeasure(f"prefs_num_prefs_{name}", average="sum", integer=True, needs="prefs")
        for name in ("poss", "ful", "ful_ret")
    ),
    *(
        TrecMeasure(f"prefs_{name}", needs="prefs")
        for name in (
            *("simp", "pair", "avgjg", "avgjg_Rnonrel"),
            *("simp_ret", "pair_ret", "avgjg_ret", "avgjg_Rnonrel_ret"),
            *("simp_imp", "pair_imp", "avgjg_imp"),
        )
    ),
)

TREC_EVAL_MEASURES: tuple[TrecMeasure, ...] = (
    TrecMeasure("runid", average="text", per_query=False, needs="any"),
    TrecMeasure(
        "num_q", average="queries", integer=True, per_query=False, sees="length", needs="any"
    ),
    TrecMeasure("num_ret", average="sum", integer=True, sees="length"),
    TrecMeasure("num_rel", average="sum", integer=True),
    TrecMeasure("num_rel_ret", average="sum", integer=True),
    TrecMeasure("map", sees="gains"),
    TrecMeasure("gm_map", average="geometric", per_query=False),
    TrecMeasure("Rprec", sees="gains"),
    TrecMeasure("bpref"),
    TrecMeasure("recip_rank", sees="gains"),
    TrecMeasure("iprec_at_recall", "points", RECALLS),
    TrecMeasure("P", "cutoffs", CUTOFFS, sees="gains"),
    TrecMeasure("relstring", "numbers", (10.0,), average="text", in_summary=False),
    TrecMeasure("recall", "cutoffs", CUTOFFS, sees="gains"),
    TrecMeasure("infAP"),
    TrecMeasure("gm_bpref", average="geometric", per_query=False),
    TrecMeasure("Rprec_mult", "points", MULTIPLES),
    TrecMeasure("utility", "numbers", (1.0, -1.0, 0.0, 0.0), sees="all"),
    TrecMeasure("11pt_avg", "numbers", RECALLS),
    TrecMeasure("binG"),
    TrecMeasure("G", "gains"),
    TrecMeasure("dcg", "gains", since=10),
    TrecMeasure("ideal_dcg", "gains", since=10),
    TrecMeasure("ndcg", "gains", sees="gains"),
    TrecMeasure("ndcg_rel", "gains", sees="all"),
    TrecMeasure("Rndcg", "gains", sees="all"),
    TrecMeasure("ndcg_cut", "cutoffs", CUTOFFS, sees="gains"),
    TrecMeasure("map_cut", "cutoffs", CUTOFFS, sees="gains"),
    TrecMeasure("relative_P", "cutoffs", CUTOFFS),
    TrecMeasure("success", "cutoffs", (1, 5, 10), sees="gains"),
    TrecMeasure("set_P", sees="all"),
    TrecMeasure("set_relative_P", sees="all"),
    TrecMeasure("set_recall"),
    TrecMeasure("set_map", sees="all"),
    TrecMeasure("set_F", "numbers", (1.0,), sees="all"),
    TrecMeasure("num_nonrel_judged_ret", average="sum", integer=True, sees="judged"),
    *_PREFERENCE_MEASURES,
    TrecMeasure("map_avgjg", needs="qrels_jg"),
    TrecMeasure("P_avgjg", "cutoffs", CUTOFFS, needs="qrels_jg"),
    TrecMeasure("Rprec_mult_avgjg", "points", MULTIPLES, needs="qrels_jg"),
    TrecMeasure("yaap"),
    TrecMeasure("rbp", "gains", since=10),
    TrecMeasure("rbp_resid", "gains", since=10),
    TrecMeasure("unj", "cutoffs", (5, 10, 20), since=10),
)

# fmt: off
OFFICIAL = [
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref",
    "recip_rank", "iprec_at_recall", "P",
]
SET = [
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall",
    "set_relative_P", "set_map", "set_F",
]
_BY_NAME_ONLY = ("dcg", "ideal_dcg", "yaap")
"""Measures that are in no set."""

# fmt: on


def measures_of(version: Version) -> dict[str, TrecMeasure]:
    """Return the measures of a version by name, in trec_eval's order."""
    return {measure.name: measure for measure in TREC_EVAL_MEASURES if measure.since <= version}


def sets_of(version: Version) -> dict[str, list[str]]:
    """Return the measures of each set by the set's name."""
    of_needs: dict[Needs, list[str]] = {"qrels": [], "prefs": [], "qrels_jg": []}
    for name, measure in measures_of(version).items():
        for needs, names in of_needs.items():
            if name not in _BY_NAME_ONLY and measure.needs in ("any", needs):
                names.append(name)
    preferences = of_needs["prefs"]
    return {
        "official": OFFICIAL,
        "set": SET,
        "all_trec": of_needs["qrels"],
        "all_prefs": preferences,
        "prefs": preferences[: preferences.index("prefs_avgjg") + 1],
        "qrels_jg": of_needs["qrels_jg"],
    }


ALL_RELEVANT = "R, all relevant documents of the query"


@dataclass(frozen=True, slots=True)
class StandardMeasure:
    """A measure of ``eval`` that trec_eval computes, before its parameters are set.

    Attributes:
        label: The name in ``ir_measures``.
        trec_name: trec_eval's name without a cutoff; ``None`` if a cutoff is required.
        trec_cut_name: trec_eval's name with a cutoff; ``None`` if it takes none.
        formula: In words; see :class:`ColumnMeasure` for the names in braces.
        denominator: In the same way.
        gain: In the same way.
        defaults: The parameters with their defaults.
    """

    label: str
    trec_name: str | None
    trec_cut_name: str | None
    formula: str
    denominator: str = "none"
    gain: str = BINARY_GAIN
    defaults: Mapping[str, Any] = field(default_factory=lambda: {"rel": 1})


_SUCCESS = "1 if a relevant document is {first}, else 0"

STANDARD_MEASURES: tuple[StandardMeasure, ...] = (
    StandardMeasure(
        "nDCG",
        "ndcg",
        "ndcg_cut",
        "DCG / ideal DCG; DCG = sum of gain / log2(rank + 1) {first}",
        "the DCG of the best possible ranking of all judged documents, {first}",
        "the grade (linear; nDCG(dcg='exp-log2'){at} has 2^grade - 1); a negative grade counts as "
        "0",
        {"dcg": "log2"},
    ),
    StandardMeasure(
        "AP",
        "map",
        "map_cut",
        "sum of precision at the rank of each relevant document {first}, divided by R",
        f"{ALL_RELEVANT}; APcap@k divides by min(R, k), as some tools do for MAP@k",
    ),
    StandardMeasure(
        "RR",
        "recip_rank",
        "recip_rank",
        "1 / rank of the first relevant document {first}; 0 if there is none",
        "the rank of the first relevant document",
    ),
    StandardMeasure(
        "P",
        None,
        "P",
        "relevant documents {first}, divided by {k}",
        "{k}, even when fewer documents were returned",
    ),
    StandardMeasure("R", None, "recall", "relevant documents {first}, divided by R", ALL_RELEVANT),
    StandardMeasure("Success", None, "success", _SUCCESS),
    StandardMeasure("HitRate", None, "success", _SUCCESS),
    StandardMeasure(
        "Rprec", "Rprec", None, "relevant documents in the first R, divided by R", ALL_RELEVANT
    ),
    StandardMeasure(
        "Bpref",
        "bpref",
        None,
        "mean over relevant documents of 1 - (judged non-relevant documents above it, at most R) "
        "/ min(R, judged non-relevant documents)",
        ALL_RELEVANT,
        "1 for a grade of {level} or more; grade 0 and below -1 is judged non-relevant; "
        "-1 counts as unjudged",
    ),
    StandardMeasure(
        "infAP",
        "infAP",
        None,
        "average precision, estimated from a sample of the pool "
        "(grade -1: in the pool, not judged)",
        ALL_RELEVANT,
    ),
    StandardMeasure(
        "IPrec",
        "iprec_at_recall",
        None,
        "highest precision at any rank where recall is {recall} or more",
        "the rank",
    ),
    StandardMeasure(
        "SetP",
        "set_P",
        None,
        "relevant documents retrieved, divided by documents retrieved",
        "documents retrieved",
    ),
    StandardMeasure(
        "SetR",
        "set_recall",
        None,
        "relevant documents retrieved, divided by R",
        ALL_RELEVANT,
    ),
    StandardMeasure(
        "SetF",
        "set_F",
        None,
        "harmonic mean of SetP and SetR",
        "SetP + SetR",
    ),
    StandardMeasure("SetAP", "set_map", None, "SetP times SetR", "see SetP and SetR"),
)
