"""A report with the files beside it: per-query values, latencies, runs, judgments and topics.

The writer of the folder may be a stranger. So nothing that it names is imported or requested, and
only plain files inside it are read. Original files are read only if they still have the content
that the report names, which shows nothing that its writer does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.benchmark.run.config import BenchmarkConfig, resampling_of
from trectools_plus.benchmark.run.dataset import (
    TERM_FILES,
    Dataset,
    hash_qrels,
    hash_query_fields,
    load_dataset,
)
from trectools_plus.benchmark.run.output_folder import (
    DOCUMENTS_FILE,
    LATENCY_FILE,
    MODE_REPORTS_FOLDER,
    PER_QUERY_FILE,
    QRELS_FILE,
    REPORT_FILE,
    TOPICS_FILE,
)
from trectools_plus.benchmark.verdict import load_report
from trectools_plus.display import Displayed, as_cell
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.collection import find_collection_files, is_named_collection
from trectools_plus.formats.files.guards import PLAIN_NAME, ClosedFolder, is_unchanged
from trectools_plus.formats.files.opening import is_catalogue_name
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Corpus, Qrels, Run, Topics
from trectools_plus.formats.topics import read_topics
from trectools_plus.plugins import without_user_code
from trectools_plus.retrieval.source import hash_topics
from trectools_plus.statistics.arrays import MAX_RESAMPLES
from trectools_plus.testsets.loading import find_shipped
from trectools_plus.validation.loading import load_qrels, load_run

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.measures.evaluation import Evaluation

FILES = ("test_file", "corpus", "topics", "qrels", "exclude", *TERM_FILES)
"""Settings that name an original file."""
_MOST_DOCUMENTS = 1_000_000
"""Larger collections are not read again."""


class ReportFolder:
    """A report and the files beside it.

    Args:
        path: ``BenchmarkReport.json``, its folder, a folder of such folders, of which the newest
            report is used, or the report of a mode in ``reports/``.

    Attributes:
        path: The report's file.
        report: The report.
        files: The files of the folder.

    Raises:
        InputError: If there is no report, it cannot be read, or it has no mode or no measure.
    """

    def __init__(self, path: str | Path) -> None:
        folder = Path(path)
        if folder.is_dir() and not (folder / REPORT_FILE).is_file():
            newest = list_reports(folder).reports[:1]
            folder = Path(newest[0].folder) if newest else folder
        self.path = folder / REPORT_FILE if folder.is_dir() else folder
        self.report: BenchmarkReport = load_report(self.path)
        self.files = ClosedFolder(self.folder)
        for problem in self._list_problems():
            raise InputError(
                f"the report cannot be used: {problem}",
                where=str(self.path),
                remedy="use a report as a benchmark wrote it, or run the benchmark again",
            )
        for mode in self.report.modes.values():
            if mode.run.path is not None:
                self.files.find(mode.run.path)

    def _list_problems(self) -> Iterator[str]:
        """Yield names that are not plain, and settings of another kind."""
        report, config = self.report, self.report.manifest.config
        if not report.modes or not report.measure_names:
            yield "it is empty, without a mode or a measure"
        runs = config.get("runs") or {}
        paths = [config.get(name) for name in ("dataset", *FILES)]
        paths += [*runs.values()] if isinstance(runs, dict) else [runs]
        if not all(path is None or isinstance(path, str) for path in paths):
            yield "the name of a file is not a text"
        for name in map(str, (*report.modes, *report.unscored, *runs)):
            if not PLAIN_NAME.fullmatch(name):
                yield f"{name[:200]!r} is not a name of a run or a mode"
        if len({name.casefold() for name in report.modes}) < len(report.modes):
            yield "the names of two modes differ only by upper and lower case"
        try:
            if resampling_of(config)["resamples"] > MAX_RESAMPLES:
                yield f"more than {MAX_RESAMPLES:,} resamples"
        except (TypeError, ValueError) as error:
            yield f"its settings are invalid: {error}"

    @cached_property
    def originals(self) -> dict[str, str]:
        """SHA-256 of the original files by path, as the report names them."""
        runs = (one.run.source for one in self.report.modes.values())
        files = [*self.report.manifest.dataset.files.values(), *runs]
        return {file.path: file.sha256 for file in files if file is not None}

    def bind_measures(self, measures: Sequence[str | Measure]) -> list[Measure]:
        """Parse measures; those over an ontology use the files that the report names.

        Raises:
            UsageError: If a measure is unknown.
            InputError: If a measure needs a file that is absent or has changed.
        """
        from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim, bind_files
        from trectools_plus.measures.parser import parse_measures

        parsed = parse_measures(measures)
        has_terms = any(isinstance(measure, MaxOntSim) for measure in parsed)
        return bind_files(parsed, *self.find_term_files()) if has_terms else parsed

    def find_term_files(self) -> list[str | None]:
        """Return the files with ontology and annotations, if the report has them.

        Raises:
            InputError: If one is absent or has changed.
        """
        files = [self.report.manifest.config.get(kind) for kind in TERM_FILES]
        hashes = self.originals.values()
        if not all(path is None or is_unchanged(path, hashes) for path in files):
            raise InputError(
                "the ontology or the annotations of the report are absent or have changed",
                where=str(self.path),
                remedy="restore the original files, or leave out measures over the ontology",
            )
        return files

    def load_original(self) -> tuple[Dataset | None, str]:
        """Read the data from their source; if they are absent or changed, return the reason."""
        config, info = self.config, self.report.manifest.dataset
        name, paths = config.dataset, [getattr(config, kind) for kind in FILES]
        if config.runs is None and (info.documents or 0) > _MOST_DOCUMENTS:
            return None, "the collection is too large to read it again"
        if is_catalogue_name(name):
            return None, f"{name} is not read for a report"
        try:
            if name is not None and not is_named_collection(name):
                files = find_collection_files(name)
                paths += [str(files.qrels), str(files.topics)]
                paths += [] if config.runs is not None else [str(files.corpus)]
            for path in filter(None, paths):
                is_shipped = path == config.test_file and find_shipped(path) is not None
                if not is_shipped and not is_unchanged(path, self.originals.values()):
                    return None, f"{path} is not available, or changed"
            dataset = load_dataset(config)
        except TrectoolsPlusError as error:
            return None, str(error)
        # The installed ontology can have another version; everything else is identified by hashes.
        is_other = name == "hpo" and config.ontology is None and dataset.version != info.version
        if is_other and dataset.hash_contents() != info.contents:
            return None, f"the available data are {dataset.version}"
        return dataset, ""

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
            InputError: If this version does not support it, or a measure is code of the writer.
        """
        manifest = self.report.manifest
        settings = {**manifest.config, **manifest.averaging._asdict()}
        try:
            with without_user_code():
                return BenchmarkConfig(**settings)
        except (UsageError, TypeError, AttributeError) as error:
            raise InputError(
                f"the report's configuration cannot be used: {error}",
                where=str(self.path),
                remedy="use the version of trectools-plus that wrote the report, and measures of "
                "this package: those of the writer are not run",
            ) from error

    @cached_property
    def per_query(self) -> pl.DataFrame | None:
        """Columns ``run, query_id, measure, value``; ``None`` without the file.

        Raises:
            InputError: If it cannot be read.
        """
        return self.read_table(PER_QUERY_FILE, ("run", "query_id", "measure"), "value")

    @cached_property
    def latency(self) -> pl.DataFrame | None:
        """Columns ``run, query_id, latency_ms``; ``None`` without latencies.

        Raises:
            InputError: If it cannot be read.
        """
        return self.read_table(LATENCY_FILE, ("run", "query_id"), "latency_ms")

    @cached_property
    def titles(self) -> pl.DataFrame:
        """Columns ``doc_id, title`` of the first results; without rows if there are no titles.

        Raises:
            InputError: If the file cannot be read.
        """
        table = self.read_table(DOCUMENTS_FILE, ("doc_id", "title"))
        no_titles = pl.DataFrame(schema={"doc_id": pl.String, "title": pl.String})
        return no_titles if table is None else table.select("doc_id", "title")

    def read_table(self, name: str, texts: Sequence[str], *numbers: str) -> pl.DataFrame | None:
        """Return a table beside the report, if it is there.

        Args:
            name: The file.
            texts: Its columns of texts, together different in every row; it may have further ones.
            numbers: Its columns of numbers.

        Raises:
            InputError: If it cannot be read, lacks a column, or has a row twice.
        """
        table = self.files.read_table(name)
        types: dict[str, object] = dict.fromkeys(texts, pl.String)
        types |= dict.fromkeys(numbers, pl.Float64)
        if table is not None and (
            not types.items() <= table.schema.items() or table.select(texts).is_duplicated().any()
        ):
            raise InputError(
                f"expected the columns {', '.join(types)}, and no two rows with equal texts",
                where=str(self.folder / name),
            )
        return table

    def read_qrels(self, *, allow_changed: bool = False) -> Qrels:
        """Read the judgments beside the report.

        Args:
            allow_changed: Accept judgments that differ from those of the report.

        Raises:
            InputError: If they are missing, or differ from those of the report.
        """
        path = self.files.file(QRELS_FILE)
        qrels = load_qrels(str(path))
        known = self.report.manifest.dataset.contents.get("qrels")
        if not allow_changed and hash_qrels(qrels) != known:
            raise InputError("the judgments are not those of the report", where=str(path))
        return qrels

    def read_run(self, mode: str) -> Run:
        """Read a mode's run; without rows if nothing was found.

        Args:
            mode: A mode of the report.

        Raises:
            InputError: If the file is missing, or not the one that was scored.
        """
        info = self.report.modes[mode].run
        if info.path is not None and sha256_file(self.files.file(info.path)) != info.sha256:
            where = str(self.folder / info.path)
            raise InputError("the run is not the one that was scored", where=where)
        return self.read_run_at(info.path, mode)

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
        path = self.files.file(place)
        return Run(load_run(str(path)).frame, name, str(path))

    def score(self, measures: Sequence[str | Measure]) -> Evaluation:
        """Score the report's runs with any measures.

        Args:
            measures: Names, or measures.

        Raises:
            InputError: If runs or judgments are missing, or not those of the report.
        """
        from trectools_plus.measures.evaluation import score_runs

        runs = {mode: self.read_run(mode) for mode in self.report.modes}
        bound = self.bind_measures(measures)
        return score_runs(self.read_qrels(), runs, bound, self.report.manifest.averaging)


