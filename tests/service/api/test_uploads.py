"""The values of uploads are counted, and aliases, which multiply a few bytes, are limited."""

import pytest

from trectools_plus.service import Limits
from trectools_plus.service.guard import ProblemError
from trectools_plus.service.models import VALUES_PER_QUERY
from trectools_plus.service.uploads import check_size

DEEP = "---\na: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghijklm", "bcdefghijklmn", strict=True)
)


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ('{"a": 1}\n', "jsonl"),
        ("[1]", "json"),
        ("q text\n", "tsv"),
        ("- a\n", "yaml"),
        ("<top>", "x"),
    ],
)
def test_values_are_counted(record, name, tmp_path):
    path = tmp_path / f"file.{name}"
    per_record = 3 if name == "jsonl" else 1
    most = VALUES_PER_QUERY // per_record
    path.write_text(record * most)
    check_size(path, Limits(queries=1))
    path.write_text(record * (most + 1))
    with pytest.raises(ProblemError) as refused:
        check_size(path, Limits(queries=1))
    assert refused.value.problem.code == "too-many-values"


@pytest.mark.every(3)
@pytest.mark.parametrize("media", ["text/plain", "application/yaml", "application/octet-stream"])
@pytest.mark.parametrize("kind", ["topics", "testset"])
@pytest.mark.parametrize("text", [DEEP, DEEP.replace("---", "--- # \0")], ids=["plain", "nul"])
def test_aliases_are_not_read_with_any_media_type(client, media, kind, text):
    headers = {"content-type": media}
    answer = client.post(f"/v1/validate?kind={kind}", content=text.encode(), headers=headers)
    assert answer.status_code == 200
    (file,) = answer.json()["files"]
    assert {finding["code"] for finding in file["findings"]} & {"T101", "T104"}


def test_a_test_set_with_aliases_is_not_evaluated(client, check_problem):
    headers = {"content-type": "application/yaml"}
    answer = client.post("/v1/evaluate", content=DEEP, headers=headers)
    assert "an alias" in check_problem(answer, 422, "unusable-content")["detail"]
