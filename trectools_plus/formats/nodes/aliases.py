"""Walking a tree with aliases and merges in it, within a bound: few lines may unfold to many."""

from __future__ import annotations

from trectools_plus.formats.nodes.model import Items, Mapping, Node, Scalar

MAX_REPEATED = 50_000
"""Values that aliases and merges may add to those that are written."""

_VISITS = 4
"""More often than this no value that is written once is looked at."""

MAX_MERGES = 16
"""How deep YAML's ``<<`` is followed."""


class TooMuchError(Exception):
    """Aliases and merges add more than ``MAX_REPEATED`` values.

    Internal: the reader turns it into a finding.

    Args:
        node: Where that was noticed.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


class Unfolder:
    """Gives the items and fields of nodes, and counts them.

    Args:
        n_values: How many values are written.
    """

    def __init__(self, n_values: int) -> None:
        self._left = _VISITS * n_values + MAX_REPEATED

    def items(self, node: Items) -> list[Node]:
        """The items of a list.

        Raises:
            TooMuchError: If too much has been looked at already.
        """
        self._spend(len(node.items), node)
        return node.items

    def fields(self, node: Mapping, depth: int = 0) -> list[tuple[Scalar, Node]]:
        """Keys and values of a mapping, with those that YAML's ``<<`` merges into it.

        Raises:
            TooMuchError: If too much has been looked at already.
        """
        self._spend(len(node.pairs) + len(node.merged), node)
        if not node.merged or depth > MAX_MERGES:
            return list(node.pairs.values())
        found = dict(node.pairs)
        for other in node.merged:
            for part in self.items(other) if isinstance(other, Items) else [other]:
                if isinstance(part, Mapping):
                    for key, value in self.fields(part, depth + 1):
                        found.setdefault(key.text, (key, value))
        return list(found.values())

    def _spend(self, steps: int, node: Node) -> None:
        self._left -= steps + 1
        if self._left < 0:
            raise TooMuchError(node)
