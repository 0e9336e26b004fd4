"""The page's JSON: what it shows, what it never shows, and whom it refuses."""

import asyncio
import json
import selectors
import sqlite3

import pytest
from starlette.testclient import TestClient

from tests.service.review.people import Person
from trectools_plus.service.review.app import read_page, review_app

KEY = "a-key-of-twenty-char"
URL = "http://localhost"


def test_a_query_is_judged_completely(client, app):
    anna = Person(client, "Anna")
    assert client.get("/api/about").json()["columns"] == 3
    view = anna.view()
    assert [column["label"] for column in view["columns"]] == ["A", "B", "C"]
    documents = anna.documents()
    for number, doc_id in enumerate(documents):
        state = anna.say("grades", query=1, doc_id=doc_id, grade=number % 4)
        assert state["progress"]["judged"] == number + 1
        assert not state["progress"]["complete"]
    state = anna.say("choices", query=1, choice="B")
    assert state["progress"] == {
        "judged": len(documents),
        "results": len(documents),
        "chosen": True,
        "cannot_judge": False,
        "complete": True,
    }
    assert anna.view()["state"] == state
    progress = anna.get("progress").json()
    assert [one["complete"] for one in progress["queries"]] == [True] + [False] * 6
    # The label stands for the mode whose results were under it.
    controller = app.state.controller
    (stored,) = controller.store.rows("SELECT query_id, choice FROM judgment WHERE doc_id IS NULL")
    (query,) = (one for one in controller.material.queries if one.query_id == stored[0])
    assert list(query.results[stored[1]]) == view["columns"][1]["results"]


def test_no_answer_tells_which_column_is_which_mode(client):
    answers = [client.get("/").text, client.get("/api/about").text]
    orders = set()
    for name in ("Anna", "Ben"):
        who = Person(client, name)
        answers.append(who.get("progress").text)
        for number in range(1, 8):
            answer = who.get(f"queries/{number}")
            view = answer.json()
            orders.add(tuple(map(tuple, (column["results"] for column in view["columns"]))))
            # Documents come in the order of the columns as shown, never in that of the report.
            assert list(view["documents"]) == who.documents(number)
            chosen = who.post("choices", query=number, choice="A")
            answers += [answer.text, chosen.text, who.post("undo").text]
            for column in view["columns"]:
                assert set(column) == {"label", "results"}
    for mode in ("lexical", "vector", "hybrid"):
        assert not [text for text in answers if mode in text.lower()]
    assert len(orders) > 7, "the two see columns in other orders"


def test_annotators_do_not_mix(client):
    anna, ben = Person(client, "Anna"), Person(client, "Ben")
    doc_id = anna.documents()[0]
    anna.say("grades", query=1, doc_id=doc_id, grade=2)
    assert ben.view()["state"]["grades"] == {}
    assert ben.say("undo")["what"] is None
    found = anna.view()["state"]["grades"]
    assert found == {doc_id: {"grade": 2, "flagged": False}}
    taken = client.post("/api/session", json={"name": "anna"}).json()
    assert taken == {"exists": True, "name": "Anna", "session": None, "judged": 1}
    assert Person(client, "anna", resume=True).view()["state"]["grades"] == found


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("grades", {"query": 1, "doc_id": "g99", "grade": 1}),
        ("grades", {"query": 1, "doc_id": "../../etc/passwd", "grade": 1}),
        ("grades", {"query": 0, "doc_id": "g01", "grade": 1}),
        ("grades", {"query": 99, "doc_id": "g01", "grade": 1}),
        ("grades", {"query": 1, "doc_id": "DOC", "grade": 4}),
        ("grades", {"query": 1, "doc_id": "DOC", "grade": True}),
        ("grades", {"query": 1, "doc_id": "DOC", "grade": "2"}),
        ("grades", {"query": 1, "doc_id": "DOC", "grade": 2, "flagged": True}),
        ("grades", {"query": 1, "doc_id": "DOC"}),
        ("grades", []),
        ("choices", {"query": 1, "choice": "D"}),
        ("choices", {"query": 1, "choice": ""}),
        ("choices", {"query": 1, "choice": "lexical"}),
        ("session", {"name": "\ud800"}),
        ("session", {"name": " "}),
        ("session", {"name": "x" * 65}),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(client, app, path, body):
    anna = Person(client, "Anna")
    content = json.dumps(body).replace("DOC", anna.documents()[0])
    headers = {**anna.headers, "Content-Type": "application/json"}
    answer = client.post(f"/api/{path}", content=content, headers=headers)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]
    controller = app.state.controller
    assert controller.store.rows("SELECT count(*) FROM judgment") == [(0,)]
    assert controller.store.rows("SELECT count(*) FROM annotator") == [(1,)]


