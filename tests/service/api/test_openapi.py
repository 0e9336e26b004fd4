"""The OpenAPI document, and the service held against it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
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
from starlette.testclient import TestClient

from trectools_plus.service.api.settings import ServiceSettings

GARDEN = Path(__file__).resolve().parents[3] / "fixtures/garden-trec"
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
def api(open_service: Any) -> Any:
    """A service of its own: schemathesis starts and stops it as it likes."""
    with open_service(ServiceSettings(dataset=str(GARDEN), resamples=100), KEY) as client:
        yield schemathesis.openapi.from_asgi("/openapi.json", client.app, headers=BEARING)


_TRUE = ("true", "1", "on", "yes", "t", "y")
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
def test_the_service_keeps_to_its_document(
    api: Any, method: str, path: str, mode: GenerationMode
) -> None:
    @given(api[path][method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=settings().max_examples // 4,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def keeps(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS, headers=BEARING, timeout=60)

    keeps()


def test_every_operation_is_tried(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path in paths for method in paths[path]} == set(OPERATIONS)


def test_every_operation_is_described(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            where = f"{method} {path}"
            assert operation["summary"] or operation["description"], where
            good = operation["responses"]["200"]["content"]
            if path != "/metrics":
                assert "schema" in good["application/json"], where
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"], where
            for parameter in operation.get("parameters", []):
                assert parameter.get("description") or parameter["in"] == "path", where
    assert "TestSet" in document["components"]["schemas"]


def _examples(document: dict[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                if "example" in content:
                    yield path, "request", media, content["example"]
            for answer in operation["responses"].values():
                for media, content in answer.get("content", {}).items():
                    if "example" in content:
                        yield path, "answer", media, content
    assert document["paths"]


def test_examples_of_answers_fit_their_schemas(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    found = [one for one in _examples(document) if one[1] == "answer"]
    assert len(found) == 3
    for _, _, _, content in found:
        schema = {**content["schema"], "components": document["components"]}
        Draft202012Validator(schema).validate(content["example"])


def test_examples_of_requests_are_taken(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    taken = 0
    for path, _, media, example in [one for one in _examples(document) if one[1] == "request"]:
        if media == "multipart/form-data":
            files = {**example, "run": example["run"][0]}
            answer = client.post(path, files=files)
        else:
            # The gardening documents stand in for the terms of the example.
            text = example if isinstance(example, str) else json.dumps(example)
            text = text.replace("HP:0002650", "g06")
            parameters = {"kind": "run"} if "validate" in path else {}
            answer = client.post(
                path, params=parameters, content=text, headers={"content-type": media}
            )
        assert answer.status_code == 200, (path, media, answer.text)
        taken += 1
    assert taken >= 4
