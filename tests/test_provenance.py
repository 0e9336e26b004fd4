"""Manifest parts: times, versions, commands without secrets."""

import shlex
from datetime import UTC, datetime, timedelta, timezone

import pytest

from trectools_plus.models import (
    format_command,
    format_time,
    utc_now,
)

NOON = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)


def test_times_are_utc_whatever_the_zone():
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert format_time(elsewhere) == "2025-01-31T12:00:00Z"


def test_source_date_epoch_replaces_the_clock(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1738324800")
    assert utc_now() == NOON
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert abs(utc_now() - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (
            ["/venv/bin/benchmark", "run", "--dataset", "hpo"],
            "benchmark run --dataset hpo",
        ),
        (["/x/__main__.py", "eval"], "trectools-plus eval"),
        (["t", "--runs", "a=my run.txt"], "t --runs 'a=my run.txt'"),
        (["t", "--api-key", "S3CRET", "--seed", "1"], "t --api-key '***' --seed 1"),
        (["t", "--http-token=S3CRET"], "t '--http-token=***'"),
        (["t", "--password", "--S3CRET"], "t --password '***'"),
        (["t", "--uri", "http://me:S3CRET@host/x"], "t --uri 'http://***@host/x'"),
        (["t", "--tokenizer", "x", "--runs", "token=a.run"], "t --tokenizer x --runs token=a.run"),
    ],
)
def test_commands_can_be_pasted_and_hold_no_secret(argv, expected):
    command = format_command(argv)
    assert command == expected
    assert "S3CRET" not in command
    shlex.split(command)
