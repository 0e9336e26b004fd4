"""The interface of workers, whatever scheduler they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Tell = Callable[[int], None]
"""Called with the number of items that are done."""


class Workers(Protocol):
    """Something that calls functions elsewhere."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        tell: Tell | None = None,
    ) -> list[Result]:
        """Call a function once for each item, on any worker and in any order.

        Args:
            function: Sent to each worker once, with all that it holds.
            items: Looked at as workers become free.
            tell: Called as items are done.

        Returns:
            Its results, in the order of the items.

        Raises:
            Exception: What the function raised for the first item for which it did.
            InputError: If the workers or the scheduler are lost.
        """
