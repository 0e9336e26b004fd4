"""Configuration: what goes together, defaults, files and options, errors that name the field."""

import json
import re

import pytest

from trectools_plus.benchmark import BenchmarkConfig, compare_vectors_options, load_config
from trectools_plus.benchmark.report import hash_config
from trectools_plus.benchmark.run.targets import Target
from trectools_plus.errors import InputError, UsageError
from trectools_plus.measures import DEFAULT_MEASURES

FILES = {"corpus": "c.jsonl", "topics": "t.tsv", "qrels": "q.txt"}
RUNS = {"runs": {"a": "a.run", "b": "b.run"}, "qrels": "q.txt"}


def write(folder, text):
    path = folder / "benchmark.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "data", [{"dataset": "hpo"}, {"dataset": "hpo", "test_file": "x.json"}, FILES, RUNS]
)
def test_each_kind_of_data_is_enough(data):
    config = load_config(options=data)
    assert config.mode_keys == (("a", "b") if "runs" in data else ("lexical", "vector", "hybrid"))
    assert (config.seed, config.confidence, config.resamples) == (42, 0.95, 10_000)


SPECIFIED = {"fusion_method": "weighted", "weights": {"bm25": 0.3, "splade": 0.4, "dense": 0.3}}
"""A configuration as a specification of an evaluation service writes it."""


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("in_file", [False, True])
def test_weights_by_the_names_of_the_components(inside, in_file, tmp_path):
    values = {"dataset": "hpo", **({"retrieval": SPECIFIED} if inside else SPECIFIED)}
    path = write(tmp_path, json.dumps(values))
    config = load_config(path) if in_file else BenchmarkConfig(**values)
    assert (config.retrieval.fusion, config.retrieval.weights) == ("weighted", (0.3, 0.3, 0.4))
    assert config.modes == ("lexical", "vector", "splade", "hybrid")


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("{bm25: 0.7, dense: 0.3}", (0.7, 0.3)),
        ("{vector: 0.3, lexical: 0.7}", (0.7, 0.3)),
        ("'dense=0.3, bm25=0.7'", (0.7, 0.3)),
        ("[0.7, 0.3]", (0.7, 0.3)),
    ],
)
def test_weights_alone_mean_the_weighted_fusion(weights, expected, tmp_path):
    config = load_config(write(tmp_path, f"dataset: hpo\nweights: {weights}\n"))
    assert (config.retrieval.fusion, config.retrieval.weights) == ("weighted", expected)
    assert config.modes == ("lexical", "vector", "hybrid")
    options = {"retrieval": {"weights": ["bm25=0.5", "dense=0.5"]}}
    config = load_config(write(tmp_path, f"dataset: hpo\nweights: {weights}\n"), options)
    assert config.retrieval.weights == (0.5, 0.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("weights: {bm25: 1}", "but got bm25"),
        ("weights: {bm25: 0.5, lexical: 0.5, dense: 1}", "but got bm25, lexical, dense"),
        ("weights: {bm25: 0.5, dense: 0.5, colbert: 1}", "but got bm25, dense, colbert"),
        ("weights: {bm25: 0.5, dense: much}", "got 'much'"),
        ("fusion_method: rrf\nfusion: weighted", "fusion and fusion_method differ"),
    ],
)
def test_weights_that_are_refused(text, words, tmp_path):
    with pytest.raises(UsageError, match=re.escape(words)):
        load_config(write(tmp_path, f"dataset: hpo\n{text}\n"))


