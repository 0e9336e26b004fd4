"""Files of other tools' users: all ways of scoring give the same figures, or all refuse them."""

import itertools
import math
import random
import re
from contextlib import suppress

import pytest
import pytrec_eval

from trectools_plus.choices import Averaging
from trectools_plus.errors import CheckFailedError
from trectools_plus.formats import query_chunks
from trectools_plus.measures import evaluate, parse_measures
from trectools_plus.measures.evaluation import score_runs
from trectools_plus.measures.scoring import open_files
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.command import score_files
from trectools_plus.validation import load_qrels, load_run, parts

NAMES = ["AP", "nDCG@10", "P@5", "R@100", "RR"]
KEYS = ["map", "ndcg_cut_10", "P_5", "recall_100", "recip_rank"]
MEASURES = parse_measures(NAMES)


def rows_of(seed=1, n_queries=6, depth=12):
    """``query_id, doc_id, score`` in rank order, some scores tied in 32 bits."""
    generator = random.Random(seed)
    rows = []
    for query in range(1, n_queries + 1):
        documents = generator.sample(range(40), depth)
        scores = sorted((generator.choice((1, 2, 3, 3.00000001)) for _ in documents), reverse=True)
        rows += [
            (str(query), f"d{number}", score + (depth - at) * (query % 2))
            for at, (number, score) in enumerate(zip(documents, scores, strict=True))
        ]
    return rows


def judgments_of(seed=2, n_queries=6):
    generator = random.Random(seed)
    return [
        (str(query), f"d{number}", generator.choice((0, 0, 1, 2)))
        for query in range(1, n_queries + 1)
        for number in range(0, 40, 2)
    ]


ROWS, JUDGMENTS = rows_of(), judgments_of()


def run_text(rows=None, form="{q} Q0 {d} {r} {s!r} tag"):
    lines, rank, before = [], 0, None
    for query, document, value in ROWS if rows is None else rows:
        rank = 1 if query != before else rank + 1
        before = query
        lines.append(form.format(q=query, d=document, r=rank, z=rank - 1, s=value))
    return "\n".join([*lines, ""])


def qrels_text(judgments=None, form="{q} 0 {d} {g}"):
    judged = JUDGMENTS if judgments is None else judgments
    return "\n".join([*(form.format(q=q, d=d, g=g) for q, d, g in judged), ""])


def expected(rows=None, judgments=None):
    """Return the means by pytrec_eval over all judged queries, 0 for those that it lacks."""
    run, qrels = {}, {}
    for query, document, value in ROWS if rows is None else rows:
        run.setdefault(query, {})[document] = float(value)
    for query, document, grade in JUDGMENTS if judgments is None else judgments:
        qrels.setdefault(query, {})[document] = grade
    # It crashes at a query with negative grades only.
    evaluator = pytrec_eval.RelevanceEvaluator(
        {query: graded for query, graded in qrels.items() if max(graded.values()) >= 0},
        {"map", "ndcg_cut.10", "P.5", "recall.100", "recip_rank"},
    )
    values = evaluator.evaluate(run).values()
    return [math.fsum(found[key] for found in values) / len(qrels) for key in KEYS]


def means(evaluation):
    (name,) = evaluation.run_names
    return [evaluation.mean(name, measure) for measure in NAMES]


def by_files(qrels, run, **options):
    opened = open_files(qrels, [run], MEASURES, **options)
    evaluation = score_runs(
        opened.qrels, {"run": opened.runs[0]}, MEASURES, Averaging(), notes=opened.notes
    )
    return means(evaluation)


def by_trec_eval(qrels, run, **_):
    words = [word for name in ("map", "ndcg_cut.10", "P.5", "recall.100", "recip_rank")
             for word in ("-m", name)]  # fmt: skip
    scores, _ = score_files(parse_arguments(["-c", *words, qrels, run]))
    n_queries = scores.n_qrels
    with suppress(CheckFailedError):  # without a header, which trec_eval counts as a query
        n_queries = len(load_qrels(qrels).query_ids)
    return [
        math.fsum(scores.values[name].ravel()) / n_queries
        for name in ("map", "ndcg_cut", "P", "recall", "recip_rank")
    ]


WAYS = {
    "eval": by_files,
    "whole file": lambda qrels, run: means(
        evaluate(load_qrels(qrels), load_run(run, qrels=load_qrels(qrels)), NAMES)
    ),
    "paths": lambda qrels, run: means(evaluate(qrels, run, NAMES)),
    "trec-eval": by_trec_eval,
}


