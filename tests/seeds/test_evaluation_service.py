"""The specification of an evaluation service: test sets, A/B, cache, gate, endpoint, metrics."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from trectools_plus import evaluate, load_test_set

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
GARDEN = FIXTURES / "garden-trec"
RUNS = FIXTURES / "runs"
TEST_SET = """\
metadata: {dataset_id: test_set_v1, version: "1.0.0", language: en, description: clinical}
queries:
  - query_id: q1
    query_text: "low blood sugar in newborns"
    query_type: paraphrase
    relevant_docs:
      - {doc_id: d17, grade: 3}
      - {doc_id: d40, grade: 1}
  - query_id: q2
    query_text: "high blood sugar"
    query_type: exact_term
    relevant_docs:
      - {doc_id: d2, grade: 3}
"""
TYPES = {"exact_term": 20, "paraphrase": 15, "complex_clinical": 15}


def fifty(prefix: str, factor: int = 1) -> dict[str, Any]:
    """Make a test set with 20, 15 and 15 queries of three types, or a multiple."""
    queries = [
        {
            "query_id": f"{prefix}-{kind}-{number}",
            "query_text": f"{prefix} {kind} phrase number {number} " + "xyz"[number % 3] * number,
            "query_type": kind,
            "relevant_docs": [{"doc_id": f"{prefix}{kind}{number}", "grade": 3}],
        }
        for kind, size in TYPES.items()
        for number in range(size * factor)
    ]
    return {"metadata": {"dataset_id": prefix, "version": "1.0.0", "language": "en",
                         "description": "made"}, "queries": queries}  # fmt: skip


def types(document: dict[str, Any]) -> Counter[str]:
    return Counter(query["query_type"] for query in document["queries"])


def test_python(desk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write("test_set_v1.yaml", TEST_SET)
    monkeypatch.chdir(desk.folder)
    test_set = load_test_set("test_set_v1")
    result = evaluate(lambda text: ["d17", "d2"], test_set)
    assert result.mean("Recall@10") == (0.5 + 1) / 2
    assert result.median("Recall@10") == 0.75
    assert result.std("Recall@10") == pytest.approx(0.5 / 2**0.5)
    assert sorted(result.per_query("Recall@10")["value"]) == [0.5, 1.0]
    with_k = evaluate(lambda text, k: [("d17", 2.0), ("d40", 1.0)][:k], "test_set_v1")
    assert with_k.mean("MRR") == 0.5
    as_dict = evaluate(lambda text: {"d17": 0.9}, "test_set_v1.yaml")
    assert as_dict.mean("nDCG@10") > 0


def test_split_keeps_the_proportions(desk: Any) -> None:
    desk.write("set.json", fifty("own"))
    desk.run("trectools-plus testset split set.json --held-out 0.2 --output-dir parts")
    used, held_out = desk.read("parts/own-used.json"), desk.read("parts/own-held-out.json")
    assert types(used) == {"exact_term": 16, "paraphrase": 12, "complex_clinical": 12}
    assert types(held_out) == {"exact_term": 4, "paraphrase": 3, "complex_clinical": 3}
    ids = [query["query_id"] for part in (used, held_out) for query in part["queries"]]
    assert len(set(ids)) == 50


def test_refresh_needs_agreement(desk: Any) -> None:
    pool = fifty("new", 2)
    desk.write("old.json", fifty("own"))
    desk.write("pool.json", pool)
    command = "trectools-plus testset refresh old.json next.json --pool pool.json -n 20 --seed 5"
    desk.run(command, code=2)  # nobody judged
    desk.run(f"{command} --accept-low-agreement")
    new = desk.read("next.json")
    assert types(new) == TYPES
    assert len([q for q in new["queries"] if q["query_id"].startswith("new")]) == 20
    changed = json.loads(json.dumps(pool))
    for number, query in enumerate(changed["queries"]):
        query["relevant_docs"].append({"doc_id": "d0", "grade": number % 2})
    desk.write("ann.json", changed)
    desk.write("bob.json", changed)
    desk.run(f"{command} --annotators ann.json bob.json".replace("next", "third"))
    text = json.dumps(desk.read("third.json")["metadata"])
    assert "ann" in text
    assert "bob" in text
    assert "kappa" in text
    for number, query in enumerate(changed["queries"]):
        query["relevant_docs"][-1]["grade"] = (number + number // 2) % 2
    desk.write("eve.json", changed)
    desk.run(f"{command} --annotators ann.json eve.json".replace("next", "fourth"), code=1)
    assert not (desk.folder / "fourth.json").exists()


def test_a_b_comparison(desk: Any) -> None:
    for name, run in (("old", "lexical"), ("new", "hybrid")):
        desk.run(
            f"benchmark run --runs system={RUNS}/{run}.run --qrels {GARDEN}/qrels.txt -o {name}"
        )
    document = desk.json(
        "benchmark compare old/BenchmarkReport.json new/BenchmarkReport.json --test t_test "
        "--format json"
    )
    (mode,) = document["modes"]
    comparison = mode["measures"]["nDCG@10"]["comparison"]
    scipy_stats = pytest.importorskip("scipy.stats")
    frames = (
        evaluate(str(GARDEN / "qrels.txt"), str(RUNS / f"{run}.run"), ["nDCG@10"]).per_query()
        for run in ("lexical", "hybrid")
    )
    old, new = (dict(zip(frame["query_id"], frame["value"], strict=True)) for frame in frames)
    queries = sorted(old)
    expected = scipy_stats.ttest_rel([new[q] for q in queries], [old[q] for q in queries])
    assert comparison["difference"] == pytest.approx(
        sum(new.values()) / len(new) - sum(old.values()) / len(old), abs=1e-12
    )
    assert comparison["t_test"]["p"] == pytest.approx(expected.pvalue, abs=1e-9)
    assert abs(comparison["t_test"]["t"]) == pytest.approx(abs(expected.statistic), abs=1e-9)


def test_unchanged_modes_come_from_the_cache(desk: Any) -> None:
    command = f"benchmark run --dataset {GARDEN} --modes lexical --output-dir"
    desk.run(f"{command} first")
    desk.run(f"{command} second")
    first, second = (
        (desk.folder / f"{name}/runs/lexical.run").read_bytes() for name in ("first", "second")
    )
    assert first == second


@pytest.mark.parametrize(
    "settings",
    [
        {"fusion_method": "weighted", "weights": {"bm25": 0.3, "dense": 0.7}},
        {"fusion_method": "rrf", "rrf_k": 60},
    ],
)
def test_fusion_settings(desk: Any, settings: dict[str, Any]) -> None:
    desk.write(
        "benchmark.json",
        {"dataset": str(GARDEN), "modes": ["bm25", "dense", "hybrid"], **settings},
    )
    (desk.folder / "benchmark.json").rename(desk.folder / "benchmark.yaml")
    desk.run("benchmark run --config benchmark.yaml --output-dir out")
    assert desk.read("out/BenchmarkReport.json")["modes"]["hybrid"]["measures"]


class Comments(BaseHTTPRequestHandler):
    """Comments of a pull request."""

    bodies: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self._send([{"id": n, "body": body} for n, body in enumerate(self.bodies)])

    def do_POST(self) -> None:
        self.bodies.append(self._read())
        self._send({"id": len(self.bodies) - 1, "html_url": "http://host/1"}, 201)

    def do_PATCH(self) -> None:
        self.bodies[int(self.path.rsplit("/", 1)[1])] = self._read()
        self._send({"id": 0, "html_url": "http://host/1"})

    def _read(self) -> str:
        length = int(self.headers["Content-Length"])
        return str(json.loads(self.rfile.read(length))["body"])

    def _send(self, document: object, status: int = 200) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def forge() -> Iterator[str]:
    """An address with the comments of a pull request."""
    server = HTTPServer(("127.0.0.1", 0), Comments)
    Comments.bodies.clear()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_gate_in_continuous_integration(desk: Any, forge: str) -> None:
    rows = [line.split() for line in (RUNS / "hybrid.run").read_text("utf-8").splitlines()]
    first = [row for row in rows if int(row[3]) <= 10]
    reverse = [
        f"{q} {q0} {doc} {11 - int(rank)} -{score} {tag}" for q, q0, doc, rank, score, tag in first
    ]
    desk.write("best.run", "".join(" ".join(row) + "\n" for row in first))
    desk.write("worst.run", "\n".join(reverse) + "\n")
    for name, run in (("main", "best"), ("again", "best"), ("change", "worst")):
        desk.run(f"benchmark run --runs system={run}.run --qrels {GARDEN}/qrels.txt -o {name}")
    gate = "benchmark gate --measure nDCG@10 --max-drop 5%"
    event = desk.write("event.json", {"pull_request": {"number": 17}, "number": 17})
    variables = {
        "GITHUB_API_URL": forge,
        "GITHUB_TOKEN": "secret-token",
        "GITHUB_REPOSITORY": "some/where",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REF": "refs/pull/17/merge",
    }
    desk.run(f"{gate} --current again --baseline main")
    old, new = (
        desk.read(f"{name}/BenchmarkReport.json")["modes"]["system"]["measures"]["nDCG@10"]["mean"]
        for name in ("main", "change")
    )
    assert new < 0.95 * old
    done = desk.run(f"{gate} --current change --baseline main --post-comment", 1, **variables)
    assert len(Comments.bodies) == 1
    assert "nDCG@10" in Comments.bodies[0]
    assert "secret-token" not in done.text + done.stderr
    desk.run(f"{gate} --current again --baseline main --post-comment", 0, **variables)
    assert len(Comments.bodies) == 1


def test_reports_that_cannot_be_compared_never_pass(desk: Any) -> None:
    desk.run(f"benchmark run --runs s={RUNS}/hybrid.run --qrels {GARDEN}/qrels.txt -o a")
    lines = (GARDEN / "qrels.txt").read_text("utf-8").splitlines(keepends=True)
    desk.write("other.txt", "".join(lines[:-3]))
    desk.run(f"benchmark run --runs s={RUNS}/hybrid.run --qrels other.txt -o b")
    desk.run("benchmark gate --current a --baseline b", code=3)


def test_exported_metrics(desk: Any) -> None:
    pytest.importorskip("prometheus_client")
    desk.run(f"benchmark run --dataset {GARDEN} --modes lexical -m R@10,nDCG@10 -o out")
    mean = desk.read("out/BenchmarkReport.json")["modes"]["lexical"]["measures"]["R@10"]["mean"]
    text = desk.run("benchmark metrics out --prefix medicalkg").text
    series = [
        line
        for line in text.splitlines()
        if line.startswith("medicalkg_retrieval_recall_at_k{") and 'k="10"' in line
    ]
    assert len(series) == 1
    assert float(series[0].rsplit(" ", 1)[1]) == pytest.approx(mean, abs=1e-12)


@pytest.mark.slow("starts a service")
def test_endpoint(service: Callable[..., str], desk: Any) -> None:
    url = service(f"--dataset {GARDEN} --prefix medicalkg")
    with httpx.Client(base_url=url, timeout=120) as client:
        answer = client.post("/v1/evaluate")
        assert answer.status_code == 200, answer.text
        document = answer.json()
        assert document["mode"] == "hybrid"
        assert {"recall_at_10", "ndcg_at_10", "mrr"} <= set(document["metrics"])
        for components, mode in (("bm25", "lexical"), ("bm25,dense", "hybrid")):
            answer = client.post("/v1/evaluate", params={"components": components})
            assert answer.json()["mode"] == mode
        assert client.post("/v1/evaluate", params={"components": "splade"}).status_code == 422
        gauges = client.get("/metrics").text
        assert "medicalkg_retrieval_recall_at_k{" in gauges
        scored = client.post(
            "/v1/score",
            files={
                "run": ("a.run", (RUNS / "hybrid.run").read_bytes()),
                "qrels": ("q.txt", (GARDEN / "qrels.txt").read_bytes()),
            },
            params={"measures": "nDCG@10"},
        ).json()
        expected = evaluate(str(GARDEN / "qrels.txt"), str(RUNS / "hybrid.run"), ["nDCG@10"])
        (run,) = scored["runs"]
        assert run["measures"]["nDCG@10"]["mean"] == expected.mean("nDCG@10")
        checked = client.post(
            "/v1/validate",
            params={"kind": "run"},
            files={"file": ("a.run", (FIXTURES / "runs-faulty/score-nan.run").read_bytes())},
        )
        assert checked.status_code == 200
        assert checked.json()["passed"] is False


def test_alert_on_recall(desk: Any) -> None:
    """The shipped alert refers to the mean over all queries."""
    desk.run("trectools-plus files alerts.yml")
    assert "recall_at_k" in (desk.folder / "alerts.yml").read_text("utf-8")