def test_the_deciding_test(tmp_path):
    config = load_config(options={"dataset": "hpo"}).as_manifest()
    assert (config["test"], config["correction"]) == ("t_test", "holm")
    config = load_config(options={"dataset": "hpo", "test": "wilcoxon", "correction": "bh"})
    assert (config.test, config.correction) == ("wilcoxon", "bh")
    with pytest.raises(UsageError, match="test"):
        load_config(options={"dataset": "hpo", "test": "z_test"})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "no data"),
        ({"dataset": "hpo", **FILES}, "`dataset` and `corpus`"),
        ({"dataset": "hpo", **RUNS}, "`qrels` and `dataset`"),
        ({"dataset": "hpo", "qrels": "q"}, "`qrels` and `dataset`"),
        ({"corpus": "c", "qrels": "q"}, "`corpus` needs `topics`"),
        ({"corpus": "c", "topics": "t"}, "`corpus` needs `qrels`"),
        ({"runs": {"a": "a"}}, "`runs` needs `qrels`"),
        ({**RUNS, "modes": ["lexical"]}, "modes"),
        ({**RUNS, "depth": 3}, "needs a search"),
        ({**RUNS, "retrieval": {"k1": 1}}, "needs a search"),
        ({"dataset": "irds:x", "test_file": "x"}, "test_file"),
        ({"dataset": "hpo", "modes": ["lexcal"]}, "unknown mode 'lexcal'"),
        ({"dataset": "hpo", "modes": ["lexical", "lexical"]}, "twice"),
        ({"dataset": "hpo", "modes": []}, "no mode"),
        (
            {"dataset": "hpo", "baseline": "bm25"},
            " — baseline — use",
        ),
        (
            {"dataset": "hpo", "mode_names": {"bm25": "BM25"}},
            " — mode_names — use",
        ),
        ({"dataset": "hpo", "measures": ["nDGC@10"]}, "nDGC@10"),
        ({"dataset": "hpo", "targets": {"nDGC@10": None}}, "nDGC@10"),
        ({"dataset": "hpo", "confidence": 95}, "confidence"),
        ({"dataset": "hpo", "confidence": 1}, "confidence"),
        ({"dataset": "hpo", "depth": 0}, "depth"),
        ({"dataset": "hpo", "resamples": 10}, "resamples"),
        ({"dataset": "hpo", "seed": -1}, "seed"),
        ({"dataset": "hpo", "missing": "ignore"}, "missing"),
        ({"dataset": "hpo", "retrieval": {"k2": 1}}, "retrieval.k2"),
        ({"dataset": "hpo", "retrieval": {"b": 2}}, "retrieval.b"),
        ({"dataset": "hpo", "mesures": ["AP"]}, "did you mean 'measures'"),
        ({"dataset": "hpo", "targets": {"AP": {"base": 1}}}, "'targets.AP.base'"),
        ({"runs": {"../x": "a"}, "qrels": "q"}, "run name '../x'"),
        ({"runs": {".x": "a"}, "qrels": "q"}, "run name '.x'"),
        ({"runs": {"A": "a", "a": "b"}, "qrels": "q"}, "lower case"),
        ({"runs": {}, "qrels": "q"}, "write NAME=FILE"),
        ({"dataset": "hpo", "annotations": "x"}, "annotations — add one"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(values, words):
    with pytest.raises(UsageError) as caught:
        load_config(options=values)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError):
        BenchmarkConfig(**values)


def test_several_wrong_fields_are_all_named():
    with pytest.raises(UsageError, match=r"seed.*depth|depth.*seed"):
        load_config(options={"dataset": "hpo", "seed": -1, "depth": 0})


def test_default_measures_and_those_for_terms():
    assert BenchmarkConfig(dataset="irds:x").measure_names == DEFAULT_MEASURES
    over_terms = BenchmarkConfig(dataset="hpo").measure_names
    assert over_terms[:5] == ("RR", "HitRate@1", "HitRate@3", "HitRate@5", "HitRate@10")
    labels = {name.partition("@")[0] for name in over_terms[1:]}
    assert labels == {"HitRate", "nDCG", "R", "P", "APcap", "MaxOntSim"}
    assert len(over_terms) == 25
    assert BenchmarkConfig(**RUNS, ontology="x.obo").measure_names == over_terms
    assert BenchmarkConfig(dataset="hpo", measures=("AP@5",)).measure_names == ("AP@5",)


