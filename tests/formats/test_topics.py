"""Topics in the formats of tracks and tools, each in a small file made for these tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError
from trectools_plus.formats.tables import Topics
from trectools_plus.formats.topics import TopicOptions, read_topics, write_topics
from trectools_plus.validation import FindingsError, load_topics, validate_topics


def write(folder: Path, name: str, data: str) -> Path:
    path = folder / name
    path.write_bytes(data.encode())
    return path


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


def _lines(*records: object) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


FORMATS = {
    "languages.jsonl": (
        _lines({"id": "7", "query": "a", "title": {"en": "Asteroids", "zh": "小行星"}}),
        {"7": "a"},
    ),
    "microblog.json": (
        json.dumps(
            {"queries": [{"title": "MB01", "text": "BBC", "epoch": "1.2", "model": [{"a": 1}]}]}
        ),
        {"MB01": "BBC"},
    ),
    "codec.json": (
        json.dumps({"economics-1": {"Domain": "finance", "Query": "How?", "Guidelines": "Long."}}),
        {"economics-1": "How?"},
    ),
    "map.json": ('{"a-1": "one two", "b": "three"}', {"a-1": "one two", "b": "three"}),
    "list.json": (
        '{"data": [{"question_id": "CQ1", "question": "why", "x": [1]}]}',
        {"CQ1": "why"},
    ),
    "tot.jsonl": (_lines({"query_id": "1", "query": "a film"}), {"1": "a film"}),
    "rag.jsonl": (
        _lines({"id": "1", "title": "a"}, {"id": "2", "title": "b"}),
        {"1": "a", "2": "b"},
    ),
    "qa.jsonl": (_lines({"topic_id": "1", "question": "why"}), {"1": "why"}),
    "beir.jsonl": (_lines({"_id": "1", "text": "a", "metadata": {}}), {"1": "a"}),
    "pm.xml": (PM, {"1": "melanoma BRAF (V600E) Dabrafenib"}),
    "cds.xml": (
        """<topics><topic number="1" type="diagnosis">
  <description>A 58-year-old woman.</description><summary>A woman.</summary></topic></topics>""",
        {"1": "A 58-year-old woman. A woman."},
    ),
    "web.xml": (
        """<?xml version="1.0"?>
<!DOCTYPE webtrack2012 [<!ATTLIST topic type (ambiguous | faceted) "faceted">]>
<webtrack2012><topic number="151"><query>403b</query><description>What is a 403b?</description>
<subtopic number="1" type="inf">Find plans.</subtopic></topic></webtrack2012>""",
        {"151": "403b"},
    ),
    "covid.xml": (
        """<topics task="COVIDSearch 2020"><topic number="1"><query>coronavirus origin</query>
<question>what is the origin</question><narrative>seeking</narrative></topic></topics>""",
        {"1": "coronavirus origin"},
    ),
    "clef.txt": (
        """<top>
<num> C141 </num>
<EN-title> Letter Bomb </EN-title>
<DE-title> Briefbombe </DE-title>
<EN-desc> Find documents. </EN-desc>
</top>""",
        {"C141": "Letter Bomb"},
    ),
    "several.xml": (
        """<topics><topic number="1"><title lang="en">Letter Bomb</title>
<title lang="de">Briefbombe</title></topic></topics>""",
        {"1": "Letter Bomb"},
    ),
    "ntcir.xml": (
        "<queries>\n<query><qid>0001</qid><content>ascii code</content></query>\n</queries>",
        {"0001": "ascii code"},
    ),
    "ntcir.txt": (
        """<TOPIC><NUM>003</NUM><SLANG>CH</SLANG><TITLE>Embryonic cells</TITLE>
<DESC>Find.</DESC></TOPIC>""",
        {"003": "Embryonic cells"},
    ),
    "ehealth.xml": (
        "<queries>\n<query>\n<id>101001</id>\n<title>hernia & mesh</title>\n</query>\n</queries>",
        {"101001": "hernia & mesh"},
    ),
    "touche.xml": (
        """<topics><topic><number>1</number><title>Should teachers get tenure?</title>
