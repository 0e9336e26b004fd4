"""XML elements, with their positions."""

from __future__ import annotations

import pytest

from trectools_plus.formats.nodes.model import TreeError
from trectools_plus.formats.nodes.xml import parse_xml


def test_elements_have_attributes_children_texts_and_places() -> None:
    data = b'<all>\n <Topic Number="1">own <title>a <b>b</b></title>\n<desc/></Topic></all>'
    outer, topic, title, inner, desc = parse_xml(data)
    names = [element.name for element in (outer, topic, title, inner, desc)]
    assert names == ["all", "topic", "title", "b", "desc"]
    assert topic.attributes == {"number": "1"}
    assert topic.children == [title, desc]
    assert ("".join(topic.own_text), "".join(title.all_text)) == ("own \n", "a b")
    places = [(element.line, element.column) for element in (topic, title, desc)]
    assert places == [(2, 2), (2, 24), (3, 1)]
    assert topic.start < title.start < title.end < desc.start < topic.end < outer.end


def test_a_root_is_not_needed() -> None:
    elements = parse_xml(b"<t><a>1</a><a>2</a></t>\n<t>x</t>")
    assert [element.name for element in elements] == ["t", "a", "a", "t"]
    assert [(element.line, element.column) for element in elements if element.name == "t"] == [
        (1, 1),
        (2, 1),
    ]


def test_short_default_values_are_attributes() -> None:
    (element,) = parse_xml(b"<!DOCTYPE t [<!ATTLIST t type (a|b) 'a'>]><t/>")
    assert element.attributes == {"type": "a"}


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        (b"<t>\n<a>", "mismatched tag", 2),
        (b"<t>\n&x;</t>", "undefined entity", 2),
        (b"<t>\n" + b"<a>" * 100 + b"</a>" * 100 + b"</t>", "nested more than", 2),
        (b'<!DOCTYPE t [\n<!ENTITY a "x">]><t/>', "declares an entity, 'a'", 2),
        (
            b'<!DOCTYPE t [\n<!ATTLIST t a CDATA "' + b"x" * 300 + b'">]><t/>',
            "gives <t> ",
            2,
        ),
    ],
)
def test_refused(data: bytes, words: str, line: int) -> None:
    with pytest.raises(TreeError, match=words) as refused:
        parse_xml(data)
    assert refused.value.line == line
