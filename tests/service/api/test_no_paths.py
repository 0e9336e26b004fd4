"""Nothing that a request says is ever opened: no file, no address, no module, no program."""

import json
import sys

import pytest
from harness.observe import ROOT

from trectools_plus.service import ServiceSettings

pytestmark = [pytest.mark.process, pytest.mark.slow("starts servers")]

_WATCHED = ("open", "os.system", "subprocess.Popen", "socket.connect", "socket.getaddrinfo")
_seen = []
_state = {"installed": False, "watching": False}


def _hook(event, arguments):
    if _state["watching"] and (event in _WATCHED or event == "import"):
        _seen.append((event, repr(arguments[:2])))


@pytest.fixture
def events():
    """Record what this process opens, connects to, imports and starts."""
    if not _state["installed"]:
        sys.addaudithook(_hook)
        _state["installed"] = True
    _seen.clear()
    _state["watching"] = True
    yield _seen
    _state["watching"] = False


async def _run_here(function, *arguments, **_):
    """Do the work in this process, where the hook sees it."""
    return function(*arguments)


@pytest.fixture
def client(cache, open_service, monkeypatch):
    monkeypatch.setattr("anyio.to_process.run_sync", _run_here)
    monkeypatch.setattr("trectools_plus.service.work.prepare_process", lambda _: None)
    folder = ROOT / "fixtures/garden-trec"
    with open_service(ServiceSettings(dataset=str(folder))) as found:
        yield found


@pytest.fixture
def bait(tmp_path):
    """A file that must not be read."""
    path = tmp_path / "bait_module.py"
    path.write_text("raise SystemExit('imported')")
    return path


def requests(bait):
    """Requests that say a path, address or module wherever something can be said."""
    url = "http://192.0.2.1/bait_module"
    texts = [bait, f"file://{bait}", url, "irds:bait_module", "-", "hpo-en-tiny"]
    raw = []
    for text in texts:
        test_set = {
            "metadata": {"dataset_id": text, "include": text, "$ref": text},
            "queries": [{"query_id": "1", "text": text, "relevant": {text: 1, "g06": 2}}],
        }
        raw += [
            {"url": "/v1/evaluate", "json": test_set},
            {"url": "/v1/evaluate", "json": text},
            {"url": "/v1/evaluate", "files": {"test_set": (text, json.dumps(test_set))}},
            {"url": "/v1/evaluate", "json": test_set, "params": {"measures": text}},
            {"url": "/v1/evaluate", "json": test_set, "params": {"components": text}},
            {"url": "/v1/score", "files": {"run": (text, text), "qrels": (text, text)}},
            {
                "url": "/v1/score",
                "files": {"run": b"1 Q0 g06 1 1 t\n", "qrels": b"1 0 g06 1\n"},
                "params": {"measures": f"MaxOntSim(ontology='{text}')@10"},
            },
            {
                "url": "/v1/score",
                "files": {"run": b"1 Q0 g06 1 1 t\n", "qrels": b"1 0 g06 1\n"},
                "params": {"measures": "bait_module:Measure@10"},
            },
        ]
        entity = f'<!DOCTYPE t [<!ENTITY x SYSTEM "{text}">]>'
        xml = f'{entity}<topics><topic number="1">&x;</topic></topics>'
        tag = f"!!python/object/apply:subprocess.check_output [['cat', '{text}']]\n"
        for kind in ("run", "qrels", "topics", "testset"):
            for content in (text, xml, tag, f"!include {text}"):
                raw.append(
                    {
                        "url": "/v1/validate",
                        "params": {"kind": kind},
                        "files": {"file": (text, content, "application/yaml")},
                    }
                )
    return raw


def test_nothing_of_a_request_is_opened(
    client,
    bait,
    events,
    monkeypatch,
):
    monkeypatch.syspath_prepend(str(bait.parent))
    monkeypatch.chdir(bait.parent)
    answers = [client.post(**one) for one in requests(str(bait))]
    assert {answer.status_code for answer in answers} <= {200, 400, 415, 422}
    assert any(answer.status_code == 200 for answer in answers)
    assert events, "the hook sees what happens"
    for event, what in events:
        assert "bait" not in what, (event, what)
        assert "192.0.2.1" not in what, (event, what)
        assert event not in ("os.system", "subprocess.Popen", "socket.connect"), (event, what)
    assert all("imported" not in answer.text for answer in answers)


def test_the_hook_would_see_it(bait, events):
    bait.read_text()
    assert any("bait_module.py" in what for _, what in events)


def test_uploads_leave_nothing_behind(
    client,
    tmp_path,
    monkeypatch,
    check_problem,
):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    client.post("/v1/validate?kind=run", files={"file": b"1 Q0 g06 1 1 t\n"})
    check_problem(client.post("/v1/score", files={"run": b"x", "qrels": b"y"}), 422, "findings")
    assert list(tmp_path.iterdir()) == []
