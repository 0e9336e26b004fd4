"""Forged reports whose hashes were computed again: each forgery is found, with its location."""

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from harness.forging import JSON, edit_json, reseal
from harness.observe import ROOT

from trectools_plus.benchmark import load_report, verify_report
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.reporting import render_html, render_markdown
from trectools_plus.reporting.benchmark import CLAIMS_TITLE, list_claims

TOY = ROOT / "tests/contract/inputs/testsets/toy.json"
PAGE = "BenchmarkReport.html"
MARKDOWN = "BenchmarkComparison.md"


@pytest.fixture(scope="module")
def made(tmp_path_factory, write_benchmark):
    """Fetched modes over terms: with strata, near misses and plots."""
    folder = tmp_path_factory.mktemp("made") / "out"
    options = {"dataset": "hpo", "ontology": str(ROOT / "fixtures/ontology/toy.obo")}
    options |= {"test_file": str(TOY), "modes": "lexical,vector,hybrid", "resamples": "300"}
    options |= {"measures": "RR,nDCG@3,HitRate@1,MaxOntSim@3"}
    low = {"baseline": 0.998, "competitive": 0.999}  # a pattern of the diagnosis
    targets = {"RR": {"baseline": 0.2, "competitive": 0.5}, "nDCG@3": low}
    write_benchmark(folder, plots=True, targets=targets, **options)
    return folder


def steps_of(path):
    """Split ``a/b/0``; measure names contain dots."""
    return [int(step) if step.isdigit() else step for step in path.split("/")]


def forged(value):
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return "strong" if value == "competitive" else f"{value} forged"
    if isinstance(value, list):
        return [] if value else ["forged"]
    return {} if isinstance(value, dict) else "forged"


def set_value(document, path):
    inner = document
    *steps, last = steps_of(path)
    for step in steps:
        inner = inner[step]
    inner[last] = forged(inner[last])


RR = "modes/lexical/measures/RR"
FIRST = "comparisons/0"
OF_JSON = [
    f"{RR}/mean",
    f"{RR}/median",
    f"{RR}/std",
    f"{RR}/n",
    f"{RR}/ci/low",
    f"{RR}/ci/high",
    f"{RR}/ci/level",
    f"{RR}/ci/method",
    f"{RR}/ci/resamples",
    f"{RR}/target/status",
    f"{RR}/target/competitive",
    f"{RR}/definition/formula",
    f"{RR}/definition/gain",
    f"{RR}/definition/ties",
    f"{RR}/definition/provider",
    f"{RR}/definition/averaged_over",
    f"{RR}/definition/denominator",
    "modes/lexical/label",
    "modes/lexical/run/results",
    "modes/lexical/run/queries",
    "modes/lexical/run/depth",
    "modes/lexical/latency_ms/p95",
    "modes/lexical/diagnostics/judged/Judged@10",
    "modes/lexical/diagnostics/missing_queries",
    "modes/lexical/diagnostics/notes",
    f"{FIRST}/test",
    f"{FIRST}/correction",
    f"{FIRST}/family",
    f"{FIRST}/significant",
    f"{FIRST}/p_adjusted",
    f"{FIRST}/t_test/p",
    f"{FIRST}/t_test/t",
    f"{FIRST}/effect_size",
    f"{FIRST}/wins",
    f"{FIRST}/ties",
    f"{FIRST}/losses",
    f"{FIRST}/n",
    f"{FIRST}/difference",
    "best_mode/RR",
    "best_mode_significant/RR",
    "groups",
    "strata/difficulty",
    "diagnosis",
    "notes",
    "verdict/text",
    "verdict/best",
    "primary_measure",
    "headline_measures",
    "manifest/dataset/id",
    "manifest/dataset/version",
    "manifest/dataset/documents",
    "manifest/dataset/queries",
    "manifest/dataset/sha256",
    "manifest/dataset/contents/corpus",
    "manifest/dataset/contents/topics",
    "manifest/dataset/contents/qrels",
    "manifest/config_hash",
    "manifest/seed",
]


def test_a_forged_value_of_the_report_is_found(made, tmp_path):
    """All of them at once: what is made again does not depend on these values."""
    folder = shutil.copytree(made, tmp_path / "out")
    shutil.rmtree(folder / "visualizations")  # without plots, none is drawn again
    document = json.loads((folder / JSON).read_text())
    for path in OF_JSON:
        set_value(document, path)
    document["claim"] = "an extra key"
    (folder / JSON).write_text(json.dumps(document))
    reseal(folder)
    problems = verify_report(folder).problems
    missed = []
    for path in [*OF_JSON, "claim"]:
        place = path.replace("/", ".").replace("comparisons.0", "comparisons[0]")
        # An emptied part is named, or the first value that is missing in it.
        if not any(one.startswith((f"{JSON}: {place}:", f"{JSON}: {place}.", f"{JSON}: {place}["))
                   for one in problems):  # fmt: skip
            missed.append(path)
    assert missed == []


