"""Make the report of a sweep again, from the files beside it.

The values per query of the winner are computed from its run. Those of the other variants are taken
from their file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import ValidationError

from trectools_plus.benchmark.report.folder import bind_unchanged
from trectools_plus.benchmark.run.dataset import Dataset, hash_qrels, name_dataset
from trectools_plus.benchmark.run.output_folder import (
    PER_QUERY_FILE,
    QRELS_FILE,
    SWEEP_FILE,
    WINNER_FILE,
    OutputFolder,
)
from trectools_plus.benchmark.sweep.runner import (
    Selection,
    SweepReport,
    SweepResult,
    choose_measures,
)
from trectools_plus.benchmark.sweep.variants import SweepConfig, list_variants
from trectools_plus.errors import InputError
from trectools_plus.formats.files.closed import ClosedFolder, read_document
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.evaluation import Evaluation, score_runs
from trectools_plus.plugins import without_user_code
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.statistics.arrays import MAX_RESAMPLES
from trectools_plus.validation.loading import load_qrels, load_run

_SCHEMA = {"run": pl.String, "query_id": pl.String, "measure": pl.String, "value": pl.Float64}
_OF_WRITER = ("version", "documents", "files", "findings")
"""Fields of the data that only the writer knows."""


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
    with without_user_code():
        try:
            return _rebuild(ClosedFolder(path.parent), report, output)
        except (ValidationError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise _refuse(path, f"the report of the sweep cannot be used: {error}") from error


def _rebuild(files: ClosedFolder, report: SweepReport, output: OutputFolder) -> RebuiltSweep:
    config = _read_config(report)
    variants = list_variants(config, None)
    runs = [one.name for one in variants.list_scored(config)]
    names = dict.fromkeys(name for one in report.variants for name in one.measures)
    hashes = [file.sha256 for file in report.dataset.files.values()]
    files_of_terms = (config.ontology, config.annotations)
    measures = bind_unchanged([*names], files_of_terms, hashes, files.path)
    stored = _read_values(files, config, runs, measures)
    best = Selection(config, variants, stored).best.name
    qrels = load_qrels(str(files.file(QRELS_FILE)))
    run = Run.from_dict({}, best)
    if files.find(WINNER_FILE) is not None:
        run = Run(load_run(str(files.file(WINNER_FILE))).frame, best)
    evaluation = _score_winner(stored, run, qrels, report.judged)
    selection = Selection(config, variants, evaluation)
    contents = {**report.dataset.contents, "qrels": hash_qrels(qrels)}
    described = Dataset(name_dataset(config), None, None, qrels).describe(
        selection.n_queries, contents
    )
    claimed = {name: getattr(report.dataset, name) for name in _OF_WRITER}
    conditions = {
        "dataset": described.model_copy(update=claimed),
        "packages": report.packages,
        "command": report.command,
        "platform": report.platform,
    }
    result = SweepResult(
        report=selection.describe(qrels, conditions),
        per_query=evaluation.per_query(),
        run=run,
        folder=output,
        qrels=qrels,
    )
    others = len(evaluation.run_names) - 1
    unproven = f"the values per query of {others} other runs, and their shares of judged documents"
    return RebuiltSweep(result, [*_check_measures(config, measures)], [unproven])


def _score_winner(
    stored: Evaluation, run: Run, qrels: Qrels, judged: Mapping[str, float]
) -> Evaluation:
    """Return the stored values, with those of the winner computed from its run."""
    judgments = Dataset("", None, None, qrels).judged
    again = score_runs(judgments, {run.name: run}, stored.measures, stored.averaging)
    if again.query_ids[run.name] != stored.query_ids[run.name]:
        raise ValueError(f"the queries are not those of {QRELS_FILE}")
    tables = {**stored.tables, run.name: again.tables[run.name]}
    return replace(stored, tables=tables, judged={**judged, **again.judged})


def _read_config(report: SweepReport) -> SweepConfig:
    settings = dict(report.config)
    if isinstance(retrieval := settings.get("retrieval"), Mapping):
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
    runs: Sequence[str],
    measures: list[Measure],
) -> Evaluation:
    """Return the values per query as an evaluation.

    Raises:
        InputError: If it does not have one value for each run, query and measure, in this order.
    """
    table, path = files.read_table(PER_QUERY_FILE), files.file(PER_QUERY_FILE)
    if table is None or table.schema != _SCHEMA or not table.height or not runs:
        raise _refuse(path, f"expected rows with the columns {', '.join(_SCHEMA)}")
    ids = table.filter(run=runs[0], measure=measures[0].requested_name)["query_id"].to_list()
    shape = (len(runs), len(ids), len(measures))
    if table.height != np.prod(shape):
        raise _refuse(path, f"expected {np.prod(shape):,} rows")
    values = table["value"].fill_null(np.nan).to_numpy().reshape(shape)
    evaluation = Evaluation(
        measures=measures,
        averaging=config.averaging,
        query_ids=dict.fromkeys(runs, ids),
        counts={},
        queries_without_relevant=[],
        tables=dict(zip(runs, values, strict=True)),
    )
    if not evaluation.per_query().equals(table) or not np.isfinite(values[:, :, 0]).all():
        raise _refuse(path, "the rows are not those of this sweep, in their order")
    return evaluation


def _check_measures(config: SweepConfig, measures: Sequence[Measure]) -> Iterator[str]:
    """Compare the measures with those that the settings choose, also if these are the defaults.

    The configuration of a report has the default measures too. Classes of users have other names
    in the report.
    """

    unset = ((), ("headline_measures",), ("measures",), ("headline_measures", "measures"))
    settings = [config.model_copy(update=dict.fromkeys(fields, ())) for fields in unset]
    if [*measures] not in map(choose_measures, settings):
        shown = ", ".join(one.requested_name for one in measures)
        yield f"{SWEEP_FILE}: the settings do not choose the measures {shown}"


def _refuse(path: str | Path, problem: str) -> InputError:
    return InputError(
        problem,
        where=str(path),
        remedy="use the folder of a sweep as the command wrote it",
    )
