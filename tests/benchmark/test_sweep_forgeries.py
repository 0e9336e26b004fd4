"""Sweeps are verified; forged ones are found, and nothing that they name is run or requested."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from harness.forging import edit_json, reseal_files

from trectools_plus.benchmark import load_sweep_config, run_sweep, verify_report
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.reporting import write_sweep_report
from trectools_plus.reporting.wording import CLAIMS_TITLE

SAMPLE = Path(__file__).parents[2] / "trectools_plus/formats/sample"
QRELS = str(SAMPLE / "qrels.txt")
RUNS = {name: str(SAMPLE / "runs" / f"{name}.run") for name in ("lexical", "vector", "hybrid")}
JSON, MARKDOWN, PAGE = "SweepReport.json", "SweepReport.md", "SweepReport.html"
SENTENCE = "lexical is significantly better, confirmed by an independent audit"
MEASURE = """
from trectools_plus.measures import BaseMeasure

class First(BaseMeasure):
    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0) > 0)
"""


def write(folder: Path, **options: Any) -> Path:
    config = load_sweep_config(None, {"resamples": 200, **options, "output_dir": folder})
    write_sweep_report(run_sweep(config))
    return folder


@pytest.fixture(scope="module")
def fused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fusions of runs that are absent afterwards, with a note on the judgments."""
    folder = tmp_path_factory.mktemp("fused")
    runs = {name: str(folder / f"{name}.run") for name in ("lexical", "vector")}
    for name, path in runs.items():
        shutil.copyfile(RUNS[name], path)
    rows = Path(QRELS).read_text().replace(" 0 ", " model:m ", 40)
    (folder / "qrels.txt").write_text(rows)
    out = write(
        folder / "out",
        runs=runs,
        qrels=str(folder / "qrels.txt"),
        grid={"fusion.weights": "0.3,0.4,0.6"},
        measures="AP,nDCG@10",
    )
    for path in (*runs.values(), folder / "qrels.txt"):
        Path(path).unlink()
    assert json.loads((out / JSON).read_text())["notes"]
    return out


@pytest.fixture
def folder(fused: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fused, tmp_path / "out"))


HONEST: dict[str, dict[str, Any]] = {
    "runs": {"runs": RUNS, "qrels": QRELS, "baseline": "lexical", "measures": "P@5,AP,nDCG@10"},
    "one measure": {"runs": RUNS, "qrels": QRELS, "measures": "AP"},
    "primary": {"runs": RUNS, "qrels": QRELS, "primary_measure": "RR", "measures": "AP,P@5"},
    "headlines": {"runs": RUNS, "qrels": QRELS, "headline_measures": "AP,RR"},
    "an interval": {"runs": RUNS, "qrels": QRELS, "interval": "bca", "no_relevant": "drop"},
    "searched": {
        "dataset": "sample",
        "modes": "hybrid,lexical",
        "grid": {"k1": "0.5,1.2", "fusion_method": "rrf,weighted", "depth": "5,10"},
        "baseline": "vector",
        "retrieval": {"b": 0.4, "stopwords": "none"},
    },
}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_sweep_is_verified(tmp_path: Path, name: str) -> None:
    found = verify_report(write(tmp_path / "out", **HONEST[name]))
    assert found.problems == []
    assert found.figures > 100


def test_a_sweep_without_its_originals_is_verified(fused: Path) -> None:
    before = {path: sha256_file(path) for path in fused.rglob("*") if path.is_file()}
    for path in (fused, fused / JSON):
        found = verify_report(path)
        assert found.problems == []
        assert "4 other runs" in " ".join(found.unproven)
        assert CLAIMS_TITLE in found.unproven[0]
    assert before == {path: sha256_file(path) for path in fused.rglob("*") if path.is_file()}


def test_a_class_of_the_writer_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_of_sweeper.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(tmp_path)
    options = {"runs": RUNS, "qrels": QRELS, "measures": "AP,own_of_sweeper:First"}
    out = write(tmp_path / "out", **options)
    (tmp_path / "own_of_sweeper.py").write_text("raise SystemExit('run')")
    monkeypatch.delitem(os.sys.modules, "own_of_sweeper")  # type: ignore[attr-defined]
    with pytest.raises(TrectoolsPlusError):
        verify_report(out)


