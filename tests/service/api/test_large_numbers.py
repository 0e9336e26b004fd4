"""Numbers that no number of the machine can hold are refused, not answered with an error 500."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

DIGITS = "1" * 400
RUN = b"1 Q0 a 1 2.0 x\n"
SET = json.dumps(
    {
        "metadata": {"dataset_id": "x", "language": "en"},
        "queries": [{"query_id": "1", "text": "x", "relevant": [{"doc_id": "a", "grade": 9}]}],
    }
)


@pytest.mark.parametrize("number", [DIGITS, f"-{DIGITS}", f"{DIGITS}.5", "1e400", "1" * 5000])
@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_a_grade_of_a_test_set(client: TestClient, number: str, kind: str) -> None:
    content = SET.replace("9}", f"{number}}}")
    answer = client.post(
        "/v1/evaluate?publish=false",
        content=content,
        headers={"content-type": "application/json" if kind == "json" else "text/yaml"},
    )
    assert 400 <= answer.status_code < 500


@pytest.mark.parametrize(
    ("path", "name"), [("score", "qrels"), ("score", "run"), ("validate", "file")]
)
@pytest.mark.parametrize("number", [DIGITS, f"-{DIGITS}", "1e400"])
def test_a_number_in_an_uploaded_file(
    client: TestClient, path: str, name: str, number: str
) -> None:
    files: dict[str, Any] = {"qrels": b"1 0 a 1\n", "run": RUN} if path == "score" else {}
    line = f"1 Q0 a 1 {number} x\n" if name == "run" else f"1 0 a {number}\n"
    files[name] = line.encode()
    assert client.post(f"/v1/{path}", files=files).status_code < 500
