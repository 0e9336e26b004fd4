"""A report with the files beside it: per-query values, latencies, runs, judgments and topics.

The writer of the folder may be a stranger. So nothing that it names is imported or requested, and
only plain files inside it are read. Original files are read only if they still have the content
that the report names, which shows nothing that its writer does not know.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl
from pydantic import ValidationError

from trectools_plus.benchmark.report import (
    BenchmarkReport,
    MeasureDefinition,
    load_report,
)
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
    OutputFolder,
)
from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.collection import find_collection_files, is_named_collection
from trectools_plus.formats.files.closed import (
    PLAIN_NAME,
    ClosedFolder,
    is_unchanged,
    read_document,
)
from trectools_plus.formats.files.opening import is_address, is_catalogue_name
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import CorpusDocument, Qrels, Run, Topics
from trectools_plus.formats.topics import read_topics
from trectools_plus.measures.definitions.base import Definition
from trectools_plus.measures.providers.stored import StoredMeasure, is_of_user, without_words
from trectools_plus.plugins import without_user_code
from trectools_plus.progress import Progress, no_progress
from trectools_plus.retrieval.fetch.topics import hash_topics
from trectools_plus.statistics.arrays import MAX_RESAMPLES, none_if_nan
from trectools_plus.statistics.method import REPLACEMENTS
from trectools_plus.testsets.loading import find_shipped
from trectools_plus.validation.loading import load_qrels, load_run

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure
    from trectools_plus.measures.evaluation import Evaluation


_METHOD = ("test", "correction")
FILES = ("test_file", "corpus", "topics", "qrels", "exclude", *TERM_FILES)
"""Settings that name an original file."""
_TEXT, _NUMBER = pl.String, pl.Float64
_PER_QUERY_SCHEMA = {"run": _TEXT, "query_id": _TEXT, "measure": _TEXT, "value": _NUMBER}
_LATENCY_SCHEMA = {"run": _TEXT, "query_id": _TEXT, "latency_ms": _NUMBER}
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
        self._check_names()
        self._check_settings()

    def _check_names(self) -> None:
        """Refuse names that are not plain."""
        report = self.report
        names = [*report.modes, *report.unscored]
        names += [name for one in report.components for name in (one.mode, one.component)]
        names += list(report.manifest.config.get("runs") or ())
        for name in names:
            if not isinstance(name, str) or not PLAIN_NAME.fullmatch(name):
                self._refuse(f"{str(name)[:200]!r} is not a name of a run or a mode")
        if len({name.casefold() for name in report.modes}) < len(report.modes):
            self._refuse("the names of two modes differ only by upper and lower case")
        for run in report.runs:
            if run.path is not None:
                self.files.find(run.path)

    def _check_settings(self) -> None:
        """Refuse settings of another kind."""
        config = self.report.manifest.config
        texts = [config.get(name) for name in ("dataset", *FILES)]
        if isinstance(runs := config.get("runs"), dict):
            texts += list(runs.values())
        elif runs is not None:
            self._refuse("runs is not a mapping")
        if not all(text is None or isinstance(text, str) for text in texts):
            self._refuse("the name of a file is not a text")
        try:
            resamples = resampling_of(config)["resamples"]
        except (TypeError, ValueError) as error:
            self._refuse(f"its settings are invalid: {error}")
        if resamples > MAX_RESAMPLES:
            self._refuse(f"more than {MAX_RESAMPLES:,} resamples")

    def _refuse(self, problem: str) -> NoReturn:
        raise InputError(
            f"the report cannot be used: {problem}",
            where=str(self.path),
            remedy="use a report as a benchmark wrote it",
        )

    @cached_property
    def files(self) -> ClosedFolder:
        """The files of the folder."""
        return ClosedFolder(self.folder)

    @cached_property
    def originals(self) -> dict[str, str]:
        """SHA-256 of the original files by path, as the report names them."""
        report = self.report
        runs = (one.run.source for one in report.modes.values())
        files = [*report.manifest.dataset.files.values(), *(one for one in runs if one is not None)]
        return {file.path: file.sha256 for file in files}

    @cached_property
    def terms(self) -> dict[str, str | None] | None:
        """The files with ontology and annotations; ``None`` if they are absent or have changed."""
        config = self.report.manifest.config
        named = {kind: config.get(kind) for kind in TERM_FILES}
        given = [path for path in named.values() if path is not None]
        return named if all(is_unchanged(path, self.originals.values()) for path in given) else None

    @cached_property
    def stored_measures(self) -> dict[str, Measure]:
        """Measures that are not computed again, by each of their names.

        They are classes of users, and those that need a file which is absent or has changed.
        """
        from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim, bind_files
        from trectools_plus.measures.parser import parse_measures

        stored: dict[str, Measure] = {}
        for name in self.report.manifest.config.get("measures") or ():
            try:
                with without_user_code():
                    parsed = parse_measures([str(name)])
            except UsageError:
                measure = self._find_stored(str(name))
            else:
                is_over_terms = isinstance(parsed[0], MaxOntSim) and self.terms is None
                files = map(self.report.manifest.config.get, TERM_FILES)
                bound = bind_files(parsed, *files) if is_over_terms else []
                measure = StoredMeasure(bound[0].definition) if bound else None
            if measure is not None:
                stored |= dict.fromkeys((str(name), measure.name, measure.requested_name), measure)
        return stored

    def _find_stored(self, name: str) -> Measure | None:
        """Return the measure of a name that only its writer can compute; ``None`` if not listed."""
        from trectools_plus.measures.parser import is_standard_name

        results = next(iter(self.report.modes.values())).measures.values()
        for definition in (result.definition for result in results):
            own = definition.name or ""
            if name not in (definition.alias, own) or not own.isprintable():
                continue
            with without_user_code():
                if is_standard_name(own) and not own.startswith("MaxOntSim("):
                    self._refuse(f"{name} has the name of a standard measure")
            return _of_writer(definition, name)
        return None

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Parse names of measures as names of this report."""
        from trectools_plus.measures.parser import of_a_report

        with of_a_report(self.stored_measures):
            yield

    def bind_measures(self, measures: Sequence[str | Measure]) -> list[Measure]:
        """Parse measures; those over an ontology use the files of this report.

        Raises:
            UsageError: If a measure is unknown.
            InputError: If a measure needs such a file, and it is absent or has changed.
        """
        from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim, bind_files
        from trectools_plus.measures.parser import parse_measures

        parsed = parse_measures(measures)
        if self.terms is not None:
            return bind_files(parsed, *self.terms.values())
        if any(isinstance(one, MaxOntSim) for one in parsed):
            raise InputError(
                "the ontology or the annotations of the report are absent or have changed",
                where=str(self.path),
                remedy="restore the original files, or leave out measures over the ontology",
            )
        return parsed

    def load_original(self) -> tuple[Dataset | None, str]:
        """Read the data from their source; if they are absent or changed, return the reason."""
        config = self.config
        name, paths = config.dataset, [getattr(config, kind) for kind in FILES]
        if name is not None and not is_named_collection(name):
            if is_address(name) or not Path(name).is_dir():
                return None, f"{name} is not available"
            found = find_collection_files(name)
            paths += [str(found.qrels), str(found.topics)]
            paths += [] if config.runs is not None else [str(found.corpus)]
        if is_catalogue_name(name):
            return None, f"{name} is not read for a report"
        for path in filter(None, paths):
            is_shipped = path == config.test_file and find_shipped(path) is not None
            if not is_shipped and not is_unchanged(path, self.originals.values()):
                return None, f"{path} is not available, or changed"
        try:
            return load_dataset(config), ""
        except TrectoolsPlusError as error:
            return None, str(error)

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
            with self.closed():
                return BenchmarkConfig.model_validate({**settings, **manifest.averaging._asdict()})
        except (ValidationError, UsageError, TypeError, AttributeError) as error:
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
        return self._read_table(PER_QUERY_FILE, _PER_QUERY_SCHEMA)

    @cached_property
    def latency(self) -> pl.DataFrame | None:
        """Columns ``run, query_id, latency_ms``; ``None`` without latencies.

        Raises:
            InputError: If it cannot be read.
        """
        return self._read_table(LATENCY_FILE, _LATENCY_SCHEMA)

    @cached_property
    def topics(self) -> Topics | None:
        """The topics beside the report; ``None`` if they are not there.

        Raises:
            InputError: If they cannot be read.
        """
        table = self.files.read_table(TOPICS_FILE)
        if table is None:
            return None
        self._check_columns(table, TOPICS_FILE, {"query_id": pl.String, "text": pl.String})
        return Topics(table, str(self.folder / TOPICS_FILE))

    @cached_property
    def titles(self) -> pl.DataFrame:
        """Columns ``doc_id, title`` of the first results; without rows if there are no titles.

        Raises:
            InputError: If the file cannot be read.
        """
        schema = {"doc_id": pl.String, "title": pl.String}
        found = self._read_table(DOCUMENTS_FILE, schema)
        return pl.DataFrame(schema=schema) if found is None else found

    def _read_table(self, name: str, schema: dict[str, Any]) -> pl.DataFrame | None:
        table = self.files.read_table(name)
        if table is None:
            return None
        self._check_columns(table, name, schema)
        return table.select(list(schema))

    def _check_columns(self, table: pl.DataFrame, name: str, schema: dict[str, Any]) -> None:
        for column, dtype in schema.items():
            if table.schema.get(column) != dtype:
                raise InputError(
                    f"expected the columns {', '.join(schema)}", where=str(self.folder / name)
                )

    def refuse_missing_files(self) -> None:
        """Refuse a report without its runs or judgments.

        Raises:
            InputError: If one is missing.
        """
        for name in filter(None, (QRELS_FILE, *(one.path for one in self.report.runs))):
            self.files.file(name)

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
        if info.path is not None:
            path = self.files.file(info.path)
            if sha256_file(path) != info.sha256:
                raise InputError("the run is not the one that was scored", where=str(path))
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


