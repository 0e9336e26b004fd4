"""Code that runs on a worker: load the function once, and call it.

Functions and items are sent as pickled bytes, which Dask does not search for other tasks.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from functools import cache, cached_property
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


class PickledFunction:
    """A pickled function, which is loaded when it is first called.

    Args:
        content: The pickled function.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __reduce__(self) -> tuple[type[PickledFunction], tuple[bytes]]:
        return PickledFunction, (self._content,)

    @cached_property
    def function(self) -> Callable[[Any], Any]:
        """The loaded function.

        Raises:
            UsageError: If the worker does not have a module of the function.
        """
        try:
            loaded: Callable[[Any], Any] = pickle.loads(self._content)
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"a worker cannot load the function: {error}",
                where="--scheduler",
                remedy="install your modules and the packages of this machine on the workers",
            ) from error
        return loaded


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and :data:`PACKAGES`; ``"none"`` for missing packages."""
    python = ".".join(platform.python_version_tuple()[:2])
    installed = package_versions(PACKAGES)
    return {"python": python} | {name: installed.get(name, "none") for name in PACKAGES}


def check_versions(process: str, actual: dict[str, str], required: dict[str, str]) -> None:
    """Check that a process has the versions of this machine.

    Raises:
        UsageError: If it has others.
    """
    parts = [
        f"{name} {actual.get(name, 'none')} instead of {version}"
        for name, version in required.items()
        if actual.get(name, "none") != version
    ]
    if parts:
        raise UsageError(
            f"{process} has {', '.join(parts)}",
            where="--scheduler",
            remedy="install the same versions, because results can differ between versions",
        )


def call(pickled: PickledFunction, item: bytes, required: dict[str, str]) -> Any:
    """Call the function on a worker.

    Args:
        pickled: The function.
        item: Its pickled argument.
        required: The versions that the worker must have. They are checked for each item, because
            a worker can join at any time.

    Returns:
        The result.

    Raises:
        TrectoolsPlusError: If the function raises one, the worker has other versions, or its
            machine has a problem, for example a full disk.
    """
    check_versions("a worker", versions(), required)
    try:
        return pickled.function(pickle.loads(item))
    except (OSError, MemoryError) as error:  # Dask would report an OSError as a lost connection
        where = getattr(error, "filename", None)
        raise InputError(
            f"a worker failed: {getattr(error, 'strerror', None) or str(error) or 'MemoryError'}",
            where=where and str(where),
            remedy="fix the problem on the worker and run the command again",
        ) from error
