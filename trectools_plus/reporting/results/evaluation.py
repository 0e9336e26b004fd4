"""An evaluation as a JSON document and as a table for papers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from trectools_plus.statistics.comparison import ConfidenceInterval

if TYPE_CHECKING:
    from trectools_plus.formats import NamedRun
    from trectools_plus.measures import Evaluation

MeanIntervals = Mapping[str, Mapping[str, ConfidenceInterval | None]]
"""By run and measure."""


def evaluation_document(
    qrels_path: str,
    runs: Mapping[str, NamedRun],
    evaluation: Evaluation,
    *,
    per_query: bool,
    intervals: MeanIntervals | None = None,
) -> dict[str, Any]:
    """Return the JSON document of ``eval``: means with their ``n``, counts, definitions, hashes.

    An undefined mean is ``null``. ``undefined`` is the number of queries without a value, which the
    mean omits.

    Args:
        qrels_path: The file of the judgments.
        runs: The scored runs, by name.
        evaluation: Their scores.
        per_query: Include the values of all queries.
        intervals: The intervals of the means to include as ``ci``.
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
                    | ({"ci": _dump(intervals[name][measure])} if intervals else {})
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


def evaluation_intervals(evaluation: Evaluation) -> MeanIntervals:
    """Return the 95% intervals of the means, which are those of ``compare``."""
    from trectools_plus.benchmark.compare.compare import summarise
    from trectools_plus.benchmark.run.config import Comparing

    found = summarise(evaluation, Comparing())
    return {
        run: {name: figures.ci for name, figures in measures.items()}
        for run, measures in found.items()
    }


def evaluation_for_paper(
    evaluation: Evaluation, intervals: MeanIntervals, kind: Literal["markdown", "latex"]
) -> str:
    """Return the means as Markdown or LaTeX: measures by runs, or runs by measures for many runs.

    Args:
        evaluation: The scores.
        intervals: The intervals to show below the means; may be empty.
        kind: The format.
    """
    from trectools_plus.display import Cell, TextTable
    from trectools_plus.reporting.comparison import fold
    from trectools_plus.reporting.document import Paragraph, markdown
    from trectools_plus.reporting.latex import latex_document
    from trectools_plus.reporting.wording import show, show_ci

    def cell(run: str, measure: str) -> Cell:
        mean, n = _or_none(evaluation.mean(run, measure)), evaluation.n(run, measure)
        return Cell(
            show(mean),
            detail=show_ci(intervals[run][measure]) if intervals else "",
            count="" if n == evaluation.counts[run].n_scored else f"n = {n:,}",
            value=mean,
        )

    runs = evaluation.run_names
    rows = [[Cell(name), *(cell(run, name) for run in runs)] for name in evaluation.measure_names]
    table = fold(TextTable.of(["Measure", *runs], rows), len(runs), "Run")
    scored = sorted({evaluation.counts[run].n_scored for run in runs})
    note = f"Mean{' with its 95% interval' * bool(intervals)}."
    caption = f"Means over {' to '.join(f'{n:,}' for n in scored[:1] + scored[1:][-1:])} queries"
    if kind == "latex":
        return latex_document(table, caption, note)
    return markdown([table, Paragraph(f"{caption}. {note}")])


def _dump(interval: ConfidenceInterval | None) -> dict[str, Any] | None:
    return None if interval is None else interval.model_dump(mode="json")


def _measured(evaluation: Evaluation, run: str, measure: str, *, per_query: bool) -> dict[str, Any]:
    n = evaluation.n(run, measure)
    values: dict[str, Any] = {
        "mean": _or_none(evaluation.mean(run, measure)),
        "n": n,
        "undefined": evaluation.counts[run].n_scored - n,
    }
    if per_query:
        column = evaluation.values(run, measure).tolist()
        pairs = zip(evaluation.query_ids[run], column, strict=True)
        values["per_query"] = {query: _or_none(value) for query, value in pairs}
    return values


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _sha256(path: str | None) -> str | None:
    """Return the hash of a file; ``None`` for standard input, which cannot be read again."""
    from trectools_plus.formats.files.opening import is_catalogue_name
    from trectools_plus.formats.hashing import sha256_file

    unreadable = path in (None, "-") or is_catalogue_name(path)
    return None if unreadable or path is None else sha256_file(path)
