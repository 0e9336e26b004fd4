"""The two servers: the review page on a frozen database, and the routes of the service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile

import httpx
import pytest
from harness.normal import normalise
from harness.observe import INPUTS, ROOT

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

pytest.importorskip("fastapi")


@pytest.fixture
def started(tmp_path, request):
    """Starts a server, and returns its address."""
    processes = []
    command = request.config.getoption("--python").parent / "trectools-plus"

    def start(*words, expected):
        process = subprocess.Popen(
            [command, *words, "--port", "0"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRECTOOLS_PLUS_CACHE": str(tmp_path / "cache")},
        )
        processes.append(process)
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(expected, line):
                return found[1]
        raise AssertionError("".join(said))

    yield start
    for process in processes:
        process.kill()
        process.wait(timeout=30)
        process.stderr.close()


def ask(url, body=None, **headers):
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    method = "GET" if body is None else "POST"
    answer = httpx.request(method, url, json=body, headers=given, timeout=60)
    return answer.raise_for_status().json()


def test_judging_goes_on_in_a_frozen_database(started, tmp_path, program, compare):
    with tarfile.open(INPUTS / "reports/garden-1.0.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    shutil.copy(INPUTS / "review/review.db", tmp_path / "garden/review.db")
    words = ("review", "serve", "garden", "--depth", "5")
    url = started(*words, expected=r"review +(http://\S+)")
    session = ask(f"{url}api/session", {"name": "Dora"})["session"]
    view = ask(f"{url}api/queries/1", X_Review_Session=session)
    doc_id = view["columns"][0]["results"][0]
    said = {"query": 1, "doc_id": doc_id, "grade": 2}
    ask(f"{url}api/grades", said, X_Review_Session=session)
    exported = program("trectools-plus review export garden --annotator Dora", tmp_path)
    assert exported.stdout.decode() == f"{view['query_id']} 0 {doc_id} 2\n"
    shown = program("trectools-plus review show garden --format json", tmp_path)
    annotators = json.loads(shown.stdout)["annotators"]
    assert [one["name"] for one in annotators] == ["Anna", "Ben", "Cleo", "Dora"]
    compare("review-server", {"view": sorted(view), "annotators": normalise(annotators[:3])})


def test_routes_and_answers_of_the_service(started, compare):
    url = started("serve", "--dataset", "none", expected=r"(http://\S+)").rstrip("/")
    routes = ask(f"{url}/openapi.json")
    paths = {
        f"{method.upper()} {path}": sorted(operation["responses"])
        for path, operations in routes["paths"].items()
        for method, operation in operations.items()
    }
    schemas = {
        name: sorted(schema.get("properties", {}))
        for name, schema in routes["components"]["schemas"].items()
    }
    run = ("tied.run", (ROOT / "fixtures/runs/tied.run").read_bytes())
    qrels = ("qrels.txt", (ROOT / "fixtures/garden-trec/qrels.txt").read_bytes())
    scored = httpx.post(f"{url}/v1/score", files={"run": run, "qrels": qrels}, timeout=60)
    found = httpx.post(
        f"{url}/v1/validate?kind=run", files={"file": run, "qrels": qrels}, timeout=60
    )
    answers = {"score": scored.json(), "validate": found.json()}
    compare("service", normalise({"paths": paths, "schemas": schemas, **answers}))
