"""Code that runs on a worker: load the function once, and call it.

Functions and items are sent as pickled bytes, which Dask does not search for other tasks.
"""

from __future__ import annotations

import pickle
import platform
from functools import cache, lru_cache
from typing import Any

from trectools_plus.errors import InputError, UsageError
from trectools_plus.provenance import package_versions

PACKAGES = (
    "trectools-plus",
    "cloudpickle",
    "distributed",
    "ir-measures",
    "numpy",
    "polars",
    "pytrec-eval-terrier",
    "scipy",
)
"""Distributions that affect results or their transfer, so their versions must be the same."""

_load = lru_cache(maxsize=4)(pickle.loads)


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and :data:`PACKAGES`; ``"none"`` for missing packages."""
    python = ".".join(platform.python_version_tuple()[:2])
    return dict.fromkeys(PACKAGES, "none") | {"python": python} | package_versions(PACKAGES)


def check_versions(process: str, actual: dict[str, str], required: dict[str, str]) -> None:
    """Check that a process has the versions of this machine.

    Raises:
        UsageError: If it has others.
    """
    differences = [
        f"{name} {actual.get(name, 'none')} instead of {version}"
        for name, version in required.items()
        if actual.get(name, "none") != version
    ]
    if differences:
        raise UsageError(
            f"{process} has {', '.join(differences)}",
            where="--scheduler",
            remedy="install the same versions, because results can differ between versions",
        )


def call(function: bytes, item: bytes, required: dict[str, str]) -> Any:
    """Call a function on a worker.

    Args:
        function: The pickled function.
        item: Its pickled argument.
        required: The versions that the worker must have. They are checked for each item, because
            a worker can join at any time.

    Returns:
        The result.

    Raises:
        TrectoolsPlusError: If the function raises one, the worker lacks its module or has other
            versions, or its machine has a problem, for example a full disk.
    """
    check_versions("a worker", versions(), required)
    try:
        return _load(function)(pickle.loads(item))
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a worker cannot load the function: {error}",
            where="--scheduler",
            remedy="install your modules and the packages of this machine on the workers",
        ) from error
    except (OSError, MemoryError) as error:  # Dask would report an OSError as a lost connection
        raise InputError(
            f"a worker failed: {str(error) or 'out of memory'}",
            remedy="fix the problem on the worker and run the command again",
        ) from error
