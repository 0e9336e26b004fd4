"""Code that runs on a worker: load the function once, call it, and pickle its result.

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


def describe_difference(actual: dict[str, str], expected: dict[str, str]) -> str | None:
    """Return the differences, like ``numpy 2.1.0 instead of 2.4.6``; ``None`` if there are none."""
    parts = [
        f"{name} {actual.get(name, 'none')} instead of {version}"
        for name, version in expected.items()
        if actual.get(name, "none") != version
    ]
    return ", ".join(parts) or None


def version_error(process: str, difference: str) -> UsageError:
    """Return the error for versions that differ from those of this machine."""
    return UsageError(
        f"{process} has {difference}",
        where="--scheduler",
        remedy="install the same versions, because results can differ between versions",
    )


def call(pickled: PickledFunction, item: bytes, required: dict[str, str]) -> tuple[bool, bytes]:
    """Call the function on a worker.

    Args:
        pickled: The function.
        item: Its pickled argument.
        required: The versions that the worker must have. They are checked for each item, because
            a worker can join at any time.

    Returns:
        True and the pickled result, or false and the pickled error.
    """
    try:
        difference = describe_difference(versions(), required)
        if difference is not None:
            raise version_error("a worker", difference)
        return True, _dump(pickled.function(pickle.loads(item)))
    except TrectoolsPlusError as error:
        return False, _dump(error)
    except (OSError, MemoryError) as error:  # Dask would report an OSError as a lost connection
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
