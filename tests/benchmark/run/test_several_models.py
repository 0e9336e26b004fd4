"""Several embedding models in one benchmark: modes, labels, settings, files, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trectools_plus import BenchmarkConfig
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.errors import UsageError
from trectools_plus.reporting.files import write_reports
from trectools_plus.reporting.verification.verify import verify_report
from trectools_plus.retrieval.backends.modes import expand_modes
from trectools_plus.retrieval.settings import RetrievalSettings, make_settings

GARDEN = str(Path(__file__).resolve().parents[3] / "fixtures/garden-trec")
TWO = {"a": "builtin", "b": "builtin"}


def settings(value: Any, **further: Any) -> RetrievalSettings:
    return make_settings({"embedding_model": value, **further})


def test_models_are_read_from_text_mapping_and_folder(tmp_path: Path) -> None:
    assert settings("models/e5").model_folder() == "models/e5"
    assert settings(Path("models/e5")).model_folder() == "models/e5"
    assert settings("builtin").model_folder() is None
    assert settings("A=DIR,B=other").model_names == ("A", "B")
    assert settings("some/mini LM,B=other").model_names == ("mini_LM", "B")
    assert settings(TWO) == settings(settings(TWO).model_dump(mode="json")["embedding_model"])
    odd = tmp_path / "a=b,c"
    odd.mkdir()
    assert settings(str(odd)).model_folder() == str(odd)


def test_one_of_several_models_is_named() -> None:
    several = settings("a=builtin,b=DIR")
    assert (several.model_folder("a"), several.model_folder("b")) == (None, "DIR")
    with pytest.raises(UsageError):
        several.model_folder()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("A=x,A=y", "got A, A"),
        ({"a b": "x"}, "expected different names .* got a b"),
        ({"A": "x", "a": "y"}, "got A, a"),
        ({"A": {"path": "x"}}, "expected text but got .*path"),
        ({"A": 3}, "expected text but got .*3"),
        ({}, "got none"),
        (7, "got 7"),
    ],
)
def test_wrong_models_are_one_line(value: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        settings(value)
    assert "\n" not in str(error.value)


def test_modes_with_vectors_are_searched_once_with_each_model() -> None:
    modes = ("bm25", "splade", "dense", "hybrid", "all_max-b")
    assert expand_modes(modes, settings(TWO)) == (
        *("bm25", "splade", "dense-a", "dense-b", "hybrid-a", "hybrid-b", "all_max-b"),
    )
    assert expand_modes(modes, RetrievalSettings()) == modes


def test_one_report_compares_all_models(tmp_path: Path) -> None:
    config = BenchmarkConfig(
        dataset=GARDEN,
        retrieval={"embedding_model": TWO},
        measures=["nDCG@10", "RR@10"],
        resamples=100,
        output_dir=tmp_path,
    )
    result = run_benchmark(config)
    report = result.report
    labels = {mode: one.label for mode, one in report.modes.items()}
    assert labels == {
        "lexical": "Lexical-Only",
        "vector-a": "a",
        "vector-b": "b",
        "hybrid-a": "Hybrid a",
        "hybrid-b": "Hybrid b",
    }
    assert len(report.comparisons) == 2 * 10
    pairs = {(one.baseline, one.contrast) for one in report.comparisons}
    assert pairs & {("vector-a", "vector-b"), ("vector-b", "vector-a")}
    assert set(report.manifest.index_snapshots) == set(labels)
    assert report.manifest.config["modes"] == ["lexical", "vector", "hybrid"]
    single = run_benchmark(
        BenchmarkConfig(
            dataset=GARDEN,
            modes=["vector", "hybrid"],
            measures=["nDCG@10"],
            resamples=100,
            output_dir=tmp_path / "single",
        )
    ).report
    for mode in ("vector", "hybrid"):
        expected = single.modes[mode].measures["nDCG@10"].mean
        for model in TWO:  # both are the builtin embeddings, which use no prompt
            assert report.modes[f"{mode}-{model}"].measures["nDCG@10"].mean == expected
    write_reports(result, plots=False)
    assert (tmp_path / "runs/hybrid-b.run").exists()
    assert verify_report(tmp_path).problems == []


def test_models_in_a_configuration_file(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.yaml"
    path.write_text(
        f"dataset: {GARDEN}\nmodes: [lexical, label_only-b, vector]\nbaseline: vector-a\n"
        "retrieval:\n  embedding_model:\n    a: builtin\n    b: models/b\n"
    )
    config = load_config(path)
    assert config.mode_keys == ("lexical", "label_only-b", "vector-a", "vector-b")
    assert config.retrieval.model_folder("a") is None
    assert config.retrieval.model_folder("b") == str(tmp_path / "models/b")
    replaced = load_config(
        path, {"retrieval": {"embedding_model": "x=y,b=z"}, "baseline": ["lexical"]}
    )
    assert replaced.retrieval.model_names == ("x", "b")
    with pytest.raises(UsageError, match="label_only-b"):
        load_config(path, {"retrieval": {"embedding_model": "x"}, "baseline": ["lexical"]})