@dataclass(frozen=True, eq=False, repr=False)
class StoredDocuments(Corpus):
    """The documents of a report whose collection is not read again: their number and titles.

    Attributes:
        count: Number of documents of the collection; ``frame`` has the titles of some of them.
    """

    count: int = 0
    _defaults: ClassVar[Mapping[str, str]] = {"text": ""}

    def __len__(self) -> int:
        return self.count

    def sha256(self) -> str:
        """Return an empty text: the texts, which the hash includes, are not known."""
        return ""


def read_report_topics(source: ReportFolder) -> Topics | None:
    """Return the topics beside a report, or the original ones; ``None`` if absent or changed."""
    dataset = source.report.manifest.dataset
    table, file = source.read_table(TOPICS_FILE, ("query_id", "text")), dataset.files.get("topics")
    if table is None and file is not None and is_unchanged(file.path, [file.sha256]):
        return read_topics(file.path, source.config.topic_options)
    if table is None:
        return None
    topics = Topics(table, str(source.folder / TOPICS_FILE))
    hashes = hash_topics(topics), hash_query_fields(topics)
    known = dataset.contents.get("topics"), dataset.contents.get("query_fields")
    return topics if hashes == known else None


@dataclass(frozen=True, slots=True)
class ListedReport:
    """One report.

    Attributes:
        folder: Its folder.
        experiment_id: Its experiment.
        created_at: UTC, ISO 8601.
        dataset: Name of the dataset.
        queries: Number of queries in the means.
        modes: The compared modes.
        best: The best mode, or the only one, with its mean on the primary measure; ``none`` on a
            tie, with a baseline, and if the modes are not ranked.
    """

    folder: str
    experiment_id: str
    created_at: str
    dataset: str
    queries: int
    modes: list[str]
    best: str


