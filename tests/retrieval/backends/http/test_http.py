"""The HTTP backend against a service that is a process of its own."""

from __future__ import annotations

import json
import logging
import os
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from trectools_plus.benchmark.verdict import load_report
from trectools_plus.cli.app import benchmark_app, runs_app
from trectools_plus.errors import CheckFailedError, InputError, TrectoolsPlusError, UsageError
from trectools_plus.formats.tables import Topics
from trectools_plus.retrieval.backends.http import HttpBackend, HttpSource
from trectools_plus.retrieval.backends.http_client import Secret
from trectools_plus.retrieval.backends.http_mapping import HttpSettings
from trectools_plus.retrieval.fetch import FetchRequest
from trectools_plus.retrieval.run_files import FetchedFile, FetchManifest, fetch_to_dir
from trectools_plus.retrieval.source import FetchOptions, Query
from trectools_plus.validation.loading import load_run

FAST = {"backoff": 0.01, "timeout": 5}


def fetch(
    url: str,
    texts: dict[str, str],
    folder: Path,
    mode: str = "dense",
    *,
    resume: bool = False,
    **options: Any,
) -> FetchedFile:
    settings = HttpSettings.model_validate({"url": url, **FAST, **options.pop("http", {})})
    topics = Topics.from_dict(texts)
    backend = HttpBackend(settings)
    request = FetchRequest(None, topics, [mode], FetchOptions(**options), backend=backend)
    return fetch_to_dir(request, folder, resume=resume)[mode]


def manifest_of(folder: Path, mode: str = "dense") -> FetchManifest:
    return FetchManifest.model_validate_json((folder / f"{mode}.run.manifest.json").read_text())


def journal_of(folder: Path, mode: str = "dense") -> list[dict[str, Any]]:
    lines = (folder / f"{mode}.run.journal").read_text().splitlines()
    return [json.loads(line) for line in lines][1:]


def test_the_default_mapping(start: Any, tmp_path: Path) -> None:
    service = start()
    file = fetch(service.url, {"q1": "heart", "q2": "lung {top_k}"}, tmp_path, depth=10)
    run = load_run(file.path).to_dict()
    assert {query: len(found) for query, found in run.items()} == {"q1": 10, "q2": 10}
    assert sorted(service.asked()) == ["q1", "q2"]
    assert {depth for _, depth, _ in service.log()} == {10}
    manifest = file.manifest
    assert (manifest.backend, manifest.status, manifest.settings) == ("http", "ok", None)
    assert manifest.backend_settings["url"] == service.url
    assert manifest.latency_ms.p50 > 0
    assert all(entry["latency_ms"] > 0 for entry in journal_of(tmp_path))


