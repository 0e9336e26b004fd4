"""``POST /v1/evaluate``: the same figures as a benchmark, in the form that was promised."""

import time

import pytest
import yaml
from harness.observe import ROOT
from starlette.testclient import TestClient

from trectools_plus.benchmark import load_report
from trectools_plus.service import ServiceSettings
from trectools_plus.service.answers import choose_mode, components_of
from trectools_plus.service.guard import ProblemError
from trectools_plus.service.models import EvaluationAnswer

MEASURES = {"recall_at_10": "R@10", "ndcg_at_10": "nDCG@10", "mrr": "RR"}


def post(client, test_set, **parameters):
    return client.post("/v1/evaluate", params=parameters, json=test_set)


@pytest.mark.parametrize(
    ("components", "mode"), [("bm25", "lexical"), ("dense", "vector"), ("bm25,dense", "hybrid")]
)
def test_figures_are_those_of_a_benchmark(client, garden_set, fetched, components, mode):
    report = load_report(fetched / "BenchmarkReport.json")
    answer = post(client, garden_set, components=components)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["mode"] == mode
    EvaluationAnswer.model_validate(found)
    for key, name in MEASURES.items():
        expected = report.modes[mode].measures[name]
        assert found["metrics"][key] == expected.mean
        assert found["intervals"]["metrics"][key] == expected.ci.model_dump()
        assert found["definitions"][key]["formula"] == expected.definition.formula
        assert found["queries"]["all"] == expected.n
        for value, modes in report.strata["query_type"].items():
            one = modes[mode][name]
            assert found["per_query_type"][value][key] == one.mean
            assert found["intervals"]["per_query_type"][value][key] == one.ci.model_dump()
            assert found["queries"]["per_query_type"][value] == one.n


def test_fields_of_other_names(client, garden_set):
    queries = [
        {
            "query_id": query["query_id"],
            "query_text": query["text"],
            "query_type": query["query_type"],
            "relevant_docs": query["relevant"],
        }
        for query in garden_set["queries"]
    ]
    expected = post(client, garden_set).json()
    own = {"queries": queries, "metadata": garden_set["metadata"]}
    yaml_type = {"content-type": "application/yaml"}
    for answer in (
        post(client, own),
        post(client, queries),
        client.post("/v1/evaluate", content=yaml.dump(own), headers=yaml_type),
    ):
        assert answer.status_code == 200, answer.text
        for key in ("metrics", "per_query_type", "grouped_by", "queries"):
            assert answer.json()[key] == expected[key]


def test_categories_stand_in_for_query_types(client, garden_set):
    typed = post(client, garden_set).json()
    words = {"exact_term": "synonym", "paraphrase": "layperson"}
    queries = [
        {**{key: value for key, value in query.items() if key != "query_type"},
         "category": words[query["query_type"]]}
        for query in garden_set["queries"]
    ]  # fmt: skip
    found = post(client, {**garden_set, "queries": queries}).json()
    assert (typed["grouped_by"], found["grouped_by"]) == ("query_type", "category")
    assert found["per_query_type"] == {
        words[name]: figures for name, figures in typed["per_query_type"].items()
    }
    queries[0]["query_type"] = "exact_term"  # one is enough: the two are never mixed
    found = post(client, {**garden_set, "queries": queries}).json()
    assert list(found["per_query_type"]) == ["exact_term"]
    neither = [{key: one[key] for key in ("query_id", "text", "relevant")} for one in queries]
    found = post(client, {**garden_set, "queries": neither}).json()
    assert (found["grouped_by"], found["per_query_type"]) == (None, {})


def test_measures_of_ones_choice(client, garden_set):
    answer = post(client, garden_set, measures="P@5,AP(rel=2)@100,MRR@10").json()
    assert list(answer["metrics"]) == ["precision_at_5", "AP(rel=2)@100", "mrr_at_10"]


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"components": "bm26"}, "invalid-parameter"),
        ({"component": "bm25"}, "invalid-parameter"),
        ({"publish": "true"}, "invalid-parameter"),
        ({"measures": "nDGC@10"}, "unusable-content"),
        ({"measures": "os:system"}, "unknown-measure"),
        ({"measures": "MaxOntSim(ontology='/etc/passwd')@10"}, "unknown-measure"),
        ({"measures": "(" * 300}, "unusable-content"),
        ({"components": "bm25,dense,hybrid"}, "unknown-components"),
    ],
)
def test_wrong_parameters(
    client,
    garden_set,
    check_problem,
    parameters,
    code,
):
    check_problem(post(client, garden_set, **parameters), 422, code)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"queries: [",
        b"queries: []",
        b"42",
        b"\x00\xff\xfe",
        b'{"queries": [{"query_id": "1", "text": "a", "relevant": {"no": 1}}]}',
        b'{"queries": [{"query_id": "\\ud800", "text": "a", "relevant": {"g01": 1}}]}',
        b'{"queries": [{"query_id": "1", "text": "a", "relevant": {"g01": 0}}]}',
        b"!!python/object/apply:os.system ['true']",
        b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
    ],
)
def test_unusable_test_sets(client, check_problem, content):
    for media in ("application/json", "application/yaml"):
        answer = client.post("/v1/evaluate", content=content, headers={"content-type": media})
        problem = check_problem(answer, 422, answer.json()["code"])
        assert problem["code"] in ("unusable-content", "findings")
        assert "/tmp" not in answer.text, "the service's own paths are its own business"