<description>A user</description><narrative>Highly</narrative></topic></topics>""",
        {"1": "Should teachers get tenure?"},
    ),
    "trials.xml": (
        """<topics task="2023 TREC Clinical Trials"><topic number="1" template="glaucoma">
<field name="diagnosis">glaucoma</field><field name="age">50</field></topic></topics>""",
        {"1": "glaucoma 50"},
    ),
    "legal.xml": (
        """<ComplaintTopics><ProductionRequest><RequestNumber>5</RequestNumber>
<RequestText>All documents</RequestText></ProductionRequest></ComplaintTopics>""",
        {"5": "All documents"},
    ),
    "genomics.xml": (
        "<TOPICS><TOPIC><ID>1</ID><TITLE>Ferroportin-1</TITLE><NEED>Find</NEED></TOPIC></TOPICS>",
        {"1": "Ferroportin-1"},
    ),
    "tomt.xml": (
        """<topics><topic number="1"><title>claymation</title><description>A dog.</description>
<redditID>x</redditID></topic></topics>""",
        {"1": "claymation A dog."},
    ),
    "indri.query": (
        "<parameters><query><number>31_1</number><text>#combine(a b)</text></query></parameters>",
        {"31_1": "#combine(a b)"},
    ),
    "smart.txt": ("<DOC>\n<DOCNO>1</DOCNO>\nTime Sharing\n</DOC>\n", {"1": "Time Sharing"}),
    "microblog.txt": (
        """<top>