def write(folder, qrels, run):
    for name, content in (("qrels", qrels), ("run", run)):
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return str(folder / "qrels"), str(folder / "run")


RUN, QRELS = run_text(), qrels_text()
SHORT = [row for row in ROWS if row[0] != "3"]
DEEP = [("1", f"x{n}", 99 - n / 200) for n in range(10_000)] + ROWS[12:]
INTEGRAL = qrels_text(form="{q} 0 {d} {g}.0")

SCORED = {
    "as they are": (QRELS, RUN),
    "ranks from 0": (QRELS, run_text(form="{q} Q0 {d} {z} {s!r} tag")),
    "every rank 0": (QRELS, run_text(form="{q} Q0 {d} 0 {s!r} tag")),
    "every rank -1": (QRELS, run_text(form="{q} Q0 {d} -1 {s!r} tag")),
    "ranks like 1.0": (QRELS, run_text(form="{q} Q0 {d} {r}.0 {s!r} tag")),
    "ranks -": (QRELS, run_text(form="{q} Q0 {d} - {s!r} tag")),
    "ranks as words": (QRELS, run_text(form="{q} Q0 {d} rank{r} {s!r} tag")),
    "words after the tag": (QRELS, run_text(form="{q} Q0 {d} {r} {s!r} my tag of words")),
    "words after some tags": (QRELS, RUN.replace(" tag\n", " tag 2\n", 3)),
    "a header in the run": (QRELS, "qid Q0 docno rank score tag\n" + RUN),
    "another header": (QRELS, "query_id\titer\tdocid\trank\tsim\trun_id\n" + RUN),
    "a short header": (QRELS, "topic docno score\n" + RUN),
    "a header in the qrels": ("topic iter docno rel\n" + QRELS, RUN),
    "a header with Q0 in the qrels": ("qid Q0 docid rel\n" + QRELS, RUN),
    "a header with 0 in the qrels": ("qid 0 docno label\n" + QRELS, RUN),
    "grades like 1.0": (INTEGRAL, RUN),
    "some grades like 1.": (QRELS.replace(" 2\n", " 2.\n"), RUN),
    "CRLF": (QRELS.replace("\n", "\r\n"), RUN.replace("\n", "\r\n")),
    "byte order marks": ("\ufeff" + QRELS, "\ufeff" + RUN),
    "tabs": (QRELS.replace(" ", "\t"), RUN.replace(" ", "\t")),
    "mixed blanks": (QRELS.replace(" ", "  "), RUN.replace(" ", " \t ") + "\n\n"),
    "comments": ("# made by hand\n" + QRELS, "# a system\n" + RUN + "# the end\n"),
    "several tags": (QRELS, RUN.replace(" tag\n", " other\n", 9)),
    "column 2 is 0": (QRELS, run_text(form="{q} 0 {d} {r} {s!r} tag")),
    "repeated judgments": (QRELS + QRELS, RUN),
    "no newline at the end": (QRELS[:-1], RUN[:-1]),
    "rows in any order": (
        QRELS,
        "\n".join([*random.Random(3).sample(RUN.split("\n")[:-1], len(ROWS)), ""]),
    ),
    "scores like 1e2": (QRELS, run_text(form="{q} Q0 {d} {r} {s:.9e} tag")),
}  # fmt: skip
"""Files in the ways in which other tools write them, with the same content."""

OTHER_CONTENT = {
    "a query without results": (JUDGMENTS, SHORT),
    "a query without judgments": ([one for one in JUDGMENTS if one[0] != "3"], ROWS),
    "depth 10,000": (JUDGMENTS, DEEP),
    "negative grades only": ([*JUDGMENTS, ("7", "d1", -2)], [*ROWS, ("7", "d1", 1.0)]),
    "a grade of -1": ([*JUDGMENTS, ("1", "z", -1)], [*ROWS[:-1], ("6", "z", 0.5)]),
    "every grade 0": ([(q, d, 0) for q, d, _ in JUDGMENTS], ROWS),
    "every grade -2": ([(q, d, -2) for q, d, _ in JUDGMENTS], ROWS),
    "grade 0 only": ([*JUDGMENTS, ("7", "d1", 0)], [*ROWS, ("7", "d1", 1.0)]),
    "nothing judged in the results": (
        [("1", "x", 1), ("2", "y", 1)],
        [("1", "y", 1.0), ("1", "z", 0.5), ("2", "x", 1.0)],
    ),
}


