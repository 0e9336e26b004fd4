"""An evaluation as a JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trectools_plus.statistics.arrays import none_if_nan

if TYPE_CHECKING:
    from trectools_plus.formats import NamedRun
    from trectools_plus.measures import Evaluation


def evaluation_document(
    qrels_path: str,
    runs: Mapping[str, NamedRun],
    evaluation: Evaluation,
    *,
    per_query: bool,
) -> dict[str, Any]:
    """Return the JSON document of ``eval``: means with their ``n``, counts, definitions, hashes.

    An undefined mean is ``null``. ``undefined`` is the number of queries without a value, which the
    mean omits.

    Args:
        qrels_path: The file of the judgments.
        runs: The scored runs, by name.
        evaluation: Their scores.
        per_query: Include the values of all queries.
    """
    counts = next(iter(evaluation.counts.values()))
    return {
        "qrels": {
            "path": qrels_path,
            "sha256": _sha256(qrels_path),
            "queries": counts.n_qrels,
            "queries_without_relevant": evaluation.queries_without_relevant,
        },
        **evaluation.averaging._asdict(),
        "notes": evaluation.notes,
        "runs": [
            {
                "name": name,
                "path": run.path,
                "sha256": _sha256(run.path),
                "counts": evaluation.counts[name].as_dict(),
                "measures": {
                    measure: _measured(evaluation, name, measure, per_query=per_query)
                    for measure in evaluation.measure_names
                },
            }
            for name, run in runs.items()
        ],
        "definitions": {
            measure: evaluation.definition(measure).as_dict()
            for measure in evaluation.measure_names
        },
    }


def _measured(evaluation: Evaluation, run: str, measure: str, *, per_query: bool) -> dict[str, Any]:
    n, mean = evaluation.n(run, measure), none_if_nan(evaluation.mean(run, measure))
    values: dict[str, Any] = {
        "mean": mean,
        "n": n,
        "undefined": evaluation.counts[run].n_scored - n,
    }
    if per_query:
        column = map(none_if_nan, evaluation.values(run, measure).tolist())
        values["per_query"] = dict(zip(evaluation.query_ids[run], column, strict=True))
    return values


def _sha256(path: str | None) -> str | None:
    """Return the hash of a file; ``None`` for standard input, which cannot be read again."""
    from trectools_plus.formats.files.opening import is_catalogue_name
    from trectools_plus.formats.hashing import sha256_file

    is_file = path is not None and path != "-" and not is_catalogue_name(path)
    return sha256_file(path) if path is not None and is_file else None
