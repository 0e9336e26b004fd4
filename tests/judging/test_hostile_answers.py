"""Answers of a service that are wrong, dishonest or made to be slow."""

from time import monotonic

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
def test_long_answers_are_read_in_little_time(answer):
    started = monotonic()
    assert read_grade(answer).grade is None
    assert monotonic() - started < 5


def test_an_object_after_many_broken_ones_is_read():
    assert read_grade('{"a" ' * 300 + '{"grade": 2}') == ReadGrade(2)


def completion(**members):
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
def test_an_answer_with_an_error_is_not_graded(members):
    with pytest.raises(AnswerError):
        read_reply(completion(**members))


@pytest.mark.parametrize("members", [{}, {"error": None}, {"error": {}}, {"errors": []}])
def test_an_answer_without_an_error_is_read(members):
    reply = read_reply(completion(**members))
    assert (reply.text, reply.problem) == ('{"grade": 2}', None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"wrong key {KEY}.", "wrong key ***."),
    ],
)
def test_a_key_is_hidden(text, shown):
    assert Secret(KEY).scrub(text) == shown
