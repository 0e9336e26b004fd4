"""Access to the service: keys, limits, and the errors of refused requests."""

import gzip
import logging

import pytest
from harness.observe import ROOT

from trectools_plus.service import Limits, ServiceSettings
from trectools_plus.service.guard import ProblemDocument

KEY = "correct-horse-battery-staple"
PATHS = ["/v1/evaluate", "/v1/score", "/v1/validate", "/metrics", "/openapi.json", "/x"]


@pytest.fixture(scope="module")
def locked(open_service, limited):
    with open_service(limited(body_bytes=10_000, queries=3), KEY) as client:
        yield client


def bearing(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.every(5)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        bearing(""),
        bearing(KEY[:-1]),
        bearing(KEY + "x"),
        {"Authorization": KEY},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": b"Bearer \xff\xfe"},
    ],
)
def test_everything_but_health_needs_the_key(locked, path, headers, check_problem):
    for method in ("GET", "POST", "DELETE"):
        answer = locked.request(method, path, headers=headers)
        remedy = check_problem(answer, 401, "unauthorised")["remedy"]
        assert "Authorization: Bearer" in remedy
        assert "--key-from-env" in remedy
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_key_opens(locked):
    assert locked.get("/metrics", headers=bearing(KEY)).status_code == 200
    assert locked.get("/metrics", headers={"authorization": f"bearer {KEY}"}).status_code == 200
    for path in ("/healthz", "/readyz"):
        assert locked.get(path).status_code == 200
    document = locked.get("/openapi.json", headers=bearing(KEY)).json()
    assert document["paths"]["/metrics"]["get"]["security"] == [{"HTTPBearer": []}]
    assert "security" not in document["paths"]["/healthz"]["get"]


def test_the_key_is_never_logged(open_service, limited, caplog):
    caplog.set_level(logging.DEBUG)
    with open_service(limited(), KEY) as client:
        client.get("/metrics", headers=bearing(KEY))
        client.get("/metrics", headers=bearing(KEY + "wrong"))
        client.get(f"/metrics?key={KEY}", headers=bearing(KEY))
        client.get(f"/{KEY}", headers=bearing(KEY))
        page = client.get("/metrics", headers=bearing(KEY)).text
    said = "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("trectools")
    )
    assert "GET /metrics 200" in said
    assert KEY not in said
    assert KEY not in page


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("host", "evil.example"),
        ("host", "evil.example:8000"),
        ("host", "localhost.evil.example"),
        ("host", "127.0.0.1.evil.example"),
        ("host", "192.0.2.1"),
        ("host", "[::1"),
        ("host", ""),
        ("origin", "https://evil.example"),
        ("origin", "http://localhost:1234"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
    ],
)
def test_without_a_key_no_web_page_gets_in(client, check_problem, header, value):
    code = "foreign-host" if header == "host" else "foreign-site"
    check_problem(client.post("/v1/score", headers={header: value}), 403, code)
    if header != "sec-fetch-site":
        check_problem(client.get("/metrics", headers={header: value}), 403, code)
    for host in ("localhost:8000", "LOCALHOST", "127.0.0.1", "127.8.9.10:80", "[::1]:8000"):
        answer = client.get("/metrics", headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json"])
def test_what_can_be_got_can_be_asked_for_without_content(client, path):
    got, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == got.headers["content-type"]
    assert client.head("/v1/score").status_code == 405
    assert client.head("/nowhere").status_code == 404
    route = "other" if path == "/openapi.json" else path
    assert f'method="HEAD",route="{route}",status="200"' in client.get("/metrics").text


def test_a_large_body(locked, check_problem):
    def chunks():
        for _ in range(20):
            yield b"x" * 1000

    headers = {**bearing(KEY), "content-type": "text/plain"}
    for body in (b"x" * 10_001, chunks()):
        answer = locked.post("/v1/validate?kind=run", content=body, headers=headers)
        check_problem(answer, 413, "body-too-large")
    huge = {**headers, "content-length": "9" * 30}
    check_problem(locked.post("/v1/validate?kind=run", headers=huge), 413, "body-too-large")
    answer = locked.post("/v1/validate?kind=run", content=b"x" * 10_000, headers=headers)
    assert answer.status_code == 200


def test_a_compressed_body(locked, check_problem):
    headers = {**bearing(KEY), "content-type": "text/plain"}
    body = gzip.compress(b"q Q0 d 1 1.0 t\n")
    answer = locked.post("/v1/validate?kind=run", content=body, headers=headers)
    check_problem(answer, 422, "compressed-part")
    headers["content-encoding"] = "gzip"
    answer = locked.post("/v1/validate?kind=run", content=body, headers=headers)
    check_problem(answer, 415, "compressed-body")


@pytest.mark.parametrize("other", [("content-length", "4"), ("transfer-encoding", "chunked")])
def test_a_body_with_two_lengths_is_refused(client, check_problem, other):
    """A proxy could read the rest of the body as another request."""
    headers = [("content-type", "text/plain"), ("content-length", "3"), other]
    answer = client.post("/v1/validate?kind=run", content=b"abc", headers=headers)
    check_problem(answer, 400, "ambiguous-length")


def test_too_many_queries(open_service, limited, garden_set, check_problem):
    run, qrels = ROOT / "fixtures/runs/lexical.run", ROOT / "fixtures/garden-trec/qrels.txt"
    files = {"run": run.read_bytes(), "qrels": qrels.read_bytes()}
    settings = ServiceSettings(
        dataset=str(ROOT / "fixtures/garden-trec"), modes=("lexical",), limits=Limits(queries=3)
    )
    with open_service(settings) as client:
        check_problem(client.post("/v1/score", files=files), 413, "too-many-queries")
        check_problem(client.post("/v1/evaluate", json=garden_set), 413, "too-many-queries")
        for kind, data in files.items():
            answer = client.post(f"/v1/validate?kind={kind}", files={"file": data})
            check_problem(answer, 413, "too-many-queries")
        answer = client.post("/v1/validate?kind=testset", json=garden_set)
        check_problem(answer, 413, "too-many-queries")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/v1/jobs", 404, "not-found"),
        ("GET", "/v1/evaluate", 405, "method-not-allowed"),
        ("PUT", "/healthz", 405, "method-not-allowed"),
        ("POST", "/v1/validate", 422, "invalid-parameter"),
        ("POST", "/v1/validate?kind=run", 415, "unsupported-media-type"),
        ("POST", "/v1/score", 415, "unsupported-media-type"),
        ("GET", "/docs", 404, "not-found"),
    ],
)
def test_every_refusal_is_a_problem_document(client, check_problem, method, path, status, code):
    answer = client.request(method, path)
    ProblemDocument.model_validate(check_problem(answer, status, code))
    assert answer.headers["x-content-type-options"] == "nosniff"
    if status == 405:
        assert answer.headers["allow"]