def stored_measure(name: str, higher_is_better: bool) -> Measure | None:
    """Return a measure whose values are those of a table; ``None`` if they can be computed.

    Args:
        name: A name in a document of a stranger.
        higher_is_better: The direction of a measure that only its writer can compute.

    Raises:
        UsageError: If it is not a name.
    """
    from trectools_plus.measures.definitions.max_ont_sim import MaxOntSim
    from trectools_plus.measures.parser import parse_measures

    try:
        with without_user_code():
            (parsed,) = parse_measures([name])
    except UsageError:
        if not name.isprintable():
            raise
        return _of_writer(
            MeasureDefinition(**_NO_WORDS, cutoff=None, higher_is_better=higher_is_better), name
        )
    return StoredMeasure(parsed.definition) if isinstance(parsed, MaxOntSim) else None


_NO_WORDS: dict[str, Any] = {
    **dict.fromkeys(("formula", "gain", "denominator", "ties", "averaged_over"), ""),
    "relevance_level": 1,
    "provider": "user:code",
}


def _of_writer(definition: MeasureDefinition, name: str) -> StoredMeasure:
    """Return a measure that only its writer can compute, with no sentence of theirs."""
    own = definition.name or name
    stored = Definition(
        name=own,
        formula="",
        gain="",
        cutoff=definition.cutoff,
        denominator="",
        relevance_level=definition.relevance_level,
        provider=definition.provider,
        alias=None if name == own else name,
        higher_is_better=definition.direction_of(name),
        aggregate=definition.aggregate or "mean",
    )
    is_known = is_of_user(stored)
    return StoredMeasure(
        without_words(stored if is_known else replace(stored, provider="user:code"))
    )


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
            shutil.copyfile(source.files.file(name), folder.partial / name)
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
        self._source, report = source, source.report
        named = {one if isinstance(one, str) else one.requested_name: one for one in measures}
        self._labels = {name: report.find_measure(name) for name in named}
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
                    remedy=f"use one of {', '.join(report.measure_names)}, or keep the runs and "
                    "qrels",
                ) from error

    def mean(self, mode: str, measure: str) -> float | None:
        """Return the mean; ``None`` if undefined."""
        if (label := self._labels[measure]) is not None:
            return self._source.report.modes[mode].measures[label].mean
        return none_if_nan(self._of_scored.mean(mode, measure))

    def count(self, mode: str, measure: str) -> int:
        """Return the number of queries in the mean."""
        if (label := self._labels[measure]) is not None:
            return self._source.report.modes[mode].measures[label].n
        return self._of_scored.n(mode, measure)

    def label(self, mode: str) -> str:
        """Return a mode's name in tables."""
        return self._source.report.modes[mode].label

    def higher_is_better(self, measure: str) -> bool:
        """Return whether a higher value is better."""
        if (label := self._labels[measure]) is not None:
            return self._source.report.higher_is_better(label)
        return self._of_scored.definition(measure).higher_is_better

    def is_sum(self, measure: str) -> bool:
        """Return whether the figures are sums over the queries, not means."""
        if (label := self._labels[measure]) is not None:
            return self._source.report.is_sum(label)
        return self._of_scored.definition(measure).aggregate == "sum"

    @property
    def _of_scored(self) -> Evaluation:
        assert self._scored is not None
        return self._scored

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


def read_report_topics(source: ReportFolder) -> Topics | None:
    """Return the topics beside a report, or the original ones; ``None`` if absent or changed."""
    topics, dataset = source.topics, source.report.manifest.dataset
    file = dataset.files.get("topics")
    if topics is None and file is not None and is_unchanged(file.path, [file.sha256]):
        return read_topics(file.path, source.config.topic_options)
    if topics is None or dataset.contents.get("topics") != hash_topics(topics):
        return None
    is_same = dataset.contents.get("query_fields") == hash_query_fields(topics)
    return topics if is_same else None


def _find_report(folder: Path) -> Path:
    """Return the report in a folder, or the newest one in the folders below it."""

    def created_at(path: Path) -> str:
        try:
            return str(json.loads(read_document(path))["manifest"]["created_at"])
        except (InputError, ValueError, LookupError, TypeError, RecursionError):
            return ""

    path = folder / REPORT_FILE
    below = [] if path.is_file() else sorted(folder.glob(f"*/{REPORT_FILE}"))
    return max(below, key=created_at, default=path)