def gauges(client, name):
    lines = client.get("/metrics").text.splitlines()
    return [line for line in lines if f'dataset="{name}"' in line]


def test_only_the_services_own_test_set_sets_the_gauges(open_service, garden_set):
    folder = ROOT / "fixtures/garden-trec"
    with open_service(ServiceSettings(dataset=str(folder))) as client:
        assert not gauges(client, "garden-trec")
        found = client.post("/v1/evaluate").json()
        assert (found["mode"], found["components"]) == ("hybrid", ["lexical", "vector"])
        assert (found["dataset"], found["test_set"]) == ("garden-trec", "garden-trec")
        assert found["metrics"] == post(client, garden_set).json()["metrics"]
        labels = '{dataset="garden-trec",k="10",mode="hybrid"}'
        line = f"trectools_plus_retrieval_recall_at_k{labels} {found['metrics']['recall_at_10']}"
        assert line in gauges(client, "garden-trec")
        impostor = [{**query, "text": "zzz"} for query in garden_set["queries"]]
        upload = {"metadata": {"dataset_id": "garden-trec"}, "queries": impostor}
        assert post(client, upload).json()["test_set"] == "garden-trec"
        series = [
            line
            for line in gauges(client, "garden-trec")
            if line.startswith("trectools_plus_retrieval_recall_at_k{")
        ]
        assert series == [line], "the plain selector is the mean over all queries"


def test_a_test_set_of_the_operators_choice(open_service, garden_set, garden_file, check_problem):
    corpus = str(ROOT / "fixtures/garden-trec/corpus.jsonl")
    settings = ServiceSettings(corpus=corpus, test_file=str(garden_file), modes=("bm25",))
    with open_service(settings) as client:
        found = client.post("/v1/evaluate").json()
        assert (found["mode"], found["test_set"]) == ("lexical", "garden")
        assert found["per_query_type"] == post(client, garden_set).json()["per_query_type"]
        recall = found["per_query_type"]["paraphrase"]["recall_at_10"]
        labels = '{dataset="garden",k="10",mode="lexical",query_type="paraphrase"}'
        line = f"trectools_plus_retrieval_stratum_recall_at_k{labels} {recall}"
        assert line in gauges(client, "garden")
    with open_service(ServiceSettings(corpus=corpus, modes=("bm25",))) as client:
        problem = check_problem(client.post("/v1/evaluate"), 422, "no-test-set")
        assert "--test-file" in problem["remedy"]


def test_a_configuration_with_weights_by_component(open_service, garden_set):
    weighted = {"fusion_method": "weighted", "weights": {"dense": 0.0, "bm25": 1.0}}
    folder = str(ROOT / "fixtures/garden-trec")
    with open_service(ServiceSettings(dataset=folder, retrieval=weighted)) as client:
        found = post(client, garden_set, measures="RR@5").json()
        alone = post(client, garden_set, measures="RR@5", components="bm25").json()
    assert (found["mode"], found["components"]) == ("hybrid", ["lexical", "vector"])
    assert found["metrics"] == alone["metrics"], "a weight of 0 leaves the order of the other"


@pytest.mark.parametrize(
    ("components", "mode"),
    [
        ("splade", "splade"),
        ("bm25,splade,dense", "hybrid"),
        ("dense,splade,bm25", "hybrid"),
        ("hybrid", "hybrid"),
        (None, "hybrid"),
    ],
)
def test_the_components_of_a_service_with_a_splade_model(components, mode):
    modes = ("lexical", "vector", "splade", "hybrid")
    model = {"splade_model": "model"}
    settings = ServiceSettings(dataset="irds:cranfield", modes=modes, retrieval=model)
    assert choose_mode(components, settings) == mode
    assert components_of("hybrid", settings) == ["lexical", "vector", "splade"]
    with pytest.raises(ProblemError) as caught:
        choose_mode("bm25,dense", settings)  # hybrid merges three here
    assert "hybrid (lexical,vector,splade)" in str(caught.value.problem.remedy)


def test_nothing_to_search(open_service, limited, garden_set, check_problem):
    with open_service(limited()) as client:
        assert client.get("/readyz").json() == {"status": "off", "modes": []}
        check_problem(post(client, garden_set), 404, "nothing-to-search")


def test_documents_that_cannot_be_opened(cache, garden_set, check_problem):
    from trectools_plus.service.app import create_app
    from trectools_plus.service.models import ServiceSettings

    app = create_app(ServiceSettings(dataset="nowhere"))
    with TestClient(app, base_url="http://localhost") as client:
        check_problem(post(client, garden_set), 503, "not-ready")
        for _ in range(1200):
            if "nowhere" in check_problem(client.get("/readyz"), 503, "not-ready")["detail"]:
                return
            time.sleep(0.05)
    raise AssertionError("the reason is never told")
