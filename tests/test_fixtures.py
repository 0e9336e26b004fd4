"""The files in fixtures/ match their README."""

from pathlib import Path

import pytest

from trectools_plus.benchmark.run.dataset import load_collection
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.validation.loading import load_run

FOLDER = Path(__file__).parents[1] / "fixtures"


def test_readme_names_every_file():
    readme = (FOLDER / "README.md").read_text()
    files = [path for path in FOLDER.rglob("*") if path.is_file() and path.name != "README.md"]
    folders = {path.parent for path in files if f"`{path.parent.name}/`" in readme}
    assert [path for path in files if path.name not in readme and path.parent not in folders] == []


def test_both_layouts_hold_the_same_collection():
    trec, beir = (load_collection(FOLDER / f"garden-{layout}") for layout in ("trec", "beir"))
    assert trec.corpus is not None
    assert beir.corpus is not None
    assert trec.corpus.frame.equals(beir.corpus.frame)
    assert trec.topics.to_dict() == beir.topics.to_dict()
    assert trec.qrels.to_dict() == beir.qrels.to_dict()
    assert "07" in trec.topics.query_ids


@pytest.mark.parametrize("name", ["lexical", "vector", "hybrid"])
def test_clean_runs_are_in_canonical_order_and_cover_every_query(name):
    run = load_run(FOLDER / "runs" / f"{name}.run")
    assert run.frame.equals(rank_documents(run.frame))
    assert run.query_ids == load_collection(FOLDER / "garden-trec").topics.query_ids


@pytest.mark.parametrize("name", ["lexical.run.gz", "lexical-windows.run", "lexical-commented.run"])
def test_other_spellings_of_the_lexical_run_read_the_same(name):
    plain = load_run(FOLDER / "runs" / "lexical.run")
    assert load_run(FOLDER / "runs" / name).frame.equals(plain.frame)
