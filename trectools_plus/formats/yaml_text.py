"""YAML with the line of every value, duplicate keys refused, and scalars read as the caller says.

PyYAML follows YAML 1.1, where ``010`` is 8, ``yes`` is true and ``1:40`` is 100; and of two equal
keys it keeps the last without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trectools_plus.formats.limits import MAX_DEPTH

if TYPE_CHECKING:
    import yaml

Place = tuple[str | int, ...]

_NULLS = ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A YAML file's content.

    Attributes:
        content: Mappings, lists and scalars; the keys of mappings are strings as written.
        lines: The line of each key and item, from 1, by the steps that lead to it.
    """

    content: Any
    lines: dict[Place, int] = field(default_factory=dict)

    def find_line(self, place: Place) -> int | None:
        """The line of a value, or of the nearest one around it that has a line."""
        for end in range(len(place), 0, -1):
            if place[:end] in self.lines:
                return self.lines[place[:end]]
        return None


def read_texts(text: str | bytes) -> YamlDocument:
    """Read every scalar as the text that stands there; a plain ``null``, ``~`` or nothing is None.

    Raises:
        yaml.YAMLError: If it is no YAML, a key is repeated or no scalar, or a value has a tag.
    """
    return _read(text, "BaseLoader", lambda _, node: _as_text(node))


def read_values(text: str | bytes) -> YamlDocument:
    """Read scalars as YAML 1.1 has it: numbers, flags, dates, text.

    Raises:
        yaml.YAMLError: If it is no YAML, a key is repeated or no scalar, or a tag is unknown.
        ValueError: If a scalar looks like a date and is none.
    """
    return _read(text, "SafeLoader", lambda loader, node: loader.construct_object(node))


def _read(
    text: str | bytes, loader_name: str, read_scalar: Callable[[Any, Any], Any]
) -> YamlDocument:
    import yaml

    loader = _bounded(loader_name)(text)
    try:
        root = loader.get_single_node()
        lines: dict[Place, int] = {}
        read: dict[int, Any] = {}

        def walk(node: yaml.Node, place: Place, above: tuple[int, ...]) -> Any:
            if id(node) in above:
                raise _problem("this alias stands inside what it names", node.start_mark)
            if id(node) not in read:  # an alias is read once, however often it is named
                read[id(node)] = read_node(node, place, (*above, id(node)))
            return read[id(node)]

        def read_node(node: yaml.Node, place: Place, above: tuple[int, ...]) -> Any:
            if isinstance(node, yaml.ScalarNode):
                return read_scalar(loader, node)
            _refuse_tag(node)
            if isinstance(node, yaml.SequenceNode):
                items: list[Any] = []
                for number, item in enumerate(node.value):
                    lines[*place, number] = item.start_mark.line + 1
                    items.append(walk(item, (*place, number), above))
                return items
            mapping: dict[str, Any] = {}
            for key_node, item in node.value:
                key = _key_of(key_node, mapping)
                lines[*place, key] = key_node.start_mark.line + 1
                mapping[key] = walk(item, (*place, key), above)
            return mapping

        return YamlDocument(None if root is None else walk(root, (), ()), lines)
    finally:
        loader.dispose()


def _bounded(name: str) -> Any:
    """A loader that refuses deep nesting where it begins.

    For every token PyYAML looks at each open flow list and mapping, so that its time would grow
    with the square of their depth.

    Args:
        name: The loader of PyYAML; its scanner is libyaml's, ten times faster, where there is one.
    """
    import yaml

    fast: Any = getattr(yaml, f"C{name}", None)
    bases: Any = (yaml.composer.Composer, fast) if fast else (getattr(yaml, name),)

    class Bounded(*bases):  # type: ignore[misc]
        def __init__(self, text: str | bytes) -> None:
            bases[-1].__init__(self, text)
            self.anchors: dict[str, yaml.Node] = {}
            self._depth = 0

        def fetch_flow_collection_start(self, token_type: Any) -> None:
            """Begin a flow list or mapping; libyaml has no such step, and needs none."""
            if self.flow_level >= MAX_DEPTH:
                raise _too_deep(self.get_mark())
            super().fetch_flow_collection_start(token_type)

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if self._depth >= MAX_DEPTH and isinstance(event, yaml.CollectionStartEvent):
                raise _too_deep(event.start_mark)
            self._depth += 1
            node = super().compose_node(parent, index)
            self._depth -= 1
            return node

    return Bounded


def _too_deep(mark: Any) -> yaml.MarkedYAMLError:
    return _problem(f"nested more than {MAX_DEPTH} deep", mark)


def _key_of(node: yaml.Node, mapping: dict[str, Any]) -> str:
    if not isinstance(node.value, str):
        raise _problem("a key is a list or a mapping", node.start_mark)
    if node.value in mapping:
        raise _problem(f"key '{node.value}' stands here twice", node.start_mark)
    return node.value


def _as_text(node: yaml.ScalarNode) -> str | None:
    _refuse_tag(node)
    text: str = node.value
    return None if not node.style and text in _NULLS else text


def _refuse_tag(node: yaml.Node) -> None:
    kinds = ("str", "map", "seq")
    if node.tag not in {f"tag:yaml.org,2002:{kind}" for kind in kinds}:
        raise _problem(f"tags such as {node.tag} have no meaning here", node.start_mark)


def _problem(words: str, mark: yaml.Mark) -> yaml.MarkedYAMLError:
    from yaml.constructor import ConstructorError

    error: yaml.MarkedYAMLError = ConstructorError(None, None, words, mark)
    return error
