"""The interface of workers, for any kind of scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
OnDone = Callable[[int], None]
"""Called with the number of finished items."""


class Workers(Protocol):
    """Calls functions in other processes."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        on_done: OnDone | None = None,
    ) -> list[Result]:
        """Call a function once for each item, on any worker and in any order.

        Args:
            function: The function, which is sent to each worker once.
            items: The items, which are read as workers become free.
            on_done: Called when items are finished.

        Returns:
            The results in the order of the items.

        Raises:
            Exception: The error of the function for the first item that has one.
            InputError: If the connection to the workers or the scheduler is lost.
        """