def test_a_form_that_is_none(client, check_problem):
    headers = {"content-type": "multipart/form-data"}
    answer = client.post("/v1/score", content=b"nothing", headers=headers)
    check_problem(answer, 400, "bad-request")
    qrels, run = ("qrels", b"q 0 d 1"), ("run", b"x")
    for parts in ([run, qrels, ("other", b"x")], [run], [run, qrels, qrels], [qrels, *21 * [run]]):
        check_problem(client.post("/v1/score", files=parts), 422, "wrong-parts")


def test_what_is_unexpected_tells_nothing(open_service, limited, check_problem, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret detail")

    with open_service(limited()) as client:
        monkeypatch.setattr("trectools_plus.service.app.read_uploads", broken)
        answer = client.post("/v1/validate?kind=run", content=b"x")
    check_problem(answer, 500, "internal-error")
    assert "secret" not in answer.text


DEEP = {
    "brackets": "[" * 120_000,
    "braces": "{a: " * 30_000,
    "lines": "queries: " + "[\n" * 60_000,
    "sequences": "- " * 60_000,
    "keys": "? " * 60_000,
    "balanced": "[" * 40_000 + "]" * 40_000,
    "objects": '{"a":' * 30_000,
}


@pytest.mark.every(4)
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("media", ["application/yaml", "application/json", "text/plain"])
def test_deep_nesting_is_a_finding(limited_time, name, media):
    """Nesting is refused at depth 64; parsing further would exceed the time limit."""
    for kind in ("testset", "topics"):
        answer = limited_time.post(
            f"/v1/validate?kind={kind}", content=DEEP[name], headers={"content-type": media}
        )
        assert answer.status_code == 200, answer.text
        (file,) = answer.json()["files"]
        codes = {finding["code"] for finding in file["findings"]}
        assert codes & {"T101", "T104"}, codes
        assert all(one["line"] for one in file["findings"] if one["code"] == "T104")


@pytest.mark.every(2)
@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_no_test_set(client, check_problem, name):
    headers = {"content-type": "application/yaml"}
    answer = client.post("/v1/evaluate", content=DEEP[name], headers=headers)
    detail = check_problem(answer, 422, "unusable-content")["detail"]
    what = "a list or mapping as key" if name == "keys" else "nested more than 64 deep"
    assert f"{what} (T104)" in detail
    assert ".yaml:" in detail


@pytest.fixture(scope="module")
def limited_time(open_service, limited):
    with open_service(limited(seconds=20)) as client:
        yield client
