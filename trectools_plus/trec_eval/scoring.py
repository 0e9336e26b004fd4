"""A value for each query and measure, as trec_eval of the version asked for computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trectools_plus.errors import CheckFailedError
from trectools_plus.measures.base import FloatArray
from trectools_plus.trec_eval import own, version10
from trectools_plus.trec_eval.arguments import Arguments
from trectools_plus.trec_eval.delegated import score_by_pytrec_eval
from trectools_plus.trec_eval.judging import Judging, judge
from trectools_plus.trec_eval.parameters import Asked
from trectools_plus.trec_eval.reading import Input


@dataclass(frozen=True, eq=False)
class Scores:
    """What is to be printed.

    Attributes:
        asked: The measures, in trec_eval's order.
        query_ids: The queries that were evaluated, in byte order.
        values: By measure name: shape (queries, lines). Texts have none.
        strings: relstring's text of each query; empty if not asked for.
        run_id: The last column of the run's last row.
        n_qrels: Queries in the qrels.
        n_relevant: Documents of the qrels with a grade above 0, whatever the level.
    """

    asked: Sequence[Asked]
    query_ids: Sequence[str]
    values: dict[str, FloatArray]
    strings: Sequence[str]
    run_id: str
    n_qrels: int
    n_relevant: int


def score(data: Input, arguments: Arguments) -> Scores:
    """Score a run.

    Args:
        data: What was read.
        arguments: What was asked for.

    Raises:
        CheckFailedError: If there is no query with both results and judgments, at which
            trec_eval stops too.
    """
    judging = judge(data, arguments)
    if not len(judging.evaluated):
        raise CheckFailedError(
            "no queries with both results and relevance info",
            where=None if arguments.only_query is None else f"-D …{arguments.only_query}",
            remedy="check that the query ids of both files are the same",
        )
    values, strings = _score(judging, arguments)
    if arguments.version == 10:
        _clear_missing(values, strings, judging, arguments.asked)
    return Scores(
        arguments.asked,
        [judging.query_ids[position] for position in judging.evaluated],
        values,
        strings,
        data.run_id,
        len(judging.query_ids),
        int((data.qrels["relevance"] > 0).sum()),
    )


def _score(judging: Judging, arguments: Arguments) -> tuple[dict[str, FloatArray], list[str]]:
    values: dict[str, FloatArray] = {}
    strings: list[str] = []
    delegated = []
    chosen = judging.evaluated
    for asked in arguments.asked:
        name = asked.measure.name
        if name == "relstring":
            texts = own.relevance_strings(asked, judging.seen)
            strings = [texts[position] for position in chosen]
        elif name == "utility" and arguments.collection_size:
            weighed = own.utility(asked, judging.seen, arguments.level, arguments.collection_size)
            values[name] = weighed[chosen, None]
        elif arguments.version == 10 and name in version10.SCORERS:
            scorer = version10.SCORERS[name]
            values[name] = scorer(asked, judging.seen, arguments.level)[chosen]
        elif name != "runid":
            delegated.append(asked)
    values.update(score_by_pytrec_eval(delegated, judging, arguments.level, arguments.judged_only))
    return values, strings


def _clear_missing(
    values: dict[str, FloatArray],
    strings: list[str],
    judging: Judging,
    measures: Sequence[Asked],
) -> None:
    """Take back what the stand-in document of version 10 brought a query without results.

    Version 10 goes by the printed name, so ``utility`` with parameters keeps its value.
    """
    missing = np.searchsorted(judging.evaluated, judging.missing)
    for asked in measures:
        name = asked.measure.name
        if name == "unj" or asked.names in (("num_ret",), ("utility",), ("rbp_resid",)):
            values[name][missing] = 0.0
        elif asked.names == ("relstring",):
            for position in missing:
                strings[position] = ""
