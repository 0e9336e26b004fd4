"""Wrong arguments of public functions become errors of one line.

A public function does not check the types of its arguments first. If it fails with an error of
Python or of a library, its arguments are compared with its annotations, and the first one of
another type is reported. The original error remains as the cause.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import GeneratorType, NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from trectools_plus.errors import TrectoolsPlusError, UsageError

P = ParamSpec("P")
T = TypeVar("T")

_ITEMS_CHECKED = 20
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
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return None
    name = function.__qualname__.removesuffix(".__init__")
    for parameter, hint, written in _hints(function):
        if parameter in given and not _fits(given[parameter], hint):
            return UsageError(
                f"expected {written} but got {show(given[parameter])}",
                where=f"{name}, argument {parameter}",
                remedy=f"see help({name})",
            )
    return unusable(name, error)


def unusable(name: str, error: Exception) -> UsageError:
    """Return the error for arguments that a function or class cannot use.

    Args:
        name: The name of the function or class.
        error: The error with which it failed.
    """
    problem = " ".join((str(error).splitlines() or [""])[0].split())[:120]
    return UsageError(
        f"the arguments cannot be used: {type(error).__name__} {problem}".rstrip(),
        where=name,
        remedy=f"see help({name})",
    )


class _Unresolved(type):
    """A name in an annotation that is imported for type checkers only."""

    def __getattr__(cls, name: str) -> type:
        return _Unresolved(name, (), {})

    def __getitem__(cls, parameters: object) -> type:
        return cls


class _Names(Mapping[str, Any]):
    """The names that annotations of a module refer to."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._module = module

    def __getitem__(self, name: str) -> Any:
        if name in self._module:
            return self._module[name]
        return getattr(builtins, name, None) or _Unresolved(name, (), {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._module)

    def __len__(self) -> int:
        return len(self._module)


def _hints(function: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield each parameter, its type, and the type as it is written."""
    names = _Names(function.__globals__)
    for parameter, annotation in function.__annotations__.items():
        if parameter == "return" or not isinstance(annotation, str):
            continue
        try:
            hint = eval(annotation, {}, names)
        except (TypeError, AttributeError):
            continue
        yield parameter, hint, annotation


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value can be of a type; true if the type cannot be checked."""
    origin, parameters = get_origin(hint), get_args(hint)
    if hint is None or hint is NoneType:
        return value is None
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in parameters)
    if origin is Literal:
        return isinstance(value, str | int | NoneType) and value in parameters
    if origin is Annotated:
        return _fits(value, parameters[0])
    if isinstance(hint, _Unresolved):
        return any(base.__name__ == hint.__name__ for base in type(value).__mro__)
    return _is_instance(value, origin or hint) and _fit_items(value, parameters)


def _is_instance(value: object, kind: Any) -> bool:
    if kind in (int, float):
        numbers = (int,) if kind is int else (int, float)
        return not isinstance(value, bool) and (
            isinstance(value, numbers) or type(value).__module__ == "numpy"
        )
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol, a type variable, Any
        return True


def _fit_items(value: object, parameters: tuple[Any, ...]) -> bool:
    """Return whether the first items of a list, tuple or dictionary have the right types."""
    if isinstance(value, Mapping) and len(parameters) == 2:
        items = list(value.items())[:_ITEMS_CHECKED]
        return all(_fits(key, parameters[0]) and _fits(one, parameters[1]) for key, one in items)
    if isinstance(value, list | tuple) and parameters:
        return all(_fits(one, parameters[0]) for one in value[:_ITEMS_CHECKED])
    return True
