"""One run and its judgments in the shapes that files of users have.

Everything is made here from a fixed seed. A shape changes bytes, order, spelling or values of the
same rows, so that most shapes must give the figures of the shape ``clean``.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

SEED = 11
LONG = "https://example.org/a/collection/of/documents/with/long/addresses/" * 9
"""Makes an id of about 600 bytes, so that few rows fill the chunks in which files are read."""

Row = list[str]


@dataclass(frozen=True)
class Data:
    """Rows of a run (six fields) and of its judgments (four fields)."""

    run: list[Row]
    qrels: list[Row]


@dataclass(frozen=True)
class Shape:
    """A file.

    Attributes:
        name: The name of the shape.
        file: The name of the file, with the suffix that users would give it.
        make: Returns its bytes.
    """

    name: str
    file: str
    make: Callable[[], bytes]

    @cached_property
    def data(self) -> bytes:
        """The bytes."""
        return self.make()


def make_data(queries: int = 6, depth: int = 15, prefix: str = "") -> Data:
    """Make a run and judgments with missing, unjudged and unanswered queries and ties in grades.

    Args:
        queries: The number of queries in both files.
        depth: The number of results of a query.
        prefix: Text before each document id.
    """
    generator = random.Random(SEED)
    run, qrels = [], []
    for number in range(queries + 1):
        query = str(301 + 7 * number)
        documents = [f"{prefix}d{n:05}" for n in generator.sample(range(9 * depth), depth)]
        score = 20 + generator.random()
        for rank, document in enumerate(documents, 1):
            score -= 0.05 + generator.random() * 0.3
            run.append([query, "Q0", document, str(rank), f"{score:.6f}", "bm25"])
        if number == queries:
            break  # a query without judgments
        judged = generator.sample(documents, depth // 2)
        judged += [f"{prefix}u{n:03}" for n in generator.sample(range(900), 5)]
        grades = (0,) if number == 1 else (-1, 0, 0, 1, 1, 2, 4)
        qrels += [[query, "0", one, str(generator.choice(grades))] for one in sorted(judged)]
    qrels += [["999", "0", f"{prefix}d00001", "1"], ["999", "0", f"{prefix}d00002", "0"]]
    return Data(run, qrels)


def match(data: Data, ending: str = "") -> Data:
    """Judge each query of a run, and no other, so that clean files have no findings.

    The order of the queries is not that of their ids, and document ids have 13 bytes or more.

    Args:
        data: The rows.
        ending: Text after each document id.
    """
    names = {"336": "1336", "343": "43"}

    def rename(row: Row) -> Row:
        longer = f"{row[2]}.{row[2][::-1]}{ending}"
        return [names.get(row[0], row[0]), row[1], longer, *row[3:]]

    judged: dict[str, list[Row]] = {}
    for row in data.qrels:
        judged.setdefault(row[0], []).append(row)
    qrels = []
    for block in _blocks(data.run):
        query = block[0][0]
        rows = judged.get(query) or [[query, "0", row[2], "0"] for row in block[::3]]
        rows = [
            _with(row, 3, row[3].strip("-").replace("1", str(n % 3))) for n, row in enumerate(rows)
        ]
        qrels += [_with(rows[0], 3, "2"), *rows[1:]]
    return Data([rename(row) for row in data.run], [rename(row) for row in qrels])


class _Shapes:
    """Makes shapes of some rows.

    Args:
        rows: The rows.
        suffix: The usual suffix of such a file.
    """

    def __init__(self, rows: Sequence[Row], suffix: str) -> None:
        self._rows, self._suffix = rows, suffix

    def add(
        self, name: str, data: bytes | Iterable[str] | Callable[[], bytes], suffix: str = ""
    ) -> Shape:
        """Return a file with these bytes or lines, or with those that a function returns."""

        def make() -> bytes:
            if callable(data):
                return data()
            return data if isinstance(data, bytes) else _lines(data)

        return Shape(name, f"{name}{suffix or self._suffix}", make)

    def put(self, name: str, column: int, value: Callable[[int, Row], str]) -> Shape:
        """Return the rows with other values in a column."""
        rows = (_with(row, column, value(n, row)) for n, row in enumerate(self._rows))
        return self.add(name, map(" ".join, rows))


def run_shapes(data: Data) -> list[Shape]:
    """Return the run in every shape; the names do not repeat."""
    shapes = _Shapes(data.run, ".run")
    add, put = shapes.add, shapes.put
    rows, generator = data.run, random.Random(SEED)
    blocks = _blocks(rows)

    def line(name: str, number: int, text: str) -> Shape:
        """Replace one line; the first has the number 0."""
        return add(name, [*plain[:number], text, *plain[number + 1 :]])

    plain = [" ".join(row) for row in rows]
    clean = _lines(plain)
    middle = len(rows) // 2
    irregular = {0: " more", 1: "  ", 2: "\u00e4"}
    names = ("query_id", "doc_id", "rank", "score")
    table = [[row[0], row[2], row[3], row[4]] for row in rows]
    nested: dict[str, dict[str, float]] = {}
    for row in rows:
        nested.setdefault(row[0], {})[row[2]] = float(row[4])
    records = [
        dict(zip(names, [*row[:2], int(row[2]), float(row[3])], strict=True)) for row in table
    ]
    first = len(blocks[0])
    deeper = ([rows[-1][0], "Q0", f"x{n}", str(n), f"{1 - n / 999:.4f}"] for n in range(16, 130))
    close = [_with(r, 4, _just_below(rows, n) if n % 4 == 3 else r[4]) for n, r in enumerate(rows)]
    half = [_with(row, 3, str(first + 1 - int(row[3]))) for row in blocks[0]]
    relevant = {(row[0], row[2]) for row in data.qrels}
    top = [sorted(b, key=lambda r: (r[0], r[2]) not in relevant) for b in blocks]
    best = [
        [_with(r, 2, o[2] if n < 3 else f"x{n}") for n, (r, o) in enumerate(zip(b, t, strict=True))]
        for b, t in zip(blocks, top, strict=True)
    ]
    marked = sorted(plain, key=lambda text: text[-9:])
    twice = [*table, _with(table[3], 3, "0.5")]
    again = [json.dumps(dict(zip(names, row, strict=True))) for row in twice]
    return [
        add("clean", clean),
        # Spacing and line ends.
        add("tabs", ("\t".join(row) for row in rows)),
        add("two-spaces", ("  ".join(row) for row in rows)),
        add("aligned", (f"{r[0]} {r[1]} {r[2]:>9} {r[3]:>4} {r[4]:>10} {r[5]}" for r in rows)),
        add("trailing-space", (f"{text} " for text in plain)),
        add("leading-space", (f" {text}" for text in plain)),
        add("mixed-spacing", ((" " if n % 3 else "\t").join(row) for n, row in enumerate(rows))),
        line("form-feed", middle, "\f".join(rows[middle])),
        add("crlf", lambda: clean.replace(b"\n", b"\r\n")),
        add("mixed-line-ends", lambda: clean.replace(b"\n", b"\r\n", 20)),
        add("bare-cr", lambda: clean.replace(b"\n", b"\r")),
        add("no-final-newline", clean[:-1]),
        add("blank-last-line", [*plain, ""]),
        add("blank-lines", [*plain[:5], "", "   ", *plain[5:]]),
        # Comments and headers.
        add("comment-first", ["# run of 2024", *plain]),
        add("comments", [*plain[:3], "# one", "# two", *plain[3:], "# end"]),
        line("row-behind-hash", middle, f"#{plain[middle]}"),
        add("only-comments", ["# one", "# two"]),
        add("header", ["qid Q0 docno rank score tag", *plain]),
        # Encodings and compression.
        add("byte-order-mark", b"\xef\xbb\xbf" + clean),
        add("utf-16", lambda: clean.decode().encode("utf-16")),
        add("latin-1-id", clean.replace(b"d00", "d\u00e9".encode("latin-1"), 3)),
        add("nul-byte", clean.replace(b"bm25", b"bm\x0025", 1)),
        add("gzip", lambda: gzip.compress(clean, mtime=0), ".run.gz"),
        add("gzip-without-suffix", lambda: gzip.compress(clean, mtime=0)),
        add("truncated-gzip", lambda: gzip.compress(clean, mtime=0)[:-20], ".run.gz"),
        add("xz", lambda: lzma.compress(clean), ".run.xz"),
        add("empty", b""),
        # Sizes.
        add("one-line", plain[:1]),
        add("one-query", plain[: len(blocks[0])]),
        add("one-row-per-query", (" ".join(block[0]) for block in blocks)),
        add("few-queries", (" ".join(row) for block in blocks[:2] for row in block)),
        # Order.
        add(
            "unsorted-in-query", [" ".join(r) for b in blocks for r in generator.sample(b, len(b))]
        ),
        add("interleaved", (" ".join(row) for row in sorted(rows, key=lambda row: int(row[3])))),
        add("shuffled", generator.sample(plain, len(plain))),
        add("split-query", [*plain[4:], *plain[:4]]),
        add("queries-reversed", (" ".join(row) for block in reversed(blocks) for row in block)),
        # Scores.
        put("ties", 4, lambda _, row: f"{float(row[4]):.0f}"),
        put("ties-in-32-bits", 4, lambda n, row: _just_below(rows, n) if n % 4 == 3 else row[4]),
        put("tied-query", 4, lambda _, row: "1.0" if row[0] == "308" else row[4]),
        put("all-tied", 4, lambda _n, _row: "0"),
        put("e-notation", 4, lambda _, row: f"{float(row[4]):.7e}"),
        put("17-digits", 4, lambda _, row: repr(float(row[4]) * 1.0000001234567)),
        put("negative-scores", 4, lambda _, row: f"{float(row[4]) - 21:.6f}"),
        put("plus-signs", 4, lambda _, row: f"+{row[4]}"),
        put("large-scores", 4, lambda _, row: str(16_777_216 + int(float(row[4]) * 3))),
        put("tiny-scores", 4, lambda _, row: f"{row[4]}e-330"),
        put("comma-scores", 4, lambda _, row: row[4].replace(".", ",")),
        put("rising-scores", 4, lambda _, row: f"{40 - float(row[4]):.6f}"),
        put("nan", 4, lambda n, row: "NaN" if n == middle else row[4]),
        put("infinity", 4, lambda n, row: "-inf" if n == middle else row[4]),
        put("overflow", 4, lambda n, row: "1e999" if n == middle else row[4]),
        put("hex-score", 4, lambda n, row: "0x1p3" if n == middle else row[4]),
        put("word-score", 4, lambda n, row: "high" if n == middle else row[4]),
        put("underscore-score", 4, lambda n, row: "1_0.5" if n == middle else row[4]),
        # Ranks.
        put("ranks-from-0", 3, lambda _, row: str(int(row[3]) - 1)),
        put("ranks-all-0", 3, lambda _n, _row: "0"),
        put("rank-gaps", 3, lambda _, row: str(int(row[3]) + (int(row[3]) > 5))),
        put("ranks-with-points", 3, lambda _, row: f"{row[3]}.0"),
        put("rank-twice", 3, lambda n, row: "3" if n == 3 else row[3]),
        line("dash-rank", 2, " ".join(_with(rows[2], 3, "-"))),
        # Columns.
        put("second-column-0", 1, lambda _n, _row: "0"),
        put("two-tags", 5, lambda n, row: "other" if n > middle else row[5]),
        put("long-tag", 5, lambda _n, _row: "a+" * 60),
        add("no-tag", (" ".join(row[:5]) for row in rows)),
        line("five-fields", middle, " ".join(rows[middle][:5])),
        line("three-fields", middle, " ".join(rows[middle][:3])),
        add("seven-fields", (f"{text} more" for text in plain)),
        line("one-seventh-field", middle, f"{plain[middle]} more"),
        line("space-in-id", middle, " ".join(_with(rows[middle], 2, f"{rows[middle][2]} b"))),
        add("columns-swapped", (" ".join([r[0], r[2], r[1], *r[3:]]) for r in rows)),
        add("judgments", (" ".join(row) for row in data.qrels)),
        add(
            "irregular-lines",
            (text + irregular[n % 3] if n % 9 == 4 else text for n, text in enumerate(plain)),
        ),
        # Ids.
        put("utf-8-ids", 2, lambda n, row: f"\u00e4{row[2]}" if n % 10 == 3 else row[2]),
        put("no-break-space", 2, lambda n, row: f"d\u00a0{n}" if n == middle else row[2]),
        put("zero-width-space", 2, lambda n, row: f"{row[2]}\u200b" if n == middle else row[2]),
        put("long-ids", 2, lambda n, row: f"{LONG}{row[2]}" if n % 10 == 3 else row[2]),
        put("ids-like-numbers", 2, lambda n, row: ("NA", "007", "1e5")[n % 3] if n < 3 else row[2]),
        put("query-ids-with-zeros", 0, lambda _, row: f"0{row[0]}"),
        put("other-query-ids", 0, lambda _, row: f"topic{row[0]}"),
        put("other-document-ids", 2, lambda n, _row: f"x{n}"),
        put("upper-case-ids", 2, lambda _, row: row[2].upper()),
        put("duplicate", 2, lambda n, row: rows[4][2] if n == 5 else row[2]),
        add("duplicate-line", [*plain[:5], plain[4], *plain[5:]]),
        add("duplicate-in-unjudged-query", [*plain, " ".join(_with(rows[-1], 4, "0.5"))]),
        # Other formats.
        add("csv", [",".join(names), *(",".join(row) for row in table)], ".csv"),
        add("tsv", ["\t".join(names), *("\t".join(row) for row in table)], ".tsv"),
        add("csv-without-header", (",".join(row) for row in rows), ".csv"),
        add("json", json.dumps(nested).encode(), ".json"),
        add("json-lines", (json.dumps(record) for record in records), ".jsonl"),
        add("html", b"<!DOCTYPE html>\n<html><body>404</body></html>\n"),
        # Several deviations at once.
        add("first-query-behind-hash", _changed(plain, slice(0, first), "#{}")),
        add("second-query-behind-hash", _changed(plain, slice(first, 2 * first), "#{}")),
        add("third-query-behind-hash", _changed(plain, slice(2 * first, 3 * first), "#{}")),
        put("some-upper-case-ids", 2, lambda n, row: row[2].upper() if n % 5 == 0 else row[2]),
        add("deep", [*plain, *(" ".join([*row, "bm25"]) for row in deeper)]),
        add(
            "ties-at-borders",
            (" ".join([*r[:4], str(900 + b - n), "a+"]) for n, r, b in _numbered(rows)),
        ),
        add("ties-in-32-bits-and-two-spaces", ("  ".join(row) for row in close)),
        add("ties-in-32-bits-and-points", (" ".join(_with(r, 3, f"{r[3]}.0")) for r in close)),
        add("rising-in-half", (" ".join(row) for row in [*half, *blocks[1]])),
        add("judged-rows-last", (" ".join(row) for block in best for row in reversed(block))),
        add("byte-order-mark-and-shuffled", b"\xef\xbb\xbf" + _lines(marked)),
        add("header-and-shuffled", ["qid Q0 docno rank score tag", *marked]),
        add("csv-of-excel", ["sep=;", ";".join(names), *(";".join(row) for row in twice)], ".csv"),
        add(
            "csv-below-comment",
            ["# a comment", ",".join(names), *(",".join(row) for row in twice)],
            ".csv",
        ),
        add("json-lines-with-blank", [*again[:5], "", *again[5:]], ".jsonl"),
    ]


def long_run_shapes(data: Data) -> list[Shape]:
    """Return a run of several chunks in shapes whose deviations are far from the beginning."""
    shapes = _Shapes(data.run, ".run")
    add, put, rows = shapes.add, shapes.put, data.run
    plain = [" ".join(row) for row in rows]
    late = len(rows) - 40
    last = rows[-1][0]
    split = [*plain[4:], *plain[:4]]
    return [
        add("clean", plain),
        add(
            "comment-and-late-rank",
            ["# a comment", *_changed(plain, slice(late, late + 1), "{} more")],
        ),
        put("ties-against-ids-then-not", 4, lambda n, row: _tied(rows, n)),
        put("late-ids", 2, lambda n, row: {late: row[0], late + 2: "007"}.get(n, row[2])),
        put("late-nan", 4, lambda n, row: "nan" if n == late else row[4]),
        put("late-repeat", 2, lambda n, row: rows[n - 1][2] if n == late else row[2]),
        put("late-tag", 5, lambda _, row: "other" if row[0] == last else row[5]),
        add("late-tabs", ("\t".join(row) if row[0] == last else " ".join(row) for row in rows)),
        add(
            "late-latin-1", _lines(plain[:late]) + b"\xe9".join(_lines(plain[late:]).split(b"d", 1))
        ),
        add("split-query", split),
        add("byte-order-mark-and-split-query", b"\xef\xbb\xbf" + _lines(split)),
        add("header-and-split-query", ["qid Q0 docno rank score tag", *split]),
    ]


def qrels_shapes(data: Data) -> list[Shape]:
    """Return the judgments in every shape."""
    shapes = _Shapes(data.qrels, ".qrels")
    add, put = shapes.add, shapes.put
    rows = data.qrels
    plain = [" ".join(row) for row in rows]
    clean = _lines(plain)
    middle = len(rows) // 2
    beir = [["query-id", "corpus-id", "score"], *([r[0], r[2], r[3]] for r in rows)]
    nested: dict[str, dict[str, int]] = {}
    for row in rows:
        nested.setdefault(row[0], {})[row[2]] = int(row[3])
    blocks = _blocks(rows)
    return [
        add("clean", clean),
        add("tabs", ("\t".join(row) for row in rows)),
        add("two-spaces", ("  ".join(row) for row in rows)),
        add("aligned", (f"{r[0]:<6}{r[1]} {r[2]:>9} {r[3]:>3}" for r in rows)),
        add("crlf", lambda: clean.replace(b"\n", b"\r\n")),
        add("bare-cr", lambda: clean.replace(b"\n", b"\r")),
        add("no-final-newline", clean[:-1]),
        add("comment", [plain[0], "# a comment", *plain[1:]]),
        add("blank-lines", [plain[0], "", *plain[1:], ""]),
        add("header", ["query iteration document grade", *plain]),
        add("byte-order-mark", b"\xef\xbb\xbf" + clean),
        add("utf-16", lambda: clean.decode().encode("utf-16")),
        add("gzip", lambda: gzip.compress(clean, mtime=0), ".qrels.gz"),
        add("empty", b""),
        add("one-line", plain[:1]),
        add("split-query", [*plain[3:], *plain[:3]]),
        add("shuffled", random.Random(SEED).sample(plain, len(plain))),
        put("fractional-zeros", 3, lambda _, row: f"{row[3]}.0"),
        put("fractions", 3, lambda n, row: "0.5" if n == middle else row[3]),
        put("word-grade", 3, lambda n, row: "relevant" if n == middle else row[3]),
        put("only-negative", 3, lambda _, row: "-2" if row[0] == "301" else row[3]),
        put("minus-1-only", 3, lambda _, row: "-1" if row[0] == "301" else row[3]),
        put("nothing-relevant", 3, lambda _n, _row: "0"),
        put("only-relevant", 3, lambda _n, _row: "1"),
        put("grades-to-100", 3, lambda _, row: str(25 * max(int(row[3]), 0))),
        put("grade-over-127", 3, lambda n, row: "200" if n == middle else row[3]),
        put("huge-grade", 3, lambda n, row: "20000000000" if n == middle else row[3]),
        put("subtopics", 1, lambda n, _row: str(n % 3)),
        put("grades-in-column-2", 1, lambda _, row: row[3]),
        add("columns-exchanged", (" ".join([r[0], r[3], r[2], r[1]]) for r in rows)),
        add("duplicate-same", [*plain, plain[2]]),
        add("duplicate-other", [*plain, " ".join(_with(rows[2], 3, "3"))]),
        add("three-columns", (" ".join([r[0], r[2], r[3]]) for r in rows)),
        add("five-columns", (f"{text} x" for text in plain)),
        add("one-short-line", [*plain[:4], " ".join(rows[4][:3]), *plain[5:]]),
        put("utf-8-ids", 2, lambda n, row: f"\u00e4{row[2]}" if n % 7 == 3 else row[2]),
        put("long-ids", 2, lambda n, row: f"{LONG}{row[2]}" if n % 7 == 3 else row[2]),
        put("query-ids-with-zeros", 0, lambda _, row: f"0{row[0]}"),
        add("beir", ("\t".join(row) for row in beir), ".tsv"),
        add(
            "csv",
            ("query_id,doc_id,relevance", *(",".join([r[0], r[2], r[3]]) for r in rows)),
            ".csv",
        ),
        add("json", json.dumps(nested).encode(), ".json"),
        add("a-run", (" ".join(row) for row in data.run)),
        # Several deviations at once.
        add("one-query", (" ".join(row) for row in blocks[0])),
        add("two-queries", (" ".join(row) for block in blocks[:2] for row in block)),
        add("first-query-behind-hash", _changed(plain, slice(len(blocks[0])), "#{}")),
        add("interleaved-crlf", _lines([*plain[::2], *plain[1::2]]).replace(b"\n", b"\r\n")),
    ]


def _blocks(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each query."""
    blocks: dict[str, list[Row]] = {}
    for row in rows:
        blocks.setdefault(row[0], []).append(row)
    return [*blocks.values()]


