"""The OpenAPI document, and the service held against it."""

import pytest
import schemathesis
from harness.observe import ROOT
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    not_a_server_error,
)
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from trectools_plus.service import ServiceSettings

GARDEN = ROOT / "fixtures/garden-trec"
OPERATIONS = [
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("POST", "/v1/evaluate"),
    ("POST", "/v1/validate"),
    ("POST", "/v1/score"),
]
KEY = "correct-horse-battery-staple"
BEARING = {"Authorization": f"Bearer {KEY}"}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    ignored_auth,
]
"""All of schemathesis' that apply. Not ``positive_data_acceptance``: which ids are documents, and
what makes a run, a schema cannot say, so content that fits it may still be refused with 422."""


@pytest.fixture(scope="module")
def api(open_service):
    """A service of its own: schemathesis starts and stops it as it likes."""
    with open_service(ServiceSettings(dataset=str(GARDEN)), KEY) as client:
        yield schemathesis.openapi.from_asgi("/openapi.json", client.app, headers=BEARING)


GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        pytest.param(
            *operation,
            mode,
            marks=pytest.mark.slow("evaluates test sets")
            if operation == ("POST", "/v1/evaluate")
            else [],
        )
        for mode in (GOOD, BAD)
        for operation in OPERATIONS
        # Nothing can be wrong with a request that has no parameter but the end of its path.
        if mode == GOOD or operation[0] == "POST"
    ],
)
def test_the_service_keeps_to_its_document(api, method, path, mode):
    @given(api[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=settings().max_examples // 4,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def keeps(case):
        case.call_and_validate(checks=CHECKS, headers=BEARING, timeout=60)

    keeps()


def test_every_operation_is_tried(client):
    paths = client.get("/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path in paths for method in paths[path]} == set(OPERATIONS)


def test_every_operation_is_described(client):
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"] or operation["description"], where
            for status in ("4XX", "5XX"):
                content = operation["responses"][status]["content"]
                assert list(content) == ["application/problem+json"], where
            for parameter in operation.get("parameters", []):
                assert parameter.get("description") or parameter["in"] == "path", where


def test_examples_of_requests_are_taken(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path, media in (("evaluate", "application/yaml"), ("validate", "text/plain")):
        content = paths[f"/v1/{path}"]["post"]["requestBody"]["content"]
        # The gardening documents stand in for the terms of the example.
        text = content[media]["example"].replace("HP:0002650", "g06")
        kind = {"kind": "run"} if path == "validate" else {}
        headers = {"content-type": media}
        answer = client.post(f"/v1/{path}", params=kind, content=text, headers=headers)
        assert answer.status_code == 200, answer.text