def replace_text(name, pattern, new):
    def forge(folder):
        path = folder / name
        text = path.read_text()
        changed = re.sub(pattern, new, text, count=1)
        assert changed != text, pattern
        path.write_text(changed)

    return forge


def edit_table(name, column):
    def forge(folder):
        table = pl.read_parquet(folder / name)
        kind = table.schema[column]
        new = pl.lit("forged") if kind == pl.String else pl.lit(0.987654, kind)
        first = pl.int_range(pl.len()) == 0
        table.with_columns(pl.when(first).then(new).otherwise(pl.col(column)).alias(column)
                           ).write_parquet(folder / name)  # fmt: skip

    return forge


def reverse(*path):
    """Reverse the order of the keys of a part of the report."""

    def change(document):
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = dict(reversed(document[path[-1]].items()))

    return edit_json(change)


def set_config(key, value):
    return edit_json(lambda d: d["manifest"]["config"].update({key: value}))


OF_FILES = {
    "a figure of the page": (replace_text(PAGE, r">0\.\d\d\d\d?", ">0.94"), f"{PAGE}: line"),
    "the title of the page": (replace_text(PAGE, r"<title>", "<title>Best: "), f"{PAGE}: line"),
    "a label of the page": (replace_text(PAGE, "Lexical-Only", "Vector-Only"), f"{PAGE}: line"),
    "the data of the queries": (replace_text(PAGE, '"hound"', '"wolf"'), f"{PAGE}: line"),
    "a script of the page": (replace_text(PAGE, "</script>", "var x;</script>"), f"{PAGE}: line"),
    "a cell of the Markdown": (replace_text(MARKDOWN, r"0\.\d\d\d\d", "0.9999"), MARKDOWN),
    "a heading of the Markdown": (replace_text(MARKDOWN, r"(?m)^## ", "## Proven: "), MARKDOWN),
    "a sentence of the Markdown": (
        lambda folder: (folder / MARKDOWN).write_text(
            (folder / MARKDOWN).read_text() + "\nHybrid is best.\n"
        ),
        f"{MARKDOWN}: line",
    ),
    "a report of a mode": (
        edit_json(lambda d: set_value(d, f"{RR}/mean"), "reports/lexical.json"),
        "reports/lexical.json: modes.lexical.measures.RR.mean: reported",
    ),
    "a value per query": (
        edit_table("per_query.parquet", "value"),
        "per_query.parquet: the bytes differ",
    ),
    "a latency": (edit_table("latency.parquet", "latency_ms"), f"{JSON}: modes.lexical.latency_ms"),
    "a text of a query": (edit_table("topics.parquet", "text"), "topics.parquet: "),
    "a title": (edit_table("documents.parquet", "title"), "documents.parquet: "),
    "a plot": (
        lambda folder: (folder / "visualizations/measures.png").write_bytes(b"another plot"),
        "visualizations/measures.png: the bytes differ",
    ),
    "a drawing": (
        replace_text("visualizations/measures.svg", "</svg>", "<desc>x</desc></svg>"),
        "visualizations/measures.svg: the bytes differ",
    ),
    "a row of a run": (
        lambda folder: (folder / "runs/lexical.run").write_text(
            "\n".join((folder / "runs/lexical.run").read_text().splitlines()[1:]) + "\n"
        ),
        f"{JSON}: modes.lexical.",
    ),
    "a comment in a run": (
        lambda folder: (folder / "runs/vector.run").write_text(
            "# reviewed\n" + (folder / "runs/vector.run").read_text()
        ),
        "runs/vector.run: line 1: it differs",
    ),
    "a grade": (replace_text("qrels.txt", r"(?m)3$", "0"), "qrels.txt: line 1:"),
    "a further file": (
        lambda folder: (folder / "Certificate.md").write_text("verified"),
        "Certificate.md: a benchmark of these files does not write this file",
    ),
    "a further plot": (
        lambda folder: (folder / "visualizations/best.png").write_bytes(b"x"),
        "visualizations/best.png: a benchmark of these files does not write this file",
    ),
    "a removed file": (
        lambda folder: (folder / "reports/hybrid.json").unlink(),
        "reports/hybrid.json: the file is missing",
    ),
}