@pytest.fixture
def chunks(request, monkeypatch):
    if request.param == "many chunks":
        monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)
        monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 150)


USUAL = {("eval", "many chunks")} | {(way, "one chunk") for way in ("eval", "paths", "trec-eval")}
in_every_way = pytest.mark.parametrize(
    ("way", "chunks"),
    [
        pytest.param(
            *case, marks=() if case in USUAL else pytest.mark.slow("similar to another way")
        )
        for case in itertools.product(WAYS, ("one chunk", "many chunks"))
    ],
    indirect=["chunks"],
)


@pytest.mark.every(3)
@pytest.mark.usefixtures("chunks")
@in_every_way
@pytest.mark.parametrize("name", SCORED)
def test_files_of_other_tools_are_scored(tmp_path, name, way):
    assert WAYS[way](*write(tmp_path, *SCORED[name])) == pytest.approx(expected(), abs=1e-12)


@pytest.mark.every(3)
@pytest.mark.usefixtures("chunks")
@in_every_way
@pytest.mark.parametrize("name", OTHER_CONTENT)
def test_incomplete_files_are_scored(tmp_path, name, way):
    judgments, rows = OTHER_CONTENT[name]
    files = write(tmp_path, qrels_text(judgments), run_text(rows))
    assert WAYS[way](*files) == pytest.approx(expected(rows, judgments), abs=1e-12)


REFUSED = {
    "a blank in a document id": (QRELS, RUN.replace("1 Q0 d", "1 Q0 d part2 ", 1), "R102"),
    "a number in a document id": (QRELS, RUN.replace("1 Q0 d", "1 Q0 d 2 ", 1), "R102"),
    "a score for a tag": (QRELS, RUN.replace(" tag\n", " 7 tag\n", 1), "R102"),
    "a header with the id of a query": (
        QRELS,
        "qid Q0 docno rank score tag\n" + RUN + "qid Q0 a 1 2.0 tag\n",
        "R105",
    ),
    "a header with the id of a judged query": (
        QRELS + "qid 0 d1 1\n",
        "qid Q0 docno rank score tag\n" + RUN,
        "R105",
    ),
    "qrels with a header that names a query": (
        "qid iter docno rel\n" + QRELS + "qid 0 d1 1\n",
        RUN,
        "Q103",
    ),
    "a grade in words, not a header": ("a 0 b relevant\n" + QRELS, RUN, "Q110"),
    "a grade of 0.5": (qrels_text(form="{q} 0 {d} {g}.5"), RUN, "Q111"),
    "one grade of 0.5": (INTEGRAL.replace(" 1.0\n", " 0.5\n", 1), RUN, "Q111"),
    "conflicting judgments": (QRELS + INTEGRAL.replace(" 1.0", " 2.0"), RUN, "Q142"),
    "a grade of 10^9": (QRELS + "1 0 x 1000000000\n", RUN, "Q122"),
    "a grade of 2*10^10": (QRELS + "1 0 x 20000000000\n", RUN, "Q122"),
    "only a grade of 10^9": ("1 0 d1 1000000000\n", RUN, "Q122"),
    "other documents": (
        qrels_text([(q, f"other{d}x", g) for q, d, g in JUDGMENTS]),
        RUN,
        "P105|P106",
    ),
    "reversed scores": (QRELS, run_text([(q, d, -s) for q, d, s in ROWS]), "R121"),
    "every row a comment": (QRELS, run_text(form="#{q} Q0 {d} {r} {s!r} tag"), "R112|F101"),
    "one score": (QRELS, run_text(form="{q} Q0 {d} {r} 1.0 tag"), "R142"),
    "a no-break space": (QRELS, RUN.replace(" tag\n", "\u00a0x tag\n", 1), "R114"),
    "a document twice": (QRELS, RUN + RUN, "R131"),
}  # fmt: skip
SCORED_BY_TREC_EVAL = {"R102", "R105", "R114", "R142", "Q103", "Q110", "Q111", "Q135", "F103"}
"""Errors with which the data determine C trec_eval's figures, so that trec-eval prints them."""


@pytest.mark.every(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", REFUSED)
def test_wrong_or_ambiguous_files_are_refused(tmp_path, name, way):
    qrels, run, codes = REFUSED[name]
    if way == "trec-eval" and codes in SCORED_BY_TREC_EVAL:
        return
    with pytest.raises(CheckFailedError) as refused:
        WAYS[way](*write(tmp_path, qrels, run))
    assert refused.value.exit_code == 1
    assert re.search(codes, str(refused.value))
