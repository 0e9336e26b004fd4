"""Topics in four formats, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topics import read_topics, write_topics


def write(folder: Path, data: str) -> Path:
    path = folder / "topics"
    path.write_bytes(data.encode())
    return path


def test_tsv(tmp_path: Path) -> None:
    data = "\ufeff1\tfirst query\r\n\n007\ttabs\tin \u2028text\n1\tfirst query \n"
    topics = read_topics(write(tmp_path, data))
    assert topics.frame.rows() == [("1", "first query"), ("007", "tabs in \u2028text")]


@pytest.mark.parametrize("id_key", ["_id", "query_id", "qid", "id"])
@pytest.mark.parametrize("text_key", ["text", "query", "title"])
def test_jsonl(tmp_path: Path, id_key: str, text_key: str) -> None:
    data = (
        f'{{"{id_key}": "1", "{text_key}": "a\\nb", "category": "x", "metadata": {{}}}}\n\n'
        f'{{"{id_key}": 2, "{text_key}": "é", "language": "fr"}}\n'
    )
    topics = read_topics(write(tmp_path, data))
    assert topics.frame.columns == ["query_id", "text", "category", "language"]
    assert topics.frame.rows() == [("1", "a\nb", "x", None), ("2", "é", None, "fr")]


SGML = """
<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that
participate in < 3 crimes.

<narr> Narrative:
A relevant document must &c.

</top>
<TOP>
<NUM> 302 </NUM>
<TITLE> Topic:  Polio </TITLE>
<DESC>Is it <b>gone</b>?</DESC>
</TOP>
<top><num>303<title>Hubble
"""


def test_trec_sgml(tmp_path: Path) -> None:
    topics = read_topics(write(tmp_path, SGML))
    assert topics.to_dict() == {
        "301": "International Organized Crime",
        "302": "Polio",
        "303": "Hubble",
    }
    assert topics.frame["description"].to_list() == [
        "Identify organizations that participate in < 3 crimes.",
        "Is it <b>gone</b>?",
        None,
    ]
    assert topics.frame["narrative"][0] == "A relevant document must &c."


def test_jsonl_numbers_and_flags_are_fields_too(tmp_path: Path) -> None:
    first = '{"qid": 1, "query": "a", "hard": true, "hops": 2, "weight": 0.5, "tags": ["x"]}'
    second = '{"qid": 2, "query": "b", "hard": false, "hops": 2.0, "weight": null, "sub": {"a": 1}}'
    frame = read_topics(write(tmp_path, f"{first}\n{second}\n")).frame
    assert set(frame.columns) == {"query_id", "text", "hard", "hops", "weight"}
    assert frame["hard"].to_list() == ["true", "false"]
    assert frame["hops"].to_list() == ["2", "2.0"]
    assert frame["weight"].to_list() == ["0.5", None]


XML = """<?xml version="1.0" encoding="UTF-8"?>
<topics task="COVIDSearch">
  <topic number="1">
    <query>coronavirus &amp; origin</query>
    <question>what is the
      origin</question>
  </topic>
  <topic number="2" type="x"><title>two</title><query><b>q</b>2</query></topic>
  <topic number="3">its own   text</topic>
