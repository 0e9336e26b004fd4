"""Limits on the trust in a mode's figures, patterns in the figures, and notes on the search.

In patterns, "low" is below the measure's baseline target, as in the table of targets. A measure
without a target is not low.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from trectools_plus.benchmark.report import (
    Diagnosis,
    Diagnostics,
    FailingQuery,
    MeasureDefinition,
    ModeResult,
)
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.modes import ModeRun
from trectools_plus.choices import RELEVANT
from trectools_plus.measures.evaluation import JUDGED, Averaging, Evaluation, score_runs
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.scoring import find_judged
from trectools_plus.retrieval.backends.modes import (
    language_note,
    uses_builtin_embeddings,
)
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.text import listed, plural


def find_diagnostics(
    config: BenchmarkConfig, dataset: Dataset, modes: Mapping[str, ModeRun], evaluation: Evaluation
) -> dict[str, Diagnostics]:
    """Return the diagnostics of each mode.

    A query is *shallow* if it has results, but fewer than the deepest cutoff of the measures and
    fewer than the number of documents. A mode is ``incomplete`` if a query of the means has no
    results, if it was fetched to a smaller depth than the deepest cutoff, if its backend returned
    fewer results than it found, or if it is a given run file with shallow queries. A fetched mode
    that found fewer documents (for example a lexical one with few matches) is complete, because
    there is nothing more to fetch.
    """
    runs = {name: mode.run for name, mode in modes.items()}
    averaging = Averaging(no_relevant=config.no_relevant)
    judged = score_runs(dataset.judged, runs, parse_measures([JUDGED]), averaging)
    deepest = max((measure.cutoff or 0 for measure in evaluation.measures), default=0)
    results = {}
    for name, mode in modes.items():
        required, sizes = deepest, find_judged((), dataset.judged, mode.run).retrieved.tolist()
        if not mode.given and dataset.corpus is not None:
            required = min(deepest, len(dataset.corpus))
        size_of = dict(zip(dataset.judged.query_ids, sizes, strict=True))
        counts = {query: size_of[query] for query in judged.query_ids[name]}
        shallow = [query for query, count in counts.items() if 0 < count < required]
        missing = [query for query, count in counts.items() if not count]
        gaps = {
            f"no results for {_of(missing, counts)}": bool(missing),
            f"fewer than {required} results, the deepest cutoff, for {_of(shallow, counts)}": (
                mode.given and bool(shallow)
            ),
            f"fetched to depth {config.depth}, but a measure has the cutoff {required}": (
                not mode.given and config.depth < required
            ),
            f"fewer than {config.depth} documents for {_of(mode.cut_short, counts)}, although the "
            "search found more": bool(mode.cut_short),
        }
        reasons = [reason for reason, applies in gaps.items() if applies]
        share = None if mode.info.path is None else none_if_nan(judged.mean(name, JUDGED))
        results[name] = Diagnostics(
            findings=mode.findings,
            queries_without_relevant=evaluation.queries_without_relevant,
            missing_queries=missing,
            judged={JUDGED: share},
            shallow_queries=shallow,
            cut_short=mode.cut_short or None,
            status="incomplete" if reasons else "complete",
            notes=reasons,
        )
    return results


def _of(query_ids: Sequence[str], queries: Collection[str]) -> str:
    of_all = f"{len(query_ids)} of {plural(len(queries), 'query', 'queries')}"
    return of_all if len(query_ids) == len(queries) else f"{of_all} ({listed(query_ids, 3)})"


def find_failing(
    dataset: Dataset,
    modes: Mapping[str, ModeRun],
    per_query: pl.DataFrame,
    measure: str,
    definition: MeasureDefinition,
) -> list[FailingQuery]:
    """Find queries for which every run scores 0 on a measure, in the order of the qrels.

    Queries without a relevant document are not listed, because every run scores 0 there. Empty if
    lower is better for the measure.

    Args:
        dataset: Judgments, and the texts of the queries where they are known.
        modes: The runs, by name.
        per_query: Columns ``run, query_id, measure, value``.
        measure: The measure, as requested.
        definition: Its definition.
    """
    if not definition.direction_of(measure):
        return []
    level = definition.relevance_level
    is_zero = (pl.col("value") == 0).fill_null(value=False).all()
    values = per_query.filter(pl.col("run").is_in([*modes]), measure=measure)
    by_query = values.group_by("query_id", maintain_order=True).agg(is_zero)
    highest = dict(zip(dataset.judged.query_ids, dataset.judged.highest, strict=True))
    runs = {name: mode.run for name, mode in modes.items()}
    first = score_runs(dataset.judged, runs, parse_measures([f"MinRank(rel={level})"]), Averaging())
    ranks = {
        run: dict(zip(dataset.judged.query_ids, table[:, 0].tolist(), strict=True))
        for run, table in first.tables.items()
    }
    texts = {} if dataset.topics is None else dataset.topics.to_dict()
    return [
        FailingQuery(
            query_id=query_id,
            text=texts.get(query_id),
            measure=measure,
            values=dict.fromkeys(runs, 0.0),
            first_relevant_rank={
                run: None if math.isnan(of_run[query_id]) else int(of_run[query_id])
                for run, of_run in ranks.items()
            },
        )
        for query_id, fails in by_query.iter_rows()
        if fails and highest[query_id] >= max(level, RELEVANT)
    ]


_LOW_JUDGED = 0.8


_PATTERNS = (
    (
        "low-recall",
        "R",
        "relevant documents are missing from the pool, and no re-ranking brings them back: look at "
        "tokenisation, vocabulary and the indexed fields, or widen the pool (another mode beside "
        "this one, query expansion, synonyms)",
    ),
    (
        "low-reciprocal-rank",
        "RR",
        "many queries have no relevant document near the top: read the failing queries below; if "
        "documents are found but not at the top, re-rank the first results",
    ),
    (
        "low-ndcg",
        "nDCG",
        "relevant documents are too few or too far down: raise recall first, then look at the "
        "order (a re-ranker, other fusion weights)",
    ),
)
"""Name, measure and suggestion, for a measure whose mean is below its baseline target.

