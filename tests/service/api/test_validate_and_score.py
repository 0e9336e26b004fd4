"""``/v1/validate`` and ``/v1/score`` answer what the commands print."""

import json

import pytest
from harness.observe import ROOT

pytestmark = pytest.mark.process

RUNS = ROOT / "fixtures/runs"
QRELS = ROOT / "fixtures/garden-trec/qrels.txt"
TOPICS = ROOT / "fixtures/garden-trec/topics.tsv"


@pytest.fixture
def printed(program):
    """Returns the document that a command prints."""

    def run(*words, cwd):
        done = program(["trectools-plus", *words, "--format", "json"], cwd)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    return run


def test_scores_are_those_of_eval(client, printed, tmp_path):
    for name, source in {"qrels": QRELS, "run-1": RUNS / "lexical.run"}.items():
        (tmp_path / name).write_bytes(source.read_bytes())
    (tmp_path / "run-2").write_bytes((RUNS / "vector.run").read_bytes())
    expected = printed("eval", "qrels", "run-1", "run-2", "--per-query", cwd=tmp_path)
    files = [
        ("qrels", ("/etc/passwd", QRELS.read_bytes())),
        ("run", ("../../run-1.run", (RUNS / "lexical.run").read_bytes())),
        ("run", ("http://x/run-2", (RUNS / "vector.run").read_bytes())),
    ]
    assert client.post("/v1/score?per_query=true", files=files).json() == expected


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("bm25.run", "C:\\runs\\dense.txt.gz"), ["bm25", "dense"]),
        (("run.txt", "run.txt"), ["lexical", "vector"]),
        (("a\u202eb.run", "ä.run"), ["ab", "ä"]),
    ],
)
def test_runs_are_named_after_the_uploaded_files(client, files, names):
    uploads = [("qrels", QRELS.read_bytes())]
    for file, run in zip(files, ("lexical", "vector"), strict=True):
        uploads.append(("run", (file, (RUNS / f"{run}.run").read_bytes())))
    answer = client.post("/v1/score?measures=AP", files=uploads).json()
    assert [run["name"] for run in answer["runs"]] == names


def test_missing_queries_are_left_out_on_request(client):
    run = (RUNS / "missing-query.run").read_bytes()
    files = {"run": run, "qrels": QRELS.read_bytes()}
    means = {
        missing: client.post(
            "/v1/score", params={"missing": missing, "measures": "nDCG@10"}, files=files
        ).json()["runs"][0]["measures"]["nDCG@10"]
        for missing in ("zero", "drop")
    }
    assert means["zero"]["n"] == means["drop"]["n"] + 1
    assert means["zero"]["mean"] < means["drop"]["mean"]


def test_a_run_with_errors_is_not_scored(client, check_problem):
    run = (ROOT / "fixtures/runs-faulty/score-nan.run").read_bytes()
    answer = client.post("/v1/score", files={"run": run, "qrels": QRELS.read_bytes()})
    problem = check_problem(answer, 422, "findings")
    assert problem["errors"][0]["what"].startswith("R111")
    assert problem["errors"][0]["where"].startswith("run:")
    assert "/tmp" not in answer.text


def test_findings_that_change_no_figure_are_notes(client, check_problem):
    run = b"qid Q0 docno rank score tag\n1 Q0 a - 2.0 t\n1 Q0 b - 1.0 t\n"
    files = {"run": run, "qrels": b"1 0 a 1\n1 0 b 0\n"}
    answer = client.post("/v1/score", files=files).json()
    assert answer["notes"] == ["2 findings that change no figure: R105, R120; see `runs validate`"]
    refused = client.post("/v1/score", params={"strict_input": "true"}, files=files)
    problem = check_problem(refused, 422, "findings")
    assert [error["what"][:4] for error in problem["errors"]] == ["R105", "R120"]


FILES = [
    ("run", "runs", RUNS / "lexical.run"),
    ("run", "runs", ROOT / "fixtures/runs-faulty/score-nan.run"),
    ("qrels", "qrels", QRELS),
    ("qrels", "qrels", RUNS / "lexical.run"),
    ("topics", "topics", TOPICS),
]


@pytest.mark.parametrize(("kind", "group", "path"), FILES, ids=lambda value: str(value)[-20:])
def test_findings_are_those_of_validate(client, printed, tmp_path, kind, group, path):
    (tmp_path / "file").write_bytes(path.read_bytes())
    expected = printed(group, "validate", "file", cwd=tmp_path)
    answer = client.post(
        "/v1/validate",
        params={"kind": kind},
        content=path.read_bytes(),
        headers={"content-type": "text/plain"},
    )
    found = answer.json()
    assert found.pop("passed") is (expected["summary"]["errors"] == 0)
    assert found == expected


@pytest.mark.parametrize("name", ["own-form.yaml", "phentrieve-cases.json"])
def test_test_sets(client, printed, tmp_path, name):
    data = (ROOT / "fixtures/testsets" / name).read_bytes()
    part = f"file.{name.partition('.')[2]}"
    (tmp_path / part).write_bytes(data)
    expected = printed("testset", "validate", part, cwd=tmp_path)
    answer = client.post("/v1/validate?kind=testset", files={"file": ("x", data)}).json()
    assert answer.pop("passed") is (expected["summary"]["errors"] == 0)
    assert answer == expected


def test_strictness_and_qrels(client):
    files = {"file": (RUNS / "extra-query.run").read_bytes(), "qrels": QRELS.read_bytes()}
    found = client.post("/v1/validate?kind=run", files=files).json()
    assert found["summary"]["errors"] == 0
    assert found["summary"]["warnings"] > 0
    assert found["passed"]
    assert not client.post("/v1/validate?kind=run&strict=true", files=files).json()["passed"]
