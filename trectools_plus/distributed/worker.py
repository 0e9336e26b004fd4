"""What happens on a worker: the function is unpacked once, called, and its result packed.

Everything crosses the network as pickled bytes, so that a scheduler needs none of the packages
that items and results are made of.
"""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable
from functools import cache, cached_property
from importlib import metadata
from typing import Any

from trectools_plus.errors import InputError, TrectoolsPlusError, UsageError

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
"""Distributions that figures, or sending them, depend on."""


class Packed:
    """A function as bytes, unpacked where and when it is first called.

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
            UsageError: If the worker lacks a module that it is made of.
        """
        try:
            unpacked: Callable[[Any], Any] = pickle.loads(self._content)
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"a worker cannot load what it is to compute: {error}",
                where="--scheduler",
                remedy="install on the workers what this machine has, your own modules too",
            ) from error
        return unpacked


@cache
def versions() -> dict[str, str]:
    """Python's version and those of :data:`PACKAGES`; ``none`` where one is not installed."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def describe_difference(there: dict[str, str], here: dict[str, str]) -> str | None:
    """What differs, such as ``numpy 2.1.0 instead of 2.4.6``; ``None`` if nothing does."""
    parts = [
        f"{name} {there.get(name, 'none')} instead of {version}"
        for name, version in here.items()
        if there.get(name, "none") != version
    ]
    return ", ".join(parts) or None


def differ(who: str, difference: str) -> UsageError:
    """The error for another version than this machine's."""
    return UsageError(
        f"{who} has {difference}",
        where="--scheduler",
        remedy="install the same versions there, or the figures need not be the same",
    )


def call(packed: Packed, item: bytes, wanted: dict[str, str]) -> tuple[bool, bytes]:
    """Call the function on a worker.

    Args:
        packed: The function.
        item: Its pickled argument.
        wanted: The versions that the worker must have: it may have come after the others.

    Returns:
        Whether it succeeded, and its pickled result or error.
    """
    try:
        difference = describe_difference(versions(), wanted)
        if difference is not None:
            raise differ("a worker", difference)
        return True, _dump(packed.function(pickle.loads(item)))
    except TrectoolsPlusError as error:
        return False, _dump(error)
    except (OSError, MemoryError) as error:  # here an OSError would mean that the line is broken
        what = getattr(error, "strerror", None) or str(error) or type(error).__name__
        remedy = "mend that there, and run this again"
        where = getattr(error, "filename", None)
        return False, _dump(
            InputError(f"a worker failed: {what}", where=where and str(where), remedy=remedy)
        )


def _dump(value: object) -> bytes:
    import cloudpickle

    content: bytes = cloudpickle.dumps(value)
    return content
