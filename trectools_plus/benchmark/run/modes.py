"""The runs of all modes of a benchmark, fetched or given.

Scoring uses the rows of run files as they are written, so that any other tool computes the same
figures from the files. They are in the canonical order and without ties, on which tools disagree. A
mode that finds nothing has no file, because readers refuse a run without rows. After a run is
written, only what figures and pages need stays in memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from trectools_plus.benchmark.report import (
    FindingRecord,
    RunFile,
    UnscoredMode,
    record_findings,
)
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.output_folder import RUNS_FOLDER, OutputFolder
from trectools_plus.display import Progress
from trectools_plus.errors import InputError
from trectools_plus.formats.files.guards import is_unchanged
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.ranking import separate_scores
from trectools_plus.formats.tables import RUN_SCHEMA, Run
from trectools_plus.formats.writing import write_run_frames
from trectools_plus.measures.definitions.base import Measure
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.scoring import JudgedFile, Ties, accept_unjudged, count_ties
from trectools_plus.retrieval.index.models import SourceFile
from trectools_plus.validation import Severity, check_pair, refuse_errors
from trectools_plus.validation.engine import check_pair_view
from trectools_plus.validation.findings import NOTHING_JUDGED
from trectools_plus.validation.loading import (
    accept_run,
    load_run,
    open_single_run,
)
from trectools_plus.validation.rules.pairs import PairView
from trectools_plus.validation.views.kinds import RunView
from trectools_plus.validation.views.places import places_in_query

DEEPEST = 10
"""The deepest rank of documents that reports show."""


@dataclass(frozen=True, slots=True, eq=False)
class ModeRun:
    """The run of one mode.

    Attributes:
        run: The judged documents of its file; a run without rows, and no file, when nothing was
            found.
        first: The rows of the first documents of each query, those that reports show.
        info: The file, for the report; without a path if nothing was found for any query.
        findings: The findings of the validator.
        latency_ms: Milliseconds per query, NaN if not measured; ``None`` for a given run.
        index_key: Key of the indexes searched; ``None`` for a given run.
        cut_short: Queries of a fetched run with fewer documents than requested although the backend
            found more results.
        given: True if it is a file of the user, not fetched.
    """

    run: Run | JudgedFile
    first: Run
    info: RunFile
    findings: list[FindingRecord]
    latency_ms: npt.NDArray[np.float64] | None = None
    index_key: str | None = None
    cut_short: list[str] = field(default_factory=list)
    given: bool = False

    def read(self, folder: OutputFolder) -> Run:
        """Return the run with all rows, if necessary from its file.

        Args:
            folder: The benchmark's output folder, published or not.

        Raises:
            InputError: If the file is missing, or not the one that was scored.
        """
        if isinstance(self.run, Run):
            return self.run
        root = folder.partial if folder.discard.alive else folder.path
        path = str(root / str(self.info.path))
        if not is_unchanged(path, [str(self.info.sha256)]):
            raise InputError("the run that was scored is missing or changed", where=path)
        return replace(load_run(path), name=Path(path).stem)


def read_mode_run(name: str, path: str, dataset: Dataset, folder: OutputFolder) -> ModeRun:
    """Read a given run once, and write it to ``runs/<name>.run``.

    Args:
        name: The mode.
        path: The run; ``-`` is standard input.
        dataset: The judgments and topics.
        folder: The benchmark's output folder.

    Raises:
        FindingsError: If a figure would be wrong or ambiguous.
        InputError: If a file cannot be read or written.
    """
    view, judged = open_single_run(path), dataset.judged
    found = accept_run(view, judged.view)
    table = RunView(view.path, view.rows)
    del view
    if dataset.topics is not None:
        known = {finding.code for finding in found}
        pair = check_pair_view(PairView(table, judged.view, dataset.topics.query_ids))
        pair = [finding for finding in pair if finding.code not in known]
        refuse_errors(pair)
        found = (*found, *pair)
    source = None if path == "-" else SourceFile(path=path, sha256=sha256_file(path))
    if dataset.excluded is not None:
        run = dataset.excluded.from_run(table.table(name))
        if run.frame.is_empty():
            raise InputError("every result of the run is left out", where=path)
        table = RunView.of_table(run)
    # The report lists the findings on the given file: the written file no longer has some of them.
    written = _write(folder, table, name, judged, source)
    return replace(written, findings=record_findings(found), given=True)


def write_mode_run(
    dataset: Dataset, folder: OutputFolder, run: Run, measures: Sequence[Measure]
) -> ModeRun:
    """Write a run, and validate the file with the rules for runs that are given.

    Args:
        dataset: The judgments and topics.
        folder: The benchmark's output folder.
        run: The run; its name is the name of the file.
        measures: The measures; if one of them can score a run without judged documents, the run
            may have none.

    Raises:
        FindingsError: If a rule that scoring depends on is broken.
        InputError: If the file cannot be written.
    """
    if run.frame.is_empty():
        return ModeRun(run, run, RunFile(queries=0, ties=Ties(0, 0, 0, {10: 0, 100: 0})), [])
    mode = _write(folder, RunView.of_table(run), run.name, dataset.judged)
    view = open_single_run(folder.partial / str(mode.info.path), None)
    findings = accept_run(view)
    pair = [
        replace(finding, severity=Severity.WARNING, blocks_scoring=False)
        if finding.code == NOTHING_JUDGED and accept_unjudged(measures)
        else finding
        for finding in check_pair(view.table(view.tag), dataset.qrels, dataset.topics)
    ]
    refuse_errors(pair)
    return replace(mode, findings=record_findings([*findings, *pair]))


def _write(
    folder: OutputFolder,
    view: RunView,
    mode: str,
    judged: JudgedQueries,
    source: SourceFile | None = None,
) -> ModeRun:
    """Write a run in the canonical order without ties, and return it as it is written.

    Args:
        folder: The benchmark's output folder.
        view: The run.
        mode: The name of the run and its file.
        judged: The judgments.
        source: The original file, if it was given.
    """
    run, order = JudgedFile.of(view, judged), view.order(32)
    place = places_in_query(view.grouped.query)
    sizes = view.blocks.sizes
    name = f"{RUNS_FOLDER}/{mode}.run"
    columns = {
        "query_id": pl.Series(view.query_ids, dtype=pl.String).gather(
            np.repeat(np.arange(len(sizes)), sizes)
        ),
        "doc_id": view.doc_ids.take(order).series(),
        "rank": place + 1,
        "score": separate_scores(view.score[order], place + 1),
    }
    frame = pl.DataFrame(columns, schema=RUN_SCHEMA)
    path = folder.partial / name
    # In parts, which needs less memory.
    write_run_frames(frame.iter_slices(1 << 16), path, re.sub(r"[^A-Za-z0-9_.-]", "_", mode))
    info = RunFile(
        path=name,
        sha256=sha256_file(path),
        source=source,
        queries=len(sizes),
        results=int(sizes.sum()),
        depth=int(sizes.max()),
        ties=count_ties(view),
    )
    return ModeRun(run, Run(frame.filter(pl.col("rank") <= DEEPEST)), info, [])


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """All modes of a benchmark.

    Attributes:
        scored: At least one mode that answered every query, by name.
        unscored: The other modes, for the report.
    """

    scored: dict[str, ModeRun]
    unscored: dict[str, UnscoredMode] = field(default_factory=dict)


def prepare_modes(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> Modes:
    """Fetch or read the run of each mode and write it to ``runs/<mode>.run``.

    Args:
        config: The settings.
        dataset: The data.
        folder: The benchmark's output folder; filled, not published.
        progress: Called as ``progress(description, done, total)``.

    Returns:
        The modes in the configuration's order.

    Raises:
        FindingsError: If a rule that scoring depends on is broken.
        InputError: If a file cannot be read or written, or each mode failed for every query.
        CheckFailedError: If no mode answered every query.
    """
    if config.runs is None:
        return _fetch_modes(config, dataset, folder, progress)
    modes = Modes({})
    for done, (name, path) in enumerate(config.runs.items(), 1):
        modes.scored[name] = read_mode_run(name, path, dataset, folder)
        progress("reading runs", done, len(config.runs))
    return modes


def _fetch_modes(
    config: BenchmarkConfig, dataset: Dataset, folder: OutputFolder, progress: Progress
) -> Modes:
    # Imported here, because given runs do not need these modules.
    from trectools_plus.retrieval.fetch import FetchRequest, fetch_runs
    from trectools_plus.retrieval.outcome import SCORED, describe_failures, refuse_unscorable
    from trectools_plus.retrieval.source import FetchOptions

    assert dataset.topics is not None  # see BenchmarkConfig.check_data
    excluded = dataset.excluded
    depth = config.depth + (0 if excluded is None else excluded.most)
    request = FetchRequest(
        dataset.corpus,
        dataset.topics,
        config.mode_keys,
        FetchOptions(depth, config.exclude_self, config.collapse),
        config.retrieval,
        config.make_backend(),
    )
    fetched = fetch_runs(request, progress=progress)
    measures = config.bind_measures(config.measure_names)
    unscored = {
        mode: UnscoredMode(
            label=config.label(mode),
            status=run.status,
            reason=describe_failures(run),
            queries=len(run.latency_ms),
            failed_queries={query: failure.reason for query, failure in run.failures.items()},
        )
        for mode, run in fetched.items()
        if run.status not in SCORED
    }
    if len(unscored) == len(fetched):
        refuse_unscorable(fetched)
    modes = Modes({}, unscored)
    for mode, answer in fetched.items():
        if mode in unscored:
            continue
        run = Run(answer.run.frame, mode)
        if excluded is not None:
            kept = excluded.from_run(run).frame.group_by("query_id", maintain_order=True)
            run = Run(kept.head(config.depth), mode)
        modes.scored[mode] = replace(
            write_mode_run(dataset, folder, run, measures),
            latency_ms=answer.latency_ms,
            index_key=" ".join(f"{name}:{key}" for name, key in answer.index_keys.items()) or None,
            cut_short=answer.cut_short,
        )
    return modes
