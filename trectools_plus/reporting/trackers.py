"""Log the figures and files of a report to MLflow or Weights & Biases."""

from __future__ import annotations

import logging
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.run.output_folder import (
    CHECKSUMS_FILE,
    HTML_FILE,
    MARKDOWN_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    PLOTS_FOLDER,
    REPORT_FILE,
)
from trectools_plus.errors import InputError, MissingExtraError, TrectoolsPlusError, UsageError
from trectools_plus.plugins import describe_error, raise_for_signal
from trectools_plus.redaction import hide_secrets

_FILES = (REPORT_FILE, HTML_FILE, MARKDOWN_FILE, PER_QUERY_FILE, CHECKSUMS_FILE)
_FOLDERS = (MODE_REPORTS_FOLDER, PLOTS_FOLDER)
_MAX_PARAMETER = 500
"""Characters of a parameter that every version of MLflow stores."""
_BATCH = 100
"""Parameters in one request to MLflow."""


class Tracker(ABC):
    """An experiment tracker and the place where it logs reports.

    Args:
        place: The experiment or project.

    Attributes:
        name: The name in ``--log-to``; also the module and the extra of the library.
        title: The name of the product.
    """

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, place: str) -> None:
        self._place = place

    def log(self, report: BenchmarkReport, folder: Path) -> None:
        """Log means, intervals and parameters of a report, and the files in its folder.

        Raises:
            InputError: If this fails; the report is not changed.
        """
        try:
            with redirect_stdout(sys.stderr), _quiet_loggers():
                self._log(report, folder)
        except (Exception, SystemExit) as error:
            raise_for_signal()
            raise InputError(
                f"the report is not logged: {hide_secrets(describe_error(error))}",
                where=f"{self.name}:{self._place}",
                remedy=f"the report is complete; benchmark show {folder} --log-to "
                f"{self.name}:{self._place} logs it again",
            ) from error

    @abstractmethod
    def _log(self, report: BenchmarkReport, folder: Path) -> None: ...


class Mlflow(Tracker):
    """MLflow: a run in an experiment; ``MLFLOW_TRACKING_URI`` names the server or database."""

    name = "mlflow"
    title = "MLflow"

    def _log(self, report: BenchmarkReport, folder: Path) -> None:
        # By default, it tries to reach a server for several minutes.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
        os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        client = MlflowClient()
        experiment = client.get_experiment_by_name(self._place)
        experiment_id = (
            client.create_experiment(self._place)
            if experiment is None
            else experiment.experiment_id
        )
        run = client.create_run(experiment_id, run_name=report.manifest.experiment_id)
        run_id, status = run.info.run_id, "FAILED"
        try:
            figures = [
                Metric(name, value, run.info.start_time, 0)
                for name, value in list_metrics(report).items()
            ]
            settings = [
                Param(name, text if len(text) <= _MAX_PARAMETER else f"{text[:499]}…")
                for name, text in _flatten(list_parameters(report))
            ]
            for start in range(0, max(len(figures), len(settings)), _BATCH):
                part = slice(start, start + _BATCH)
                client.log_batch(run_id, figures[part], settings[part])
            for path in _list_files(folder):
                parent = path.relative_to(folder).parent.as_posix()
                client.log_artifact(run_id, str(path), None if parent == "." else parent)
            status = "FINISHED"
        finally:
            client.set_terminated(run_id, status)


class Wandb(Tracker):
    """Weights & Biases: a run in a project; ``WANDB_MODE=offline`` stores it on this machine."""

    name = "wandb"
    title = "Weights & Biases"

    def _log(self, report: BenchmarkReport, folder: Path) -> None:
        os.environ.setdefault("WANDB_SILENT", "true")  # also silences the login
        import wandb

        entity, _, project = self._place.rpartition("/")
        quiet = wandb.Settings(
            console="off",
            silent=True,
            # The program, its arguments, the machine and the source code are not logged.
            disable_code=True,
            disable_git=True,
            save_code=False,
            x_disable_meta=True,
            x_disable_stats=True,
        )
        name = report.manifest.experiment_id
        with wandb.init(
            project=project,
            entity=entity or None,
            name=name,
            config=list_parameters(report),
            settings=quiet,
        ) as run:
            run.summary.update(list_metrics(report))
            files = wandb.Artifact(f"report-{_to_name(name)}", type="report")
            for path in _list_files(folder):
                files.add_file(str(path), name=path.relative_to(folder).as_posix())
            run.log_artifact(files)