def is_found(folder: Path) -> bool:
    """Return whether a forgery is found after all hashes are computed again."""
    reseal_files(folder)
    try:
        return bool(verify_report(folder).problems)
    except TrectoolsPlusError:
        return True


def append(name: str, text: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        with (folder / name).open("a") as stream:
            stream.write(text)

    return forge


def replace_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return forge


def change_value(run: str) -> Callable[[Path], None]:
    def forge(folder: Path) -> None:
        path = folder / "per_query.parquet"
        is_row = (pl.col("run") == run) & (pl.col("value") < 0.9)
        table = pl.read_parquet(path)
        assert table.filter(is_row).height
        value = pl.when(is_row).then(0.95).otherwise("value")
        table.with_columns(value=value).write_parquet(path)

    return forge


def swap_winner(document: dict[str, Any]) -> None:
    other = document["variants"][1]
    document["winner"].update(name=other["name"], settings=other["settings"], mean=other["mean"])
    document["variants"].reverse()


def drop_variant(document: dict[str, Any]) -> None:
    name = document["variants"].pop()["name"]
    value = name.partition("=")[2]
    document["config"]["grid"]["fusion.weights"].remove(value)


FORGERIES: dict[str, Callable[[Path], Any]] = {
    "the winner": edit_json(swap_winner, JSON),
    "its mean": edit_json(lambda d: d["winner"].update(corrected_mean=0.99), JSON),
    "its interval": edit_json(lambda d: d["winner"]["ci"].update(low=0.9), JSON),
    "a p-value": edit_json(lambda d: d["winner"]["advantage"].update(significant=True), JSON),
    "the baseline": edit_json(lambda d: d.update(baseline="lexical"), JSON),
    "a name": edit_json(lambda d: d["variants"][1].update(name=SENTENCE), JSON),
    "a variant": edit_json(drop_variant, JSON),
    "a note": edit_json(lambda d: d["notes"].append(SENTENCE), JSON),
    "no note": edit_json(lambda d: d.update(notes=[]), JSON),
    "the measure": edit_json(lambda d: d.update(measure="AP"), JSON),
    "a declared measure": edit_json(lambda d: d["config"].update(primary_measure="AP"), JSON),
    "a setting": edit_json(lambda d: d["config"].update(confidence=0.5), JSON),
    "the seed": edit_json(lambda d: d.update(seed=1), JSON),
    "the data": edit_json(lambda d: d["dataset"].update(id=SENTENCE), JSON),
    "their hash": edit_json(lambda d: d["dataset"]["contents"].update(qrels="0" * 64), JSON),
    "a share": edit_json(
        lambda d: d["judged"].update(dict.fromkeys(d["judged"], 0.1)), JSON
    ),
    "a key": edit_json(lambda d: d.update(audit=SENTENCE), JSON),
    "Markdown": append(MARKDOWN, f"\n{SENTENCE}\n"),
    "a figure of Markdown": replace_text(MARKDOWN, "0.", "1."),
    "the page": append(PAGE, "<script>alert(1)</script>"),
    "a sentence of the page": replace_text(PAGE, 'class="verdict">', f'class="verdict">{SENTENCE}'),
    "a value of the winner": lambda folder: change_value(winner(folder))(folder),
    "a value of another": change_value("vector"),
    "the judgments": replace_text("qrels.txt", " 0\n", " 1\n"),
    "the run": replace_text("winner.run", "1 Q0 ", "1 Q0 x"),
    "a comment": append("winner.run", "# audited\n"),
    "the plot": append("visualizations/sweep.svg", "<!-- -->"),
    "a further plot": append("visualizations/audit.svg", "<svg/>"),
    **{
        f"no {name}": lambda folder, name=name: (folder / name).unlink()  # type: ignore[misc]
        for name in (MARKDOWN, PAGE, "per_query.parquet", "qrels.txt", "winner.run")
    },
}  # fmt: skip


def winner(folder: Path) -> str:
    return str(json.loads((folder / JSON).read_text())["winner"]["name"])


@pytest.mark.every(3)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_sweep_is_found(folder: Path, name: str) -> None:
    FORGERIES[name](folder)
    assert is_found(folder)


def test_a_sweep_without_its_list_of_files_is_a_problem(folder: Path) -> None:
    (folder / "SHA256SUMS").unlink()
    assert verify_report(folder).problems


def test_a_sweep_of_another_version_is_not_verified(folder: Path) -> None:
    edit_json(lambda d: d["packages"].update({"trectools-plus": "9.9"}), JSON)(folder)
    (folder / "per_query.parquet").unlink()
    found = verify_report(folder)
    assert (len(found.problems), found.figures) == (1, 0)
    assert "9.9" in found.problems[0]


CODE = "from pathlib import Path\nPath('ran').touch()\n"
OF_STRANGERS: dict[str, dict[str, Any]] = {
    "a measure": {"measures": ["evil_sweep:Measure"], "primary_measure": "evil_sweep:Measure"},
    "headlines": {"headline_measures": ["evil_sweep:Measure"]},
    "a retriever": {"runs": None, "modes": ["evil_sweep:R"], "retriever": {"a": "evil_sweep:f"}},
    "a backend": {"runs": None, "backend": "evil_sweep"},
    "a target": {"targets": {"evil_sweep:Measure": None}},
    "an address": {"qrels": "http://127.0.0.1:9/x", "runs": {"lexical": "http://127.0.0.1:9/x"}},
    "a device": {"qrels": "/dev/zero", "ontology": "/proc/kmsg", "annotations": "/dev/zero"},
    "a measure over a device": {"measures": ["MaxOntSim(ontology='/dev/zero')@3"]},
    "resamples": {"resamples": 10**12},
    "a model": {"runs": None, "dataset": "sample", "modes": ["vector"],
                "grid": {"embedding_model": ["/dev/zero", "/proc/kmsg"]}},
}  # fmt: skip


@pytest.mark.parametrize("name", OF_STRANGERS)
def test_a_sweep_runs_no_code_and_opens_no_path(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "evil_sweep.py").write_text(CODE)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("socket.socket.connect", refuse)
    edit_json(lambda d: d["config"].update(OF_STRANGERS[name]), JSON)(folder)
    assert is_found(folder)
    assert not (folder / "ran").exists()


def refuse(*_: object) -> None:
    raise AssertionError("an address is requested")


FILES = (JSON, MARKDOWN, PAGE, "SHA256SUMS", "qrels.txt", "winner.run", "per_query.parquet",
         "visualizations/sweep.svg")  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["pipe", "link", "loop"])