<num> Number: MB051 </num>
<query> British cuts </query>
<querytweettime> 351 </querytweettime>
</top>""",
        {"MB051": "British cuts"},
    ),
    "records.txt": (
        "<top>\n<num> Number: 136\n<desc> Patients with diabetes\n</top>",
        {"136": "Patients with diabetes"},
    ),
    "cedr.tsv": (
        "query\t301\tCrime\nquery\t302\tPolio\n",
        {"301": "Crime", "302": "Polio"},
    ),
    "colon.txt": (
        "1:Abandoned Property\n3: Abortion\n",
        {"1": "Abandoned Property", "3": "Abortion"},
    ),
    "cran.qry": (
        ".I 001\n.W\nwhat similarity laws\nmust be obeyed .\n.I 002\r\n.A\nRoe\n.W\nflow\n",
        {"001": "what similarity laws must be obeyed .", "002": "flow"},
    ),
    "header.tsv": ("qid\tquery\n1\ta b\n", {"1": "a b"}),
    "wide.tsv": ("qid\tquery\tyear\n1\ta b\t2020\n", {"1": "a b"}),
    "table.csv": (
        'query_id,text\nq-1,"actin, filament"\n',
        {"q-1": "actin, filament"},
    ),
    "set.yaml": ("- query_id: q1\n  question: why\n  asked_by: me\n", {"q1": "why"}),
}


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
    path = write(tmp_path, name, content)
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
    path = write(tmp_path, name, FORMATS[name][0])
    loaded = load_topics(path, id_field=options.id_field, text_fields=options.text_fields)
    assert read_topics(path, options).to_dict() == loaded.to_dict() == texts


TWICE = '{"data": [{"id": "1", "query": "a", "x": 1}, {"id": "1", "query": "b"}]}'


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.txt", "<top>\n<num> 1\n<docid> x</docid>\n</top>", "fields: num, docid"),
        ("a.jsonl", _lines({"qid": "1", "x": "a"}), r"fields: qid, x.*--text-fields NAME"),
        ("a.jsonl", _lines({"x": "1", "query": "a"}), r"fields: x, query.*--id-field"),
        ("a.json", '{"a": 1}', "with an id"),
        ("a.xml", "<a><b/></a>", "elements: a, b"),
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
    path = write(tmp_path, name, content)
    with pytest.raises(FormatError, match=what) as caught:
        read_topics(path)
    assert "\n" not in str(caught.value)
    assert [one.code for one in validate_topics(path).findings if one.blocks_scoring]


def test_a_field_that_no_topic_has_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "a.xml", PM)
    with pytest.raises(FormatError, match=r"drug \(fields: number, disease"):
        read_topics(path, TopicOptions(text_fields=("gene", "drug")))


def test_a_topic_ends_at_the_first_end_tag(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "topics.xml",
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
    topics = read_topics(write(tmp_path, "topics", data))
    assert topics.frame.rows() == [("1", "first query"), ("007", "tabs in \u2028text")]


@pytest.mark.parametrize("id_key", ["_id", "query_id", "qid", "id"])
@pytest.mark.parametrize("text_key", ["text", "query", "title"])
def test_fields_of_json_lines(tmp_path: Path, id_key: str, text_key: str) -> None:
    data = (
        f'{{"{id_key}": "1", "{text_key}": "a\\nb", "hard": true, "hops": 2.0, "x": {{}}}}\n\n'
        f'{{"{id_key}": 2, "{text_key}": "é", "language": "fr", "hops": null}}\n'
    )
    frame = read_topics(write(tmp_path, "topics", data)).frame
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
    topics = read_topics(write(tmp_path, "topics", SGML))
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
    topics = read_topics(write(tmp_path, "topics", XML))
    assert topics.to_dict() == {"1": "coronavirus & origin", "2": "q2", "3": "its own text"}
    assert topics.frame["question"].to_list() == ["what is the origin", None, None]
    assert topics.frame["title"].to_list() == [None, "two", None]


def test_trec_xml_without_a_root(tmp_path: Path) -> None:
    data = '<topic number="1"><query>a</query></topic>\n<topic number="2">b</topic>\n'
    assert read_topics(write(tmp_path, "topics", data)).to_dict() == {"1": "a", "2": "b"}


DEEP = '{"qid":' + "[" * 200_000


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        ("", None, "no topics"),
        ("\n\n", None, "no topics"),
        ("1\ta\n2 b\n", 2, "expected id TAB text but got '2 b' (T101)"),
        ("1\ta\n2\t \n", 2, "topic 2 has no text (T121)"),
        ('{"qid":"1","query":""}\n', 1, "topic 1 has no text (T121)"),
        ("1\ta\n2\té\rb\n", 2, "CR without LF (F105)"),
        ("1\ta\r2\tb\r", 1, "CR without LF (F105)"),
        ("1\ta\n\n1\tb\n", 3, "topic 1 has another text on line 1 (T112)"),
        ("1\ta\nq 2\tb\n", 2, "white space or control character in query id 'q 2' (T113)"),
        ("\ta\n", 1, "no id before 'a' (T105)"),
        ("#1\ta\n", 1, "query id '#1' would start a comment in a run or qrels file (T113)"),
        ("1\ta\n2\tb\0\n", 2, "NUL byte"),
        ('{"qid":"1","query":"a"}\n{"qid":"2","query":"b"\n', 2, "(T104)"),
        ('{"qid":"1","query":"a"}\n{"id":"2","query":"b"}\n', 2, "(fields: id, query) (T105)"),
        ('{"x":"1","query":"a"}\n', 1, "the id is missing in this topic (fields: x, query) (T105)"),
        ('{"qid":"1","x":"a"}\n', 1, "the text is missing in this topic (fields: qid, x) (T105)"),
        ('{"qid":"1","query":null}\n', 1, "text is null (T105)"),
        ('{"qid":1.5,"query":"a"}\n', 1, "id 1.5 is read as the number 1.5 (T114)"),
        ('{"qid":true,"query":"a"}\n', 1, "id true is read as the boolean true (T114)"),
        ('{"id":"1","text":true}\n', 1, "text true is read as the boolean true (T115)"),
        ('{"qid":"1","qid":"2","query":"a"}\n', 1, "(T116)"),
        ('{"qid":"1","query":"a","x":NaN}\n', 1, "NaN is not valid JSON (T104)"),
        ('{"qid":"1","query":"\\ud800"}\n', 1, "an unpaired surrogate is not a character (T104)"),
        (
            '{"id":"1","query":"a"}\n{"id":"2","query":"b"}\n[1]\n',
            3,
            "a JSON object but got a list",
        ),
        ('{"qid":' + "9" * 5000 + ',"query":"a"}\n', 1, "a value that cannot be converted (T114)"),
        (DEEP, 1, "nested more than 64 deep (T104)"),
        ("<top>\n<title> a\n</top>\n", 1, "the id is missing in this topic (fields: title) (T105)"),
        ("<top>\n<num> 1\n</top>\n", 1, "the text is missing in this topic (fields: num) (T105)"),
        ("\n<top>\n<num> 1 <title> a\n<num> 2 <title> b\n", 2, "query id '1 2' (T113)"),
        ("<html></html>", 1, "expected <top> or <topic> elements"),
        (
            "<topics>\n<topic number='1'>a<b></topic>\n</topics>",
            2,
            "mismatched tag </topic> (T104)",
        ),
        ("<topics>\n<topic>a</topic></topics>", 2, "the id is missing"),
        ("<t>\n<topic number='1'></topic></t>", 2, "the text is missing"),
        ("<!DOCTYPE t [<!ENTITY a 'b'>]><t><topic id='1'>&a;</topic></t>", 1, "entity &a; (T104)"),
        ("<top>\n<num> 1\n\n<title> \n<desc> a\n</top>\n", 4, "no text (T121)"),
        ("<t>\n<topic id='1'>\n<title/>\n</topic></t>", 3, "no text (T121)"),
        ("1\ta\n 2\tb\n", 2, "query id ' 2' (T113)"),
        ("query_id,text\n1,a,b\n", 2, "more values than names in the header"),
        ('query_id,text\n1,"a"b\n', 2, "quotes that do not match (T104)"),
    ],
)
def test_loaders_refuse_what_the_validator_calls_an_error(
    tmp_path: Path, data: str, line: int | None, what: str
) -> None:
    path = write(tmp_path, "topics", data)
    with pytest.raises(FormatError) as caught:
        read_topics(path)
    assert what in caught.value.what
    assert caught.value.line == line
    code = caught.value.what.rpartition("(")[2].removesuffix(")")
    errors = validate_topics(path).errors
    assert (code, line) in [(one.code, one.line) for one in errors] or len(code) != 4
    assert errors


def test_warnings_do_not_stop_loaders(tmp_path: Path) -> None:
    path = write(tmp_path, "t.jsonl", '{"id":1,"text":"a"}\n{"id":2,"text":5,"n":-0}\n')
    assert [finding.code for finding in validate_topics(path).findings] == ["T114", "T115"]
    assert read_topics(path).frame.rows() == [("1", "a", None), ("2", "5", "-0")]


@pytest.mark.parametrize(
    "start",
    [
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topics SYSTEM "topics.dtd">\n',
        '<!-- a -->\n<?b c?>\n<!DOCTYPE topics PUBLIC "-//A" "topics.dtd">\n',
        "<!DOCTYPE topics [<!ELEMENT topics ANY><!ATTLIST topic number CDATA #REQUIRED>]>",
    ],
)
def test_a_document_type_is_ignored(tmp_path: Path, start: str) -> None:
    data = f'{start}<topics><topic number="1"><query><![CDATA[a & b]]></query></topic></topics>\n'
    assert read_topics(write(tmp_path, "topics", data)).to_dict() == {"1": "a & b"}


def test_entities_cannot_multiply(tmp_path: Path) -> None:
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(30))
    data = f'<!DOCTYPE t [<!ENTITY e0 "x">{levels}]><t><topic id="1">&e30;</topic></t>'
    with pytest.raises(FormatError, match="undefined entity"):
        read_topics(write(tmp_path, "topics", data))


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
