"""Several embedding models in one benchmark: modes, labels, settings, files, errors."""

from pathlib import Path

import pytest
from harness.observe import ROOT

from trectools_plus.benchmark import load_config
from trectools_plus.errors import UsageError
from trectools_plus.reporting.verify import verify_report
from trectools_plus.retrieval import RetrievalSettings, expand_modes, make_model

GARDEN = str(ROOT / "fixtures/garden-trec")
TWO = {"a": "builtin", "b": "builtin"}


def settings(value, **further):
    return make_model(RetrievalSettings, {"embedding_model": value, **further})


def test_models_are_read_from_text_mapping_and_folder(tmp_path):
    assert settings("models/e5").model_folder() == "models/e5"
    assert settings(Path("models/e5")).model_folder() == "models/e5"
    assert settings("builtin").model_folder() is None
    assert settings("A=DIR,B=other").model_names == ("A", "B")
    assert settings("some/mini LM,B=other").model_names == ("mini_LM", "B")
    assert settings(TWO) == settings(settings(TWO).model_dump(mode="json")["embedding_model"])
    odd = tmp_path / "a=b,c"
    odd.mkdir()
    assert settings(str(odd)).model_folder() == str(odd)


def test_one_of_several_models_is_named():
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
def test_wrong_models_are_one_line(value, words):
    with pytest.raises(UsageError, match=words) as error:
        settings(value)
    assert "\n" not in str(error.value)


def test_modes_with_vectors_are_searched_once_with_each_model():
    modes = ("bm25", "splade", "dense", "hybrid", "all_max-b")
    assert expand_modes(modes, settings(TWO)) == (
        *("bm25", "splade", "dense-a", "dense-b", "hybrid-a", "hybrid-b", "all_max-b"),
    )
    assert expand_modes(modes, RetrievalSettings()) == modes


def test_one_report_compares_all_models(tmp_path, write_benchmark):
    options = {"dataset": GARDEN, "measures": ["nDCG@10", "RR@10"]}
    report = write_benchmark(tmp_path, **options, retrieval={"embedding_model": TWO}).report
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
    assert (tmp_path / "runs/hybrid-b.run").exists()
    assert verify_report(tmp_path).problems == []
    single = write_benchmark(tmp_path / "single", **options, modes=["vector", "hybrid"]).report
    for mode in ("vector", "hybrid"):
        expected = single.modes[mode].measures["nDCG@10"].mean
        for model in TWO:  # both are the builtin embeddings, which use no prompt
            assert report.modes[f"{mode}-{model}"].measures["nDCG@10"].mean == expected


def test_models_in_a_configuration_file(tmp_path):
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
