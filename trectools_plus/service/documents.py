"""How much a JSON or YAML document holds, told before anything is built from it.

A few bytes of YAML may stand for very many values: an alias repeats what it names, and costs every
time as much as what is written out.
"""

from __future__ import annotations

import re

import yaml

from trectools_plus.formats.limits import MAX_DEPTH
from trectools_plus.formats.topic_schema import form_of
from trectools_plus.service.problems import ProblemError
from trectools_plus.service.settings import Limits
from trectools_plus.service.uploads import Part

# A text that never ends is taken to the end at once: looking on from each quotation mark inside it
# would take a time that grows with its square.
_JSON_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def refuse_large(part: Part, name: str, limits: Limits) -> None:
    """See that a document names few of its values again, and holds not too many with them.

    Text in another form passes: its size bounds the work that it makes. So does what is not JSON
    or YAML, or is nested too deeply: the reader refuses it with the line.

    Args:
        part: Topics or a test set.
        name: The name that it is read under; with the first characters it says which form it has.
        limits: How many aliases and values there may be.

    Raises:
        ProblemError: 422 if there are more.
    """
    # Just as the reader sees it: what it reads, and nothing else, is counted.
    text = part.data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")
    form = form_of(name, text)
    if form == "json" and _count_json(part.data) > limits.values:
        raise _too_many_values(part, limits)
    if form == "yaml":
        _count_yaml(text, part, limits)


def _count_json(data: bytes) -> int:
    """At least the number of values and keys: each but the first stands after one of these."""
    bare = _JSON_TEXT.sub(b"", data)
    return 1 + sum(map(bare.count, (b"[", b"{", b",", b":")))


def _count_yaml(text: str, part: Part, limits: Limits) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser of the reader
    values = aliases = 0
    sizes: dict[str, int] = {}
    around: list[tuple[str | None, int]] = []  # anchor of each open list or mapping, values before
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.AliasEvent):
                aliases += 1
                values += sizes.get(str(event.anchor), 1)
            elif isinstance(event, yaml.CollectionStartEvent):
                around.append((event.anchor, values))
                values += 1
                if len(around) > MAX_DEPTH:
                    return  # the time of going on grows with the square of the depth
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = around.pop()
                if anchor is not None:
                    sizes[anchor] = values - before
            elif isinstance(event, yaml.ScalarEvent):
                values += 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1  # it may have named something larger before
            if aliases > limits.aliases:
                raise ProblemError(
                    422,
                    "too-many-aliases",
                    f"the YAML of {part.name} has more than {limits.aliases} aliases",
                    remedy="write the values out",
                )
            if values > limits.values:
                raise _too_many_values(part, limits)
    except (yaml.YAMLError, RecursionError, ValueError):
        return


def _too_many_values(part: Part, limits: Limits) -> ProblemError:
    return ProblemError(
        422,
        "too-many-values",
        f"{part.name} holds more than {limits.values:,} values, those that aliases repeat included",
        remedy="send less, or have the service started with a larger --max-queries",
    )
