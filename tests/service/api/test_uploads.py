"""The values of JSON and YAML are counted before they are built: aliases multiply a few bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from trectools_plus.service.api.settings import Limits
from trectools_plus.service.api.uploads import check_size
from trectools_plus.service.problems import ProblemError

Check = Callable[..., dict[str, Any]]
WIDE = (
    f"metadata: {{dataset_id: a, x: &x {{{', '.join(f'D{n}: 1' for n in range(1000))}}}}}\n"
    "queries:\n" + "".join(f"  - {{query_id: q{n}, text: t, relevant: *x}}\n" for n in range(50))
)
MANY = "---\na: &a 1\nqueries: [" + "*a, " * 101 + "]\n"
DEEP = "---\na: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghijklm", "bcdefghijklmn", strict=True)
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


def count(content: Any) -> int:
    """Values and keys, walked one by one."""
    if isinstance(content, dict):
        return 1 + len(content) + sum(map(count, content.values()))
    return 1 + sum(map(count, content)) if isinstance(content, list) else 1


def passes(text: str, name: str, most: int, aliases: int = 100) -> bool:
    limits = Limits(queries=1, values_per_query=most, aliases=aliases)
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8")
        try:
            check_size(path, limits)
        except ProblemError:
            return False
    return True


@given(values, st.sampled_from([None, 2]))
def test_what_yaml_holds_is_counted(content: Any, indent: int | None) -> None:
    text = yaml.safe_dump({"queries": content}, indent=indent, allow_unicode=True)
    size = count(yaml.safe_load(text))
    if "*" not in text:
        assert passes(text, "file.yaml", size)
    assert size == 1 or not passes(text, "file.yaml", size - 1)


@given(st.lists(values) | st.dictionaries(st.text(max_size=5), values))
def test_what_json_holds_is_never_more_than_counted(content: Any) -> None:
    text = json.dumps(content)
    size = count(content)
    assert size == 1 or not passes(text, "file.json", size - 1)
    assert passes(text, "file.json", 2 * size + 1), "empty lists count twice, nothing more often"


def test_what_an_alias_names_counts_each_time() -> None:
    text = "a: &a {b: 1, c: [1, 2]}\nqueries: [*a, *a]\n"
    size = count(yaml.safe_load(text))
    assert passes(text, "file.yaml", size)
    assert not passes(text, "file.yaml", size - 1)
    assert not passes(text, "file.yaml", size, aliases=1)
    again = "a: &a [1, 2, 3]\nb: &a 1\nqueries: [*a, *a]\n"  # the name is another's by then
    assert passes(again, "file.yaml", 13)


def test_a_document_that_holds_itself_is_left_to_the_reader() -> None:
    assert passes("a: &a [*a, *a]\n", "file.yaml", 100)
    assert passes("a: [*nowhere]\n", "file.yaml", 100)
    assert passes("a: 'never ends\n", "file.yaml", 100)
    assert passes('["' + '\\"' * 100_000, "file.json", 100)


@pytest.mark.parametrize("media", ["text/plain", "application/yaml", "application/octet-stream"])
@pytest.mark.parametrize("kind", ["topics", "testset"])
@pytest.mark.parametrize("spoiled", [False, True], ids=["plain", "nul"])
def test_no_media_type_leads_around_the_limits(
    client: TestClient, check_problem: Check, media: str, kind: str, spoiled: bool
) -> None:
    for text, code in ((MANY, "too-many-aliases"), (DEEP, "too-many-values")):
        data = (text.replace("---", "--- # \0") if spoiled else text).encode()
        path = f"/v1/validate?kind={kind}"
        check_problem(client.post(path, files={"file": ("a", data, media)}), 422, code)
        answer = client.post(path, content=data, headers={"content-type": media})
        check_problem(answer, 422, code)


def test_a_wide_document_is_refused(
    open_service: Any, limited: Any, client: TestClient, check_problem: Check
) -> None:
    yaml_type = {"content-type": "application/yaml"}
    with open_service(limited(queries=100)) as narrow:
        answer = narrow.post("/v1/validate?kind=testset", content=WIDE, headers=yaml_type)
        check_problem(answer, 422, "too-many-values")
    answer = client.post("/v1/validate?kind=testset", content=WIDE, headers=yaml_type)
    assert answer.status_code == 200
    answer = client.post("/v1/evaluate", content=DEEP, headers=yaml_type)
    check_problem(answer, 422, "too-many-values")


def test_records_of_other_formats_are_counted() -> None:
    assert passes('{"a": 1}\n' * 10, "file.jsonl", 100)
    assert not passes('{"a": 1}\n' * 11, "file.jsonl", 100)
    assert passes("q text\n" * 10, "file.tsv", 100)
    assert not passes("q text\n" * 11, "file.tsv", 100)
    assert not passes("<top>" * 11, "file", 100)
