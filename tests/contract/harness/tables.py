"""Tables of cases that stand in a JSON file beside their tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def cases_of(test: str, table: str, **texts: str) -> Any:
    """Return a table of the file with the name of a test file and the suffix ``.json``.

    In a table, ``{"RUN": ["a", "b", "c", "d"]}`` is the text ``RUN`` with "b" instead of "a" and
    "d" instead of "c". The table ``texts`` of a file has such texts.

    Args:
        test: The path of the test file.
        table: The name of the table.
        texts: Further texts that its cases change.
    """

    def change(value: dict[str, Any]) -> Any:
        name = next(iter(value), "")
        if name not in texts or not isinstance(value[name], list):
            return value
        text = texts[name]
        for old, new in zip(value[name][::2], value[name][1::2], strict=True):
            text = text.replace(old, new)
        return text

    content = Path(test).with_suffix(".json").read_text("utf-8")
    texts = {**json.loads(content).get("texts", {}), **texts}
    return json.loads(content, object_hook=change)[table]
