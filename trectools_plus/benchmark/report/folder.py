"""A report with the files beside it: per-query values, latencies, runs, judgments and topics."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from pydantic import ValidationError

from trectools_plus.benchmark.report import BenchmarkReport, RunFile, load_report
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import hash_qrels, hash_query_fields
from trectools_plus.benchmark.run.output_folder import (
    DOCUMENTS_FILE,
    LATENCY_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    QRELS_FILE,
    REPORT_FILE,
    TOPICS_FILE,
    OutputFolder,
)
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.collection import is_named_collection, load_collection
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import CorpusDocument, Qrels, Run, Topics
from trectools_plus.formats.topics import read_topics
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.fetch.topics import hash_topics
from trectools_plus.statistics.arrays import none_if_nan
from trectools_plus.statistics.method import REPLACEMENTS
from trectools_plus.validation.loading import load_qrels, load_run

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.measures.evaluation import Evaluation


_METHOD = ("test", "correction")
_NEAR = 1e-9
"""Tolerance for a mean and the mean of its per-query values: the last bits of a sum."""


class ReportFolder:
    """A report and the files beside it.

    Args:
        path: ``BenchmarkReport.json``, its folder, a folder of such folders, of which the newest
            report is used, or the report of a mode in ``reports/``.

    Attributes:
        path: The report's file.
        report: The report.

    Raises:
        InputError: If there is no report, it cannot be read, or it has no mode or no measure.
    """

    def __init__(self, path: str | Path) -> None:
        given = Path(path)
        self.path = _find_report(given) if given.is_dir() else given
        self.report: BenchmarkReport = load_report(self.path)
        if not self.report.modes or not self.report.measure_names:
            raise InputError(
                "the report is empty: it has no mode or no measure",
                where=str(self.path),
                remedy="run the benchmark again",
            )

    @property
    def folder(self) -> Path:
        """The folder of the benchmark, with the runs and the values per query."""
        folder = self.path.parent
        # Not for a benchmark in a folder that the user called "reports".
        of_mode = folder.name == MODE_REPORTS_FOLDER and self.path.name != REPORT_FILE
        return folder.parent if of_mode and (folder.parent / REPORT_FILE).is_file() else folder

    @cached_property
    def config(self) -> BenchmarkConfig:
        """The configuration of the benchmark.

        Raises:
            InputError: If this version does not support it.
        """
        manifest = self.report.manifest
        # Earlier versions had other methods and another default, and left out the default test.
        settings = {
            name: value
            for name, value in {"test": "randomisation", **manifest.config}.items()
            if name != "rope" and not (name in _METHOD and value in REPLACEMENTS)
        }
        try:
            return BenchmarkConfig.model_validate({**settings, **manifest.averaging._asdict()})
        except ValidationError as error:
            raise InputError(
                "this version does not support the report's configuration",
                where=str(self.path),
                remedy="use the version of trectools-plus that wrote the report, or a newer one",
            ) from error

    @cached_property
    def per_query(self) -> pl.DataFrame | None:
        """Columns ``run, query_id, measure, value``; ``None`` without the file.

        Raises:
            InputError: If it cannot be read.
        """
        return _read_table(self.folder / PER_QUERY_FILE, ("run", "query_id", "measure", "value"))

    @cached_property
    def latency(self) -> pl.DataFrame | None:
        """Columns ``run, query_id, latency_ms``; ``None`` without latencies.

        Raises:
            InputError: If it cannot be read.
        """
        return _read_table(self.folder / LATENCY_FILE, ("run", "query_id", "latency_ms"))

    @cached_property
    def topics(self) -> Topics | None:
        """The topics beside the report; ``None`` if they are not there.

        Raises:
            InputError: If they cannot be read.
        """
        path = self.folder / TOPICS_FILE
        if not path.is_file():
            return None
        _read_table(path, ("query_id", "text"))
        return Topics(pl.read_parquet(path), str(path))

    @cached_property
    def titles(self) -> pl.DataFrame:
        """Columns ``doc_id, title`` of the first results; without rows if there are no titles.

        Raises:
            InputError: If the file cannot be read.
        """
        found = _read_table(self.folder / DOCUMENTS_FILE, ("doc_id", "title"))
        schema = {"doc_id": pl.String, "title": pl.String}
        return pl.DataFrame(schema=schema) if found is None else found

    def refuse_missing_files(self) -> None:
        """Refuse a report without its runs or judgments.

        Raises:
            InputError: If one is missing.
        """
        for name in (QRELS_FILE, *(one.path for one in self.report.runs)):
            if name is not None:
                _refuse_missing(self.folder / name)

    def read_qrels(self, *, allow_changed: bool = False) -> Qrels:
        """Read the judgments beside the report.

        Args:
            allow_changed: Accept judgments that differ from those of the report.

        Raises:
            InputError: If they are missing, or differ from those of the report.
        """
        path = self.folder / QRELS_FILE
        _refuse_missing(path)
        qrels = load_qrels(str(path))
        if not allow_changed and hash_qrels(qrels) != self.report.manifest.dataset.contents.get(
            "qrels"
        ):
            raise InputError("the judgments are not those of the report", where=str(path))
        return qrels

    def read_run(self, mode: str, *, allow_changed: bool = False) -> Run:
        """Read a mode's run; without rows if nothing was found.

        Args:
            mode: A mode of the report.
            allow_changed: Accept a file that changed since it was scored.

        Raises:
            InputError: If the file is missing, or not the one that was scored.
        """
        return self.read_run_file(self.report.modes[mode].run, mode, allow_changed=allow_changed)

    def read_run_file(self, info: RunFile, name: str, *, allow_changed: bool = False) -> Run:
        """Read a run that the report describes; without rows if nothing was found.

        Args:
            info: Its description in the report.
            name: Its name.
            allow_changed: As in :meth:`read_run`.

        Raises:
            InputError: As :meth:`read_run`.
        """
        if info.path is not None and not allow_changed:
            path = self.folder / info.path
            _refuse_missing(path)
            if sha256_file(path) != info.sha256:
                raise InputError("the run is not the one that was scored", where=str(path))
        return self.read_run_at(info.path, name)

    def read_run_at(self, place: str | None, name: str) -> Run:
        """Read a run file of the folder; without rows if there is none.

        Args:
            place: The file, relative to the folder; ``None`` if nothing was found.
            name: The name of the run.

        Raises:
            InputError: If the file is missing or cannot be read.
        """
        if place is None:
            return Run.from_dict({}, name)
        path = self.folder / place
        _refuse_missing(path)
        return Run(load_run(str(path)).frame, name, str(path))

    def read_runs(
        self, progress: Progress = no_progress, *, allow_changed: bool = False
    ) -> dict[str, Run]:
        """Read the run of every mode; see :meth:`read_run`."""
        runs = {}
        for done, mode in enumerate(self.report.modes):
            progress("reading runs", done, len(self.report.modes))
            runs[mode] = self.read_run(mode, allow_changed=allow_changed)
        progress("reading runs", len(runs), len(runs))
        return runs

    def score(
        self,
        measures: Sequence[str | Measure],
        progress: Progress = no_progress,
        *,
        runs: Mapping[str, Run] | None = None,
        allow_changed: bool = False,
    ) -> Evaluation:
        """Score the report's runs with any measures.

        Args:
            measures: Names, or measures.
            progress: Called as ``progress(description, done, total)``.
            runs: From :meth:`read_runs`, if they were read already.
            allow_changed: As in :meth:`read_run`.

        Raises:
            InputError: If runs or judgments are missing, or not those of the report.
        """
        from trectools_plus.measures.evaluation import score_runs

        if runs is None:
            runs = self.read_runs(progress, allow_changed=allow_changed)
        averaging = self.report.manifest.averaging
        qrels = self.read_qrels(allow_changed=allow_changed)
        bound = self.config.bind_measures(measures)
        evaluation = score_runs(qrels, runs, bound, averaging, progress)
        progress("scoring", len(runs), len(runs))
        return evaluation


class StoredDocuments:
    """The documents of a report whose collection is not read again: their number and titles.

    Args:
        titles: Columns ``doc_id, title`` of some documents.
        count: Number of documents of the collection.
    """

    path: str | None = None

    def __init__(self, titles: pl.DataFrame, count: int) -> None:
        self._titles = titles
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[CorpusDocument]:
        for doc_id, title in self._titles.iter_rows():
            yield CorpusDocument(doc_id, title, "")

    @property
    def doc_ids(self) -> list[str]:
        """The ids of the documents with a title."""
        return self._titles["doc_id"].to_list()

    def sha256(self, progress: Progress = no_progress) -> str:  # noqa: ARG002 - see Documents
        """Return an empty text: the texts, which the hash includes, are not known."""
        return ""

    def check(self, progress: Progress = no_progress) -> None:
        """Do nothing: the benchmark checked the documents."""

    def has_any(self, doc_ids: pl.Series) -> bool:
        """Return true if at least one of these documents has a title."""
        return bool(doc_ids.is_in(self._titles["doc_id"].implode()).any())

    def find(self, doc_ids: pl.Series) -> pl.DataFrame:
        """Return ``doc_id, title, text`` of those of these documents that have a title."""
        found = self._titles.filter(pl.col("doc_id").is_in(doc_ids.implode()))
        return found.with_columns(text=pl.lit(""))


def copy_files(source: ReportFolder, folder: OutputFolder) -> None:
    """Copy a report's runs and judgments into an output folder that is not yet published.

    Raises:
        InputError: If one is missing or cannot be written.
    """
    names = [run.path for run in source.report.runs if run.path is not None]
    for name in [*names, QRELS_FILE]:
        try:
            shutil.copyfile(source.folder / name, folder.partial / name)
        except OSError as error:
            raise InputError(
                f"cannot be copied: {error.strerror}", where=str(source.folder / name)
            ) from error


class ReportScores:
    """Means and per-query values of a report, also of measures that it does not contain.

    Args:
        source: The report. Further measures are scored from the runs beside it.
        measures: The measures that are needed, or their names in any spelling. The methods take
            the same names, or the names that the measures were requested by.

    Raises:
        UsageError: If a measure is not in the report and the runs are not beside it.
    """

    def __init__(self, source: ReportFolder, measures: Sequence[str | Measure]) -> None:
        self._source = source
        known = source.report.measure_names
        named = {one if isinstance(one, str) else one.requested_name: one for one in measures}
        self._labels = {name: source.report.find_measure(name) for name in named}
        further = [name for name, label in self._labels.items() if label is None]
        self._scored: Evaluation | None = None
        if further:
            try:
                self._scored = source.score([named[name] for name in further])
            except InputError as error:
                raise UsageError(
                    f"{further[0]} is not in the report, and cannot be scored from the runs "
                    f"beside it ({error})",
                    where=str(source.path),
                    remedy=f"use one of {', '.join(known)}, or keep the runs and qrels",
                ) from error

    def mean(self, mode: str, measure: str) -> float | None:
        """Return the mean; ``None`` if undefined."""
        label = self._labels[measure]
        if label is not None:
            return self._source.report.modes[mode].measures[label].mean
        assert self._scored is not None
        return none_if_nan(self._scored.mean(mode, measure))

    def label(self, mode: str) -> str:
        """Return a mode's name in tables."""
        return self._source.report.modes[mode].label

    def higher_is_better(self, measure: str) -> bool:
        """Return whether a higher value is better."""
        label = self._labels[measure]
        if label is not None:
            return self._source.report.higher_is_better(label)
        assert self._scored is not None
        return self._scored.definition(measure).higher_is_better

    def is_sum(self, measure: str) -> bool:
        """Return whether the figures are sums over the queries, not means."""
        label = self._labels[measure]
        if label is not None:
            return self._source.report.is_sum(label)
        assert self._scored is not None
        return self._scored.definition(measure).aggregate == "sum"

    def values(self, mode: str, measure: str) -> pl.DataFrame | None:
        """Return columns ``query_id, value`` sorted by query; ``None`` without per-query values.

        Undefined values are null.

        Raises:
            InputError: If their mean is not the mean in the report.
        """
        table, label = self._source.per_query, self._labels[measure]
        if self._scored is not None and label is None:
            table, label = self._scored.per_query(), measure
        if table is None:
            return None
        found = table.filter(run=mode, measure=label).select("query_id", "value")
        defined = found["value"].drop_nulls().to_list()
        count = 1 if self.is_sum(measure) else len(defined)
        mean = math.fsum(defined) / count if defined else None
        reported = self.mean(mode, measure)
        if (mean is None) != (reported is None) or abs((mean or 0) - (reported or 0)) > _NEAR:
            raise InputError(
                f"the per-query values are not those of the report: their mean of {measure} for "
                f"{mode} is {mean}, but the report has {reported}",
                where=str(self._source.folder / PER_QUERY_FILE),
                remedy="keep the files of one benchmark together",
            )
        return found.sort("query_id")


