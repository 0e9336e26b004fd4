"""The standard measures that trec_eval computes: spellings, parameters, definitions in words.

Formulas are those of trec_eval 9.0.8, file ``m_<name>.c``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

BINARY_GAIN = "1 for a grade of {level} or more, else 0"
ALL_RELEVANT = "R, all relevant documents of the query"


@dataclass(frozen=True, slots=True)
class Family:
    """A standard measure before its parameters are bound.

    Attributes:
        label: The name ``ir_measures`` gives it.
        trec_name: trec_eval's name without a cutoff; ``None`` if it must have one.
        trec_cut_name: trec_eval's name with a cutoff; ``None`` if it takes none.
        formula: In words; ``{first}`` stands for "in the first k".
        denominator: In words.
        gain: In words; ``{level}`` stands for the relevance level.
        defaults: Its parameters, with their defaults.
        sees_tail: Whether documents behind the last judged one can change it.
        sees_relevant_only: Whether judged documents without gain are as unjudged ones to it.
        cutoff_parameter: What ``@`` binds.
    """

    label: str
    trec_name: str | None
    trec_cut_name: str | None
    formula: str
    denominator: str
    gain: str = BINARY_GAIN
    defaults: Mapping[str, Any] = field(default_factory=lambda: {"rel": 1, "judged_only": False})
    sees_tail: bool = False
    sees_relevant_only: bool = False
    cutoff_parameter: str = "cutoff"


_SUCCESS = "1 when a relevant document stands {first}, else 0"

FAMILIES: tuple[Family, ...] = (
    Family(
        "nDCG",
        "ndcg",
        "ndcg_cut",
        "DCG / ideal DCG; DCG = sum of gain / log2(rank + 1) {first}",
        "the DCG of the best possible ranking of all judged documents, {first}",
        "the grade (linear); a negative grade counts as 0",
        {"dcg": "log2", "gains": None, "judged_only": False},
        sees_relevant_only=True,
    ),
    Family(
        "AP",
        "map",
        "map_cut",
        "sum of precision at the rank of each relevant document {first}, divided by R",
        ALL_RELEVANT,
        sees_relevant_only=True,
    ),
    Family(
        "RR",
        "recip_rank",
        "recip_rank",
        "1 / rank of the first relevant document {first}; 0 when there is none",
        "the rank of the first relevant document",
        sees_relevant_only=True,
    ),
    Family(
        "P",
        None,
        "P",
        "relevant documents {first}, divided by {k}",
        "{k}, even when fewer documents were returned",
        sees_relevant_only=True,
    ),
    Family(
        "R",
        None,
        "recall",
        "relevant documents {first}, divided by R",
        ALL_RELEVANT,
        sees_relevant_only=True,
    ),
    Family("Success", None, "success", _SUCCESS, "none", sees_relevant_only=True),
    Family("HitRate", None, "success", _SUCCESS, "none", sees_relevant_only=True),
    Family(
        "Rprec",
        "Rprec",
        None,
        "relevant documents in the first R, divided by R",
        ALL_RELEVANT,
        sees_relevant_only=True,
    ),
    Family(
        "Bpref",
        "bpref",
        None,
        "mean over relevant documents of 1 - (judged non-relevant documents above it, at most R) "
        "/ min(R, judged non-relevant documents)",
        ALL_RELEVANT,
        "1 for a grade of {level} or more; grade 0 and below -1 is judged non-relevant; "
        "-1 counts as unjudged",
        {"rel": 1},
    ),
    Family(
        "infAP",
        "infAP",
        None,
        "average precision, estimated where the pool was only sampled (grade -1: in the pool, "
        "not judged)",
        ALL_RELEVANT,
        defaults={"rel": 1},
    ),
    Family(
        "IPrec",
        "iprec_at_recall",
        None,
        "highest precision at any rank where recall is {recall} or more",
        "the rank",
        cutoff_parameter="recall",
    ),
    Family(
        "SetP",
        "set_P",
        None,
        "relevant documents retrieved, divided by documents retrieved",
        "documents retrieved; with relative=True min(documents retrieved, R)",
        defaults={"rel": 1, "relative": False, "judged_only": False},
        sees_tail=True,
    ),
    Family(
        "SetR",
        "set_recall",
        None,
        "relevant documents retrieved, divided by R",
        ALL_RELEVANT,
        defaults={"rel": 1},
    ),
    Family(
        "SetF",
        "set_F",
        None,
        "weighted harmonic mean of SetP and SetR with beta = {beta}",
        "beta * SetP + SetR, as trec_eval weights it",
        defaults={"rel": 1, "beta": 1.0, "judged_only": False},
        sees_tail=True,
    ),
    Family("SetAP", "set_map", None, "SetP times SetR", "see SetP and SetR", sees_tail=True),
    Family(
        "NumRet",
        "num_ret",
        None,
        "number of documents retrieved; with rel=g only those of grade g or more. "
        "A mean here, where trec_eval prints the sum",
        "none",
        "1 per document that is counted",
        {"rel": None},
        sees_tail=True,
    ),
    Family(
        "NumRel",
        "num_rel",
        None,
        "number of relevant documents in the qrels. A mean here, where trec_eval prints the sum",
        "none",
        defaults={"rel": 1},
    ),
    Family(
        "NumQ",
        "num_q",
        None,
        "1 per query. A mean here, where trec_eval prints the sum: how many queries there are",
        "none",
        "none",
        {},
    ),
)