OF_SETTINGS = {
    "a removed mode": (
        edit_json(lambda d: d["modes"].pop("b")),
        f"{JSON}: the mode b of the configuration is missing",
    ),
    "the order of the modes": (reverse("modes"), f"{JSON}: modes (order)"),
    "the order of the measures": (
        reverse("modes", "a", "measures"),
        f"{JSON}: modes.a.measures (order)",
    ),
    "the seed": (set_config("seed", 7), f"{JSON}: "),
    "the resamples": (set_config("resamples", 9999), f"{JSON}: "),
    "the baseline": (set_config("baseline", ["a"]), f"{JSON}: "),
    "the level": (set_config("confidence", 0.9), f"{JSON}: "),
    "the treatment of missing queries": (set_config("missing", "drop"), f"{JSON}: manifest.config"),
    "the schema version": (
        edit_json(lambda d: d.update(schema_version="1.0")),
        f"{JSON}: schema_version",
    ),
}


def test_forged_files_are_found(made, tmp_path):
    """All of them at once, each with its location."""
    folder = shutil.copytree(made, tmp_path / "out")
    for forge, _ in OF_FILES.values():
        forge(folder)
    reseal(folder)
    problems = verify_report(folder).problems
    missed = [
        name
        for name, (_, location) in OF_FILES.items()
        if not any(one.startswith(location) for one in problems)
    ]
    assert missed == [], problems


REPEATED = {"the order of the measures", "the resamples", "the baseline", "the level"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow("another setting")) if name in REPEATED else name
        for name in sorted(OF_SETTINGS)
    ],
)
def test_forged_settings_are_found(given, tmp_path, name):
    folder = shutil.copytree(given, tmp_path / "out")
    forge, location = OF_SETTINGS[name]
    forge(folder)
    reseal(folder)
    problems = verify_report(folder).problems
    assert any(one.startswith(location) for one in problems), problems[:5]


def test_a_repeated_key_is_found(given, tmp_path):
    """Readers of JSON see the last one, and people the first."""
    folder = shutil.copytree(given, tmp_path / "out")
    text = (folder / JSON).read_text()
    (folder / JSON).write_text(text.replace('"seed":', '"seed": 99, "seed":', 1))
    assert f"{JSON}: the bytes differ" in verify_report(folder).problems


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("modes/a/run/ties/pairs", "modes.a.run.ties.pairs"),
        pytest.param(
            "modes/a/run/results", "modes.a.run.results", marks=pytest.mark.slow("another value")
        ),
        ("failing_queries/0/values/a", "failing_queries[0].values.a"),
        pytest.param(
            "failing_queries/0/text",
            "failing_queries[0].text",
            marks=pytest.mark.slow("another value"),
        ),
        ("failing_queries/0/first_relevant_rank/a", "failing_queries[0].first_relevant"),
        ("modes/a/latency_ms", "modes.a.latency_ms"),
        pytest.param(
            "best_overall/settled", "best_overall.settled", marks=pytest.mark.slow("another value")
        ),
        ("strata", "strata"),
    ],
)
def test_a_forged_value_of_given_runs_is_found(given, tmp_path, path, location):
    folder = shutil.copytree(given, tmp_path / "out")
    document = json.loads((folder / JSON).read_text())
    if path == "strata":
        document["strata"] = {"field": {}}
    elif path == "modes/a/latency_ms":
        document["modes"]["a"]["latency_ms"] = {"mean": 1.0, "p50": 1.0, "p95": 1.0, "p99": 1.0}
    elif path.endswith("rank/a"):
        document["failing_queries"][0]["first_relevant_rank"]["a"] = 3
    else:
        set_value(document, path)
    (folder / JSON).write_text(json.dumps(document))
    reseal(folder)
    problems = verify_report(folder).problems
    assert any(one.startswith(f"{JSON}: {location}") for one in problems), problems


def test_a_report_of_another_version_is_not_verified(given, tmp_path):
    folder = shutil.copytree(given, tmp_path / "out")
    edit_json(lambda d: d["manifest"]["packages"].update({"trectools-plus": "0.0.9"}))(folder)
    reseal(folder)
    found = verify_report(folder)
    assert (found.figures, found.files) == (0, 0)
    (problem,) = found.problems
    assert "0.0.9" in problem


