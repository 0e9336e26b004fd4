"""The files that are timed: a run as a retrieval system would write it, a broken copy, qrels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

N_QUERIES = 6_980
N_JUDGED = 50
N_DOCUMENTS = 8_841_823
SEED = 6980


@dataclass(frozen=True)
class Inputs:
    """Paths of one run in two states, and its qrels."""

    clean: Path
    broken: Path
    qrels: Path


def make_inputs(folder: Path, n_lines: int) -> Inputs:
    """Write the files, unless they are there."""
    inputs = Inputs(*(folder / f"{name}-{n_lines}.txt" for name in ("clean", "broken", "qrels")))
    if inputs.qrels.exists():
        return inputs
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    run = _clean_run(random, n_lines)
    _write(run, inputs.clean)
    _write_broken(random, run, inputs.broken)
    _write(_qrels(random, run), inputs.qrels)
    return inputs


def make_similar_runs(
    folder: Path, n_runs: int, n_queries: int, n_judged: int = 200
) -> tuple[Path, list[Path]]:
    """Write qrels and runs of 100 results that find more and more relevant documents.

    Args:
        folder: The folder of the files.
        n_runs: The number of runs.
        n_queries: The number of queries.
        n_judged: The number of judged documents of each query, of 200.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    documents = 200
    relevant = random.random((n_queries, documents)) < 0.06
    relevant[:, 0] = True
    rows = [
        f"{query} 0 d{document} {int(relevant[query, document])}\n"
        for query in range(n_queries)
        for document in range(n_judged)
    ]
    qrels = folder / "qrels.txt"
    qrels.write_text("".join(rows))
    runs = []
    for number in range(n_runs):
        lines = []
        for query in range(n_queries):
            scores = random.normal(size=documents)
            scores += relevant[query] * number / n_runs * random.exponential(2.0, documents)
            best = np.argsort(-scores)[:100].tolist()
            lines += [
                f"{query} Q0 d{document} {rank} {scores[document]:.6f} run{number}\n"
                for rank, document in enumerate(best, 1)
            ]
        runs.append(folder / f"run{number:03}.run")
        runs[-1].write_text("".join(lines))
    return qrels, runs


def _clean_run(random: np.random.Generator, n_lines: int) -> pl.DataFrame:
    depth = n_lines // N_QUERIES
    position = np.tile(np.arange(depth), N_QUERIES)
    # A stride no two positions of a query share a multiple of: distinct documents without a test.
    first = np.repeat(random.integers(0, N_DOCUMENTS, N_QUERIES), depth)
    stride = np.repeat(random.integers(1, N_DOCUMENTS // 1000, N_QUERIES), depth)
    query_ids = random.permutation(1_100_000)[:N_QUERIES]
    score = 30 - position * (20 / depth) - random.random(len(position)) * (15 / depth)
    return pl.DataFrame(
        {
            "query_id": np.repeat(query_ids, depth),
            "q0": pl.repeat("Q0", len(position), eager=True),
            "doc_id": (first + stride * position) % N_DOCUMENTS,
            "rank": position + 1,
            "score": score.round(6),
            "tag": pl.repeat("bm25", len(position), eager=True),
        }
    )


def _write_broken(random: np.random.Generator, run: pl.DataFrame, path: Path) -> None:
    """In one query of ten a document twice, a rank that is off, or a tie; 20 malformed lines."""
    depth = run.height // N_QUERIES
    rows = np.arange(0, N_QUERIES, 10) * depth + random.integers(1, depth, N_QUERIES // 10)
    columns = {name: run[name].to_numpy().copy() for name in ("doc_id", "rank", "score")}
    for (name, values), kind in zip(columns.items(), range(3), strict=True):
        at = rows[kind::3]
        values[at] = values[at - 1] if name != "rank" else values[at] + 3
    _write(run.with_columns(**{name: pl.Series(values) for name, values in columns.items()}), path)
    lines = path.read_bytes().split(b"\n")
    for at in random.integers(1, len(lines) - 1, 20).tolist():
        lines[at] = random.choice([b"", b"# note", lines[at] + b" more", lines[at][:-6], b"\t"])
    path.write_bytes(b"\n".join(lines))


def _qrels(random: np.random.Generator, run: pl.DataFrame) -> pl.DataFrame:
    """Half of each query's judged documents are retrieved."""
    depth = run.height // N_QUERIES
    places = np.sort(random.random((N_QUERIES, depth)).argsort(1)[:, : N_JUDGED // 2], axis=1)
    rows = (places + np.arange(N_QUERIES)[:, None] * depth).ravel()
    found = run.select("query_id", iteration=pl.lit("0"), doc_id="doc_id")[rows]
    others = found.with_columns(doc_id=pl.col("doc_id") + N_DOCUMENTS)
    grades = random.choice([0, 0, 1, 2], 2 * len(rows))
    return pl.concat([found, others]).with_columns(relevance=pl.Series(grades)).sort("query_id")


def _write(frame: pl.DataFrame, path: Path) -> None:
    frame.write_csv(path, include_header=False, separator=" ")
