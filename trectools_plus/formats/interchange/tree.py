"""A table with a header as a tree, as if it were a JSON list of objects.

Topics and test sets are read from trees, so that all their formats have the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from trectools_plus.formats.interchange.delimited import Header, find_header, read_table
from trectools_plus.formats.interchange.names import TOPIC_FIELDS, find_fields
from trectools_plus.formats.nodes.model import Items, Mapping, Node, Scalar, Tree, TreeError


def find_topics_header(text: str) -> Header | None:
    """Return the header of a table of topics or of a test set; ``None`` for another file.

    Args:
        text: The file or its beginning, without byte order mark.
    """
    return find_header(text, _is_topics_header)


def _is_topics_header(names: Sequence[str]) -> bool:
    return {"query_id", "text"} <= find_fields(names, TOPIC_FIELDS).keys()


def parse_table(text: str, header: Header) -> Tree:
    """Parse a table to a list of mappings from the names of the columns to texts.

    Empty values and columns without a name are left out. If a name occurs twice, the first column
    counts.

    Args:
        text: The file, without byte order mark.
        header: Its header.

    Raises:
        TreeError: At a row with more values than names, or with quotes that do not match.
    """
    table = read_table(text, header)
    if table.misshapen.height:
        line, n_values, _ = table.misshapen.row(0)
        if n_values == 1:
            raise TreeError("the quotes of a value do not match", line)
        remedy = 'quote values that contain the separator: "a,b"'
        what = f"{n_values} values, but the header names {len(header.names)}"
        raise TreeError(what, line, remedy=remedy)
    names = [(place, name) for place, name in enumerate(header.names, 1) if name]
    root = Items(header.line + 1, 1)
    n_values = 0
    for line, *values in table.rows.iter_rows():
        pairs: dict[str, tuple[Scalar, Node]] = {}
        for place, name in names:
            if values[place - 1] and name not in pairs:
                key = Scalar(header.line, 1, name)
                pairs[name] = key, Scalar(line, 1, values[place - 1])
        root.items.append(Mapping(line, 1, pairs))
        n_values += 2 * len(pairs) + 1
    return Tree(root, n_values=n_values + 1)
