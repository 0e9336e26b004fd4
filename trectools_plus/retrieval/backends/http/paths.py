"""Paths to values in JSON: names, numbers and lists, for example ``hits.hits[*]._id``."""

from __future__ import annotations

import re
from functools import cache

Step = str | int | None
"""The name of a member, the place of an item, or ``None`` for all items of a list."""
_STEP = re.compile(
    r"\.(?P<name>[^.\[\]()*?~'\"\s]+)|\[(?P<place>\d+)\]|(?P<all>\[\*\])"
    r"|\[(?P<quote>['\"])(?P<quoted>[^'\"]*)(?P=quote)\]"
)


@cache
def parse_path(path: str) -> tuple[Step, ...]:
    """Parse a path of ``.name`` or ``['name']``, ``[0]`` and ``[*]``; it may start with ``$``.

    Raises:
        ValueError: If it is not such a path.
    """
    rest = path.removeprefix("$")
    rest = rest if rest[:1] in ("", ".", "[") else f".{rest}"
    steps: list[Step] = []
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise ValueError(
                f"'{path}' is not a path: unexpected '{rest}' — use only names, numbers and lists, "
                "for example $.hits[*]['doc id'] or $.ids[0][*]"
            )
        name = step["name"] or step["quoted"]
        steps.append(int(step["place"]) if step["place"] else name)
        rest = rest[step.end() :]
    return tuple(steps)