def _changed(texts: Sequence[str], place: slice, form: str) -> list[str]:
    """Return lines of which some are put into a form like ``#{}``."""
    return [*texts[: place.start], *map(form.format, texts[place]), *texts[place.stop :]]


def _numbered(rows: Sequence[Row]) -> Iterable[tuple[int, Row, int]]:
    """Return each row with its number and that of its query."""
    queries = [*dict.fromkeys(row[0] for row in rows)]
    return ((n, row, queries.index(row[0])) for n, row in enumerate(rows))


def _tied(rows: Sequence[Row], number: int) -> str:
    """Return a score that ties some rows: in the last query only where ids descend."""
    row, above = rows[number], rows[number - 1]
    descends = above[0] == row[0] and above[2] > row[2]
    is_tied = row[0] == rows[0][0] or (row[0] == rows[-1][0] and descends)
    return above[4] if is_tied and int(row[3]) % 2 == 0 else row[4]


def _with(row: Row, column: int, value: str) -> Row:
    return [*row[:column], value, *row[column + 1 :]]


def _just_below(rows: Sequence[Row], number: int) -> str:
    """Return a score that is lower than the previous one, but equal to it in 32 bits."""
    above = rows[number - 1]
    return f"{float(above[4]) - 1e-9:.10f}" if above[0] == rows[number][0] else rows[number][4]


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