def test_lists_that_the_service_cut_are_reported(
    start: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topics.tsv").write_text("q1\theart\nq2\tlimit 5\nq3\tlimit 20\nq4\tlimit 7\n")
    (tmp_path / "qrels.txt").write_text("".join(f"q{n} 0 d1 1\n" for n in (1, 2, 3, 4)))
    (tmp_path / "http.yaml").write_text(
        "topics: topics.tsv\nqrels: qrels.txt\nmodes: [dense]\ndepth: 10\n"
        f"http: {{url: '{start().url}', total: $.total}}\n"
    )
    words = ["--config", str(tmp_path / "http.yaml")]
    result = CliRunner().invoke(runs_app, ["fetch", *words, "--output-dir", str(tmp_path / "runs")])
    assert result.exit_code == 0, result.output
    assert (
        "note: dense is incomplete: for 2 queries it found more than the service returned: q2, q4; "
        "raise the service's limit of results (or max_chunks), or use a smaller --depth"
    ) in result.stderr
    assert manifest_of(tmp_path / "runs").cut_short == ["q2", "q4"]
    words += ["--output-dir", str(tmp_path / "report")]
    result = CliRunner().invoke(benchmark_app, ["run", *words, "--measures", "R@10,AP"])
    assert result.exit_code == 0, result.output
    found = load_report(tmp_path / "report/BenchmarkReport.json").modes["dense"].diagnostics
    assert (found.status, found.cut_short) == ("incomplete", ["q2", "q4"])
    assert found.notes == [
        "fewer than 10 documents for 2 of 4 queries (q2, q4), although the search found more"
    ]
    assert "dense (incomplete): fewer than 10 documents" in " ".join(result.stdout.split())
    result = CliRunner().invoke(benchmark_app, ["verify", str(tmp_path / "report")])
    assert result.exit_code == 0, result.output


def test_what_fails_for_a_while_is_sent_again(start: Any, tmp_path: Path) -> None:
    service = start()
    texts = {"q1": "fail 503 2", "q2": "fail 429 1", "q3": "fail 500 3", "q4": "plain"}
    texts |= {"q5": "fail 408 1", "q6": "fail 425 1"}
    assert fetch(service.url, texts, tmp_path).manifest.status == "ok"
    attempts = {entry["query_id"]: entry["attempts"] for entry in journal_of(tmp_path)}
    assert attempts == {"q1": 3, "q2": 2, "q3": 4, "q4": 1, "q5": 2, "q6": 2}
    asked = service.asked()
    assert {query: asked.count(query) for query in texts} == attempts


def test_other_errors_are_final(start: Any, tmp_path: Path) -> None:
    service = start()
    for status in (400, 404, 409, 410, 413, 422, 501, 505, 520):
        texts = {f"q{status}": f"fail {status} 1", f"p{status}": "plain"}
        with pytest.raises(TrectoolsPlusError, match=f"HTTP {status}"):
            fetch(service.url, texts, tmp_path / str(status), http={"concurrency": 1})
        assert service.asked().count(f"q{status}") == 1


def test_a_service_that_cannot_answer_is_left_alone(start: Any, tmp_path: Path) -> None:
    service = start()
    for status, sent in ((501, 1), (520, 5)):
        texts = {f"q{status}-{number}": f"fail {status} 1" for number in range(20)}
        with pytest.raises(InputError, match=f"HTTP {status}"):
            fetch(service.url, texts, tmp_path / str(status), http={"concurrency": 1})
        assert sum(one.startswith(f"q{status}") for one in service.asked()) == sent


def test_retry_after_is_heeded(start: Any, tmp_path: Path) -> None:
    service = start()
    texts = {"q1": "fail 429 1 wait 1", **{f"q{n}": "plain" for n in range(2, 12)}}
    file = fetch(service.url, texts, tmp_path, http={"concurrency": 2})
    assert file.manifest.status == "ok"
    first = min(at for query, _, at in service.log() if query == "q1")
    assert max(at for query, _, at in service.log() if query == "q1") - first >= 1


def test_a_stall_is_a_timeout(start: Any, tmp_path: Path) -> None:
    service = start()
    texts = {"q1": "plain", "q2": "stall 3"}
    with pytest.raises(CheckFailedError, match=r"q2.*0\.3.*2"):
        fetch(service.url, texts, tmp_path, http={"timeout": 0.3, "retries": 1})
    assert service.asked().count("q2") == 2
    assert manifest_of(tmp_path).status == "incomplete"


def test_a_service_that_dies_leaves_an_incomplete_run(start: Any, tmp_path: Path) -> None:
    service = start()
    texts = {f"q{number}": "die" if number == 20 else "plain" for number in range(100)}
    options = {"retries": 1, "concurrency": 2}
    with pytest.raises(CheckFailedError) as caught:
        fetch(service.url, texts, tmp_path, http=options)
    assert "add --resume" in str(caught.value)
    manifest = manifest_of(tmp_path)
    answered = load_run(tmp_path / "dense.run").query_ids
    failed = [one.query_id for one in manifest.failed_queries]
    assert sorted(answered + failed) == sorted(texts)
    # Twenty queries are sent alone to measure the latency, some of them after the one that kills.
    assert len(answered) < 45
    # It was not asked on and on: most of the rest never was.
    assert sum(one.reason.startswith("not asked") for one in manifest.failed_queries) > 50


def test_a_service_that_is_not_there_is_unavailable(start: Any, tmp_path: Path) -> None:
    service = start()
    service.process.kill()
    service.process.wait()
    texts = {f"q{number}": "plain" for number in range(50)}
    with pytest.raises(InputError, match=r"50.*50") as caught:
        fetch(service.url, texts, tmp_path, http={"retries": 1})
    assert "no connection" in str(caught.value)
    assert not (tmp_path / "dense.run").exists()


def test_errors_with_status_200_are_retried_and_repeated_on_resume(
    start: Any, tmp_path: Path
) -> None:
    service = start()
    # The service answers {"error": …} to the first request, or to all but the fourth.
    texts = {"q1": "a", "q2": "fail 200 1", "q3": "fail 200 3", "q4": "b"}
    with pytest.raises(CheckFailedError, match=r"1.*4.*q3"):
        fetch(service.url, texts, tmp_path, http={"retries": 1})
    with pytest.raises(UsageError, match=r"3.*4.*--resume"):
        fetch(service.url, texts, tmp_path, http={"retries": 1})
    assert sorted(service.asked()) == ["q1", "q2", "q2", "q3", "q3", "q4"]
    (failed,) = manifest_of(tmp_path).failed_queries
    assert failed.reason.endswith('{"error": "no, not with None"} (2 attempts)')
    status = {entry["query_id"]: entry["status"] for entry in journal_of(tmp_path)}
    assert status == {"q1": "ok", "q2": "ok", "q3": "failed", "q4": "ok"}
    file = fetch(service.url, texts, tmp_path, http={"retries": 1}, resume=True)
    assert service.asked()[6:] == ["q3", "q3"]
    assert file.manifest.status == "ok"
    assert file.path.read_bytes() == fetch(service.url, texts, tmp_path / "all").path.read_bytes()


SECRET = 's3cr&t/K"ey0123456789abcdef'


def test_a_key_is_nowhere_but_in_its_header(
    start: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SERVICE_KEY", SECRET)
    caplog.set_level(logging.DEBUG)
    service = start(key=SECRET)
    http = {"key_env": "SERVICE_KEY", "retries": 1}
    fetch(service.url, {"q1": "a"}, tmp_path / "good", http=http)
    messages = []
    # The service repeats the key in everything it says.
    for name, text in {"a": "fail 400 9", "b": "fail 503 9", "c": "forget"}.items():
        with pytest.raises(TrectoolsPlusError) as caught:
            fetch(service.url, {"q1": "x", "q2": text}, tmp_path / name, http=http)
        messages += [str(caught.value), repr(caught.value)]
    monkeypatch.setenv("SERVICE_KEY", SECRET[::-1])
    with pytest.raises(InputError, match=r"HTTP.*401") as caught:
        fetch(service.url, {"q1": "x"}, tmp_path / "bad", http=http)
    messages.append(str(caught.value))
    out, err = capfd.readouterr()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 10
    texts = [*messages, out, err, caplog.text, *(path.read_text() for path in written)]
    for secret in (SECRET, SECRET[::-1]):
        spellings = {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))}
        assert [text for text in texts if any(one in text for one in spellings)] == []