The measure is named without its cutoff; of several cutoffs, the deepest counts.
"""


def diagnose(modes: Mapping[str, ModeResult], *, pooled: bool) -> list[Diagnosis]:
    """Find the patterns, mode by mode and then of all modes.

    Args:
        modes: Results by mode, in the order of the report.
        pooled: True if the qrels contain documents that are judged as not relevant. If they
            contain only relevant ones, unjudged documents are not a problem.
    """
    patterns: list[tuple[str | None, str, str, str]] = []
    for mode, result in modes.items():
        if result.status == "empty":
            observed = "nothing was found for any query"
            suggests = (
                "no word of the queries is a term of the index: look at the language of both, at "
                "stemming and stop words, and at what of the documents is indexed"
            )
            patterns.append((mode, "nothing-found", observed, suggests))
            continue
        for sign, label, suggests in _PATTERNS:
            named = [
                (one.definition.cutoff or 0, name, one.mean, one.target.status)
                for name, one in result.measures.items()
                if (one.definition.name or name).partition("@")[0] == label and one.target
            ]
            _, name, mean, status = max(named, default=(0, "", None, None))
            if status == "below_baseline":
                patterns.append((mode, sign, f"low {name}: {mean:.4f}", suggests))
    shares = [(one.label, one.diagnostics.judged.get(JUDGED)) for one in modes.values()]
    low = [
        f"{label} {share:.0%}"
        for label, share in shares
        if share is not None and share < _LOW_JUDGED
    ]
    if low and pooled:
        observed = f"many of the first results have no judgment ({JUDGED}: {', '.join(low)})"
        suggests = (
            "unjudged documents count as not relevant, so the figures are lower bounds, and a run "
            "that shaped the pool has an advantage: judge the top results of the others"
        )
        patterns.append((None, "few-judged", observed, suggests))
    return [
        Diagnosis(mode=mode, sign=sign, observed=observed, suggests=suggests)
        for mode, sign, observed, suggests in patterns
    ]


def retrieval_notes(config: BenchmarkConfig, dataset: Dataset) -> list[str]:
    """Return a sentence on languages that the modes do not support, if there are such.

    The list is empty for given runs, and for backends with their own documents and modes.
    """
    if config.runs is not None or not config.is_embedded or dataset.topics is None:
        return []
    used = [
        config.label(mode)
        for mode in config.mode_keys
        if uses_builtin_embeddings(mode, config.retrieval)
    ]
    note = language_note(dataset.topics, used)
    better = (
        "The mode ngram or a multilingual model may give better results (--embedding-model DIR, "
        "extra neural)."
    )
    return [f"{note} {better}"] if note else []
