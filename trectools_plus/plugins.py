"""Import user code by name (``module:object``)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trectools_plus.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_CODE_REFUSED: ContextVar[bool] = ContextVar("code_refused", default=False)


@contextmanager
def working_directory_on_path() -> Iterator[None]:
    """Make modules in the working directory importable, as ``python`` itself does."""
    here = str(Path.cwd())
    if here in sys.path or "" in sys.path:
        yield
        return
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


@contextmanager
def without_user_code() -> Iterator[None]:
    """Import no code of users: names in a report or a plan come from whoever wrote it."""
    token = _CODE_REFUSED.set(True)
    try:
        yield
    finally:
        _CODE_REFUSED.reset(token)


def is_code_refused() -> bool:
    """Return whether this is called in :func:`without_user_code`."""
    return _CODE_REFUSED.get()


def refuse_code(name: str) -> None:
    """Refuse to use code or a file of users in :func:`without_user_code`.

    Raises:
        UsageError: There.
    """
    if is_code_refused():
        raise UsageError(
            "a report or a plan names code or a file of its writer, which is not used",
            where=name,
            remedy="name it yourself, if you trust it",
        )


def import_object(module_name: str, object_name: str) -> Any:
    """Import a module and return one of its objects.

    Args:
        module_name: The module, which may be in the working directory.
        object_name: A name in the module; dots separate nested names, as in ``Class.method``.

    Raises:
        UsageError: In :func:`without_user_code`.
        Exception: Any error of the import; ``AttributeError`` if the name does not exist.
    """
    refuse_code(f"{module_name}:{object_name}")
    with working_directory_on_path():
        target: Any = importlib.import_module(module_name)
        for part in object_name.split("."):
            target = getattr(target, part)
    return target


def find_entry_point(group: str, name: str) -> EntryPoint | None:
    """Return the entry point that an installed package registers; ``None`` without one.

    Args:
        group: The group of entry points.
        name: The name of the entry point in the group.

    Raises:
        UsageError: In :func:`without_user_code`.
    """
    from importlib.metadata import entry_points

    refuse_code(name)
    return next(iter(entry_points(group=group, name=name)), None)