def test_an_id_that_holds_the_key_is_refused() -> None:
    def leak(request: httpx.Request, end: str) -> httpx.Response:
        segments = [{"segment_id": request.headers["X-API-Key"] + end, "score": 1}]
        return httpx.Response(200, json={"results": [{"query_id": "q1", "segments": segments}]})

    for end in ("", " is the key"):
        settings = HttpSettings.model_validate({"url": "http://search.test"})
        source = HttpSource(
            settings, "dense", Secret(SECRET), httpx.MockTransport(partial(leak, end=end))
        )
        (failure,) = source.ask([Query("q1", "x")], 3)
        assert failure.reason == "an id holds the service's key"


def test_a_key_is_in_no_report(start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", SECRET)
    (tmp_path / "topics.tsv").write_text("q1\tplain\nq2\tfail 400 9\n")
    (tmp_path / "good.tsv").write_text("q1\tplain\nq2\theart\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    words = ["run", "--qrels", str(tmp_path / "qrels.txt"), "--set", "http.key_env=SERVICE_KEY"]
    words += ["--http-url", start(key=SECRET).url, "--modes", "dense,sparse"]
    outputs = []
    for topics in ("topics", "good"):
        # Both modes have the same failing query: first there is no report, then a whole one.
        more = ["--topics", str(tmp_path / f"{topics}.tsv"), "--output-dir", str(tmp_path / "out")]
        result = CliRunner().invoke(benchmark_app, [*words, *more])
        assert result.exit_code == (topics == "topics")
        outputs.append(result.output + str(result.exception))
    for mode in ("dense", "sparse"):
        unanswered = "1 of 2 queries has no answer (q2: HTTP 400 Bad Request"
        assert f"{mode} is incomplete: {unanswered}" in outputs[0]
    report = load_report(tmp_path / "out" / "BenchmarkReport.json")
    assert list(report.modes) == ["dense", "sparse"]
    assert report.manifest.config["http"]["key_env"] == "SERVICE_KEY"
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(written) > 8
    for spelling in (SECRET, json.dumps(SECRET)[1:-1]):
        assert [path for path in written if spelling.encode() in path.read_bytes()] == []
        assert [text for text in outputs if spelling in text] == []


def test_a_missing_key_is_reported_before_the_first_request(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = start()
    monkeypatch.delenv("SERVICE_KEY", raising=False)
    http = {"key_env": "SERVICE_KEY"}
    with pytest.raises(UsageError, match=r"key_env.*SERVICE_KEY"):
        fetch(service.url, {"q1": "a"}, tmp_path, http=http)
    monkeypatch.setenv("SERVICE_KEY", "two\nlines")
    with pytest.raises(UsageError) as caught:
        fetch(service.url, {"q1": "a"}, tmp_path, http=http)
    assert "lines" not in str(caught.value)
    assert service.asked() == []
    assert "SERVICE_KEY" in os.environ


def test_a_refused_key_ends_the_asking(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = start(key="right")
    monkeypatch.setenv("SERVICE_KEY", "wrong")
    texts = {f"q{number}": "plain" for number in range(50)}
    http = {"key_env": "SERVICE_KEY"}
    with pytest.raises(InputError, match=r"50.*50"):
        fetch(service.url, texts, tmp_path, http=http)
    assert len(journal_of(tmp_path)) <= 8
