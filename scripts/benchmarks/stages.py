"""Time of the stages of `eval`, one after another in one thread."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from benchmarks.inputs import Inputs
from benchmarks.rows import DEFAULTS


def stages(inputs: Inputs) -> str:
    """Return a line per stage: seconds over all chunks of the run."""
    from trectools_plus.formats.columns.columns import Columns, scan_columns
    from trectools_plus.formats.files.source import Source
    from trectools_plus.formats.query_chunks import iter_query_chunks
    from trectools_plus.formats.run import N_FIELDS
    from trectools_plus.measures import parse_measures
    from trectools_plus.measures.judged import Judgments
    from trectools_plus.measures.scoring.chunks import JudgedChunk, judge_chunks, score_chunks
    from trectools_plus.measures.scoring.ranking import deepest_rank_needed
    from trectools_plus.validation import load_qrels
    from trectools_plus.validation.engine import check_view
    from trectools_plus.validation.views.runs import RunView

    spent: Counter[str] = Counter()

    def timed(stage: str, call: Callable[..., Any], *given: object) -> Any:
        begin = time.perf_counter()
        result = call(*given)
        spent[stage] += time.perf_counter() - begin
        return result

    def lex(data: bytes) -> Columns:
        return scan_columns(Source(path, data), N_FIELDS)

    def check(view: RunView) -> object:
        return check_view(view, blocking_only=True)

    def judge(view: RunView) -> list[JudgedChunk]:
        chunks = [lambda: b""]
        return list(judge_chunks(path, chunks, ready, lambda _path, _data: view, depth=depth))

    path = str(inputs.clean)
    measures = parse_measures(DEFAULTS)
    depth = deepest_rank_needed(measures)
    ready: Future[Judgments] = Future()
    ready.set_result(timed("qrels: read, check", lambda: Judgments.of(load_qrels(inputs.qrels))))
    judged: list[JudgedChunk] = []
    for chunk in iter_query_chunks(path):
        data = timed("read", chunk)
        columns = timed("lex: is every line a row?", lex, data)
        view = timed("parse: ids, ranks, scores", RunView.of_file, columns)
        timed("check: rules that forbid scoring", check, view)
        judged += timed("rank, and join with the qrels", judge, view)
    timed("delegate to pytrec_eval", score_chunks, path, judged, ready, measures)
    return "\n".join(f"{stage:36} {seconds:8.3f}" for stage, seconds in spent.items())
