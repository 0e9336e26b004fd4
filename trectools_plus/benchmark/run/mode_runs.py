"""One mode of a benchmark as a run file: written, validated, read back, ready to be scored.

What is scored is what a run file holds after it was written, so that every figure can be had
from the files with any other tool. They are written in the canonical order and without ties, on
which tools disagree. A mode that finds nothing has no file: readers refuse one without rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from trectools_plus.benchmark.report import ArmStatus, FindingRecord, RunInfo, SourceFile, TieInfo
from trectools_plus.benchmark.report.parts import record_findings
from trectools_plus.benchmark.run.dataset import Dataset
from trectools_plus.benchmark.run.output_folder import RUNS_FOLDER, OutputFolder
from trectools_plus.formats.tables import Run
from trectools_plus.ranking import separate_ties

if TYPE_CHECKING:
    from trectools_plus.validation import Finding

_OWN_RESULTS = frozenset({"P101", "P105", "P106"})
"""Rules that tell a run of another collection. One that was fetched here is of this collection,
so it is a result, and no mistake, that nothing it found was judged."""


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One mode, ready to be scored.

    Attributes:
        run: What its file holds; without rows, and without a file, when nothing was found.
        info: The file, for the report.
        findings: What the validator says about it.
        latency_ms: Milliseconds per query; ``None`` for a given run.
        index_key: Key of the indexes searched; ``None`` for a given run.
        without: For a mode that merges rankings, by component: the same without it.
    """

    run: Run
    info: RunInfo
    findings: list[FindingRecord]
    latency_ms: npt.NDArray[np.float64] | None = None
    index_key: str | None = None
    without: dict[str, Arm] = field(default_factory=dict)

    @property
    def status(self) -> ArmStatus:
        """``empty`` when no query found anything."""
        return "empty" if self.run.frame.is_empty() else "ok"


def read_arm(
    name: str,
    path: str,
    dataset: Dataset,
    folder: OutputFolder,
    look: Callable[[Run], None] | None = None,
) -> Arm:
    """Read a given run, once, and write it to ``runs/<name>.run``.

    Args:
        name: The mode.
        path: The run; ``-`` is standard input.
        dataset: What it is judged by.
        folder: The benchmark's output folder.
        look: Sees the run before it meets the judgments; may refuse it.

    Raises:
        FindingsError: If it holds what scoring refuses.
        InputError: If a file cannot be read or written.
    """
    from trectools_plus.formats.hashing import sha256_file

    run, findings = _load_given(path, dataset, look)
    source = None if path == "-" else SourceFile(path=path, sha256=sha256_file(path))
    # The findings are those of the file as given: writing it anew mends some of them.
    return write_arm(dataset, folder, Run(run.frame, name), source=source, findings=findings)


def write_arm(
    dataset: Dataset,
    folder: OutputFolder,
    run: Run,
    *,
    subfolder: str = RUNS_FOLDER,
    source: SourceFile | None = None,
    findings: list[FindingRecord] | None = None,
    latency_ms: npt.NDArray[np.float64] | None = None,
    index_key: str | None = None,
) -> Arm:
    """Write a run, validate what was written, and read it back.

    Args:
        dataset: What it is judged by.
        folder: The benchmark's output folder.
        run: The run; its name is the file's.
        subfolder: Where in the folder the file goes.
        source: The file it was read from, if it was given.
        findings: What is known of it already, instead of what is found in the file written.
        latency_ms: Milliseconds per query; ``None`` for a given run.
        index_key: Key of the indexes searched; ``None`` for a given run.

    Raises:
        FindingsError: If it holds what scoring refuses.
        InputError: If the file cannot be written.
    """
    from trectools_plus.formats.hashing import sha256_file
    from trectools_plus.formats.run import write_run

    if run.frame.is_empty():
        nothing = RunInfo(
            path=None, sha256=None, queries=0, results=0, depth=0, ties=_count_ties(run)
        )
        return Arm(run, nothing, [], latency_ms, index_key)
    name = f"{subfolder}/{run.name}.run"
    path = folder.partial / name
    with folder.naming():
        tag = re.sub(r"[^A-Za-z0-9_.-]", "_", run.name)
        write_run(Run(separate_ties(run.frame)), path, tag=tag)
        written, own_findings = _load_own(path, dataset)
    sizes = written.frame.group_by("query_id").len()["len"].to_list()
    info = RunInfo(
        path=name,
        sha256=sha256_file(path),
        source=source,
        queries=len(sizes),
        results=sum(sizes),
        depth=max(sizes, default=0),
        ties=_count_ties(run),
    )
    return Arm(
        Run(written.frame, run.name, str(folder.path / name)),
        info,
        own_findings if findings is None else findings,
        latency_ms,
        index_key,
    )


def _load_given(
    path: str, dataset: Dataset, look: Callable[[Run], None] | None
) -> tuple[Run, list[FindingRecord]]:
    """Read a run with all findings; refuse what scoring refuses."""
    from trectools_plus.validation import refuse_errors
    from trectools_plus.validation.loading import load_run_with_findings

    run, found = load_run_with_findings(path, qrels=dataset.qrels, look=look)
    known = {finding.code for finding in found}
    paired = [finding for finding in _check_pair(run, dataset) if finding.code not in known]
    refuse_errors(paired)
    return run, record_findings([*found, *paired])


def _load_own(path: Path, dataset: Dataset) -> tuple[Run, list[FindingRecord]]:
    """Read what was written here; what only a run of strangers must not be is a warning."""
    from trectools_plus.validation import Severity, refuse_errors
    from trectools_plus.validation.loading import load_run_with_findings

    run, found = load_run_with_findings(path)
    paired = [
        replace(finding, severity=Severity.WARNING, blocks_scoring=False)
        if finding.code in _OWN_RESULTS and finding.severity is Severity.ERROR
        else finding
        for finding in _check_pair(run, dataset)
    ]
    refuse_errors(paired)
    return run, record_findings([*found, *paired])


def _check_pair(run: Run, dataset: Dataset) -> list[Finding]:
    from trectools_plus.validation import check_pair

    return check_pair(run, dataset.qrels, dataset.topics)


def _count_ties(run: Run) -> TieInfo:
    """Ties of a run as it came."""
    from trectools_plus.measures.scoring.bounds import tie_counts

    ties = tie_counts(run)
    return TieInfo(
        pairs=ties.in_32_bits.pairs,
        pairs_64=ties.in_64_bits.pairs,
        queries=ties.in_32_bits.queries,
        straddling={str(k): count for k, count in ties.in_32_bits.straddling.items()},
    )