def _read_table(path: Path, columns: tuple[str, ...]) -> pl.DataFrame | None:
    if not path.is_file():
        return None
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError("cannot be read as Parquet", where=str(path)) from error
    if not set(columns) <= set(table.columns):
        raise InputError(f"expected the columns {', '.join(columns)}", where=str(path))
    return table.select(columns)


def _refuse_missing(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            "a file of the report is missing",
            where=str(path),
            remedy="keep the files of a benchmark together",
        )


def read_report_topics(source: ReportFolder) -> Topics | None:
    """Reload a report's topics, fields included, if they are unchanged.

    Args:
        source: The report.

    Returns:
        The topics beside the report; in reports of earlier versions, which have none, those of the
        original file or dataset. ``None`` if there were none, they can no longer be read, or they
        changed. Without a file, the dataset is loaded only if its queries have fields other than
        the text, because only those fields are needed later.
    """
    if source.topics is not None:
        return source.topics if _is_same(source.topics, source) else None
    file = source.report.manifest.dataset.files.get("topics")
    if file is not None:
        if not Path(file.path).is_file() or sha256_file(file.path) != file.sha256:
            return None
        return read_topics(file.path, source.config.topic_options)
    if "query_fields" not in source.report.manifest.dataset.contents:
        return None
    try:
        topics = _read_collection(source)
    except TrectoolsPlusError:
        return None
    return topics if topics is not None and _is_same(topics, source) else None


def _read_collection(source: ReportFolder) -> Topics | None:
    """Read the topics of ``hpo``, ``sample`` or a dataset of the catalogue."""
    config = source.config
    if config.dataset == "hpo" or config.test_file is not None:
        from trectools_plus.benchmark.run.dataset import HpoOptions, load_hpo_topics

        return load_hpo_topics(HpoOptions.of(config))
    if config.dataset is not None and is_named_collection(config.dataset):
        return load_collection(config.dataset, with_corpus=False).topics
    return None


def _is_same(topics: Topics, source: ReportFolder) -> bool:
    contents = source.report.manifest.dataset.contents
    return contents.get("topics") == hash_topics(topics) and contents.get(
        "query_fields"
    ) == hash_query_fields(topics)


def _find_report(folder: Path) -> Path:
    """Return the report in a folder, or the newest one in the folders below it."""
    path = folder / REPORT_FILE
    below = [] if path.is_file() else sorted(folder.glob(f"*/{REPORT_FILE}"))
    return max(below, key=_created_at, default=path)


def _created_at(path: Path) -> str:
    """Return when a report was made; an empty text if it cannot be read."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["manifest"]["created_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
