"""Code that runs on a worker: load the function once, call it, and pack its result.

All data is sent as pickled bytes, so that the scheduler does not need the packages of items and
results.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError
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
"""Distributions on which figures, or sending them, depend."""


class Packed:
    """A pickled function, which is loaded when it is first called.

    Args:
        content: The pickled function.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __reduce__(self) -> tuple[type[Packed], tuple[bytes]]:
        return Packed, (self._content,)

    @cached_property
    def function(self) -> Callable[[Any], Any]:
        """The function.

        Raises:
            UsageError: If the worker lacks a module of the function.
        """
        try:
            loaded: Callable[[Any], Any] = pickle.loads(self._content)
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"a worker cannot load the function: {error}",
                where="--scheduler",
                remedy="install the packages of this machine on the workers, and your own modules",
            ) from error
        return loaded


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and :data:`PACKAGES`; ``none`` for missing packages."""
    python = ".".join(platform.python_version_tuple()[:2])
    installed = package_versions(PACKAGES)
    return {"python": python} | {name: installed.get(name, "none") for name in PACKAGES}


def describe_difference(there: dict[str, str], here: dict[str, str]) -> str | None:
    """Return the differences, like ``numpy 2.1.0 instead of 2.4.6``; ``None`` if there are none."""
    parts = [
        f"{name} {there.get(name, 'none')} instead of {version}"
        for name, version in here.items()
        if there.get(name, "none") != version
    ]
    return ", ".join(parts) or None


def version_error(who: str, difference: str) -> UsageError:
    """Return the error for a version that differs from this machine's."""
    return UsageError(
        f"{who} has {difference}",
        where="--scheduler",
        remedy="install the same versions, because others may compute other figures",
    )


def call(packed: Packed, item: bytes, required: dict[str, str]) -> tuple[bool, bytes]:
    """Call the function on a worker.

    Args:
        packed: The function.
        item: Its pickled argument.
        required: The versions that the worker must have; it may have joined later.

    Returns:
        True and the pickled result, or false and the pickled error.
    """
    try:
        difference = describe_difference(versions(), required)
        if difference is not None:
            raise version_error("a worker", difference)
        return True, _dump(packed.function(pickle.loads(item)))
    except TrectoolsPlusError as error:
        return False, _dump(error)
    except (OSError, MemoryError) as error:  # an OSError would mean a lost connection
        what = getattr(error, "strerror", None) or str(error) or type(error).__name__
        remedy = "fix the problem on the worker and run the command again"
        where = getattr(error, "filename", None)
        return False, _dump(
            InputError(f"a worker failed: {what}", where=where and str(where), remedy=remedy)
        )


def _dump(value: object) -> bytes:
    import cloudpickle

    content: bytes = cloudpickle.dumps(value)
    return content
