"""Limits on the trust in a mode's figures, patterns in the figures, and notes on the search.

In patterns, "low" is below the measure's baseline target, "high" is at least its competitive
target, so they agree with the table of targets. A measure without a target is neither.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from trectools_plus.benchmark.report import (
    Diagnosis,
    Diagnostics,
    FailingQuery,
    MeasureDefinition,
    ModeResult,
    ModeStatus,
)
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.modes import ModeRun
from trectools_plus.formats.tables import Run
from trectools_plus.measures.evaluation import (
    JUDGED,
    Averaging,
    Evaluation,
    NoRelevant,
    score_runs,
)
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import parse_measures
from trectools_plus.measures.queries import RELEVANT
from trectools_plus.retrieval.backends.embedded.modes import (
    uses_builtin_embeddings,
)
from trectools_plus.retrieval.languages import language_note
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import Comparison
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
    there is nothing more to fetch; it gets a note.
    """
    runs = {name: mode.run for name, mode in modes.items()}
    judged = _score(dataset.judged, runs, JUDGED, config.no_relevant)
    deepest = max((measure.cutoff or 0 for measure in evaluation.measures), default=0)
    results = {}
    for name, mode in modes.items():
        required, sizes = deepest, mode.run.count_documents()
        if not mode.given and dataset.corpus is not None:
            required = min(deepest, len(dataset.corpus))
        counts = {query: sizes.get(query, 0) for query in judged.query_ids[name]}
        shallow = [query for query, count in counts.items() if 0 < count < required]
        missing = [query for query, count in counts.items() if not count]
        exhausted = [query for query in shallow if query not in mode.cut_short]
        deepest_cutoff = f"fewer than {required} results, the deepest cutoff, for"
        gaps = {
            f"no results for {_of(missing, counts)}": bool(missing),
            f"{deepest_cutoff} {_of(shallow, counts)}": mode.given and bool(shallow),
            f"fetched to depth {config.depth}, but a measure has the cutoff {required}": (
                not mode.given and config.depth < required
            ),
            f"fewer than {config.depth} documents for {_of(mode.cut_short, counts)}, although the "
            "search found more": bool(mode.cut_short),
        }
        reasons = [reason for reason, applies in gaps.items() if applies]
        status: ModeStatus = "incomplete" if reasons else "complete"
        if exhausted and not mode.given and config.depth >= required:
            reasons.append(f"{deepest_cutoff} {_of(exhausted, counts)}: no more were found")
        share = None if mode.status == "empty" else none_if_nan(judged.mean(name, JUDGED))
        results[name] = Diagnostics(
            findings=mode.findings,
            queries_without_relevant=evaluation.queries_without_relevant,
            missing_queries=missing,
            judged={JUDGED: share},
            shallow_queries=shallow,
            cut_short=mode.cut_short or None,
            status=status,
            notes=reasons,
        )
    return results


def _of(query_ids: Sequence[str], queries: Collection[str]) -> str:
    of_all = f"{len(query_ids)} of {plural(len(queries), 'query', 'queries')}"
    return of_all if len(query_ids) == len(queries) else f"{of_all} ({listed(query_ids, 3)})"


