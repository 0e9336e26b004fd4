"""The modes of a benchmark as run files: fetched or given, written, validated, read back.

What is scored is what a run file holds after it was written, so that every figure can be had
from the files with any other tool. They are written in the canonical order and without ties, on
which tools disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.config import BenchmarkConfig
from trectools_plus.benchmark.dataset import Dataset
from trectools_plus.benchmark.findings import record_findings
from trectools_plus.benchmark.report import FindingRecord, RunInfo, SourceFile, TieInfo
from trectools_plus.errors import InputError
from trectools_plus.formats.tables import Run
from trectools_plus.ranking import separate_ties
from trectools_plus.retrieval.base import Progress

RUNS_FOLDER = "runs"
QRELS_FILE = "qrels.txt"


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One mode, ready to be scored.

    Attributes:
        run: What its file holds.
        info: The file, for the report.
        findings: What the validator says about it.
        latency_ms: Milliseconds per query; ``None`` for a given run.
        index_key: Key of the indexes searched; ``None`` for a given run.
    """

    run: Run
    info: RunInfo
    findings: list[FindingRecord]
    latency_ms: npt.NDArray[np.float64] | None = None
    index_key: str | None = None


def make_arms(
    config: BenchmarkConfig, dataset: Dataset, folder: Path, progress: Progress
) -> dict[str, Arm]:
    """Fetch or read every mode's run and write it to ``folder/runs/<mode>.run``.

    Args:
        config: What to do.
        dataset: The data.
        folder: The benchmark's output folder; made if missing.
        progress: Told of the work done.

    Returns:
        By mode, in the configuration's order.

    Raises:
        FindingsError: If a run holds what scoring refuses.
        InputError: If a file cannot be read or written.
    """
    _write_qrels(dataset, folder)
    if config.runs is None:
        return _fetch_arms(config, dataset, folder, progress)
    return _read_arms(config, dataset, folder, progress)


def _write_qrels(dataset: Dataset, folder: Path) -> None:
    """The judgments beside the runs, so that the folder is all another tool needs."""
    from trectools_plus.formats.qrels import write_qrels

    try:
        (folder / RUNS_FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the output folder cannot be made: {error.strerror or error}", where=str(folder)
        ) from error
    write_qrels(dataset.qrels, folder / QRELS_FILE)


def _fetch_arms(
    config: BenchmarkConfig, dataset: Dataset, folder: Path, progress: Progress
) -> dict[str, Arm]:
    from trectools_plus.retrieval.fetch import fetch

    if dataset.corpus is None or dataset.topics is None:
        raise InputError("nothing to search: no corpus or no topics", where=dataset.id)
    fetched = fetch(
        dataset.corpus,
        dataset.topics,
        config.modes,
        depth=config.depth,
        settings=config.retrieval,
        exclude_self=config.exclude_self,
        progress=progress,
    )
    arms = {}
    for mode, answer in fetched.items():
        arms[mode] = _write_arm(
            config,
            dataset,
            folder,
            Run(answer.run.frame, mode),
            latency_ms=answer.latency_ms,
            index_key=" ".join(f"{name}:{key}" for name, key in answer.index_keys.items()) or None,
        )
    return arms


def _read_arms(
    config: BenchmarkConfig, dataset: Dataset, folder: Path, progress: Progress
) -> dict[str, Arm]:
    from trectools_plus.formats.hashing import sha256_file

    arms: dict[str, Arm] = {}
    given = config.runs or {}
    for done, (name, path) in enumerate(given.items()):
        progress("reading runs", done, len(given))
        run, findings = _load(path, dataset, config.depth)
        source = None if path == "-" else SourceFile(path=path, sha256=sha256_file(path))
        # The findings are those of the file as given: writing it anew mends some of them.
        arms[name] = _write_arm(
            config,
            dataset,
            folder,
            Run(run.frame, name),
            source=source,
            findings=findings,
        )
    progress("reading runs", len(given), len(given))
    return arms


def _write_arm(
    config: BenchmarkConfig,
    dataset: Dataset,
    folder: Path,
    run: Run,
    *,
    source: SourceFile | None = None,
    findings: list[FindingRecord] | None = None,
    latency_ms: npt.NDArray[np.float64] | None = None,
    index_key: str | None = None,
) -> Arm:
    """Write a run, validate what was written, and read it back."""
    from trectools_plus.formats.hashing import sha256_file
    from trectools_plus.formats.run import write_run

    name = f"{RUNS_FOLDER}/{run.name}.run"
    path = folder / name
    write_run(Run(separate_ties(run.frame)), path, tag=re.sub(r"[^A-Za-z0-9_.-]", "_", run.name))
    written, own_findings = _load(str(path), dataset, config.depth)
    sizes = written.frame.group_by("query_id").len()["len"].to_list()
    info = RunInfo(
        path=name,
        sha256=sha256_file(path),
        source=source,
        queries=len(sizes),
        results=sum(sizes),
        depth=max(sizes, default=0),
        ties=count_ties(run),
    )
    return Arm(
        Run(written.frame, run.name, str(path)),
        info,
        own_findings if findings is None else findings,
        latency_ms,
        index_key,
    )


def _load(path: str, dataset: Dataset, max_depth: int) -> tuple[Run, list[FindingRecord]]:
    """Read a run with all findings; refuse what scoring refuses."""
    from trectools_plus.validation import check_pair, refuse_errors
    from trectools_plus.validation.loading import load_run_with_findings

    run, found = load_run_with_findings(path, qrels=dataset.qrels, max_depth=max_depth)
    findings = list(found)
    if dataset.topics is not None:
        known = {finding.code for finding in findings}
        paired = check_pair(run, dataset.qrels, dataset.topics)
        findings += [finding for finding in paired if finding.code not in known]
        refuse_errors(findings)
    return run, record_findings(findings)


def count_ties(run: Run) -> TieInfo:
    """Ties of a run as it was scored."""
    from trectools_plus.measures.ties import tie_counts

    ties = tie_counts(run)
    return TieInfo(
        pairs=ties.in_32_bits.pairs,
        pairs_64=ties.in_64_bits.pairs,
        queries=ties.in_32_bits.queries,
        straddling={str(k): count for k, count in ties.in_32_bits.straddling.items()},
    )
