"""XML elements as nodes, with their positions."""

from __future__ import annotations

import pytest

from trectools_plus.formats.nodes.model import Mapping, Scalar, TreeError
from trectools_plus.formats.nodes.xml import parse_elements


def _texts(element: Mapping) -> dict[str, str]:
    return {
        name: node.text for name, (_, node) in element.pairs.items() if isinstance(node, Scalar)
    }


def test_attributes_children_and_text_are_fields_with_their_places() -> None:
    data = b'<all>\n <Topic Number="1">own <title>a <b>b</b></title>\n<desc/></Topic></all>'
    (element,) = parse_elements(data, "topic")
    assert _texts(element) == {"@number": "1", "": "own \n", "title": "a b", "desc": ""}
    places = {name: (key.line, key.column) for name, (key, _) in element.pairs.items()}
    assert places == {"@number": (2, 2), "": (2, 2), "title": (2, 24), "desc": (3, 1)}


def test_texts_of_one_name_are_joined_and_a_root_is_not_needed() -> None:
    elements = parse_elements(b"<t><a>1</a><a>2</a></t>\n<t>x</t>", "t")
    assert [_texts(element) for element in elements] == [{"": "", "a": "12"}, {"": "x"}]
    assert [(element.line, element.column) for element in elements] == [(1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        (b"<t>\n<a>", "mismatched tag", 2),
        (b"<t>\n&x;</t>", "undefined entity", 2),
        (b'<!DOCTYPE t [\n<!ENTITY a "x">]><t/>', "declares an entity, 'a'", 2),
        (b'<!DOCTYPE t [\n<!ATTLIST t a CDATA "x">]><t/>', "gives <t> a default a", 2),
    ],
)
def test_refused(data: bytes, words: str, line: int) -> None:
    with pytest.raises(TreeError, match=words) as refused:
        parse_elements(data, "t")
    assert refused.value.line == line
    assert refused.value.remedy