def test_who_does_not_say_who_it_is_gets_nothing(client):
    for headers in ({}, {"X-Review-Session": "made-up"}):
        for path in ("progress", "queries/1"):
            answer = client.get(f"/api/{path}", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "no-session")
        assert client.post("/api/undo", json={}, headers=headers).status_code == 403


def test_other_sites_cannot_write(client, app):
    anna = Person(client, "Anna").headers
    plain = {**anna, "Content-Type": "text/plain"}
    assert client.post("/api/undo", content="{}", headers=plain).status_code == 415
    form = {**anna, "Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/api/undo", content="a=b", headers=form).status_code == 415
    for name, value in (
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost:1234"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ):
        answer = client.post("/api/undo", json={}, headers={**anna, name: value})
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign-site")
    same = {**anna, "Origin": URL, "Sec-Fetch-Site": "same-origin"}
    assert client.post("/api/undo", json={}, headers=same).status_code == 200
    assert (
        client.options("/api/undo", headers={"Origin": "https://evil.example"}).status_code == 403
    )
    # A name of someone else's that leads here (DNS rebinding).
    rebound = TestClient(app, base_url="http://evil.example")
    assert rebound.get("/").status_code == 403
    assert rebound.get("/api/about").status_code == 403


def test_with_a_key_all_but_the_empty_page_needs_it(report, tmp_path):
    app = review_app(report, tmp_path / "review.db", key=KEY)
    client = TestClient(app, base_url="http://review.example")
    page = client.get("/")
    assert page.status_code == 200
    assert 'data-needs-key="yes"' in page.text
    for given in ("", KEY, f"Bearer {KEY}x", f"Basic {KEY}", "Bearer \u00e9"):
        headers = {"Authorization": given.encode()} if given else {}
        for path in ("/api/about", "/api/queries/1", "/nothing"):
            assert client.get(path, headers=headers).status_code == 401
        answer = client.post("/api/session", json={"name": "Anna"}, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    right = {"Authorization": f"Bearer {KEY}"}
    assert client.get("/api/about", headers=right).status_code == 200
    app.state.controller.store.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *dict.fromkeys(("127.8.9.10:8000", "[::1]:8000", "LOCALHOST:1"), 200).items(),
        *dict.fromkeys(("127.0.0.1.evil.example", "192.0.2.1", "", "[::1", "evil@x"), 403).items(),
    ],
)
def test_only_loopback_addresses_will_do(client, host, status):
    assert client.get("/api/about", headers={"host": host}).status_code == status
    assert client.head("/", headers={"host": host}).status_code == status


class HurriedSelector(selectors.DefaultSelector):
    """Waits a thousandth of the time."""

    def select(self, timeout=None):
        return super().select(None if timeout is None else timeout / 1000)


class HurriedLoop(asyncio.SelectorEventLoop):
    """An event loop for which a second is over in a thousandth of one."""

    def __init__(self):
        super().__init__(HurriedSelector())

    def time(self):
        return super().time() * 1000


def test_a_body_that_does_not_come(app):
    sent = []

    async def receive():
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "path": "/api/grades", "method": "POST", "headers": headers}
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        runner.run(app.build_middleware_stack()({**scope, "app": app}, receive, send))
    assert sent[0]["status"] == 408
    assert "did not arrive within 30 s" in sent[1]["body"].decode()


def test_large_bodies_are_refused(client):
    json_type = {"Content-Type": "application/json"}
    large = b'{"name": "' + b"x" * 70_000 + b'"}'
    assert client.post("/api/session", content=large, headers=json_type).status_code == 413
    chunks = iter([large[:40_000], large[40_000:]])
    assert client.post("/api/session", content=chunks, headers=json_type).status_code == 413


def test_the_page_is_one_file_that_asks_nobody_else(client):
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "://" not in answer.text
    assert "innerHTML" not in answer.text
    assert read_page()[1] == policy
    assert read_page(needs_key=True)[1] == policy


def test_no_path_of_a_request_is_opened(client):
    for path in ("/review.db", "/../review.db", "/%2e%2e/etc/passwd", "/page.html", "/docs",
                 "/openapi.json", "/api/queries/..%2f1"):  # fmt: skip
        assert client.get(path).status_code in (403, 404, 422), path


def test_a_file_that_cannot_be_written_is_said_so(client, app, tmp_path):
    anna = Person(client, "Anna")
    sent = {"query": 1, "doc_id": anna.documents()[0], "grade": 2}
    app.state.controller.store.rows("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(tmp_path / "review.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = anna.post("grades", **sent)
    assert (answer.status_code, answer.json()["code"]) == (503, "not-kept")
    other.execute("ROLLBACK")
    other.close()
    assert anna.post("grades", **sent).status_code == 200
