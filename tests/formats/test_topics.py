"""Topics in the formats of tracks and tools, each in a small file made for these tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.files import write
from harness.tables import cases_of
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topic_formats import TOPIC_FORMATS, format_of
from trectools_plus.formats.topics import TopicOptions, read_topics, write_topics
from trectools_plus.validation import FindingsError, load_topics, validate_topics

PM = """<topics task="2020 TREC Precision Medicine">
  <topic number="1"><disease>melanoma</disease><gene>BRAF (V600E)</gene>
    <treatment>Dabrafenib</treatment></topic>
</topics>"""


CLEF = """<topics>
<topic lang="en"><identifier>451-AH</identifier><title>Roman military</title></topic>
<topic lang="de"><identifier>451-AH</identifier><title>R\u00f6misches</title></topic>
</topics>"""


EHEALTH_2018 = """<queries><query><id>151001</id><en>anemia diet</en><fr>an\u00e9mie</fr>
<cz>an\u00e9mie dieta</cz></query></queries>"""


FORMATS = cases_of(__file__, "formats", PM=PM)


EXAMPLES = sorted((Path(__file__).parents[2] / "fixtures" / "topics").iterdir())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_has_the_same_topics(path: Path) -> None:
    assert load_topics(path).to_dict() == {"1": "first query", "2": "second query"}


def test_every_format_has_an_example() -> None:
    formats = [format_of(path.name, path.read_text("utf-8")) for path in EXAMPLES]
    assert {*TOPIC_FORMATS} == {*formats}


NOTES = {
    "pm.xml": "1 topic: id from number, text from disease, gene, treatment",
    "clef.txt": "1 topic: id from num, text from en-title",
    "codec.json": "1 topic: id from its place, text from Query",
    "qa.jsonl": "1 topic: id from topic_id, text from question",
    "smart.txt": "1 topic: id from docno, text from the element",
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_read_and_validated_alike(name: str, tmp_path: Path) -> None:
    content, texts = FORMATS[name]
    path = write(tmp_path / name, content)
    topics = read_topics(path)
    assert topics.to_dict() == load_topics(path).to_dict() == texts
    report = validate_topics(path)
    assert (report.kind, report.queries) == ("topics", len(texts))
    assert [finding for finding in report.findings if finding.blocks_scoring] == []
    assert report.read_as == topics.read_as
    assert name not in NOTES or topics.read_as == f"read as {NOTES[name]}"


OPTIONS = [
    ("pm.xml", TopicOptions(text_fields=("gene", "disease")), {"1": "BRAF (V600E) melanoma"}),
    ("cds.xml", TopicOptions(text_fields=("summary",)), {"1": "A woman."}),
    (
        "codec.json",
        TopicOptions(text_fields=("query", "guidelines")),
        {"economics-1": "How? Long."},
    ),
    ("several.xml", TopicOptions(text_fields=("title.de",)), {"1": "Briefbombe"}),
    ("clef.txt", TopicOptions(text_fields=("de-title",)), {"C141": "Briefbombe"}),
    ("beir.jsonl", TopicOptions(id_field="text", text_fields=("_id",)), {"a": "1"}),
    ("wide.tsv", TopicOptions(text_fields=("year",)), {"1": "2020"}),
]


@pytest.mark.parametrize(("name", "options", "texts"), OPTIONS)
def test_the_user_names_fields(
    name: str, options: TopicOptions, texts: dict[str, str], tmp_path: Path
) -> None:
    path = write(tmp_path / name, FORMATS[name][0])
    loaded = load_topics(path, id_field=options.id_field, text_fields=options.text_fields)
    assert read_topics(path, options).to_dict() == loaded.to_dict() == texts


TWICE = '{"data": [{"id": "1", "query": "a", "x": 1}, {"id": "1", "query": "b"}]}'


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.txt", "<top>\n<num> 1\n<docid> x</docid>\n</top>", "fields: num, docid"),
        ("a.jsonl", '{"qid": "1", "x": "a"}\n', r"fields: qid, x.*--text-fields NAME"),
        ("a.jsonl", '{"x": "1", "query": "a"}\n', r"fields: x, query.*--id-field"),
        ("a.json", '{"a": 1}', "with an id"),
        ("a.xml", "<a><b/></a>", "elements a, b"),
        ("a.xml", CLEF, "T112"),  # a topic in each language
        ("a.xml", EHEALTH_2018, "fields: id, en, fr, cz"),
        ("a.json", TWICE, "T112"),
        ("a.txt", "301 one query\n302 other query\n", "T101"),
        ("a.txt", "1,first query\n2,the second\n", "T101"),
        ("a.txt", "Q1|first query\nQ2|the second\n", "T101"),
        ("a.txt", "q1,d1,1,0.5\nq2,d1,1,0.5\n", "T101"),  # a run
    ],
)
def test_what_is_not_understood_is_one_line_with_the_fields(
    name: str, content: str, what: str, tmp_path: Path
) -> None:
    path = write(tmp_path / name, content)
    with pytest.raises(FormatError, match=what) as caught:
        read_topics(path)
    assert "\n" not in str(caught.value)
    assert [one.code for one in validate_topics(path).findings if one.blocks_scoring]


def test_a_field_that_no_topic_has_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xml", PM)
    with pytest.raises(FormatError, match=r"drug \(fields: number, disease"):
        read_topics(path, TopicOptions(text_fields=("gene", "drug")))


def test_a_topic_ends_at_the_first_end_tag(tmp_path: Path) -> None:
    path = write(
        tmp_path / "topics.xml",
        "<topics>\n<topic number='1'><title>a</title>\n<topics><topic number='2'>"
        "<title>b</title></topic></topics>\n<topics><topic number='3'><title>c</title></topic>"
        "</topics>\n</topic></topics>\n",
    )
    assert read_topics(path).to_dict() == {"1": "a", "3": "c"}
    (finding,) = validate_topics(path).findings
    assert (finding.code, finding.severity.value, finding.line) == ("T104", "warning", 3)


CONVERSATIONS = ("cast_2019_train.json", "ikat_2023_train.json", "hc4_dev.jsonl")
"""Files with several texts for a topic, which are refused."""


def test_every_real_file_gives_what_its_manifest_says(shared_data: Path) -> None:
    folder = shared_data / "real_topics"
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["file"] in CONVERSATIONS:
            with pytest.raises(FindingsError, match=r"T10[45]"):
                load_topics(folder / entry["file"])
            continue
        frame = load_topics(folder / entry["file"]).frame
        found = {
            "topics": frame.height,
            "distinct_ids": frame["query_id"].n_unique(),
            "first_id": frame["query_id"][0],
            "first_text": frame["text"][0],
            "last_id": frame["query_id"][-1],
        }
        assert {name: entry[name] for name in found} == found, entry["file"]


def test_tsv(tmp_path: Path) -> None:
    data = "\ufeff1\tfirst query\r\n\n007\ttabs\tin \u2028text\n1\tfirst query \n"
    topics = read_topics(write(tmp_path / "topics", data))
    assert topics.frame.rows() == [("1", "first query"), ("007", "tabs in \u2028text")]


@pytest.mark.parametrize("id_key", ["_id", "query_id", "qid", "id"])
@pytest.mark.parametrize("text_key", ["text", "query", "title"])
def test_fields_of_json_lines(tmp_path: Path, id_key: str, text_key: str) -> None:
    data = (
        f'{{"{id_key}": "1", "{text_key}": "a\\nb", "hard": true, "hops": 2.0, "x": {{}}}}\n\n'
        f'{{"{id_key}": 2, "{text_key}": "é", "language": "fr", "hops": null}}\n'
    )
    frame = read_topics(write(tmp_path / "topics", data)).frame
    assert frame.columns == ["query_id", "text", "hard", "hops", "language"]
    assert frame.rows() == [("1", "a\nb", "true", "2.0", None), ("2", "é", None, None, "fr")]


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
    topics = read_topics(write(tmp_path / "topics", SGML))
    assert topics.to_dict() == {
        "301": "International Organized Crime",
        "302": "Polio",
        "303": "Hubble",
    }
    assert topics.frame["description"].to_list() == [
        "Identify organizations that participate in < 3 crimes.",
        "Is it gone?",
        None,
    ]
    assert topics.frame["narrative"][0] == "A relevant document must &c."


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
    topics = read_topics(write(tmp_path / "topics", XML))
    assert topics.to_dict() == {"1": "coronavirus & origin", "2": "q2", "3": "its own text"}
    assert topics.frame["question"].to_list() == ["what is the origin", None, None]
    assert topics.frame["title"].to_list() == [None, "two", None]


DEEP = '{"qid":' + "[" * 200_000


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        *cases_of(__file__, "more", DEEP=DEEP),
        ('{"qid":' + "9" * 5000 + ',"query":"a"}\n', 1, "a value that cannot be converted (T114)"),
    ],
)
def test_loaders_refuse_what_the_validator_calls_an_error(
    tmp_path: Path, data: str, line: int | None, what: str
) -> None:
    path = write(tmp_path / "topics", data)
    with pytest.raises(FormatError) as caught:
        read_topics(path)
    assert what in caught.value.what
    assert caught.value.line == line
    code = caught.value.what.rpartition("(")[2].removesuffix(")")
    errors = validate_topics(path).errors
    assert (code, line) in [(one.code, one.line) for one in errors] or len(code) != 4
    assert errors


def test_warnings_do_not_stop_loaders(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", '{"id":1,"text":"a"}\n{"id":2,"text":5,"n":-0}\n')
    assert [finding.code for finding in validate_topics(path).findings] == ["T114", "T115"]
    assert read_topics(path).frame.rows() == [("1", "a", None), ("2", "5", "-0")]


def test_entities_cannot_multiply(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(30))
    data = f'<!DOCTYPE t [<!ENTITY e0 "x">{levels}]><t><topic id="1">&e30;</topic></t>'
    with pytest.raises(FormatError, match="undefined entity"):
        read_topics(write(tmp_path / "topics", data))


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
