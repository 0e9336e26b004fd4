"""Answers of a service that are wrong, dishonest or made to be slow."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from trectools_plus.judging.endpoint import MAX_ANSWER_LENGTH, ReadGrade, read_grade, read_reply
from trectools_plus.retrieval.backends.http_client import AnswerError, Secret

KEY = "sk-proj-abcdef1234567890wxyz"


@pytest.mark.parametrize(
    "answer",
    [
        "a" * (1 << 20),
        "{" * 200_000,
        '{"' * 200_000,
        '{"a":' * 200_000,
        '{"a":[' * 100_000,
        '{"a":1,' * 100_000,
        '{"a":{"b":' * 300 + '"x":1,' * 10_000,
        "{ " * 100_000,
        "{" + " " * 100_000 + "{",
        "<think>" * 100_000,
        "</think" * 100_000,
        '{"grade": ' + "1" * 60_000 + "}",
        '{"grade": 1}' + "x" * MAX_ANSWER_LENGTH,
        '{"' * 100_000,
    ],
    ids=lambda answer: f"{answer[:12]} {len(answer)}",
)
def test_long_answers_are_read_in_little_time(answer: str) -> None:
    started = monotonic()
    assert read_grade(answer).grade is None
    assert monotonic() - started < 5


def test_an_object_after_many_broken_ones_is_read() -> None:
    assert read_grade('{"a" ' * 300 + '{"grade": 2}') == ReadGrade(2)


def completion(**members: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": '{"grade": 2}'}
    return {"choices": [{"message": message}], "model": "m", **members}


@pytest.mark.parametrize(
    "members",
    [
        {"error": "overloaded"},
        {"error": {"message": "no such model", "code": 404}},
        {"errors": ["x"]},
        {"success": False},
        {"choices": [{"message": {"content": '{"grade": 2}'}, "error": {"code": 502}}]},
        {"choices": []},
        {"choices": [{}]},
    ],
)
def test_an_answer_with_an_error_is_not_graded(members: dict[str, Any]) -> None:
    with pytest.raises(AnswerError):
        read_reply(completion(**members))


@pytest.mark.parametrize("members", [{}, {"error": None}, {"error": {}}, {"errors": []}])
def test_an_answer_without_an_error_is_read(members: dict[str, Any]) -> None:
    reply = read_reply(completion(**members))
    assert (reply.text, reply.problem) == ('{"grade": 2}', None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"wrong key {KEY}.", "wrong key ***."),
    ],
)
def test_a_key_is_hidden(text: str, shown: str) -> None:
    assert Secret(KEY).scrub(text) == shown
