"""Tests of ``benchmark gate`` in workflows: exit codes, summary, comment, the GitHub action."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from harness.observe import ROOT

pytestmark = pytest.mark.process

TOKEN = "s3cret-token"


@pytest.fixture
def call(call_of, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    return call_of("benchmark gate")


class Comments:
    """A fake of GitHub's REST API, with the comments of one pull request."""

    def __init__(self):
        self.bodies = {}
        self.calls = []
        self.status = None
        comments = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_): ...

            def do_GET(self):
                last = int(self.path.rpartition("/")[2] if self.command == "PATCH" else 0)
                if self.command == "GET":
                    page = int(self.path.rpartition("=")[2])
                    items = [{"id": key, "body": body} for key, body in comments.bodies.items()]
                    content = items[(page - 1) * 100 : page * 100]
                else:
                    key = last or len(comments.bodies) + 1
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    comments.bodies[key] = str(json.loads(body)["body"])
                    content = {"id": key, "html_url": f"https://host/{key}"}
                comments.calls.append((self.command, self.path, self.headers["Authorization"]))
                text = json.dumps(content).encode()
                self.send_response(comments.status or 200)
                if comments.status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_POST(self):
                self.do_GET()

            def do_PATCH(self):
                self.do_GET()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def api():
    comments = Comments()
    thread = threading.Thread(target=comments.server.serve_forever, args=(0.01,))
    thread.start()
    yield comments
    comments.server.shutdown()
    comments.server.server_close()
    thread.join()


@pytest.fixture
def pull_request(call, api, monkeypatch, tmp_path):
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 17}}))
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("GITHUB_REPOSITORY", "some/where")
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{api.server.server_port}")


@pytest.fixture(scope="module")
def reports(module_bench):
    """Write a baseline, and a report in which 4 of 60 queries miss their only relevant document."""
    before = module_bench.make("before", {"bm25": {}})
    return before, module_bench.make("after", {"bm25": dict.fromkeys(range(4), 0)})


def test_exit_codes_and_streams(call, reports, bench):
    before, after = reports
    other = bench.make("other", {"bm25": {}}, grade=2)
    for current, words, code, shown in (
        (after, (), 1, "gate failed"),
        (after, ("--max-drop", "7%"), 0, "gate passed"),
        (other, (), 3, "different qrels"),
        ("nowhere.json", (), 2, "nowhere.json"),
        (after, ("-m", "nosuch@3"), 2, "nosuch"),
        (after, ("--max-drop", "5"), 2, "--max-drop"),
    ):
        left, out, err = call("--current", current, "--baseline", before, *words)
        printed, silent = (out, err) if code < 2 else (err, out)
        assert (left, silent) == (code, ""), words
        assert shown in printed


def test_non_inferiority(call, bench):
    before = bench.make("before", {"bm25": {}})
    after = bench.make("after", {"bm25": dict.fromkeys(range(6), 0)})
    arguments = ("--current", after, "--baseline", before, "--non-inferior")
    for words, code in (
        (("5%",), 1),
        (("20%",), 1),
        (("21%",), 0),
        (("21%", "--max-drop", "5%"), 1),
    ):
        left, out, err = call(*arguments, *words)
        assert (left, err) == (code, ""), words
        assert out.startswith("gate failed: " if code else "gate passed: "), words
    for wrong in (("0",), ("5",), ("5%", "--require-significant")):
        code, out, err = call(*arguments, *wrong)
        assert (code, out) == (2, "")
        assert "--non-inferior" in err


