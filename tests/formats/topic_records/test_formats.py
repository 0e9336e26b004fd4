"""Topics in the formats of tracks and tools, each in a small file made for these tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trectools_plus.errors import FormatError
from trectools_plus.formats.topic_records.model import TopicOptions
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation import FindingsError, load_topics, validate_topics

MICROBLOG = {"queries": [{"title": "MB01", "text": "BBC", "epoch": "1.2", "model": [{"a": 1}]}]}
CODEC = {"economics-1": {"Domain": "finance", "Query": "How?", "Guidelines": "Long."}}

PM = """<topics task="2020 TREC Precision Medicine">
  <topic number="1"><disease>melanoma</disease><gene>BRAF (V600E)</gene>
    <treatment>Dabrafenib</treatment></topic>
</topics>"""
CDS = """<topics><topic number="1" type="diagnosis">
  <description>A 58-year-old woman.</description><summary>A woman.</summary></topic></topics>"""
WEB = """<?xml version="1.0"?>
<!DOCTYPE webtrack2012 [<!ATTLIST topic type (ambiguous | faceted) "faceted">]>
<webtrack2012><topic number="151"><query>403b</query><description>What is a 403b?</description>
<subtopic number="1" type="inf">Find plans.</subtopic></topic></webtrack2012>"""
COVID = """<topics task="COVIDSearch 2020"><topic number="1"><query>coronavirus origin</query>
<question>what is the origin</question><narrative>seeking</narrative></topic></topics>"""
CLEF = """<topics>
<topic lang="en"><identifier>451-AH</identifier><title>Roman military</title></topic>
<topic lang="de"><identifier>451-AH</identifier><title>R\u00f6misches</title></topic>
</topics>"""
SEVERAL = """<topics><topic number="1"><title lang="en">Letter Bomb</title>
<title lang="de">Briefbombe</title></topic></topics>"""
CLEF_SGML = """<top>
<num> C141 </num>
<EN-title> Letter Bomb </EN-title>
<DE-title> Briefbombe </DE-title>
<EN-desc> Find documents. </EN-desc>
</top>"""
NTCIR = "<queries>\n<query><qid>0001</qid><content>ascii code</content></query>\n</queries>"
NTCIR_SGML = """<TOPIC><NUM>003</NUM><SLANG>CH</SLANG><TITLE>Embryonic cells</TITLE>
<DESC>Find.</DESC></TOPIC>"""
EHEALTH = "<queries>\n<query>\n<id>101001</id>\n<title>hernia & mesh</title>\n</query>\n</queries>"
EHEALTH_2018 = """<queries><query><id>151001</id><en>anemia diet</en><fr>an\u00e9mie</fr>
<cz>an\u00e9mie dieta</cz></query></queries>"""
TOUCHE = """<topics><topic><number>1</number><title>Should teachers get tenure?</title>
<description>A user</description><narrative>Highly</narrative></topic></topics>"""
TRIALS = """<topics task="2023 TREC Clinical Trials"><topic number="1" template="glaucoma">
<field name="diagnosis">glaucoma</field><field name="age">50</field></topic></topics>"""
LEGAL = """<ComplaintTopics><ProductionRequest><RequestNumber>5</RequestNumber>
<RequestText>All documents</RequestText></ProductionRequest></ComplaintTopics>"""
GENOMICS = "<TOPICS><TOPIC><ID>1</ID><TITLE>Ferroportin-1</TITLE><NEED>Find</NEED></TOPIC></TOPICS>"
TOMT = """<topics><topic number="1"><title>claymation</title><description>A dog.</description>
<redditID>x</redditID></topic></topics>"""
INDRI = "<parameters><query><number>31_1</number><text>#combine(a b)</text></query></parameters>"
SMART = "<DOC>\n<DOCNO>1</DOCNO>\nTime Sharing\n</DOC>\n"
MICROBLOG_SGML = """<top>
<num> Number: MB051 </num>
<query> British cuts </query>
<querytweettime> 351 </querytweettime>
</top>"""
ONLY_DESC = "<top>\n<num> Number: 136\n<desc> Patients with diabetes\n</top>"


def _lines(*records: object) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


FORMATS = {
    "languages.jsonl": (
        _lines({"id": "7", "query": "a", "title": {"en": "Asteroids", "zh": "小行星"}}),
        {"7": "a"},
        None,
    ),
    "microblog.json": (json.dumps(MICROBLOG), {"MB01": "BBC"}, "JSON"),
    "codec.json": (json.dumps(CODEC), {"economics-1": "How?"}, "JSON"),
    "map.json": ('{"a-1": "one two", "b": "three"}', {"a-1": "one two", "b": "three"}, "JSON"),
    "list.json": (
        '{"data": [{"question_id": "CQ1", "question": "why", "x": [1]}]}',
        {"CQ1": "why"},
        "JSON",
    ),
    "tot.jsonl": (_lines({"query_id": "1", "query": "a film"}), {"1": "a film"}, None),
    "rag.jsonl": (
        _lines({"id": "1", "title": "a"}, {"id": "2", "title": "b"}),
        {"1": "a", "2": "b"},
        None,
    ),
    "qa.jsonl": (_lines({"topic_id": "1", "question": "why"}), {"1": "why"}, "JSON Lines"),
    "beir.jsonl": (_lines({"_id": "1", "text": "a", "metadata": {}}), {"1": "a"}, None),
    "pm.xml": (PM, {"1": "melanoma BRAF (V600E) Dabrafenib"}, "TREC XML"),
    "cds.xml": (CDS, {"1": "A 58-year-old woman. A woman."}, "TREC XML"),
    "web.xml": (WEB, {"151": "403b"}, None),
    "covid.xml": (COVID, {"1": "coronavirus origin"}, None),
    "clef.txt": (CLEF_SGML, {"C141": "Letter Bomb"}, "TREC SGML"),
    "several.xml": (SEVERAL, {"1": "Letter Bomb"}, None),
    "ntcir.xml": (NTCIR, {"0001": "ascii code"}, "XML, <query>"),
    "ntcir.txt": (NTCIR_SGML, {"003": "Embryonic cells"}, None),
    "ehealth.xml": (EHEALTH, {"101001": "hernia & mesh"}, "XML, <query>"),
    "touche.xml": (TOUCHE, {"1": "Should teachers get tenure?"}, None),
    "trials.xml": (TRIALS, {"1": "glaucoma 50"}, "TREC XML"),
    "legal.xml": (LEGAL, {"5": "All documents"}, "XML, <productionrequest>"),
    "genomics.xml": (GENOMICS, {"1": "Ferroportin-1"}, None),
    "tomt.xml": (TOMT, {"1": "claymation A dog."}, "TREC XML"),
    "indri.query": (INDRI, {"31_1": "#combine(a b)"}, "XML, <query>"),
    "smart.txt": (SMART, {"1": "Time Sharing"}, "XML, <doc>"),
    "microblog.txt": (MICROBLOG_SGML, {"MB051": "British cuts"}, None),
    "records.txt": (ONLY_DESC, {"136": "Patients with diabetes"}, "TREC SGML"),
    "cedr.tsv": (
        "query\t301\tCrime\nquery\t302\tPolio\n",
        {"301": "Crime", "302": "Polio"},
        "lines query TAB id TAB text",
    ),
    "colon.txt": (
        "1:Abandoned Property\n3: Abortion\n",
        {"1": "Abandoned Property", "3": "Abortion"},
        "lines id:text",
    ),
    "cran.qry": (
        ".I 001\n.W\nwhat similarity laws\nmust be obeyed .\n.I 002\r\n.A\nRoe\n.W\nflow\n",
        {"001": "what similarity laws must be obeyed .", "002": "flow"},
        "SMART",
    ),
    "nested.xml": (
        '<topics><topic number="1"><title>a</title><topic number="2"/></topic></topics>',
        {"1": "a"},
        None,
    ),
    "header.tsv": ("qid\tquery\n1\ta b\n", {"1": "a b"}, "TSV with a header"),
    "wide.tsv": ("qid\tquery\tyear\n1\ta b\t2020\n", {"1": "a b"}, "TSV with a header"),
    "table.csv": (
        'query_id,text\nq-1,"actin, filament"\n',
        {"q-1": "actin, filament"},
        "CSV with a header",
    ),
    "set.yaml": ("- query_id: q1\n  question: why\n  asked_by: me\n", {"q1": "why"}, "YAML"),
}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_read_streamed_and_validated_alike(name: str, tmp_path: Path) -> None:
    content, texts, format_name = FORMATS[name]
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    topics = read_topics(path)
    assert topics.to_dict() == texts
    assert load_topics(path).to_dict() == texts
    report = validate_topics(path)
    assert (report.kind, report.queries) == ("topics", len(texts))
    blocking = [finding for finding in report.findings if finding.blocks_scoring]
    assert blocking == []
    assert report.read_as == topics.read_as or name == "header.tsv"
    if format_name is None:
        assert topics.read_as is None
    else:
        count = f"{len(texts)} topic{'s' * (len(texts) > 1)}"
        assert str(topics.read_as).startswith(f"read as {format_name}: {count}")


@pytest.mark.parametrize(
    ("name", "options", "texts"),
    [
        ("pm.xml", TopicOptions(text_fields=("gene", "disease")), {"1": "BRAF (V600E) melanoma"}),
        ("cds.xml", TopicOptions(text_fields=("summary",)), {"1": "A woman."}),
        (
            "codec.json",
            TopicOptions(text_fields=("query", "guidelines")),
            {"economics-1": "How? Long."},
        ),
        ("languages.jsonl", TopicOptions(text_fields=("title.zh",)), {"7": "小行星"}),
        ("several.xml", TopicOptions(text_fields=("title.de",)), {"1": "Briefbombe"}),
        ("clef.txt", TopicOptions(text_fields=("de-title",)), {"C141": "Briefbombe"}),
        ("beir.jsonl", TopicOptions(id_field="text", text_fields=("_id",)), {"a": "1"}),
        ("wide.tsv", TopicOptions(text_fields=("year",)), {"1": "2020"}),
    ],
)
def test_the_user_names_fields(
    name: str, options: TopicOptions, texts: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(FORMATS[name][0], encoding="utf-8")
    assert read_topics(path, options).to_dict() == texts
    loaded = load_topics(path, id_field=options.id_field, text_fields=options.text_fields)
    assert loaded.to_dict() == texts


@pytest.mark.parametrize(
    ("name", "content", "options", "what"),
    [
        (
            "a.txt",
            "<top>\n<num> 1\n<docid> x</docid>\n</top>",
            TopicOptions(),
            "fields: num, docid",
        ),
        (
            "a.jsonl",
            _lines({"qid": 1, "x": "a"}, {"qid": 2, "x": "b"}),
            TopicOptions(),
            r"fields: qid, x.*--text-fields NAME",
        ),
        (
            "a.jsonl",
            _lines({"x": 1, "query": "a"}, {"x": 2, "query": "b"}),
            TopicOptions(),
            r"fields: x, query.*--id-field NAME",
        ),
        ("a.json", '{"a": 1}', TopicOptions(), "with an id"),
        ("a.xml", "<a><b/></a>", TopicOptions(), "elements: a, b"),
        (
            "a.xml",
            PM,
            TopicOptions(text_fields=("drug",)),
            r"drug \(fields: ",
        ),
        ("a.xml", CLEF, TopicOptions(), "T112"),  # a topic in each language
        ("a.xml", EHEALTH_2018, TopicOptions(), "fields: id, en, fr, cz"),
        (
            "a.json",
            '{"data": [{"id": "1", "query": "a", "x": 1}, {"id": "1", "query": "b"}]}',
            TopicOptions(),
            "T112",
        ),
    ],
)
def test_what_is_not_understood_is_one_line_with_the_fields(
    name: str, content: str, options: TopicOptions, what: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=what) as caught:
        read_topics(path, options)
    assert "\n" not in str(caught.value)
    assert validate_topics(path, options=options).errors


def test_a_topic_ends_at_the_first_end_tag(tmp_path: Path) -> None:
    path = tmp_path / "topics.xml"
    path.write_text(
        "<topics>\n<topic number='1'><title>a</title>\n<topics><topic number='2'>"
        "<title>b</title></topic></topics>\n<topics><topic number='3'><title>c</title></topic>"
        "</topics>\n</topic></topics>\n"
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


def test_a_header_is_an_error_that_does_not_prevent_reading(tmp_path: Path) -> None:
    path = tmp_path / "header.tsv"
    path.write_text(FORMATS["header.tsv"][0])
    (finding,) = validate_topics(path).findings
    assert (finding.code, finding.severity.value) == ("T103", "error")
    assert not finding.blocks_scoring


@pytest.mark.parametrize(
    "content",
    [
        "301 one query\n302 other query\n",
        "1,first query\n2,the second\n",
        "Q1|first query\nQ2|the second\n",
        "q1,d1,1,0.5\nq2,d1,1,0.5\n",  # a run
        "q1;d1;1\nq2;d1;0\n",
    ],
)
def test_other_lines_are_not_split_at_a_guess(content: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text(content)
    with pytest.raises(FormatError, match="T101"):
        read_topics(path)
    assert [one.code for one in validate_topics(path).findings if one.blocks_scoring] == ["T101"]
