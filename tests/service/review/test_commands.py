"""``review serve``, ``show`` and ``export`` as a shell sees them; a server that is killed."""

import random
from contextlib import closing
from urllib.error import HTTPError

import pytest

from trectools_plus.judging.judgments import find_annotator, read_all_judgments
from trectools_plus.judging.store import read_store

SLOW = pytest.mark.slow("starts servers")
pytestmark = pytest.mark.process


def begin(ask, url, name):
    return {"X_Review_Session": ask(f"{url}api/session", {"name": name})["session"]}


@SLOW
def test_a_server_that_is_killed_loses_nothing(serve, ask, report):
    database = report / "review.db"
    draw = random.Random(4)
    said = {}
    for life in range(3):
        server = serve(report, "--depth", 5)
        assert f"judgments  {database}" in server.notes
        anna = begin(ask, server.url, f"Anna {life}")
        for _ in range(draw.randrange(3, 9)):
            number = draw.randrange(1, 8)
            view = ask(f"{server.url}api/queries/{number}", **anna)
            doc_id, grade = draw.choice(draw.choice(view["columns"])["results"]), draw.randrange(4)
            sent = {"query": number, "doc_id": doc_id, "grade": grade}
            ask(f"{server.url}api/grades", sent, **anna)
            said[view["query_id"], doc_id] = grade
        server.kill()  # right after the last answer
        with closing(read_store(database)) as store:
            assert store.rows("PRAGMA integrity_check") == [("ok",)]
            who = find_annotator(store, f"Anna {life}")
            found = {
                (query_id, doc_id): one.grade
                for query_id, judged in read_all_judgments(store, who).items()
                for doc_id, one in judged.grades.items()
            }
        assert found == said
        said.clear()


@SLOW
def test_the_key_comes_from_the_environment(serve, ask, report):
    key = "a-key-of-twenty-char"
    server = serve(report, "--host", "0.0.0.0", "--key-from-env", "REVIEW_KEY", REVIEW_KEY=key)
    url = server.url.replace("0.0.0.0", "127.0.0.1")
    with pytest.raises(HTTPError, match="401"):
        ask(f"{url}api/about")
    assert ask(f"{url}api/about", Authorization=f"Bearer {key}")["columns"] == 3
    assert key not in "".join(server.notes)


@SLOW
def test_stopping_is_no_error(serve, report):
    import signal

    server = serve(report)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=60) == 0
    assert server.process.stderr.read_text().endswith("\nstopped; all judgments are saved\n")
    assert not (report / "review.db-wal").exists()


def test_mistakes_are_one_line(call_here, report, tmp_path, check_mistake):
    text, empty = tmp_path / "text.db", tmp_path / "empty"
    text.write_text("no database " * 100)
    empty.mkdir()
    for arguments, word in (
        (("serve", report, "--host", "0.0.0.0"), "there is no key"),
        (("serve", report, "--key-from-env", "SHORT_KEY"), "SHORT_KEY does not contain"),
        (("serve", report, "--key-from-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
        (("serve", report, "--modes", "lexical"), "2 to 8 modes"),
        (("serve", report, "--modes", "lexical,nothing"), "nothing"),
        (("serve", report, "--depth", 0), "depth"),
        (
            ("serve", report, "--host", "no.such.host.invalid", "--key-from-env", "PATH"),
            "listen",
        ),
        (("serve", empty), "BenchmarkReport.json"),
        (("show", text), "text.db"),
        (("show", tmp_path / "missing.db"), "missing.db"),
        (("export", tmp_path / "missing.db"), "missing.db"),
        (("show", empty), "review.db"),
    ):
        check_mistake(call_here("review", *arguments, SHORT_KEY="short"), 2, word)
    assert not (tmp_path / "missing.db").exists()