def test_the_summary_gets_the_markdown(call, reports, tmp_path, monkeypatch):
    before, after = reports
    summary = tmp_path / "summary.md"
    summary.write_text("earlier\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, _ = call("--current", after, "--baseline", before, "--format", "markdown")
    assert code == 1
    assert summary.read_text("utf-8").startswith("earlier\n")
    assert out in summary.read_text("utf-8")
    assert "| q3 | – | bm25 | R@10 | 1.0000 | 0.0000 |" in out
    call("--current", "nowhere", "--baseline", before)
    assert "not compared" in summary.read_text("utf-8")


@pytest.mark.usefixtures("pull_request")
def test_one_comment_is_posted_and_then_updated(call, reports, api):
    before, after = reports
    api.bodies = dict.fromkeys(range(1, 131), "chat")
    code, out, err = call("--current", after, "--baseline", before, "--post-comment")
    assert code == 1
    assert "https://host/131" in err
    assert "failed" in api.bodies[131]
    assert call("--current", before, "--baseline", after, "--post-comment")[0] == 0
    assert "passed" in api.bodies[131]
    # If the reports can no longer be compared, the last comment must not contain "passed".
    assert call("--current", "nowhere", "--baseline", before, "--post-comment")[0] == 2
    assert "not compared" in api.bodies[131]
    assert len(api.bodies) == 131
    methods = [method for method, _, _ in api.calls]
    assert methods == ["GET", "GET", "POST", *["GET", "GET", "PATCH"] * 2]
    assert {token for _, _, token in api.calls} == {f"Bearer {TOKEN}"}
    assert "/repos/some/where/issues/17/comments" in api.calls[0][1]
    assert TOKEN not in out + err


@pytest.mark.usefixtures("pull_request")
@pytest.mark.parametrize("status", [403, 302])
def test_a_comment_that_is_refused_hides_nothing(call, reports, api, status):
    before, after = reports
    api.status = status
    code, out, err = call("--current", after, "--baseline", before, "--post-comment")
    assert code == 1
    assert "gate failed" in out
    assert f"'{status} " in err
    code, out, err = call("--current", before, "--baseline", after, "--post-comment")
    assert code == 2
    assert "gate passed" in out
    assert TOKEN not in out + err
    assert not any("elsewhere" in place for _, place, _ in api.calls)


@pytest.mark.usefixtures("pull_request")
def test_a_workflow_of_no_pull_request_is_refused(call, reports, tmp_path, monkeypatch):
    before, after = reports
    (tmp_path / "event.json").write_text("{}")
    arguments = ("--current", before, "--baseline", after, "--post-comment")
    code, _, err = call(*arguments)
    assert (code, "no pull request, or no token" in err) == (2, True)
    monkeypatch.delenv("GITHUB_TOKEN")
    code, _, err = call(*arguments)
    assert (code, "GITHUB_TOKEN" in err) == (2, True)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("changes", "code", "verdict"),
    [
        ({"NON_INFERIOR": "20%", "MAX_DROP": "5%", "MEASURES": "R@10,RR@10"}, 1, "failed"),
        ({"BASELINE": "other-qrels"}, 3, "not decidable"),
        ({"MAX_DROP": "$(touch pwned)"}, 2, "error"),
        ({"REQUIRE_SIGNIFICANT": "true"}, 0, "passed"),
    ],
)
def test_the_action_runs_the_gate(reports, bench, tmp_path, changes, code, verdict):
    bench.make("other-qrels", {"x": {}}, grade=2)
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    step = action["runs"]["steps"][-1]
    given = {f"inputs.{k}": str(v.get("default", "")) for k, v in action["inputs"].items()}
    given |= {"inputs.current": str(reports[1]), "inputs.baseline": str(reports[0])}
    environment = {
        name: given[str(value).removeprefix("${{ ").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    assert "${{" not in step["run"]
    command = tmp_path / "bin" / "trectools-plus"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m trectools_plus "$@"\n')
    command.chmod(0o755)
    outputs, steps = tmp_path / "outputs", tmp_path / "steps.md"
    environment |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(steps)}
    environment |= {"PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}", **changes}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={**os.environ, "RUNNER_TEMP": str(tmp_path), "PYTHONPATH": str(ROOT), **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert (done.returncode, found["verdict"]) == (code, verdict), done.stderr
    assert set(found) == set(action["outputs"])
    report = Path(found["report"]).read_text()
    assert steps.read_text().endswith(report)
    assert bool(report) == (verdict != "error")
    assert not (tmp_path / "pwned").exists()
