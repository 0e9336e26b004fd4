"""A service over the small collection of gardening questions, asked in this process."""

import json
import shutil
import time
from contextlib import contextmanager

import pytest
from harness.observe import ROOT
from starlette.testclient import TestClient

from trectools_plus.service import Limits, ServiceSettings
from trectools_plus.service.app import create_app

GARDEN = ROOT / "fixtures/garden-trec"
SETTINGS = {"dataset": str(GARDEN)}


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRECTOOLS_PLUS_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def client(open_service):
    """A service without a key, that has its documents open."""
    with open_service(ServiceSettings(**SETTINGS)) as found:
        yield found


@contextmanager
def opened(settings, key=None):
    """Open a client of a service, once it is ready."""
    app = create_app(settings, key=key)
    with TestClient(app, "http://localhost", raise_server_exceptions=False) as client:
        for _ in range(2400):
            if client.get("/readyz").status_code == 200:
                break
            time.sleep(0.05)
        assert client.get("/readyz").status_code == 200, client.get("/readyz").text
        yield client


@pytest.fixture(scope="session")
def open_service(cache):
    """``with open_service(settings, key) as client``."""
    return opened


@pytest.fixture(scope="session")
def limited():
    """Settings with limits of one's own, and nothing to search."""
    return lambda **limits: ServiceSettings(dataset="none", limits=Limits(**limits))


@pytest.fixture(scope="session")
def garden_set():
    """The gardening questions as a test set, with two query types."""
    texts = dict(
        line.split("\t") for line in (GARDEN / "topics.tsv").read_text().splitlines() if line
    )
    judged = {}
    for line in (GARDEN / "qrels.txt").read_text().splitlines():
        query_id, _, doc_id, grade = line.split()
        judged.setdefault(query_id, []).append({"doc_id": doc_id, "grade": int(grade)})
    types = ("exact_term", "paraphrase")
    queries = [
        {"query_id": one, "text": text, "query_type": types[n % 2], "relevant": judged.get(one, [])}
        for n, (one, text) in enumerate(texts.items())
    ]
    return {"metadata": {"dataset_id": "garden", "version": "1"}, "queries": queries}


@pytest.fixture(scope="session")
def fetched(cache, garden_set, tmp_path_factory, write_benchmark):
    """A report with latencies and query types."""
    folder = tmp_path_factory.mktemp("fetched")
    topics = folder / "topics.jsonl"
    fields = ("query_id", "text", "query_type")
    rows = [{name: query[name] for name in fields} for query in garden_set["queries"]]
    topics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_benchmark(
        folder / "out",
        corpus=str(GARDEN / "corpus.jsonl"),
        topics=str(topics),
        qrels=str(GARDEN / "qrels.txt"),
        measures=("R@10", "nDCG@10", "RR", "HitRate@10", "AP(rel=2)@100"),
        resamples=10_000,
    )
    return folder / "out"


@pytest.fixture
def garden_file(garden_set, tmp_path):
    path = tmp_path / "garden.json"
    path.write_text(json.dumps(garden_set))
    return path


@pytest.fixture(scope="session")
def prometheus_tools(skip_unless_required):
    """The paths of ``prometheus`` and ``promtool``; skip, or fail where they are required."""
    found = [shutil.which(name) for name in ("prometheus", "promtool")]
    if None in found:
        reason = "no prometheus or promtool: apt-get install prometheus"
        skip_unless_required(reason, "REQUIRE_PROMETHEUS")
    return str(found[0]), str(found[1])


@pytest.fixture(scope="session")
def check_problem():
    """See that an answer is a problem document with a status and code, and return it."""
    return _check_problem


def _check_problem(answer, status, code):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["code"] == code, problem
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert problem["detail"]
    assert "Traceback" not in answer.text
    return problem
