"""Whatever way a run is scored in, the same runs are refused, for the same rules."""

import gzip
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from trectools_plus.choices import Averaging
from trectools_plus.distributed import place_of
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats import query_chunks
from trectools_plus.formats.files import limits
from trectools_plus.measures import parse_measures
from trectools_plus.measures.evaluation import DEFAULT_MEASURES, score_runs
from trectools_plus.measures.scoring import RunOpener, open_files
from trectools_plus.validation import FindingsError, load_qrels, load_run, parts

MEASURES = parse_measures([*DEFAULT_MEASURES, "AP", "Bpref"])
LONGEST_LINE = 3000


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Cut small files into several pieces, and call short lines endless."""
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)
    monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 100)
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", LONGEST_LINE)


def fields(**changed):
    """A change of a row that gives some fields new values: a text, or a function of all fields."""
    names = ["query", "q0", "doc", "rank", "score", "tag"]

    def change(row):
        old = dict(zip(names, row.split(b" "), strict=False))
        if len(old) < len(names):
            return row
        new = {name: value(old) if callable(value) else value for name, value in changed.items()}
        return b" ".join((old | new).values())

    return change


ROW_CHANGES = [
    fields(score=b"9,5"),
    fields(score=b"50%"),
    fields(score=b"word"),
    fields(score=b"nan"),
    fields(score=b"1e999"),
    fields(score=b"1e-999"),
    fields(score=b"7"),
    fields(score=lambda row: row["rank"]),
    fields(score=lambda row: b"-" + row["rank"]),
    fields(rank=b"-"),
    fields(rank=b"-3"),
    fields(rank=b"1"),
    fields(rank=b"1.0"),
    fields(rank=b"9007199254740993"),
    fields(rank=lambda row: row["score"], score=lambda row: row["rank"]),
    fields(rank=lambda row: b"%d.5" % (20 - len(row["rank"])), score=lambda row: row["rank"]),
    fields(rank=lambda row: row["score"] + b".5", score=lambda row: row["rank"]),
    fields(q0=lambda row: row["doc"], doc=b"Q0"),
    fields(q0=lambda row: row["doc"], doc=lambda row: row["q0"]),
    fields(q0=lambda row: row["doc"], doc=b"same"),
    fields(doc=b"Q0"),
    fields(doc=b"same"),
    fields(q0=b"0"),
    fields(doc=lambda row: row["doc"] + b"\xc2\xa0"),
    fields(doc=lambda row: row["doc"] + b"\xe2\x80\x8b"),
    fields(doc=lambda row: b"\x01" + row["doc"]),
    fields(doc=lambda row: row["doc"] + b"\xe9"),
    fields(doc=lambda row: row["doc"] + b"\0"),
    fields(doc=lambda row: b"\r" + row["doc"]),
    fields(tag=lambda row: row["tag"] + b"\r"),
    fields(tag=lambda row: b"\0" * 60),
    fields(query=lambda row: b"\xef\xbb\xbf" + row["query"]),
    fields(query=lambda row: b"\xff\xfe" + row["query"]),
    fields(query=lambda row: b"#" + row["query"]),
    fields(query=lambda row: b" " + row["query"]),
    fields(tag=lambda row: row["tag"] + b" " + b"x" * LONGEST_LINE),
    lambda row: row.rpartition(b" ")[0],
    lambda row: row + b" more",
    lambda row: row + b" more words",
    fields(doc=b"part 1"),
    fields(rank=b"-1"),
    fields(rank=b"-"),
    lambda row: b" ".join([*row.split(b" ")[:3], b"1"]),
    lambda row: b",".join(row.split(b" ")),
    lambda row: b" ".join(b'"%b"' % field for field in row.split(b" ")),
    lambda row: b"{" + row,
    lambda row: b"<p>" + row,
    lambda _: b"",
    lambda _: b"#a,b,c,d",
    lambda row: row + b"\n" + row,
]
"""Each breaks a rule that scoring refuses, or looks as if it did."""

INSERTED = [
    b"qid Q0 docno rank score tag",
    b"qid docno rank score",
    b"# a comment",
    b"#1 Q0 d 1 2 t",
    b"",
    b"caf\xe9 Q0 docno rank score tag",
    b"\xef\xbb\xbf",
    b"[",
    b"a,b,c,d",
]

WHOLE_CHANGES = [
    bytes,
    lambda data: data.removesuffix(b"\n"),
    lambda data: b"\xef\xbb\xbf" + data,
    lambda data: data.decode("latin-1").encode("utf-16"),
    lambda data: data.decode("latin-1").encode("utf-16le"),
    lambda data: data.replace(b"\n", b"\r"),
    lambda data: data.replace(b"\n", b"\r\n"),
    gzip.compress,
    lambda data: gzip.compress(data)[:-9],
    lambda _: b"",
]


@st.composite
def runs(draw):
    """The bytes of a run: sound, or broken in one or two ways, in a row, some queries or all."""
    n_queries = draw(st.integers(1, 12))
    rows = [
        (query, b"%d Q0 d%d %d %d tag" % (query, query + rank, rank, 20 - rank))
        for query in range(n_queries)
        for rank in range(1, draw(st.integers(1, 5)) + 1)
    ]
    for change in draw(st.lists(st.sampled_from(ROW_CHANGES), max_size=2)):
        scope = draw(st.sampled_from(["all", "row", "queries", "first"]))
        if scope == "row":
            chosen = {draw(st.integers(0, len(rows) - 1))}
        else:
            queries = draw(st.sets(st.integers(0, n_queries - 1)))
            chosen = {
                at
                for at, (query, _) in enumerate(rows)
                if scope == "all"
                or (scope == "queries" and query in queries)
                or (scope == "first" and query == 0)
            }
        rows = [
            (query, change(row) if at in chosen else row) for at, (query, row) in enumerate(rows)
        ]
    lines = [row for _, row in rows]
    for line in draw(st.lists(st.sampled_from(INSERTED), max_size=2)):
        lines.insert(draw(st.sampled_from([0, 0, 1, len(lines) // 2, len(lines)])), line)
    if draw(st.sampled_from([False, False, True])):
        draw(st.randoms(use_true_random=False)).shuffle(lines)
    whole = draw(st.one_of(st.just(bytes), st.sampled_from(WHOLE_CHANGES)))
    return whole(b"".join(line + b"\n" for line in lines))


def refusal(error):
    """The exit code, and the rules that a run breaks by itself."""
    assert isinstance(error, TrectoolsPlusError)
    findings = error.findings if isinstance(error, FindingsError) else ()
    return error.exit_code, {one.code for one in findings if one.code[0] in "FR"}


def values(table, opened):
    scored = score_runs(table, {"run": opened}, MEASURES, Averaging())
    return opened.name, scored.query_ids, scored.counts, scored.tables["run"].tobytes()


def outcome(qrels, run):
    try:
        table, (opened,), _ = open_files(qrels, [run], MEASURES)
    except TrectoolsPlusError as error:
        return refusal(error)
    return values(table, opened)


def plain_outcome(qrels, run):
    table = load_qrels(qrels)
    try:
        return values(table, load_run(run, qrels=table))
    except TrectoolsPlusError as error:
        return refusal(error)


def spread_outcome(qrels, run):
    """As workers open a file, and what they leave is opened here."""
    table = load_qrels(qrels)
    opened = RunOpener(table, MEASURES).open_on_worker((run, place_of(run)))
    return plain_outcome(qrels, run) if opened is None else values(table, opened[0])


def write_qrels(folder, n_queries=12):
    generator = random.Random(1)
    rows = [
        f"{query} 0 d{query + at} {generator.randrange(3)}\n"
        for query in range(n_queries)
        for at in range(1, 6)
    ]
    (folder / "qrels").write_text("".join(rows), encoding="utf-8")
    return str(folder / "qrels")


def assert_agreed(qrels, run):
    plain = plain_outcome(qrels, run)
    if plain == (1, {"F103"}) and b"\0" in Path(run).read_bytes():
        # UTF-16 and UTF-32 are guessed from the share of NULs in the first 4 KiB, and the first
        # parts of these tests are shorter.
        assert outcome(qrels, run)[0] == spread_outcome(qrels, run)[0] == 1
        return plain
    assert outcome(qrels, run) == plain
    assert spread_outcome(qrels, run) == plain
    return plain


@settings(suppress_health_check=list(HealthCheck))
@given(runs())
def test_all_ways_of_scoring_agree(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("run")
    note(content)
    (folder / "run").write_bytes(content)
    assert_agreed(write_qrels(folder), str(folder / "run"))
