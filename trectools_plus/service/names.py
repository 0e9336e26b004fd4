"""What measures are called in answers (``recall_at_10``) and in metrics (``recall_at_k``)."""

from __future__ import annotations

import re

_BASES = {
    "R": "recall",
    "nDCG": "ndcg",
    "RR": "mrr",
    "HitRate": "hit_rate",
    "Success": "success",
    "P": "precision",
    "AP": "map",
    "APcap": "map_capped",
    "MaxOntSim": "max_ont_sim",
    "Judged": "judged",
}
_PLAIN = re.compile(r"(?P<label>[A-Za-z]+)(?:@(?P<cutoff>\d+))?")


def split_measure(name: str) -> tuple[str, str | None] | None:
    """``R@10`` as ``("recall", "10")``, ``RR`` as ``("mrr", None)``.

    Args:
        name: A canonical name.

    Returns:
        ``None`` where the measure has parameters or no plain name: only its canonical one will do.
    """
    match = _PLAIN.fullmatch(name)
    base = _BASES.get(match["label"]) if match else None
    return None if match is None or base is None else (base, match["cutoff"])


def answer_key(name: str) -> str:
    """The measure's key in an answer: ``recall_at_10``, or its canonical name."""
    parts = split_measure(name)
    if parts is None:
        return name
    base, cutoff = parts
    return base if cutoff is None else f"{base}_at_{cutoff}"
