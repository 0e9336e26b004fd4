"""Make the report of a sweep again, from the files beside it.

The values per query of the winner are computed from its run. Those of the other variants, and those
on the held-out part, are taken from their files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import ValidationError

from trectools_plus.benchmark.report.folder import stored_measure
from trectools_plus.benchmark.run.dataset import Dataset, hash_qrels, name_dataset
from trectools_plus.benchmark.run.output_folder import (
    HELD_OUT_FILE,
    PER_QUERY_FILE,
    QRELS_FILE,
    SWEEP_FILE,
    WINNER_FILE,
    OutputFolder,
)
from trectools_plus.benchmark.sweep.config import SweepConfig
from trectools_plus.benchmark.sweep.report import SweepReport
from trectools_plus.benchmark.sweep.runner import Selection, SweepResult, choose_measures
from trectools_plus.benchmark.sweep.variants import Variants, list_variants
from trectools_plus.errors import InputError, TrectoolsPlusError
from trectools_plus.formats.files.closed import ClosedFolder, read_document
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.measures.parser import of_a_report
from trectools_plus.measures.providers.stored import StoredMeasure, is_of_user
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.statistics.arrays import MAX_RESAMPLES
from trectools_plus.validation.loading import load_qrels, load_run

_NEAR = 1e-9
_SCHEMA = {"run": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64}


@dataclass(frozen=True, slots=True, eq=False)
class RebuiltSweep:
    """The result of a sweep, made again.

    Attributes:
        result: The result.
        problems: What its files contradict, a line each.
        unproven: Figures that were taken from the files, in words.
    """

    result: SweepResult
    problems: list[str]
    unproven: list[str]


def load_sweep_report(path: str | Path) -> SweepReport:
    """Read a report.

    Raises:
        InputError: If the file cannot be read, or is not the report of a sweep.
    """
    try:
        return SweepReport.model_validate_json(read_document(path))
    except ValidationError as error:
        raise _refuse(path, f"not the report of a sweep: {error.errors()[0]['msg']}") from error


def rebuild_sweep(path: Path, report: SweepReport, output: OutputFolder) -> RebuiltSweep:
    """Make the result of a sweep again; nothing that the report names is run or requested.

    Args:
        path: The report's file.
        report: The report.
        output: The folder of the new result.

    Raises:
        InputError: If a file is missing or cannot be read, or the settings are invalid.
    """
    names = [*dict.fromkeys(name for one in report.variants for name in one.measures)]
    with of_a_report(_stored_measures(report)):
        try:
            config = _read_config(report)
            variants = list_variants(config, None)
            measures = config.bind_measures(names)
            files = ClosedFolder(path.parent)
            evaluation = _read_values(files, config, variants, measures, report.judged)
            return _rebuild(files, report, (config, variants, evaluation), output)
        except (ValidationError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise _refuse(path, f"the report of the sweep cannot be used: {error}") from error


def _rebuild(
    files: ClosedFolder,
    report: SweepReport,
    inputs: tuple[SweepConfig, Variants, Evaluation],
    output: OutputFolder,
) -> RebuiltSweep:
    config, variants, evaluation = inputs
    selection = Selection(config, variants, evaluation)
    best = selection.best.name
    qrels = load_qrels(str(files.file(QRELS_FILE)))
    run = Run.from_dict({}, best)
    if files.find(WINNER_FILE) is not None:
        run = Run(load_run(str(files.file(WINNER_FILE))).frame, best)
    problems = [*_check_measures(config, evaluation), *_check_winner(run, qrels, evaluation)]
    held_out = _read_held_out(files, config, best, evaluation.measures[0])
    if held_out is None and config.held_out is not None:
        problems.append(f"{HELD_OUT_FILE}: the file is missing")
    known = {"qrels": hash_qrels(qrels)}
    described = Dataset(name_dataset(config), None, None, qrels).describe(
        selection.n_queries,
        {kind: known.get(kind, digest) for kind, digest in report.dataset.contents.items()},
    )
    claimed = {name: getattr(report.dataset, name)
               for name in ("version", "documents", "files", "findings")}  # fmt: skip
    conditions = {
        "dataset": described.model_copy(update=claimed),
        "packages": report.packages,
        "command": report.command,
        "platform": report.platform,
        "other_reports": report.other_reports,
    }
    again = selection.describe(qrels, held_out, conditions)
    values = None if held_out is None else held_out.per_query()
    result = SweepResult(again, evaluation.per_query(), run, output, qrels, values)
    return RebuiltSweep(result, problems, list(_list_unproven(best, evaluation, values)))


def _list_unproven(
    best: str, evaluation: Evaluation, held_out: pl.DataFrame | None
) -> Iterator[str]:
    others = [name for name in evaluation.run_names if name != best]
    yield f"the values per query of {len(others)} other runs, and their shares of judged documents"
    stored = [one.requested_name for one in evaluation.measures if isinstance(one, StoredMeasure)]
    if stored:
        yield f"all values per query of {', '.join(stored)}"
    if held_out is not None:
        yield f"{held_out.height:,} values per query on the held-out part"


def _stored_measures(report: SweepReport) -> dict[str, Measure]:
    """Return the measures that are not computed again, by each of their names."""
    config = report.config
    names = [report.measure, *(name for one in report.variants for name in one.measures)]
    for key in ("measures", "headline_measures"):
        names += _texts(config.get(key))
    names += _texts([config.get("primary_measure")])
    stored: dict[str, Measure] = {}
    for name in dict.fromkeys(names):
        measure = stored_measure(name, name != report.measure or report.higher_is_better)
        if measure is not None:
            stored |= dict.fromkeys((name, measure.name, measure.requested_name), measure)
    return stored


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _read_config(report: SweepReport) -> SweepConfig:
    settings = dict(report.config)
    retrieval = settings.get("retrieval")
    if isinstance(retrieval, Mapping):
        defaults = RetrievalSettings().model_dump(mode="json")
        settings["retrieval"] = {
            name: value for name, value in retrieval.items() if value != defaults.get(name, value)
        }
    config = SweepConfig.model_validate(settings)
    if config.resamples > MAX_RESAMPLES:
        raise ValueError(f"more than {MAX_RESAMPLES:,} resamples")
    return config


def _read_values(
    files: ClosedFolder,
    config: SweepConfig,
    variants: Variants,
    measures: list[Measure],
    judged: Mapping[str, float],
) -> Evaluation:
    """Return the values of the file as an evaluation.

    Raises:
        InputError: If the file is missing, or does not have one value for each run, query and
            measure.
    """
    files.file(PER_QUERY_FILE)
    table = files.read_table(PER_QUERY_FILE)
    assert table is not None
    runs = [one.name for one in variants.list_scored(config)]
    return _as_evaluation(files.path / PER_QUERY_FILE, table, config, (runs, measures, judged))


def _as_evaluation(
    path: Path,
    table: pl.DataFrame,
    config: SweepConfig,
    content: tuple[Sequence[str], list[Measure], Mapping[str, float]],
) -> Evaluation:
    runs, measures, judged = content
    if table.schema != _SCHEMA or not table.height or not runs:
        raise _refuse(path, f"expected rows with the columns {', '.join(_SCHEMA)}")
    ids = table.filter(run=runs[0], measure=measures[0].requested_name)["query_id"].to_list()
    shape = (len(runs), len(ids), len(measures))
    if table.height != np.prod(shape):
        raise _refuse(
            path, f"expected {np.prod(shape):,} rows, one for each run, query and measure"
        )
    values = table["value"].fill_null(np.nan).to_numpy().reshape(shape)
    evaluation = Evaluation(
        measures=measures,
        averaging=config.averaging,
        query_ids=dict.fromkeys(runs, ids),
        counts={},
        queries_without_relevant=[],
        tables=dict(zip(runs, values, strict=True)),
        judged=judged,
    )
    if not evaluation.per_query().equals(table) or not np.isfinite(values[:, :, 0]).all():
        raise _refuse(path, "the rows are not those of this sweep, in their order")
    return evaluation


def _read_held_out(
    files: ClosedFolder, config: SweepConfig, best: str, primary: Measure
) -> Evaluation | None:
    table = files.read_table(HELD_OUT_FILE)
    if table is None:
        return None
    path = files.path / HELD_OUT_FILE
    return _as_evaluation(path, table, config, ([best], [primary], {}))


def _check_measures(config: SweepConfig, evaluation: Evaluation) -> Iterator[str]:
    """Compare the measures with those that the settings choose, also if these are the defaults.

    The configuration of a report has the default measures too.
    """
    defaults: list[dict[str, Any]] = [{}, {"headline_measures": ()}]
    defaults += [{**one, "measures": ()} for one in defaults]
    settings = [config.model_copy(update=changes) for changes in defaults]
    if _name(evaluation.measures) not in [_name(choose_measures(one)) for one in settings]:
        names = ", ".join(evaluation.measure_names)
        yield f"{SWEEP_FILE}: the settings do not choose the measures {names}"


def _name(measures: Sequence[Measure]) -> list[str]:
    """Return the names, without those of classes, which the report calls by another name."""
    return ["" if is_of_user(one.definition) else one.requested_name for one in measures]


def _check_winner(run: Run, qrels: Qrels, evaluation: Evaluation) -> Iterator[str]:
    """Compare the values of the winner with those that its run and the judgments give."""
    computed = [one for one in evaluation.measures if not isinstance(one, StoredMeasure)]
    judged = Dataset("", None, None, qrels).judged
    try:
        again = score_runs(judged, {run.name: run}, computed, evaluation.averaging)
    except TrectoolsPlusError as error:
        yield f"{WINNER_FILE}: cannot be scored: {error}"
        return
    ids = evaluation.query_ids[run.name]
    if again.query_ids[run.name] != ids:
        yield f"{PER_QUERY_FILE}: the queries are not those of {QRELS_FILE}"
        return
    for measure in computed:
        name = measure.requested_name
        pairs = zip(
            ids, evaluation.values(run.name, name), again.values(run.name, name), strict=True
        )
        for query_id, stored, value in pairs:
            if not np.isclose(stored, value, rtol=_NEAR, atol=_NEAR, equal_nan=True):
                yield (
                    f"{PER_QUERY_FILE}: {run.name} {query_id} {name}: reported {stored}, "
                    f"{WINNER_FILE} gives {value}"
                )
    share, known = again.judged.get(run.name), evaluation.judged.get(run.name)
    if share != known and not (share and known and np.isclose(share, known, rtol=_NEAR)):
        yield f"{SWEEP_FILE}: judged.{run.name}: reported {known}, recomputed {share}"


def _refuse(path: str | Path, problem: str) -> InputError:
    return InputError(
        problem,
        where=str(path),
        remedy="use the folder of a sweep as the command wrote it",
    )
