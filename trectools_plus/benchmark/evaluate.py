"""``evaluate``: runs against judgments, or a function against a test set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import UsageError
from trectools_plus.formats.collection import Collection, is_named_collection
from trectools_plus.measures.evaluation import (
    DEFAULT_MEASURES,
    Evaluation,
    Missing,
    NoRelevant,
    check_averaging,
    check_qrels,
    score_runs,
)
from trectools_plus.measures.evaluation import evaluate as evaluate_runs
from trectools_plus.measures.parser import parse_measures
from trectools_plus.validation.inputs import as_qrels, is_path
from trectools_plus.validation.views.kinds import QrelsView

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.retrieval.source import Collapse
    from trectools_plus.testsets.model import TestSet

DEFAULT_DEPTH = 100
FUNCTION_MEASURES = ("Recall@5", "Recall@10", "Recall@20", "nDCG@10", "MRR", *DEFAULT_MEASURES)
"""The measures of a retrieval function by default; repeated ones count once."""


def evaluate(
    qrels: Any,
    runs: Any,
    measures: Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    missing: Missing = "zero",
    no_relevant: NoRelevant = "zero",
    depth: int | None = None,
    exclude_self: bool = False,
    collapse: Collapse | None = None,
    timeout: float | None = None,
    strict_input: bool = False,
    columns: Mapping[str, str] | None = None,
    exclude: Any = None,
) -> Evaluation:
    """Score runs against judgments, or a retrieval function against a test set.

    ``evaluate(qrels, runs)`` checks runs and qrels first. Every measure of a run is averaged over
    the same queries: by default those of the qrels.

    ``evaluate(retrieval_fn, test_set)`` calls the function with the text of each query and, if it
    takes one, the number of results: ``(query)``, ``(query, k)``, or another name (``top_k``,
    ``limit``, ``depth`` …). The function returns document ids, best first; pairs of id and score; a
    dictionary of ids to scores; dictionaries with ``doc_id`` and ``score``; or a pandas or Polars
    frame with these columns. The run is named after the function. A notebook shows a progress bar.

    Args:
        qrels: The judgments: a path, ``{query_id: {doc_id: relevance}}``, a pandas or Polars frame,
            or :class:`Qrels`; or the function, or an object with a method ``search``.
        runs: A run: a path, ``{query_id: {doc_id: score}}``, a frame, or :class:`Run`; several in
            a list, with different names; or a dictionary of names to runs; or the
            test set: a result of :func:`load_test_set`, or the name or file of a set;
            a :class:`Collection`, ``hpo``, ``sample``, ``irds:<id>``, or a folder in BEIR or TREC
            layout.
        measures: Names, or measures; see :func:`parse_measures`. The defaults are those of
            ``eval``; for a function, Recall@5, Recall@10, Recall@20, nDCG@10 and MRR come first.
        missing: ``zero`` counts a query without results as 0, as ``trec_eval -c``; ``drop`` leaves
            it out, as trec_eval without ``-c``.
        no_relevant: ``zero`` counts a query without a document of grade 1 or more as 0, as
            trec_eval; ``drop`` leaves it out.
        depth: Number of results per query that the function should return; 100 by default.
        exclude_self: Drop a document whose id equals the query's, before the cutoff at ``depth``.
        collapse: Settings for merging the function's chunks into documents.
        timeout: Seconds for one call of the function, which then runs in another thread; a call
            that takes longer has failed. There is no limit by default.
        strict_input: Refuse every error of runs and judgments, also those that change no figure.
        columns: The columns of tables, if their names are unusual, or their numbers:
            ``{"query": "q", "doc_id": "_id", "score": "_score"}``. They are those of the judgments
            too if ``relevance`` is among them.
        exclude: Documents to leave out of runs and judgments before ranks are counted:
            ``{query_id: [doc_id, …]}``, a file with lines ``query_id doc_id``, or qrels.

    Returns:
        Values per query, means, and the numbers of queries in them. A function that finds nothing
        for any query scores 0.

    Raises:
        CheckFailedError: If a rule that scoring depends on is broken, or the function failed for
            some queries.
        InputError: If the function failed for every query, or the test set cannot be read.
        UsageError: If a measure does not exist or does not apply to this input, two runs have the
            same name, or the first argument is neither judgments nor a function.
    """
    if not callable(qrels) and not callable(getattr(qrels, "search", None)):
        if depth is not None or exclude_self or collapse is not None or timeout is not None:
            raise UsageError(
                "depth, exclude_self, collapse and timeout are for retrieval functions",
                remedy="leave them out; they have no effect on runs",
            )
        # Frames of unknown type are refused here, with a hint at functions.
        return evaluate_runs(
            qrels if is_path(qrels) or columns is not None else as_qrels(qrels),
            runs,
            measures,
            missing=missing,
            no_relevant=no_relevant,
            strict_input=strict_input,
            columns=columns,
            exclude=exclude,
        )
    from trectools_plus.retrieval.backends.python import PythonBackend, name_of
    from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs
    from trectools_plus.retrieval.outcome import refuse_unscorable
    from trectools_plus.retrieval.source import FetchOptions

    averaging = check_averaging(missing, no_relevant)
    if measures is DEFAULT_MEASURES:
        measures = FUNCTION_MEASURES
    parsed = parse_measures(measures)  # an unknown measure fails before the slow search
    collection = _open_test_set(runs)
    options = FetchOptions(DEFAULT_DEPTH if depth is None else depth, exclude_self, collapse)
    name = re.split("[:.]", name_of(qrels))[-1]
    backend = PythonBackend({name: qrels}, timeout)
    fetched = fetch_runs(
        FetchRequest(collection.corpus, collection.topics, [name], options, backend=backend)
    )
    refuse_unscorable(fetched)
    run = fetched[name].run
    if run.frame.is_empty():  # evaluate_runs refuses it, as an empty file
        check_qrels(QrelsView.of_table(collection.qrels))
        return score_runs(collection.qrels, {run.name: run}, parsed, averaging)
    return evaluate_runs(
        collection.qrels,
        run,
        parsed,
        missing=missing,
        no_relevant=no_relevant,
        strict_input=strict_input,
        exclude=exclude,
    )


def _open_test_set(test_set: Collection | TestSet | str | Path) -> Collection:
    """Return the test set as a collection."""
    if isinstance(test_set, Collection):
        return test_set
    from trectools_plus.benchmark.run.dataset import collection_of, open_collection
    from trectools_plus.testsets.loading import find_test_set, load_test_set
    from trectools_plus.testsets.model import TestSet

    if isinstance(test_set, TestSet):
        return collection_of(test_set, test_set.metadata.dataset_id)
    if not isinstance(test_set, str | Path):
        raise UsageError(
            f"expected a test set but got {type(test_set).__name__}",
            remedy="pass load_test_set(…), its name or file, a Collection, hpo, sample, irds:<id>, "
            "or a folder",
        )
    is_named = is_named_collection(test_set)
    if is_named or Path(test_set).is_dir():
        return open_collection(str(test_set if is_named else Path(test_set).absolute()))
    return collection_of(load_test_set(test_set), str(find_test_set(test_set)))
