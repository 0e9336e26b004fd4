"""The number and size of the packages that are installed and imported."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.process,
    pytest.mark.installation,
    pytest.mark.skipif(sys.platform != "linux", reason="packages have other sizes elsewhere"),
    pytest.mark.slow("installs packages"),
]

CORE = """
annotated-doc annotated-types backports-zstd bm25s filelock ir-measures jinja2 markdown-it-py
markupsafe mdurl numpy platformdirs polars polars-runtime-32 pydantic pydantic-core pygments
pystemmer pytrec-eval-terrier pyyaml rich scipy shellingham threadpoolctl typer typing-extensions
typing-inspection
"""
"""The packages that validating, scoring, comparing and reporting import, apart from this one."""

# In this order: later commands use the files of earlier ones.
COMMANDS = """
runs validate a.run --qrels q.txt --topics t.tsv
runs validate a.run b.run --format github
runs validate a.run --fix fixed.run
runs info a.run
runs convert a.run --output a.csv
runs fuse a.run b.run --method rrf --output fused.run
qrels validate q.txt
topics validate t.tsv
testset validate set.yaml
testset convert set.yaml set.json
eval q.txt a.run b.run -m nDCG@10,AP,RBP
eval q.txt a.run --format parquet --output scores.parquet
eval q.txt a.run --per-query --format json
trec-eval -q q.txt a.run
explain nDCG@10
compare a.run b.run fused.run --qrels q.txt --to table.tex --to table.md --to table.csv
benchmark run --runs a.run b.run --qrels q.txt --topics t.tsv --output-dir one
benchmark run --runs a=a.run b=fused.run --qrels q.txt --topics t.tsv --output-dir two
benchmark verify one
benchmark list .
benchmark show one --table table.csv
benchmark compare one two
benchmark gate --current one --baseline two --max-drop 99%
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with links to this package and the core packages, and nothing else."""
    folder = tmp_path_factory.mktemp("core")
    for package in CORE.split():
        found = metadata.distribution(package)
        for name in {file.parts[0] for file in found.files or () if ".." not in file.parts}:
            if name != "__pycache__":
                (folder / name).symlink_to(str(found.locate_file(name)))
    (folder / "trectools_plus").symlink_to(ROOT / "trectools_plus")
    text = metadata.distribution("trectools-plus").read_text("METADATA")
    info = folder / "trectools_plus-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(str(text), encoding="utf-8")
    return folder


def test_the_core_validates_scores_compares_and_reports(core: Path, tmp_path: Path) -> None:
    documents = "abcdefgh"
    for name, order in (("a", documents), ("b", documents[::-1])):
        lines = (
            f"{query} Q0 {doc} {rank} {10 - rank} {name}\n"
            for query in range(1, 9)
            for rank, doc in enumerate(order[query % 3 :], 1)
        )
        (tmp_path / f"{name}.run").write_text("".join(lines))
    judged = (f"{query} 0 {documents[query % 4]} {query % 3}\n" for query in range(1, 9))
    (tmp_path / "q.txt").write_text("".join(judged))
    texts = (f"{query}\tthe roses of the garden {query * 'and more '}\n" for query in range(1, 9))
    (tmp_path / "t.tsv").write_text("".join(texts))
    case = (
        "- {{query_id: c{0}, query_text: red {0}, relevant_docs: [{{doc_id: d{0}, grade: 1}}]}}\n"
    )
    (tmp_path / "set.yaml").write_text("queries:\n" + "".join(map(case.format, range(5))))
    environment = {**os.environ, "PYTHONPATH": str(core), "PYTHONNOUSERSITE": "1"}
    for words in COMMANDS.strip().splitlines():
        done = subprocess.run(
            [sys.executable, "-S", "-m", "trectools_plus", *words.split()],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout[-500:]} {done.stderr[-2000:]}"
    assert 'id="plot-area"' in (tmp_path / "one" / "BenchmarkReport.html").read_text("utf-8")