</topics>
"""


def test_trec_xml(tmp_path: Path) -> None:
    topics = read_topics(write(tmp_path, XML))
    assert topics.to_dict() == {"1": "coronavirus & origin", "2": "q2", "3": "its own text"}
    assert topics.frame["question"].to_list() == ["what is the origin", None, None]
    assert topics.frame["title"].to_list() == [None, "two", None]


def test_trec_xml_without_a_root(tmp_path: Path) -> None:
    data = '<topic number="1"><query>a</query></topic>\n<topic number="2">b</topic>\n'
    assert read_topics(write(tmp_path, data)).to_dict() == {"1": "a", "2": "b"}


@pytest.mark.parametrize(
    ("data", "line", "column", "what"),
    [
        ("", None, None, "no topics"),
        ("\n\n", None, None, "no topics"),
        ("1\ta\n2 b\n", 2, None, "no tab between id and text"),
        ("1\ta\n2\t \n", 2, None, "topic 2 has no text (T121)"),
        ('{"qid":"1","query":""}\n', 1, None, "topic 1 has no text (T121)"),
        ("1\ta\n2\té\rb\n", 2, 4, "CR without LF (F105)"),
        ("1\ta\r2\tb\r", 1, 4, "CR without LF (F105)"),
        ("1\ta\n\n1\tb\n", 3, None, "topic 1 has another text on line 1 (T112)"),
        ("1\ta\nq 2\tb\n", 2, None, "white space or control character in query id 'q 2'"),
        ("\ta\n", 1, 1, "no id before 'a' (T105)"),
        ("#1\ta\n", 1, None, "would start a comment"),
        ("1\ta\n2\tb\0\n", 2, 4, "NUL byte"),
        ('{"qid":"1","query":"a"}\n{"qid":"2","query":"b"\n', 2, None, "invalid JSON"),
        ('{"qid":"1","query":"a"}\n{"id":"2","query":"b"}\n', 2, None, "the id is missing"),
        ('{"x":"1","query":"a"}\n', 1, None, "but got a mapping with the keys x, query (T105)"),
        (
            '{"query":"a","x":1}\n{"query":"b"}\n',
            1,
            None,
            "the id is missing in this topic (fields: query, x) (T105)",
        ),
        (
            '{"qid":"1","x":"a"}\n',
            1,
            None,
            "the text is missing in this topic (fields: qid, x)",
        ),
        ('{"qid":"1","query":null}\n', 1, None, "text is null (T105)"),
        ('{"qid":1.5,"query":"a"}\n', 1, None, "id 1.5 is read as the number 1.5 (T114)"),
        ('{"qid":true,"query":"a"}\n', 1, None, "id true is read as the boolean true (T114)"),
        (
            '{"qid":"1","qid":"2","query":"a"}\n',
            1,
            None,
            "key qid is repeated",
        ),
        ('{"qid":"1","query":"a","x":NaN}\n', 1, None, "NaN is not valid JSON (T104)"),
        ('{"qid":"1","query":"\\ud800"}\n', 1, None, "an unpaired surrogate"),
        ('{"qid":"1","query":"a"}\n[1]\n', 2, None, "expected a JSON object but got a list (T104)"),
        (
            '{"qid":' + "9" * 5000 + ',"query":"a"}\n',
            1,
            None,
            "is read as a value that cannot be converted (T114)",
        ),
        ('{"qid":' + "[" * 200_000, 1, None, "nested more than 64 deep"),
        ("<top>\n<title> a\n</top>\n", 1, None, "the id is missing"),
        ("<top>\n<num> 1\n</top>\n", 1, None, "the text is missing"),
        ("\n<top>\n<num> 1 <title> a\n<num> 2 <title> b\n", 2, None, "<num> occurs twice"),
        ("<html></html>", 1, None, "expected <top> or <topic> elements"),
        ("<topics>\n<topic number='1'>a<b></topic>\n</topics>", 2, None, "mismatched tag"),
        ("<topics>\n<topic>a</topic></topics>", 2, None, "the id is missing"),
        ("<t>\n<topic number='1'></topic></t>", 2, None, "the text is missing"),
        ("<!DOCTYPE t [<!ENTITY a 'b'>]><t><topic id='1'>&a;</topic></t>", 1, None, "entity &a;"),
        ("<!DOCTYPE t>\n<t><topic>&b;</topic></t>", 2, None, "undefined entity"),
        ("<top>\n<num> 1\n\n<title> \n<desc> a\n</top>\n", 4, None, "no text (T121)"),
        ("<t>\n<topic id='1'>\n<title/>\n</topic></t>", 3, None, "no text (T121)"),
        ("1\ta\n 2\tb\n", 2, None, "query id ' 2' (T113)"),
        (" \ta\n", 1, None, "(T105)"),
    ],
)
def test_errors_have_a_line_and_column(
    tmp_path: Path, data: str, line: int | None, column: int | None, what: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read_topics(write(tmp_path, data))
    assert what in caught.value.what
    assert caught.value.line == line
    assert column is None or caught.value.column == column


@pytest.mark.parametrize(
    "start",
    [
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topics SYSTEM "topics.dtd">\n',
        '<!-- a -->\n<?b c?>\n<!DOCTYPE topics PUBLIC "-//A" "topics.dtd">\n',
        "<!DOCTYPE topics [<!ELEMENT topics ANY><!ATTLIST topic number CDATA #REQUIRED>]>",
    ],
)
def test_a_document_type_is_ignored(tmp_path: Path, start: str) -> None:
    data = f'{start}<topics><topic number="1"><query>a &amp; b</query></topic></topics>\n'
    assert read_topics(write(tmp_path, data)).to_dict() == {"1": "a & b"}


def test_entities_cannot_multiply(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(30))
    data = f'<!DOCTYPE t [<!ENTITY e0 "x">{levels}]><t><topic id="1">&e30;</topic></t>'
    with pytest.raises(FormatError, match="undefined entity"):
        read_topics(write(tmp_path, data))


def test_bad_utf8_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "topics"
    for data in (b"1\ta\n2\tcaf\xe9\n", b"<top>\n2 caf\xe9"):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"0xE9.*UTF-8") as caught:
            read_topics(path)
        assert (caught.value.line, caught.value.column) == (2, 6)


def test_writes_one_line_per_topic(tmp_path: Path) -> None:
    topics = Topics.from_dict({"1": " a\n\tb\u2028c\r\n", "2": "d"})
    write_topics(topics, tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_bytes() == b"1\ta b c\n2\td\n"
    for bad in ({"a b": "x"}, {"a\tb": "x"}, {"": "x"}, {"a": " "}, {}):
        with pytest.raises(InputError):
            write_topics(Topics.from_dict(bad), tmp_path / "u.tsv")
    assert not (tmp_path / "u.tsv").exists()


ID = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=5).filter(
    lambda text: not text.startswith(("#", "{", "<"))
)


TEXT = st.text(st.characters(exclude_categories=("Cs",))).map(lambda text: f"{text}.")


@given(texts=st.dictionaries(ID, TEXT))
def test_topics_read_back_except_for_white_space(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("topics") / "t.tsv.gz"
    texts = {"first": "query", **texts}
    write_topics(Topics.from_dict(texts), path)
    back = read_topics(path).to_dict()
    assert list(back) == list(texts)
    kept = [text.split() for text in back.values()]
    assert [" ".join(words) for words in kept] == list(back.values())