def test_files_about_terms(tmp_path):
    path = write(
        tmp_path,
        "dataset: hpo\nontology: hp.obo\nmeasures: [\"MaxOntSim(formula='lin')\"]\n"
        "annotations: who.hpoa\n",
    )
    config = load_config(path)
    assert config.ontology == str(tmp_path / "hp.obo")
    assert config.annotations == str(tmp_path / "who.hpoa")
    assert load_config(path, {"ontology": "other.obo"}).ontology == "other.obo"
    assert load_config(options=config.as_manifest()).as_manifest() == config.as_manifest()


def test_targets_are_those_of_the_user_under_canonical_names():
    own = {"MAP@100": {"baseline": 0.1, "competitive": 0.2}, "R@50": None}
    targets = load_config(options={**FILES, "targets": own}).targets
    assert targets["AP@100"] == Target(baseline=0.1, competitive=0.2)
    assert load_config(options=FILES).targets == {}


def test_headline_measures_are_measures_of_the_benchmark():
    config = load_config(
        options={**FILES, "primary_measure": "map@100", "headline_measures": ["ndcg@10", "AP@100"]}
    )
    manifest = config.as_manifest()
    assert manifest["primary_measure"] == "map@100"
    assert (
        not {"primary_measure", "headline_measures"}
        & load_config(options=FILES).as_manifest().keys()
    )
    with pytest.raises(UsageError, match=r"P@5.*primary_measure"):
        load_config(options={**FILES, "primary_measure": "P@5"})
    with pytest.raises(UsageError, match="nope"):
        load_config(options={**FILES, "headline_measures": ["nope"]})
    seven = [f"P@{cutoff}" for cutoff in range(1, 8)]
    manifest = load_config(options={**FILES, "measures": seven}).as_manifest()
    assert manifest["headline_measures"] == seven


def test_labels():
    assert BenchmarkConfig(dataset="hpo").label("lexical") == "Lexical-Only"
    assert BenchmarkConfig(dataset="hpo", mode_names={"lexical": "BM25"}).label("lexical") == "BM25"
    assert BenchmarkConfig(runs={"lexical": "x"}, qrels="q").label("lexical") == "lexical"


def test_the_output_folder_is_not_hashed():
    here, there = (BenchmarkConfig(dataset="hpo", output_dir=name) for name in ("a", "b"))
    assert here.as_manifest() == there.as_manifest()
    other = BenchmarkConfig(dataset="hpo", seed=1)
    assert hash_config(other.as_manifest()) != hash_config(here.as_manifest())


@pytest.mark.parametrize(
    "data", [{"dataset": "hpo", "targets": {"nDCG@10": None}}, FILES, {**RUNS, "baseline": "a"}]
)
def test_a_manifests_configuration_can_be_run_again(data):
    config = load_config(options=data)
    again = load_config(options=config.as_manifest())
    assert again.as_manifest() == config.as_manifest()
    assert again.mode_keys == config.mode_keys


def test_options_override_the_file_and_the_file_the_defaults(tmp_path):
    path = write(tmp_path, "dataset: hpo\nseed: 7\ndepth: 50\nretrieval: {k1: 1.2}\n")
    config = load_config(path, {"seed": 8, "depth": None})
    assert (config.seed, config.depth, config.retrieval.k1, config.retrieval.b) == (8, 50, 1.2, 0.4)