@dataclass(frozen=True, slots=True, repr=False)
class Listing(Displayed):
    """The reports of a folder.

    Attributes:
        reports: The newest first.
        problems: A line for each report that cannot be read.
    """

    _entries: ClassVar = "reports"
    _columns: ClassVar = ("experiment_id", "dataset", "queries", "modes", "best")

    reports: list[ListedReport]
    problems: list[str]


def list_reports(folder: str | Path) -> Listing:
    """List the reports in a folder and one level below it.

    Args:
        folder: The folder.

    Returns:
        The reports, newest first, and the files that cannot be read.

    Raises:
        InputError: If there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError("no such folder", where=str(folder), remedy="use a folder with reports")
    reports, problems = [], []
    for path in sorted([*root.glob(REPORT_FILE), *root.glob(f"*/{REPORT_FILE}")]):
        try:
            report = ReportFolder(path).report
        except InputError as error:
            problems.append(str(error))
            continue
        manifest, measure = report.manifest, report.primary_measure
        best = [
            f"{mode.label}, {measure} {as_cell(mode.measures[measure].mean)}"
            for name, mode in report.modes.items()
            if len(report.modes) == 1 or name == report.best_mode.get(measure)
        ]
        reports.append(
            ListedReport(
                folder=str(path.parent),
                experiment_id=manifest.experiment_id,
                created_at=manifest.created_at,
                dataset=manifest.dataset.id,
                queries=manifest.dataset.queries,
                modes=list(report.modes),
                best=best[0] if best else f"none, {measure}",
            )
        )
    reports.sort(key=lambda one: (one.created_at, one.folder), reverse=True)
    return Listing(reports, problems)
