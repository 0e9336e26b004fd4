"""Whatever is sent, the service answers, and never with a failure of its own."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUIET = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=6),
    st.sampled_from(["g01", "g06", "1", "exact_term", "\ud800", "a\x00b", " ", "-"]),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
_TERMS = st.lists(
    st.fixed_dictionaries(
        {"doc_id": st.one_of(st.sampled_from(["g01", "g06"]), _SCALARS), "grade": _SCALARS}
    ),
    max_size=3,
)
_QUERIES = st.lists(
    st.fixed_dictionaries(
        {"query_id": _SCALARS, "text": _SCALARS, "relevant": st.one_of(_TERMS, _VALUES)},
        optional={"query_type": _SCALARS, "language": _SCALARS, "more": _VALUES},
    ),
    max_size=4,
)
_TEST_SETS = st.one_of(
    st.fixed_dictionaries(
        {"queries": st.one_of(_QUERIES, _VALUES)},
        optional={"metadata": st.one_of(_VALUES, st.fixed_dictionaries({"dataset_id": _SCALARS}))},
    ),
    _VALUES,
)
_WORDS = st.sampled_from(
    ["1", "Q0", "0", "g01", "g06", "1.0", "nan", "-3", "1e400", "\t", "\n", " ", "é", "\x00", "#"]
)
_LINES = st.lists(_WORDS, max_size=30).map(" ".join)
_BYTES = st.one_of(
    st.binary(max_size=200),
    _LINES.map(str.encode),
    _TEST_SETS.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(
        [b"&a [*a]", b"a: &a {b: *a}", b"- " * 500, b"[" * 5000, b"{" * 5000, b"? " * 300]
    ),
)
_MEDIA = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "text/plain",
        "application/octet-stream",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "x/y",
        "",
    ]
)
_TEXT = st.one_of(st.text(st.characters(codec="utf-8"), max_size=30), st.just("(" * 250))
_MEASURES = st.one_of(
    _TEXT,
    st.sampled_from(
        ["R@0", "R@99999999999999", "nDCG(x=1)@10", "P.5,", "@", "RR@-1", "MaxOntSim@5"]
    ),
    st.lists(st.sampled_from("nDCG@10 P(rel=) 'AP\" ,.5:{}"), max_size=30).map("".join),
)


def check(answer):
    assert answer.status_code < 500, answer.text
    kind = answer.headers["content-type"]
    if answer.status_code >= 400:
        assert kind == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
        assert "/tmp/" not in answer.text
    else:
        assert kind == "application/json"
        answer.json()


@QUIET
@given(_BYTES, _MEDIA)
def test_any_body_to_evaluate(client, body, media):
    check(client.post("/v1/evaluate", content=body, headers={"content-type": media}))


@QUIET
@given(_BYTES, _MEDIA, st.sampled_from(["run", "qrels", "topics", "testset", "x"]))
def test_any_body_to_validate(client, body, media, kind):
    headers = {"content-type": media}
    check(client.post("/v1/validate", params={"kind": kind}, content=body, headers=headers))


@QUIET
@given(_BYTES, _BYTES, _MEASURES)
def test_any_run_and_qrels(client, run, qrels, measures):
    files = {"run": run, "qrels": qrels}
    check(client.post("/v1/score", files=files))
    good = {"run": b"1 Q0 g06 1 1 t\n", "qrels": b"1 0 g06 1\n"}
    check(client.post("/v1/score", params={"measures": measures}, files=good))


@pytest.mark.parametrize("name", ["\ud800", "a" * 10_000, 'x"\n}', "\x00"])
def test_metrics_survive_any_name(client, garden_set, name):
    body = json.dumps({**garden_set, "metadata": {"dataset_id": name}})
    answer = client.post("/v1/evaluate", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 422)
    page = client.get("/metrics")
    assert page.status_code == 200
    from prometheus_client.parser import text_string_to_metric_families

    assert list(text_string_to_metric_families(page.text))
