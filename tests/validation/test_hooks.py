"""The hooks for pre-commit: each takes the files of its kind, and leaves others alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PATTERNS = {hook["id"].removeprefix("trectools-plus-"): hook["files"] for hook in HOOKS}


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("base.run", {"runs"}),
        ("runs/base.run.gz", {"runs"}),
        ("qrels", {"qrels"}),
        ("qrels.txt", {"qrels"}),
        ("data/qrels-dl19.tsv.gz", {"qrels"}),
        ("2019qrels-pass.txt", {"qrels"}),
        ("qrels/test.tsv", {"qrels"}),
        ("beir/qrels/dev.tsv.zst", {"qrels"}),
        ("trec8.qrels", {"qrels"}),
        ("trec8.qrel", {"qrels"}),
        ("topics.tsv", {"topics"}),
        ("topics.robust04.xml", {"topics"}),
        ("topics/dev.tsv", {"topics"}),
        ("queries.jsonl", {"topics"}),
        ("testset.yaml", {"topics"}),
        ("test-set_v1.json", {"topics"}),
        ("testsets/german.yml", {"topics"}),
        ("trectools_plus/formats/trec_files.py", set()),
        ("src/qrels_loader.cpp", set()),
        ("docs/qrels.md", set()),
        ("qrels.README", set()),
        ("qrels/README.md", set()),
        ("docs/topics/install.txt", set()),
        ("docs/topics.md", set()),
        ("topics.py", set()),
        ("tests/set.yaml", set()),
        ("truns.txt", set()),
    ],
)
def test_each_hook_takes_the_files_of_its_kind(path: str, kinds: set[str]) -> None:
    assert {kind for kind, pattern in PATTERNS.items() if re.search(pattern, path)} == kinds
