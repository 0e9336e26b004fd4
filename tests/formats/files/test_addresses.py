"""Addresses are recognised and refused, without their secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.program import Program

from trectools_plus.errors import InputError
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.files.opening import is_address

pytestmark = pytest.mark.process


def test_addresses_are_recognised() -> None:
    assert all(map(is_address, ("s3://bucket/a.run", "https://host/a.run", "memory://a")))
    others = ("C://a.run", "C:\\a.run", "a.run", "/s3:/a", "-", "x/s3://a", "://a")
    assert not any(map(is_address, others))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://me:hush@host/a.run", "https://***@host/a.run"),
        ("s3://me:hush@bucket/a.run", "s3://***@bucket/a.run"),
        ("https://host/a.run?X-Amz-Signature=hush", "https://host/a.run?X-Amz-Signature=***"),
    ],
)
def test_addresses_are_refused_without_secrets(
    address: str, shown: str, program: Program, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="addresses are not read") as error:
        read_file(address)
    assert f" — {shown} — " in str(error.value)
    for words in (["runs", "validate", address], ["eval", address, address]):
        result = program(["trectools-plus", *words], tmp_path)
        assert result.code == 2
        assert "hush" not in result.text + result.stderr