def find_failing(
    dataset: Dataset,
    runs: Mapping[str, Run],
    per_query: pl.DataFrame,
    measure: str,
    definition: MeasureDefinition,
) -> list[FailingQuery]:
    """Find queries for which every run scores 0 on a measure, in the order of the qrels.

    Queries without a relevant document are not listed, because every run scores 0 there. Empty if
    lower is better for the measure.

    Args:
        dataset: Judgments, and the texts of the queries where they are known.
        runs: The runs, by name.
        per_query: Columns ``run, query_id, measure, value``.
        measure: The measure, as requested.
        definition: Its definition.
    """
    if not definition.direction_of(measure):
        return []
    level = definition.relevance_level
    is_shown = (pl.col("measure") == measure) & pl.col("run").is_in([*runs])
    is_zero = (pl.col("value") == 0).fill_null(value=False).all()
    by_query = per_query.filter(is_shown).group_by("query_id", maintain_order=True).agg(is_zero)
    highest = dict(zip(dataset.judged.query_ids, dataset.judged.highest, strict=True))
    first = _score(dataset.judged, runs, "MinRank" if level == 1 else f"MinRank(rel={level})")
    ranks = {
        run: dict(zip(first.query_ids[run], first.tables[run][:, 0].tolist(), strict=True))
        for run in runs
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


def _score(
    judged: JudgedQueries,
    runs: Mapping[str, Run],
    measure: str,
    no_relevant: NoRelevant = "zero",
) -> Evaluation:
    """Score checked runs with one more measure, also the queries without results."""
    return score_runs(judged, runs, parse_measures([measure]), Averaging(no_relevant=no_relevant))


_LOW_JUDGED = 0.8
_FAMILIES = {
    "ndcg": ("nDCG",),
    "precision": ("P", "RR"),
    "first_hit": ("RR",),
    "recall": ("R",),
    "hit": ("HitRate", "Success"),
}
"""The measures of each pattern, named without parameters and cutoff.

If ``P@k`` is not among the measures, ``RR@k`` is used as precision.
"""


class _Pattern(NamedTuple):
    """A measure that is below its baseline target.

    Attributes:
        sign: Its name.
        low: The family of the measure.
        other: The family of another measure, if its target matters.
        least: The least level of this other measure: 1 reaches the baseline, 2 is competitive.
        observed: The observation, with the figures of both.
        suggests: The suggestion.
    """

    sign: str
    low: str
    other: str
    least: int
    observed: str
    suggests: str


_PATTERNS = (
    _Pattern(
        "high-precision-low-recall",
        "recall",
        "precision",
        2,
        "high precision ({other}) with low recall ({low})",
        "what is found is ranked well, but many relevant documents are never found: "
        "widen the pool (another mode beside this one, query expansion, synonyms, stemming)",
    ),
    _Pattern(
        "low-recall",
        "recall",
        "",
        0,
        "low recall ({low})",
        "relevant documents are missing from the pool, and no re-ranking brings "
        "them back: look at tokenisation, vocabulary mismatch and the indexed fields first",
    ),
    _Pattern(
        "low-reciprocal-rank",
        "first_hit",
        "hit",
        1,
        "low reciprocal rank ({low}) though {other} is not low",
        "a relevant document is among the first ten, only not at the top: re-rank "
        "the first results, or weigh titles and exact matches more",
    ),
    _Pattern(
        "low-reciprocal-rank",
        "first_hit",
        "",
        0,
        "low reciprocal rank ({low})",
        "many queries have no relevant document near the top: read the failing queries "
        "below before tuning anything",
    ),
    _Pattern(
        "low-ndcg",
        "ndcg",
        "recall",
        1,
        "low nDCG ({low}) though {other} is not low",
        "the relevant documents are found, but too far down or in the wrong order "
        "of grades: a re-ranker or other fusion weights have most to gain",
    ),
    _Pattern(
        "low-ndcg",
        "ndcg",
        "",
        0,
        "low nDCG ({low})",
        "relevant documents are too few or too far down: raise recall first, then "
        "look at the order",
    ),
)
"""Patterns of a mode; of those with the same low measure, the first counts."""


def diagnose(
    modes: Mapping[str, ModeResult],
    comparisons: Sequence[Comparison],
    measure: str,
    *,
    pooled: bool,
) -> list[Diagnosis]:
    """Find the patterns, mode by mode and then between modes.

    Args:
        modes: Results by mode, in the order of the report.
        comparisons: Paired differences between them.
        measure: The primary measure, on which fusions are compared with their components.
        pooled: True if the qrels contain documents that are judged as not relevant. If they
            contain only relevant ones, unjudged documents are not a problem.
    """
    diagnosis = [item for mode, result in modes.items() for item in _diagnose_mode(mode, result)]
    for pair in comparisons:
        if pair.measure != measure or "hybrid" not in (pair.baseline, pair.contrast):
            continue
        entry = pair if pair.contrast == "hybrid" else pair.turned()
        change = entry.difference or 0.0
        higher = modes["hybrid"].measures[measure].definition.direction_of(measure)
        if change and (change < 0) == higher:
            side, proof = "below" if higher else "above", ", though not significantly"
            diagnosis.append(
                Diagnosis(
                    mode="hybrid",
                    sign="fusion-loses",
                    observed=f"{measure} is {abs(change):.4f} {side} "
                    f"{modes[entry.baseline].label} alone{'' if entry.significant else proof}",
                    suggests="the weaker component pulls the fusion down: weigh it less, or fuse "
                    "fewer of its results",
                )
            )
    shares = {one.label: one.diagnostics.judged.get(JUDGED) for one in modes.values()}
    low = [
        f"{label} {share:.0%}"
        for label, share in shares.items()
        if share is not None and share < _LOW_JUDGED
    ]
    if low and pooled:
        diagnosis.append(
            Diagnosis(
                mode=None,
                sign="few-judged",
                observed=f"many of the first results have no judgment ({JUDGED}: {', '.join(low)})",
                suggests="unjudged documents count as not relevant, so the figures are lower "
                "bounds, and a run that shaped the pool has an advantage: judge the top results of "
                "the others",
            )
        )
    return diagnosis


def _diagnose_mode(mode: str, result: ModeResult) -> Iterator[Diagnosis]:
    if result.status == "empty":
        yield Diagnosis(
            mode=mode,
            sign="nothing-found",
            observed="nothing was found for any query",
            suggests="no word of the queries is a term of the index: look at the language of both, "
            "at stemming and stop words, and at what of the documents is indexed",
        )
        return
    chosen = {family: _choose_measure(result, family) for family in _FAMILIES}
    diagnosed = set()
    for pattern in _PATTERNS:
        low, other = chosen[pattern.low], chosen.get(pattern.other)
        is_low = low is not None and low.level == 0 and pattern.low not in diagnosed
        if is_low and (other.level if other else 0) >= pattern.least:
            diagnosed.add(pattern.low)
            observed = pattern.observed.format(low=low and low.text, other=other and other.text)
            yield Diagnosis(
                mode=mode, sign=pattern.sign, observed=observed, suggests=pattern.suggests
            )


class _Chosen(NamedTuple):
    """A measure with a target: its level (0 is below the baseline), and its figures as text."""

    level: int
    text: str


def _choose_measure(result: ModeResult, family: str) -> _Chosen | None:
    """Return the first measure of the family with a target; of recall, that of deepest cutoff."""
    for label in _FAMILIES[family]:
        named = [
            (name, figures, figures.target)
            for name, figures in result.measures.items()
            if (figures.definition.name or name).partition("@")[0] == label
            and figures.target is not None
        ]
        if family == "recall":
            named.sort(key=lambda item: -(item[1].definition.cutoff or 0))
        for name, figures, target in named[:1]:
            if target is None or figures.mean is None:
                return None
            level = _LEVELS.get(target.status or "", 1)
            reaches = level == 0 and target.status_high not in (None, "below_baseline")
            end = ", though the interval reaches the baseline" if reaches else ""
            return _Chosen(level, f"{name} {figures.mean:.4f}{end}")
    return None


_LEVELS = {"below_baseline": 0, "competitive": 2, "strong": 2}


_BETTER = (
    "The mode ngram or a multilingual model may give better results (--embedding-model DIR, extra "
    "neural)."
)


def retrieval_notes(config: BenchmarkConfig, dataset: Dataset) -> list[str]:
    """Return a sentence on languages that the modes do not support, if there are such.

    The list is empty for given runs, and for backends with their own documents and modes.
    """
    if config.runs is not None or not config.is_embedded:
        return []
    used = [
        config.label(mode)
        for mode in config.mode_keys
        if uses_builtin_embeddings(mode, config.retrieval)
    ]
    note = "" if dataset.topics is None else language_note(dataset.topics, used)
    return [f"{note} {_BETTER}"] if note else []
