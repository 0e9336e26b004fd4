"""Every error this package raises on purpose.

::

    TrectoolsPlusError          what — where — how to mend; carries the exit code
    ├── InputError              exit 2: something cannot be read
    │   └── FormatError         exit 2: a file's text is wrong at a line and column
    ├── UsageError              exit 2: a name, option or value that does not exist
    │   └── MissingExtraError   exit 2: an optional dependency is not installed
    ├── CheckFailedError        exit 1: a check found something
    ├── IncomparableError       exit 3: two things that cannot be compared
    └── SeveralFilesError       the highest exit code of those that it holds

The command line prints ``str(error)``, a line per error, and leaves with ``error.exit_code``.
"""

from __future__ import annotations

from collections.abc import Sequence


class TrectoolsPlusError(Exception):
    """Base of all errors: what happened, where, and how to mend it.

    Args:
        what: What is wrong, in one clause.
        where: The place: ``file:line``, an option, a measure's name.
        remedy: What the user can do about it.
    """

    exit_code: int = 2

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(what)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors come from other processes too, and their constructors take more than ``args``.
        return _rebuild, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return " — ".join(part for part in (self.what, self.where, self.remedy) if part)


def _rebuild(
    kind: type[TrectoolsPlusError], args: tuple[object, ...], state: dict[str, object]
) -> TrectoolsPlusError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(TrectoolsPlusError):
    """Something given as input cannot be read: it is missing, locked, or of another kind."""


class FormatError(InputError):
    """The text of a file is wrong at a known place.

    Args:
        what: What is wrong, as "expected … but got …" where that fits.
        path: The file as the user named it (``-`` for standard input).
        line: The file's own line number, from 1; ``None`` when the whole file is meant.
        column: The character column, from 1; ``None`` when the whole line is meant.
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
    """The user asked for something that does not exist or does not go together."""


class MissingExtraError(UsageError):
    """A feature needs an optional dependency that is not installed.

    Args:
        feature: What was asked for.
        extra: The extra of this package that brings the dependency.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra '{extra}'",
            remedy=f"pip install 'trectools-plus[{extra}]'",
        )


class CheckFailedError(TrectoolsPlusError):
    """A check was carried out and found something that must not pass."""

    exit_code = 1


class IncomparableError(TrectoolsPlusError):
    """Two results rest on different queries, qrels or datasets, so no comparison holds."""

    exit_code = 3


class SeveralFilesError(TrectoolsPlusError):
    """Several files of one command are at fault, and each is named.

    Args:
        errors: What is wrong with each, at least one.

    Attributes:
        errors: The same, as a tuple.
    """

    def __init__(self, errors: Sequence[TrectoolsPlusError]) -> None:
        self.errors = tuple(errors)
        self.exit_code = max(error.exit_code for error in self.errors)
        super().__init__("\n".join(map(str, self.errors)))


def raise_all(errors: Sequence[TrectoolsPlusError]) -> None:
    """Raise what was collected: nothing, the one error, or :class:`SeveralFilesError`.

    Raises:
        TrectoolsPlusError: If there is any error.
    """
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralFilesError(errors)