def test_missing_topics_are_a_problem(small, tmp_path, write_benchmark):
    run = small.write_run("a", {"q1": ["d2"], "q2": ["d2"], "q3": ["d4"], "q4": ["d7"]})
    folder = tmp_path / "out"
    options = {"runs": {"a": run}, "topics": small.topics, "qrels": small.qrels}
    write_benchmark(folder, measures="RR", **options)
    Path(small.topics).unlink()
    assert verify_report(folder).problems == []
    (folder / "topics.parquet").unlink()
    edit_json(lambda d: d["verdict"].update(text="a is best"))(folder)
    reseal(folder)
    problems = verify_report(folder).problems
    assert "topics.parquet: the queries are missing, or changed" in problems
    places = [one.split(": ")[1] for one in problems if one.startswith(JSON)]
    assert places == ["verdict.text", "failing_queries[0].text"]


def test_what_the_folder_cannot_prove_is_unproven(given):
    (given / ".link").symlink_to("nowhere")
    count, *unproven, others = verify_report(given).unproven
    assert unproven == ["date", "command", "machine", "package versions"]
    assert others == "files that are not part of the report: .link"
    assert int(count.split()[0]) == len(list_claims(load_report(given / JSON)))


@pytest.fixture(scope="module")
def without_originals(tmp_path_factory, write_benchmark):
    """Fetched modes whose corpus, topics and qrels are absent."""
    folder = tmp_path_factory.mktemp("absent")
    texts = [" ".join(f"w{n * step % 7}" for step in (1, 2, 3)) for n in range(12)]
    lines = {
        "corpus": [
            f'{{"doc_id": "d{n}", "title": "{t}", "text": "{t}"}}' for n, t in enumerate(texts)
        ],
        "topics": [f'{{"query_id": "q{n}", "text": "{t}"}}' for n, t in enumerate(texts)],
        "qrels": [f"q{n} 0 d{n} {1 + n % 3}" for n in range(12)],
    }
    files = {kind: folder / f"{kind}.{'txt' if kind == 'qrels' else 'jsonl'}" for kind in lines}
    for kind, file in files.items():
        file.write_text("\n".join(lines[kind]))
    options = {"modes": "lexical,vector,hybrid", "measures": "nDCG@3,RR"}
    write_benchmark(folder / "out", **options, **{kind: str(file) for kind, file in files.items()})
    for file in files.values():
        file.unlink()
    return folder / "out"


def test_a_report_without_its_originals_is_verified(without_originals):
    assert verify_report(without_originals).problems == []


def iter_places(value, path=()):
    """Yield the place of each text, and of each list of texts, which can have another."""
    if isinstance(value, str) or (isinstance(value, list) and not value):
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from iter_places(inner, (*path, key))


SENTENCE = "Lexical is significantly better, confirmed by an independent audit"
FINDING = {"code": "R101", "name": "x", "severity": "error", "line": 1, "column": None, "count": 1}
FINDING |= {"query_id": None, "doc_id": None, "message": SENTENCE, "remedy": None, "fix": "none"}


def forge_texts(document):
    """Yield copies of a report, each with a sentence at another place."""
    for path in iter_places(document):
        for value in (SENTENCE, FINDING):
            copy = json.loads(json.dumps(document))
            inner = copy
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = [value] if isinstance(inner[path[-1]], list) else value
            yield ".".join(map(str, path)), copy


def test_a_sentence_that_nobody_can_derive_is_in_one_place(without_originals, tmp_path, thorough):
    """Elsewhere it is a problem, although the originals are absent."""
    claims = ("manifest.platform", "manifest.dataset.findings")
    folder = shutil.copytree(without_originals, tmp_path / "out")
    document = json.loads((folder / JSON).read_text())
    shown, missed = [], []
    for number, (place, forged_document) in enumerate(forge_texts(document)):
        if number % 10 and not thorough and not place.startswith(claims):
            continue
        (folder / JSON).write_text(json.dumps(forged_document))
        try:
            report = load_report(folder / JSON)
            texts = render_markdown(report), render_html(report)
        except (TrectoolsPlusError, LookupError, TypeError, ValueError, AttributeError):
            continue
        parts = [
            text.partition(mark)
            for text, mark in zip(texts, (f"## {CLAIMS_TITLE}", 'id="claims"'), strict=True)
        ]
        if all(SENTENCE in after for _, _, after in parts):
            shown.append(place)
        if not any(SENTENCE in before for before, _, _ in parts):
            continue
        try:
            problems = verify_report(folder).problems
        except TrectoolsPlusError:
            continue
        if not any(one.startswith(f"{JSON}: ") and "line " not in one for one in problems):
            missed.append(place)
    assert missed == []
    for claim in claims:
        assert any(place.startswith(claim) for place in shown), claim