def test_files_of_a_sweep_are_regular_and_inside(
    folder: Path, fused: Path, name: str, kind: str
) -> None:
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(Path(name).name if kind == "loop" else fused / name)
    with suppress(TrectoolsPlusError):
        assert verify_report(folder).problems


def iter_texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str) or value == []:
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from iter_texts(inner, (*path, key))


def test_a_sentence_that_nobody_can_derive_is_in_one_place_of_a_sweep(folder: Path) -> None:
    from trectools_plus.benchmark.sweep.rebuild import load_sweep_report
    from trectools_plus.reporting.document import html_page, markdown
    from trectools_plus.reporting.results.sweep import sweep_blocks

    document = json.loads((folder / JSON).read_text())
    shown = missed = 0
    for path in iter_texts(document):
        copy = json.loads(json.dumps(document))
        inner = copy
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = [SENTENCE] if isinstance(inner[path[-1]], list) else SENTENCE
        (folder / JSON).write_text(json.dumps(copy))
        try:
            report = load_sweep_report(folder / JSON)
            texts = markdown(sweep_blocks(report)), html_page(sweep_blocks(report))
        except (TrectoolsPlusError, LookupError, TypeError, ValueError, AttributeError):
            continue
        parts = [text.partition(f"{mark}{CLAIMS_TITLE}")
                 for text, mark in zip(texts, ("## ", "<h2>"), strict=True)]  # fmt: skip
        assert all(part[2] for part in parts)
        shown += any(SENTENCE in part[2] for part in parts)
        if any(SENTENCE in part[0] for part in parts):
            try:
                problems = verify_report(folder).problems
            except TrectoolsPlusError:
                continue
            missed += not any(one.startswith(JSON) and "line " not in one for one in problems)
    assert (missed, shown > 2) == (0, True)