def test_paths_in_the_file_are_relative_to_it(tmp_path):
    path = write(tmp_path, "runs: {a: a.run, b: /abs/b.run}\nqrels: q.txt\noutput_dir: out\n")
    config = load_config(path)
    assert config.runs == {"a": str(tmp_path / "a.run"), "b": "/abs/b.run"}
    assert config.qrels == str(tmp_path / "q.txt")
    assert config.output_dir == str(tmp_path / "out")
    assert load_config(path, {"qrels": "q.txt"}).qrels == "q.txt"
    assert load_config(write(tmp_path, "dataset: beir")).dataset == str(tmp_path / "beir")
    assert load_config(write(tmp_path, "dataset: irds:cranfield")).dataset == "irds:cranfield"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dataset: hpo\nseed: x\n", "seed"),
        ("dataset: hpo\ndataset: irds:x\n", "repeated"),
        # What only YAML takes for a number.
        *(
            (f"dataset: hpo\nseed: {seed}\n", "benchmark.yaml:2: seed")
            for seed in ("010", "yes", "1:40", "1.0", "true", "1_000", "0x10", "[1]")
        ),
        ("dataset: [hpo\n", "benchmark.yaml:1"),
        ("- dataset\n", "mapping"),
        ("dataset: hpo\n1: 2\n", "unknown setting '1'"),
        ("dataset: hpo\n? [a]\n: b\n", "benchmark.yaml"),
        ("dataset: hpo\ntargets:\n  nDCG@10: {baseline: 0.9, competitive: 0.1}\n", "targets"),
        ("dataset: !!python/object:os.system {}\n", "benchmark.yaml"),
    ],
)
def test_errors_in_the_file_name_it(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert words in str(caught.value)
    assert "benchmark.yaml" in str(caught.value)


def test_missing_or_undecodable_file(tmp_path):
    with pytest.raises(InputError):
        load_config(tmp_path / "none.yaml")
    path = tmp_path / "benchmark.yaml"
    path.write_bytes(b"dataset: \xff\xfe\n")
    with pytest.raises(UsageError):
        load_config(path)


def test_keys_and_texts_are_as_written(tmp_path):
    path = write(tmp_path, "runs: {010: 020, no: /x}\nqrels: 1e3\nconfidence: 0.9\n")
    config = load_config(path)
    assert config.runs == {"010": str(tmp_path / "020"), "no": "/x"}
    assert (config.qrels, config.confidence) == (str(tmp_path / "1e3"), 0.9)
    path = write(tmp_path, "dataset: hpo\nexclude_self: yes\n")
    with pytest.raises(UsageError, match="yes"):
        load_config(path)
    path = write(tmp_path, "dataset: hpo\nexclude_self: true\nretrieval: {stemmer: null}\n")
    config = load_config(path)
    assert (config.exclude_self, config.retrieval.stemmer) == (True, None)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (
            "dataset: hpo\nconfidence: 95\n",
            "expected less than 1 but got 95.0 — {}:2: confidence",
        ),
        (
            "dataset: irds:x\ntargets:\n  AP@7: 0.5\n",
            "AP@7 is not one of the measures — {}:2: targets — add it to `measures`, or name one "
            "of nDCG@10, AP@100, RR@10, R@50, R@100, HitRate@10",
        ),
        ("dataset: hpo\nbaseline: x\n",
         "'x' is not one of the modes — {}:2: baseline — use lexical, vector, hybrid"),
        ("corpus: c\ntopics: t\n", "`corpus` needs `qrels` — {} — give the file"),
        ("dataset: hpo\nmesures: AP\n", "unknown setting 'mesures' — {}:2: mesures — "
         "did you mean 'measures'?"),
    ],
)  # fmt: skip
def test_errors_say_what_where_and_how_to_fix(tmp_path, text, whole):
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_config(path)
    assert str(caught.value) == whole.format(path)


def test_single_and_multi_vector_search_are_compared():
    chosen = compare_vectors_options({"dataset": "hpo"}, ["label_only", "all_max"])
    config = load_config(options=chosen)
    assert config.mode_keys == ("vector", "label_only", "all_max")
    assert (config.baseline, config.label("vector")) == (("vector",), "Single-Vector")
    for options, strategies in (
        ({}, ["nope"]),
        ({"retrieval": {"multi_vector": True}}, ["all_max"]),
    ):
        with pytest.raises(UsageError):
            compare_vectors_options(options, strategies)
