"""The plan: its pool, the order of queries, its files, and what it refuses."""

import json

import pytest
from harness.plans import topics_of, write_corpus, write_runs

from trectools_plus.errors import CheckFailedError, InputError, UsageError
from trectools_plus.formats import Topics, load_corpus
from trectools_plus.formats.ranking import rank_documents
from trectools_plus.judging import JudgmentPlan, PlanFolder, PlanOptions
from trectools_plus.judging.plan import make_plan


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_pool_has_the_first_documents_of_every_run(plan, tmp_path):
    expected = {}
    for run in ("a", "b"):
        rows = [line.split() for line in (tmp_path / f"{run}.run").read_text().splitlines()]
        for query_id in {row[0] for row in rows}:
            # As trec_eval: by score, then by id, both descending.
            ranked = sorted(
                ((float(row[4]), row[2]) for row in rows if row[0] == query_id), reverse=True
            )
            for rank, (_, doc_id) in enumerate(ranked[:4], 1):
                expected.setdefault((query_id, doc_id), {})[run] = rank
    found = {
        (one.query_id, one.doc_id): dict(one.ranks) for pool in plan.pool.values() for one in pool
    }
    assert found == expected
    assert plan.plan.pooled == len(expected)
    summary = plan.summary()
    assert summary["runs"] == {
        run: {"pooled": 48, "unique": sum(list(ranks) == [run] for ranks in expected.values())}
        for run in "ab"
    }
    assert summary["judgments"] == sum(len(plan.pool[one]) for one in plan.plan.queries[:5])


def test_the_same_inputs_and_seed_give_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    runs = write_runs(tmp_path, ("a", "b"), 12)
    file = write_corpus(tmp_path)
    plans = {}
    for name, corpus, seed in (
        ("one", load_corpus(file), 42),
        ("two", load_corpus(file), 42),
        ("three", load_corpus(file), 7),
    ):
        options = PlanOptions(depth=4, measures=("P@4",), seed=seed)
        plans[name] = make_plan(runs, topics_of(12), corpus, tmp_path / name, options)
    one, two, three = (content(tmp_path / name) for name in plans)
    assert one == two
    assert one != three
    assert json.loads(one["plan.json"])["created_at"].startswith("2023-11-14")
    assert JudgmentPlan.model_validate_json(one["plan.json"]) == plans["one"].plan
    orders = [tuple(found.plan.queries) for found in plans.values()]
    assert sorted(orders[0]) == sorted(orders[2])
    assert orders[0] != orders[2]


def test_topics_without_results_and_lacking_documents_are_left_out(tmp_path):
    runs = write_runs(tmp_path, ("a", "b"), 6)
    pools = {
        f"q{n}": {
            doc_id
            for run in runs.values()
            for doc_id in rank_documents(run.frame).filter(query_id=f"q{n}").head(15)["doc_id"]
        }
        for n in range(6)
    }
    # The corpus lacks a document of some pools: less than a tenth of each.
    lacking = next(iter(sorted(pools["q0"])))
    kept = [n for n in range(40) if f"d{n}" != lacking]
    options = PlanOptions(depth=15, measures=("P@10",))
    corpus = load_corpus(write_corpus(tmp_path, kept))
    made = make_plan(runs, topics_of(8), corpus, tmp_path / "plan", options)
    assert made.plan.left_out == dict.fromkeys(("q6", "q7"), "no run has a result")
    assert made.plan.lacking == sum(lacking in pool for pool in pools.values())
    assert lacking not in made.judgeable["q0"]
    assert made.summary()["judgments"] == made.plan.pooled - made.plan.lacking
    # Without more documents, some queries cannot be judged at all.
    few = load_corpus(write_corpus(tmp_path, range(36)))
    made = make_plan(runs, topics_of(6), few, tmp_path / "few", options)
    for query_id, pool in pools.items():
        missing = len([one for one in pool if int(one[1:]) >= 36])
        expected = f"the corpus lacks {missing} of {len(pool)} pooled documents"
        assert made.plan.left_out.get(query_id) == (expected if missing > len(pool) / 10 else None)
    assert made.plan.queries
    assert made.plan.left_out


def test_a_changed_file_is_refused(plan):
    for name, attribute in (
        ("pool.jsonl", "pool"),
        ("topics.jsonl", "topics"),
        ("documents.jsonl", "documents"),
        ("runs/a.run", "runs"),
    ):
        file = plan.path / name
        before = file.read_bytes()
        file.write_bytes(before + before.splitlines(keepends=True)[0])
        with pytest.raises(CheckFailedError):
            getattr(PlanFolder(plan.path), attribute)
        file.unlink()
        with pytest.raises(InputError):
            getattr(PlanFolder(plan.path / "plan.json"), attribute)
        file.write_bytes(before)
        assert getattr(PlanFolder(plan.path / "plan.json"), attribute)


def test_what_is_no_plan_is_refused(plan, tmp_path):
    with pytest.raises(InputError):
        PlanFolder(tmp_path / "missing")
    file = plan.path / "plan.json"
    before = json.loads(file.read_text())
    for changed in ("{}", json.dumps({**before, "format": "9"})):
        file.write_text(changed)
        with pytest.raises(InputError, match="no plan"):
            PlanFolder(plan.path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"depth": 0, "measures": ()}, "1 or more"),
        ({"people": 0}, "1 or more"),
        ({"depth": 4, "measures": ("nDCG@10",)}, "nDCG@10 reads 10 results"),
        ({"measures": ("AP",)}, "AP reads the whole ranking"),
        ({"measures": ("nDGC@10",)}, "nDGC@10"),
    ],
)
def test_options_out_of_range_are_refused(tmp_path, options, words):
    with pytest.raises(UsageError, match=words):
        make_plan(
            write_runs(tmp_path, ("a",), 2),
            topics_of(2),
            load_corpus(write_corpus(tmp_path)),
            tmp_path / "plan",
            PlanOptions(**options),
        )
    assert not (tmp_path / "plan").exists()


def test_data_that_do_not_belong_together_are_refused(tmp_path):
    runs, corpus = write_runs(tmp_path, ("a",), 2), load_corpus(write_corpus(tmp_path))
    options = PlanOptions(depth=4, measures=("P@4",))
    with pytest.raises(CheckFailedError, match="7: no run"):
        make_plan(runs, Topics.from_dict({"7": "x"}), corpus, tmp_path / "plan", options)
    file = tmp_path / "other.jsonl"
    for lines, error, load in (
        ('{"_id": "x", "text": "y"}\n', CheckFailedError, load_corpus),
        ('{"_id": "d11", "text": "y"}\n', CheckFailedError, load_corpus),
        ('{"_id": "d0", "text": "y"}\n' * 2, InputError, load_corpus),
    ):
        file.write_text(lines)
        with pytest.raises(error):
            make_plan(runs, topics_of(2), load(str(file)), tmp_path / "plan", options)
    assert not (tmp_path / "plan").exists()
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan/notes.txt").write_text("mine")
    for folder in ("plan", "a.run"):
        with pytest.raises(InputError):
            make_plan(runs, topics_of(2), corpus, tmp_path / folder, options)
    assert content(tmp_path / "plan") == {"notes.txt": b"mine"}
