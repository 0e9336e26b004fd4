"""Measures with equal values on these judgments."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import polars as pl

from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import FloatArray
from trectools_plus.measures.evaluation import Averaging, Evaluation, score_runs

_DECIMALS = 10
"""Values that are equal to so many decimals differ only by rounding."""
_MOST_QUERIES = 200
_RANKINGS = 400
"""Random rankings that are scored, of all queries together."""
_MOST_JUDGED = 30
"""Judged documents in each of them."""
_MOST_JUDGMENTS = 500_000
"""Judgments of all copies together."""
_DEEPEST = 100
"""Cutoffs beyond this do not make the rankings longer."""


def find_equal_measures(evaluation: Evaluation, qrels: Qrels) -> list[list[str]]:
    """Find groups of measures that have the same value for every query of every run.

    Measures with the same values and cutoff are also computed for random rankings of the judged
    documents. So measures that are equal by accident, for example because nothing was found, are
    not in a group. Measures that see document ids are not either, as random documents are no terms.

    Args:
        evaluation: The scored runs.
        qrels: Their judgments.

    Returns:
        Names as requested, in the order of the evaluation; each group has at least two.
    """
    cutoffs = {
        one.requested_name: (one.cutoff, one.aggregate)
        for one in evaluation.measures
        if not one.provider.sees_documents
    }
    names = [name for name in evaluation.measure_names if name in cutoffs]
    columns = {
        name: [evaluation.values(run, name) for run in evaluation.run_names] for name in names
    }
    candidates = _group(names, lambda name: (cutoffs[name], *map(_key, columns[name])))
    if not candidates:
        return []
    wanted = {name for group in candidates for name in group}
    measures = [one for one in evaluation.measures if one.requested_name in wanted]
    deepest = min(max(one.cutoff or 0 for one in measures), _DEEPEST)
    copies, ranking = _draw_rankings(qrels, evaluation.query_ids[evaluation.run_names[0]], deepest)
    drawn = score_runs(
        copies, {"": ranking}, measures, Averaging(no_relevant=evaluation.no_relevant)
    )
    return [
        equal
        for group in candidates
        for equal in _group(group, lambda name: _key(drawn.values("", name)))
    ]


def _group(names: list[str], key: Callable[[str], Hashable]) -> list[list[str]]:
    groups: dict[Hashable, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _key(values: FloatArray) -> bytes:
    return (np.round(values, _DECIMALS) + 0.0).tobytes()


def _draw_rankings(qrels: Qrels, query_ids: list[str], deepest: int) -> tuple[Qrels, Run]:
    """Return random rankings of judged and other documents, about half of them below a cutoff.

    Each ranking belongs to a copy of a query with its judgments, so that one run has all of them.
    """
    generator = np.random.default_rng(0)
    frame = qrels.frame.filter(pl.col("query_id").is_in(query_ids[:_MOST_QUERIES]))
    every = frame["doc_id"].unique(maintain_order=True).to_numpy()
    judged = {
        query_id: table["doc_id"].to_numpy()
        for (query_id,), table in frame.group_by("query_id", maintain_order=True)
    }
    copies = range(max(1, min(_RANKINGS // len(judged), _MOST_JUDGMENTS // frame.height)))
    rows: dict[str, list[object]] = {"query_id": [], "doc_id": [], "score": []}
    for copy in copies:
        for query_id, documents in judged.items():
            some = generator.permutation(documents)[:_MOST_JUDGED]
            others = generator.choice(every, size=min(len(some), len(every)), replace=False)
            fillers = [f"unjudged {place}" for place in range(len(some), 2 * deepest)]
            ranked = generator.permutation(np.unique(np.concatenate([some, others, fillers])))
            rows["query_id"] += [f"{copy} {query_id}"] * len(ranked)
            rows["doc_id"] += ranked.tolist()
            rows["score"] += range(len(ranked), 0, -1)
    tables = [
        frame.with_columns(query_id=pl.format("{} {}", pl.lit(copy), "query_id")) for copy in copies
    ]
    return Qrels(pl.concat(tables)), Run(pl.DataFrame(rows))