_TRACKERS: Mapping[str, type[Tracker]] = {kind.name: kind for kind in (Mlflow, Wandb)}


def parse_trackers(texts: Iterable[str]) -> list[Tracker]:
    """Return trackers for texts like ``mlflow:EXPERIMENT`` and ``wandb:PROJECT``.

    Raises:
        UsageError: If a text has another form.
        MissingExtraError: If the library of a tracker is not installed.
    """
    trackers = []
    for text in texts:
        name, _, place = text.partition(":")
        if name not in _TRACKERS or not place.strip() or hide_secrets(text) != text:
            raise UsageError(
                f"expected an experiment tracker but got '{hide_secrets(text)}'",
                where="--log-to",
                remedy="write mlflow:EXPERIMENT or wandb:PROJECT",
            )
        if find_spec(name) is None:
            raise MissingExtraError(f"logging to {_TRACKERS[name].title}", name)
        trackers.append(_TRACKERS[name](place.strip()))
    return trackers


def log_report(
    report: BenchmarkReport, folder: Path, trackers: Iterable[Tracker]
) -> list[TrectoolsPlusError]:
    """Log a report and the files in its folder to trackers, and return the errors.

    The files are those of :func:`write_reports` without runs, qrels and topics.

    Args:
        report: The report.
        folder: Its folder.
        trackers: From :func:`parse_trackers`.
    """
    errors: list[TrectoolsPlusError] = []
    for tracker in trackers:
        try:
            tracker.log(report, folder)
        except InputError as error:
            errors.append(error)
    return errors


def list_metrics(report: BenchmarkReport) -> dict[str, float]:
    """Return the means of all modes, and the ends of their intervals, by name.

    Names are ``MODE/MEASURE``, ``MODE/MEASURE_low`` and ``MODE/MEASURE_high``, with ``_at_`` for
    ``@`` and ``_`` for all other characters that MLflow refuses. Undefined figures are left out.
    """
    figures: dict[str, float] = {}
    for mode, result in report.modes.items():
        for measure, found in result.measures.items():
            ends = (None, None) if found.ci is None else (found.ci.low, found.ci.high)
            name = _unused(f"{_to_name(mode)}/{_to_name(measure)}", figures)
            for suffix, value in zip(("", "_low", "_high"), (found.mean, *ends), strict=True):
                if value is not None:
                    figures[f"{name}{suffix}"] = value
    return figures


def list_parameters(report: BenchmarkReport) -> dict[str, Any]:
    """Return the manifest's facts and settings, without secrets."""
    manifest = report.manifest
    dataset = manifest.dataset
    facts = {
        "experiment_id": manifest.experiment_id,
        "command": manifest.command,
        "config_hash": manifest.config_hash,
        "primary_measure": report.primary_measure,
        "dataset": {
            "id": dataset.id,
            "version": dataset.version,
            "queries": dataset.queries,
            "documents": dataset.documents,
            "sha256": dataset.sha256,
        },
        "config": manifest.config,
        "packages": manifest.packages,
        "python": manifest.python,
        "platform": manifest.platform,
        "seed": manifest.seed,
    }
    hidden: dict[str, Any] = _hide(facts)
    return hidden


def _hide(value: Any) -> Any:
    """Hide the secrets in all texts of a JSON value."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, list | tuple):
        return [_hide(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _hide(item) for name, item in value.items()}
    return value


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the parameters as texts, with dotted names."""
    seen: dict[str, float] = {}
    for key, item in value.items():
        name = prefix + _unused(_to_name(key), seen)
        seen[name.removeprefix(prefix)] = 0
        if isinstance(item, Mapping):
            yield from _flatten(item, f"{name}.")
        elif item is not None:
            yield name, ", ".join(map(str, item)) if isinstance(item, list) else str(item)


def _to_name(text: str) -> str:
    """Return a name that every tracker accepts."""
    return re.sub(r"[^\w.-]", "_", text.replace("@", "_at_"), flags=re.ASCII).strip(".") or "_"


def _unused(name: str, used: Mapping[str, float]) -> str:
    number, found = 1, name
    while found in used:
        number += 1
        found = f"{name}_{number}"
    return found


def _list_files(folder: Path) -> list[Path]:
    """Return the files of a report that exist, without runs, qrels and topics."""
    inside = [path for name in _FOLDERS for path in sorted((folder / name).glob("*"))]
    return [path for path in [*(folder / name for name in _FILES), *inside] if path.is_file()]


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Let the libraries log warnings only."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
