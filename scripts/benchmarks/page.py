"""The page of a report on 6,980 queries and two runs: its time, peak memory and size.

    python scripts/benchmarks/page.py FOLDER PYTHON …   # the interpreters of one or more versions

FOLDER has the files of ``scripts/bench --lines 698000 --write FOLDER``.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.inputs import SEED, Inputs, make_inputs
from benchmarks.measuring import process

DEPTHS = (10, 100)
MEASURES: dict[str, tuple[str, ...]] = {
    "default": (),
    "25": (
        *(f"nDCG@{cutoff}" for cutoff in (1, 3, 5, 10, 20, 100)),
        *("AP", "AP@10", "AP@100", "RR", "RR@10", "Rprec", "Bpref", "RBP(p=0.8)"),
        *(f"P@{cutoff}" for cutoff in (1, 5, 10, 20)),
        *(f"R@{cutoff}" for cutoff in (5, 10, 20, 50, 100)),
        *("HitRate@1", "HitRate@10"),
    ),
}
_WORDS = "what how does a the of cost heart city definition weather build who long take is adults"
_WRITE_PAGE = """
import sys
from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.reporting.page import render_html
from trectools_plus.reporting.page import QueryEvidence
from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.reporting.html.page import render_html
from trectools_plus.reporting.html.page import QueryEvidence
found = ReportFolder(sys.argv[1])
runs = {mode: found.read_run(mode) for mode in found.report.modes}
evidence = QueryEvidence(found.per_query, runs, found.read_qrels(), found.topics)
if len(sys.argv) > 2:
    open(sys.argv[2], 'w', encoding='utf-8').write(render_html(found.report, evidence))
"""


@dataclass(frozen=True)
class Case:
    """Two runs over the same queries, their judgments and topics."""

    runs: tuple[Path, Path]
    qrels: Path
    topics: Path


def make_case(inputs: Inputs, folder: Path, depth: int) -> Case:
    """Write a run, the same documents in another order, and topics, unless they are there."""
    case = Case(
        (folder / f"one-{depth}.txt", folder / f"two-{depth}.txt"),
        inputs.qrels,
        folder / "topics.tsv",
    )
    if case.runs[1].exists():
        return case
    random = np.random.default_rng(SEED)
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    run = pl.read_csv(inputs.clean, separator=" ", has_header=False, new_columns=names)
    query_ids = run["query_id"].unique(maintain_order=True)
    words = random.choice(_WORDS.split(), (len(query_ids), 7))
    topics = pl.DataFrame({"query_id": query_ids, "text": [" ".join(row) for row in words]})
    topics.write_csv(case.topics, include_header=False, separator="\t")
    moved = run.with_columns(
        tag=pl.lit("moved"), score=(pl.col("score") + random.normal(0, 6, run.height)).round(6)
    ).sort("query_id", "score", descending=[False, True])
    moved = moved.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    for path, frame in zip(case.runs, (run, moved), strict=True):
        cut = frame.filter(pl.col("rank") <= depth)
        cut.write_csv(path, include_header=False, separator=" ")
    return case


def benchmark_command(
    python: str | Path, case: Case, output: Path, measures: tuple[str, ...] = ()
) -> list[str | Path]:
    """Return the command that makes the whole report, in the version of an interpreter."""
    main = "import sys; from trectools_plus.cli.app import main; main()"
    files = ["--qrels", case.qrels, "--topics", case.topics, "--output-dir", output]
    asked = ["--measures", ",".join(measures)] if measures else []
    runs = [f"{path.stem}={path}" for path in case.runs]
    return [
        python,
        "-P",
        "-c",
        main,
        "benchmark",
        "run",
        "--no-cache",
        "--runs",
        *runs,
        *files,
        *asked,
    ]


def page_command(python: str | Path, report: Path, page: Path | None = None) -> list[str | Path]:
    """Return the command that reads a report and writes its page; without a page it only reads."""
    return [python, "-P", "-c", _WRITE_PAGE, report, *([] if page is None else [page])]


def figures(
    python: str | Path, case: Case, output: Path, measures: tuple[str, ...] = ()
) -> dict[str, float]:
    """Make the whole report; return seconds, peak memory, and the size of the page."""
    shutil.rmtree(output, ignore_errors=True)
    spent = process(benchmark_command(python, case, output, measures))()
    size = (output / "BenchmarkReport.html").stat().st_size
    return {"s": spent.seconds, "MiB": spent.peak_mib or 0.0, "MB": size / 1e6}


def figures_of_page(python: str | Path, report: Path, page: Path) -> dict[str, float]:
    """Write the page of a report; return its time, and the peak memory with reading the report."""
    read = process(page_command(python, report))()
    written = process(page_command(python, report, page))()
    return {"page s": written.seconds - read.seconds, "page MiB": written.peak_mib or 0.0}


def main(folder: Path, pythons: list[str], rounds: int = 3) -> None:
    """Print the medians by depth, measures and interpreter."""
    inputs = make_inputs(folder, 698_000)
    for depth in DEPTHS:
        case = make_case(inputs, folder, depth)
        for name, measures in MEASURES.items():
            for python in pythons:
                output, page = folder / f"report-{depth}-{name}", folder / "page.html"
                rows = [
                    figures(python, case, output, measures) | figures_of_page(python, output, page)
                    for _ in range(rounds)
                ]
                medians = {unit: statistics.median(row[unit] for row in rows) for unit in rows[0]}
                found = "  ".join(f"{value:6.2f} {unit}" for unit, value in medians.items())
                print(f"depth {depth:3}, {name:7} measures  {found}  {python}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:] or [sys.executable])
