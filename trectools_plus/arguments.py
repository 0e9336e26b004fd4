"""Wrong arguments of public functions become errors of one line.

A public function does not check the types of its arguments first. If it fails with an error of
Python or of a library, the error remains as the cause of a :class:`UsageError`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from trectools_plus.errors import UsageError, describe_error

P = ParamSpec("P")
T = TypeVar("T")

_TRANSLATED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)
"""The errors that wrong arguments cause, beside those of Polars."""


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that raises :class:`UsageError` where the given one fails."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with translated_errors(function.__qualname__.removesuffix(".__init__")):
            return function(*args, **kwargs)

    return call


@contextmanager
def translated_errors(name: str) -> Iterator[None]:
    """Translate errors that wrong arguments of a function or class cause.

    Args:
        name: The name of the function or class.

    Raises:
        UsageError: If Python, NumPy or Polars raise such an error.
    """
    try:
        yield
    except Exception as error:
        of_polars = type(error).__module__.startswith("polars")
        if not of_polars and not isinstance(error, _TRANSLATED):
            raise
        raise UsageError(
            f"the arguments cannot be used: {describe_error(error)}",
            where=name,
            remedy=f"see help({name})",
        ) from error
