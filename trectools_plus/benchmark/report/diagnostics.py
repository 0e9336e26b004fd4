"""Limits on the trust in a mode's figures: gaps, shallow rankings, unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport, Diagnostics, FailingQuery
from trectools_plus.benchmark.report.parts import none_if_nan
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.modes import ModeRun
from trectools_plus.formats.tables import Run
from trectools_plus.measures.evaluation import Averaging, Evaluation, NoRelevant, score_runs
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.parser import parse_measures
from trectools_plus.text import plural

JUDGED = "Judged@10"


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
    required = _required_depth(dataset, evaluation)
    results = {}
    for name, mode in modes.items():
        missing, shallow = _find_gaps(mode.run, judged.query_ids[name], required)
        total = len(judged.query_ids[name])
        gaps = _explain_gaps(config, total, missing, shallow, required)
        if mode.cut_short:
            gaps.append(
                f"fewer than {config.depth} documents for "
                f"{plural(len(mode.cut_short), 'query', 'queries')} "
                f"({_first_ids(mode.cut_short)}), although the search found more"
            )
        share = None if mode.status == "empty" else none_if_nan(judged.mean(name, JUDGED))
        results[name] = Diagnostics(
            findings=mode.findings,
            queries_without_relevant=evaluation.queries_without_relevant,
            missing_queries=missing,
            judged={JUDGED: share},
            shallow_queries=shallow,
            cut_short=mode.cut_short or None,
            status="incomplete" if gaps else "complete",
            notes=[*gaps, *_list_remarks(config, dataset, mode, total, shallow, required)],
        )
    return results


def find_failing(
    dataset: Dataset, runs: Mapping[str, Run], evaluation: Evaluation
) -> list[FailingQuery]:
    """Find queries for which every mode scores 0 on the first measure, in the order of the qrels.

    Queries without a relevant document are not listed, because every mode scores 0 there. Empty if
    lower is better for the first measure.
    """
    measure = evaluation.measures[0]
    if not measure.higher_is_better:
        return []
    values = {name: evaluation.values(name, measure.name) for name in runs}
    query_ids = evaluation.query_ids[next(iter(runs))]
    return _list_failing(
        dataset, runs, (measure.requested_name, measure.relevance_level), query_ids, values
    )


def find_failing_of_mode(
    report: BenchmarkReport, mode: str, per_query: pl.DataFrame, dataset: Dataset, run: Run
) -> list[FailingQuery]:
    """Find queries for which one mode scores 0 on the first measure, in the order of the qrels.

    Args:
        report: The report.
        mode: One of its modes.
        per_query: Columns ``run, query_id, measure, value``.
        dataset: Judgments, and the texts of the queries where they are known.
        run: The mode's run.
    """
    name = report.measure_names[0]
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
    without_relevant = {*dataset.judged.without_relevant}
    can_succeed = np.array([query_id not in without_relevant for query_id in query_ids], bool)
    failing = np.flatnonzero((table == 0).all(axis=1) & can_succeed)
    measure_name, level = measure
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


def _required_depth(dataset: Dataset, evaluation: Evaluation) -> int:
    """Return the required number of results: the deepest cutoff, or the number of documents."""
    deepest = max((measure.cutoff or 0 for measure in evaluation.measures), default=0)
    return deepest if dataset.corpus is None else min(deepest, len(dataset.corpus))


def _find_gaps(run: Run, query_ids: Sequence[str], required: int) -> tuple[list[str], list[str]]:
    """Find queries without results, and queries with fewer than ``required`` results."""
    blocks = run.rows.blocks
    sizes = dict(zip(blocks.query_ids, blocks.sizes.tolist(), strict=True))
    missing = [query_id for query_id in query_ids if query_id not in sizes]
    return missing, [query for query in query_ids if 0 < sizes.get(query, 0) < required]


def _explain_gaps(
    config: BenchmarkConfig, queries: int, missing: list[str], shallow: list[str], required: int
) -> list[str]:
    """List the reasons why a mode is incomplete; empty if it is complete."""
    notes = []
    of_all = f"of {plural(queries, 'query', 'queries')}"
    if len(missing) == queries:
        notes.append(f"no results for any of {queries} queries")
    elif missing:
        notes.append(f"no results for {len(missing)} {of_all} ({_first_ids(missing)})")
    if config.runs is not None and shallow:
        notes.append(
            f"fewer than {required} results, the deepest rank that a measure looks at, for "
            f"{len(shallow)} {of_all} ({_first_ids(shallow)})"
        )
    elif config.runs is None and config.depth < required:
        notes.append(f"fetched to depth {config.depth}, but a measure has the cutoff {required}")
    return notes


def _list_remarks(
    config: BenchmarkConfig,
    dataset: Dataset,
    mode: ModeRun,
    queries: int,
    shallow: list[str],
    required: int,
) -> list[str]:
    """List remarks on a fetched mode, complete or not."""
    if config.runs is not None:
        return []
    remarks = []
    cut_short = set(mode.cut_short)
    shallow = [query_id for query_id in shallow if query_id not in cut_short]
    if shallow and config.depth >= required:
        have = "has" if len(shallow) == 1 else "have"
        remarks.append(
            f"{len(shallow)} of {plural(queries, 'query', 'queries')} {have} fewer results than "
            f"the deepest cutoff ({required}): no more were found"
        )
    self_matches = [] if config.exclude_self else _find_self_matches(dataset, mode.run)
    if self_matches:
        remarks.append(
            f"{plural(len(self_matches), 'query', 'queries')} found the document with the same id "
            f"({_first_ids(self_matches)}); if queries are documents, use --exclude-self"
        )
    return remarks


def _find_self_matches(dataset: Dataset, run: Run) -> list[str]:
    """Find queries whose results contain the query itself.

    Numeric ids can be equal by accident (query 1 and document 1 of Cranfield), so there the
    document must also contain the query's text.
    """
    if dataset.corpus is None or dataset.topics is None:
        return []
    same = run.frame.filter(pl.col("query_id") == pl.col("doc_id"))["query_id"]
    if not len(same):
        return []
    texts = dataset.topics.to_dict()
    rows = dataset.corpus.find(same).select("doc_id", "title", "text").iter_rows()
    documents = {doc_id: _normalise(f"{title} {text}") for doc_id, title, text in rows}
    return [
        one
        for one in same
        if not one.isdigit() or _normalise(texts.get(one, "")) in documents.get(one, "")
    ]


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


def _first_ids(query_ids: list[str], most: int = 3) -> str:
    return ", ".join(query_ids[:most]) + (", …" if len(query_ids) > most else "")
