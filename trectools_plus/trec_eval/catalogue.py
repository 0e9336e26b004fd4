"""trec_eval's measures, in the order in which it computes and prints them.

The order, the default parameters and the sets are those of trec_eval's ``measures.c`` and
``m_*.c``; whatever order measures are asked for in, they are printed in this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Version = Literal[9, 10]
ParameterKind = Literal["none", "cutoffs", "points", "numbers", "gains"]
Average = Literal["mean", "sum", "geometric", "queries", "text"]

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
RECALLS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


@dataclass(frozen=True, slots=True)
class TrecMeasure:
    """One entry of trec_eval's table.

    Attributes:
        name: Its name for ``-m``.
        takes: What may stand behind the dot. ``cutoffs`` (ranks) and ``points`` (decimals) give
            one line each; ``numbers`` and ``gains`` (``grade=gain``) change the one line.
        defaults: The parameters without any being given.
        average: How queries become one figure: their mean, sum or geometric mean, how many there
            are, or no figure at all.
        integer: Whether it is printed as a whole number.
        per_query: Whether ``-q`` shows it.
        in_summary: Whether the summary shows it.
        since: The first version that has it.
        sees_tail: Whether documents behind the last judged one change it.
    """

    name: str
    takes: ParameterKind = "none"
    defaults: tuple[float, ...] = ()
    average: Average = "mean"
    integer: bool = False
    per_query: bool = True
    in_summary: bool = True
    since: Version = 9
    sees_tail: bool = False


CATALOGUE: tuple[TrecMeasure, ...] = (
    TrecMeasure("runid", average="text", per_query=False),
    TrecMeasure("num_q", average="queries", integer=True, per_query=False),
    TrecMeasure("num_ret", average="sum", integer=True, sees_tail=True),
    TrecMeasure("num_rel", average="sum", integer=True),
    TrecMeasure("num_rel_ret", average="sum", integer=True),
    TrecMeasure("map"),
    TrecMeasure("gm_map", average="geometric", per_query=False),
    TrecMeasure("Rprec"),
    TrecMeasure("bpref"),
    TrecMeasure("recip_rank"),
    TrecMeasure("iprec_at_recall", "points", RECALLS),
    TrecMeasure("P", "cutoffs", CUTOFFS),
    TrecMeasure("relstring", "numbers", (10.0,), average="text", in_summary=False),
    TrecMeasure("recall", "cutoffs", CUTOFFS),
    TrecMeasure("infAP"),
    TrecMeasure("gm_bpref", average="geometric", per_query=False),
    TrecMeasure("Rprec_mult", "points", MULTIPLES),
    TrecMeasure("utility", "numbers", (1.0, -1.0, 0.0, 0.0), sees_tail=True),
    TrecMeasure("11pt_avg", "numbers", RECALLS),
    TrecMeasure("binG"),
    TrecMeasure("G", "gains"),
    TrecMeasure("dcg", "gains", since=10),
    TrecMeasure("ideal_dcg", "gains", since=10),
    TrecMeasure("ndcg", "gains"),
    TrecMeasure("ndcg_rel", "gains", sees_tail=True),
    TrecMeasure("Rndcg", "gains", sees_tail=True),
    TrecMeasure("ndcg_cut", "cutoffs", CUTOFFS),
    TrecMeasure("map_cut", "cutoffs", CUTOFFS),
    TrecMeasure("relative_P", "cutoffs", CUTOFFS),
    TrecMeasure("success", "cutoffs", (1, 5, 10)),
    TrecMeasure("set_P", sees_tail=True),
    TrecMeasure("set_relative_P", sees_tail=True),
    TrecMeasure("set_recall"),
    TrecMeasure("set_map", sees_tail=True),
    TrecMeasure("set_F", "numbers", (1.0,), sees_tail=True),
    TrecMeasure("num_nonrel_judged_ret", average="sum", integer=True),
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
"""In the table, but in no set."""

NEEDS_PREFERENCES = frozenset({
    "prefs", "all_prefs", "prefs_num_prefs_poss", "prefs_num_prefs_ful",
    "prefs_num_prefs_ful_ret", "prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel",
    "prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret",
    "prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp",
})
# fmt: on
NEEDS_JUDGMENT_GROUPS = frozenset({"qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"})


def measures_of(version: Version) -> dict[str, TrecMeasure]:
    """The measures of a version by name, in trec_eval's order."""
    return {measure.name: measure for measure in CATALOGUE if measure.since <= version}


def sets_of(version: Version) -> dict[str, list[str]]:
    """What the names of sets stand for."""
    everything = [name for name in measures_of(version) if name not in _BY_NAME_ONLY]
    return {"official": OFFICIAL, "set": SET, "all_trec": everything}
