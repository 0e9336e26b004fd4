"""Wrong arguments of public functions become errors of one line.

A public function does not check the types of its arguments first. If it fails with an error of
Python or of a library, the error names the types that it accepts. The original error remains as the
cause.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import GeneratorType
from typing import Any, ParamSpec, TypeVar

from trectools_plus.errors import TrectoolsPlusError, UsageError

P = ParamSpec("P")
T = TypeVar("T")

_LONGEST_VALUE = 40

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
    """Return a function that raises :class:`UsageError` where the given one fails.

    A call with missing or unknown arguments raises Python's ``TypeError``.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with _translated_errors(function, args, kwargs):
            result = function(*args, **kwargs)
        if isinstance(result, GeneratorType):
            return _iterate(function, args, kwargs, result)  # type: ignore[return-value]
        return result

    return call


@contextmanager
def _translated_errors(function: Callable[..., Any], args: Any, kwargs: Any) -> Iterator[None]:
    try:
        yield
    except TrectoolsPlusError:
        raise
    except Exception as error:
        explained = _explain(function, args, kwargs, error)
        if explained is None or not is_caused_by_arguments(error):
            raise
        raise explained from error


def _iterate(
    function: Callable[..., Any], args: Any, kwargs: Any, items: Iterable[Any]
) -> Iterator[Any]:
    """Yield the items of a generator, which checks its arguments when it starts."""
    with _translated_errors(function, args, kwargs):
        yield from items


def show(value: object) -> str:
    """Return a value on one short line, with its type if it is not text."""
    try:
        shown = " ".join(repr(value).split())
    except Exception:  # repr of any object, and of integers with many digits
        shown = ""
    if len(shown) > _LONGEST_VALUE:
        shown = f"{shown[: _LONGEST_VALUE - 1]}…"
    if value is None or isinstance(value, str):
        return shown
    return f"{type(value).__name__} {shown}".rstrip()


def is_caused_by_arguments(error: Exception) -> bool:
    """Return whether wrong arguments can cause an error: those of Python, NumPy and Polars."""
    return isinstance(error, _TRANSLATED) or any(
        base.__module__.partition(".")[0] == "polars" for base in type(error).__mro__
    )


def _explain(
    function: Callable[..., Any], args: Any, kwargs: Any, error: Exception
) -> UsageError | None:
    """Return the error for the arguments of a call; ``None`` if they do not fit the signature."""
    import inspect

    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return None
    name = function.__qualname__.removesuffix(".__init__")
    types = {key: function.__annotations__.get(key) for key in bound}
    accepted = [f"{key}: {kind}" for key, kind in types.items() if isinstance(kind, str)]
    return unusable(name, error, accepted)


def unusable(name: str, error: Exception, accepted: Sequence[str] = ()) -> UsageError:
    """Return the error for arguments that a function or class cannot use.

    Args:
        name: The name of the function or class.
        error: The error with which it failed.
        accepted: The types that it accepts, as ``parameter: type``.
    """
    problem = ""
    with suppress(ValueError):  # of an integer with many digits
        problem = " ".join((str(error).splitlines() or [""])[0].split())[:120]
    return UsageError(
        f"the arguments cannot be used: {type(error).__name__} {problem}".rstrip(),
        where=name,
        remedy=f"it accepts {', '.join(accepted)}" if accepted else f"see help({name})",
    )
