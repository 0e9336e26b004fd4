"""The journal: cut off anywhere, it goes on; of another fetch, it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.display import Progress
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.tables import Corpus, Topics
from trectools_plus.retrieval.answering import open_journal
from trectools_plus.retrieval.fetch import FetchRequest
from trectools_plus.retrieval.run_files import fetch_to_dir
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.retrieval.source import (
    Backend,
    Failure,
    FetchOptions,
    Hits,
    Query,
    SearchRequest,
    Source,
)

FACTS = {"mode": "m", "depth": 10, "http": {"url": "http://a", "headers": {}}}


class Counting(Backend, Source):
    """A backend, and its source, that counts what it is asked."""

    name = "counting"
    facts: dict[str, Any] = {}  # noqa: RUF012
    batch_size = 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def open(self, request: SearchRequest, progress: Progress) -> dict[str, Any]:
        return dict.fromkeys(request.modes, self)

    def ask(self, queries: Sequence[Query], depth: int) -> list[Hits | Failure]:
        self.asked += [query.query_id for query in queries]
        return [
            Hits([f"d{n}" for n in range(5)], np.sin(np.arange(5) + len(query.text)).tolist(), 1.0)
            for query in queries
        ]


TOPICS = Topics.from_dict({f"q{number}": "x" * number for number in range(1, 12)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(share=st.floats(0, 1), damage=st.sampled_from([b"", b"\x00" * 7, b'{"query_id": "q1"']))
def test_cut_off_anywhere_it_goes_on(
    tmp_path_factory: pytest.TempPathFactory, share: float, damage: bytes
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    whole = fetch_to_dir(FetchRequest(None, TOPICS, ["m"], backend=Counting()), folder)["m"].path
    expected, journal = whole.read_bytes(), folder / "m.run.journal"
    content = journal.read_bytes()
    kept = content[: round(share * len(content))]
    journal.write_bytes(kept + (damage if kept.endswith(b"\n") else b""))
    whole.unlink()
    backend = Counting()
    fetch_to_dir(FetchRequest(None, TOPICS, ["m"], backend=backend), folder, resume=True)
    assert whole.read_bytes() == expected
    assert journal.read_bytes() == content
    done = {json.loads(line)["query_id"] for line in kept.split(b"\n")[1:-1]}
    assert backend.asked == [query for query in TOPICS.query_ids if query not in done]


def test_other_topics_depth_or_settings_are_another_fetch(tmp_path: Path) -> None:
    fetch_to_dir(FetchRequest(None, TOPICS, ["m"], backend=Counting()), tmp_path)
    other = Topics.from_dict({**TOPICS.to_dict(), "q1": "changed"})
    for topics, depth in ((other, 100), (TOPICS, 50)):
        with pytest.raises(UsageError, match=r"topics differs|depth differs"):
            fetch_to_dir(
                FetchRequest(
                    None, topics, ["m"], options=FetchOptions(depth=depth), backend=Counting()
                ),
                tmp_path,
                resume=True,
            )


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    open_journal(tmp_path / "j", FACTS, 2, resume=False).close()
    (tmp_path / "j").write_bytes((tmp_path / "j").read_bytes() + b"{}\n")
    with pytest.raises(UsageError, match="j:2"):
        open_journal(tmp_path / "j", FACTS, 2, resume=True)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    journal = open_journal(tmp_path / "j", FACTS, 2, resume=False)
    with pytest.raises(InputError):
        open_journal(tmp_path / "j", FACTS, 2, resume=True)
    journal.close()
    open_journal(tmp_path / "j", FACTS, 2, resume=True).close()


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        open_journal(tmp_path, FACTS, 2, resume=False)


def test_embedded_journals_know_what_is_merged_and_the_parts_of_documents() -> None:
    parts = pl.DataFrame({"doc_id": ["d"], "kind": ["label"], "text": ["wing"]})
    plain = Corpus.from_dict({"d": "wing"})
    corpora = [plain, Corpus(plain.frame, None, parts)]
    corpora.append(Corpus(plain.frame, None, parts.with_columns(text=pl.lit("tail"))))
    requests = [(corpora[0], ["hybrid", "splade"]), *((corpus, ["hybrid"]) for corpus in corpora)]
    keys = {
        json.dumps(
            FetchRequest(corpus, TOPICS, modes, FetchOptions(10), RetrievalSettings()).facts,
            sort_keys=True,
        )
        for corpus, modes in requests
    }
    assert len(keys) == 4


def test_a_fetch_that_cannot_begin_leaves_no_file(tmp_path: Path) -> None:
    class Closed(Counting):
        def open(self, request: SearchRequest, progress: Progress) -> dict[str, Any]:
            raise UsageError("no such thing")

    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(UsageError):
            fetch_to_dir(FetchRequest(None, TOPICS, ["m"], backend=Closed()), folder)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    fetch_to_dir(FetchRequest(None, TOPICS, ["m"], backend=Counting()), tmp_path)
    before = (tmp_path / "m.run.journal").read_bytes()
    with pytest.raises(UsageError):
        fetch_to_dir(FetchRequest(None, TOPICS, ["m"], backend=Closed()), tmp_path, resume=True)
    assert (tmp_path / "m.run.journal").read_bytes() == before
