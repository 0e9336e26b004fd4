import json

import pytest
import yaml
from harness.observe import ROOT

from trectools_plus.errors import FormatError
from trectools_plus.formats.interchange.names import DOC_ID_KEYS, GRADE_KEYS, GRADED_KEYS
from trectools_plus.testsets.loading import (
    read_test_set,
)
from trectools_plus.validation import validate_topics

FOLDER = ROOT / "fixtures/testsets"
OWN = yaml.safe_load((FOLDER / "own-form.yaml").read_text())


def written(tmp_path, content, name="cases.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_span_names_a_part_of_the_text(tmp_path):
    content = {
        "queries": [
            {
                "query_id": "1",
                "text": "rash and fever",
                "relevant": [
                    {"doc_id": "a", "grade": 3, "span": None},
                    {"doc_id": "b", "grade": 1, "span": "fever"},
                    {"doc_id": "b", "grade": 1, "span": "repeated judgments count once"},
                    "c",
                ],
            }
        ]
    }
    [query] = read_test_set(written(tmp_path, content)).queries
    assert [term.span for term in query.relevant] == [None, "fever", None]
    content["queries"][0]["relevant"][1]["span"] = 7
    with pytest.raises(FormatError, match=r"7.*T118"):
        read_test_set(written(tmp_path, content))


OTHER_NAMES = """\
queries:
  - query_id: q1
    query_text: low blood sugar in newborns
    query_type: paraphrase
    relevant_docs:
      - {doc_id: d17, grade: 3}
      - {doc_id: d40, grade: 1}
  - query_id: q2
    query_text: fever
    query_type: exact_term
    relevant_docs: {d1: 2, d2: 0}
  - query_id: q3
    query_text: pain in the leg
    relevant_docs: [d3, d4]
"""


@pytest.mark.parametrize("name", ["set.yaml", "set.json", "list.json", "cases.json", "ids.yaml"])
def test_query_text_and_relevant_docs(tmp_path, name):
    content = yaml.safe_load(OTHER_NAMES)
    queries = content["queries"]
    shapes = {
        "set.yaml": OTHER_NAMES,
        "set.json": content,
        "list.json": queries,
        "cases.json": {"test_cases": queries},
        "ids.yaml": yaml.dump({"queries": {query.pop("query_id"): query for query in queries}})
        if name == "ids.yaml"
        else "",
    }
    path = written(tmp_path, shapes[name], name)
    assert [one.code for one in validate_topics(path).findings if one.code != "T223"] == []
    test_set = read_test_set(path)
    assert [query.text for query in test_set.queries] == [
        "low blood sugar in newborns",
        "fever",
        "pain in the leg",
    ]
    assert [query.query_type for query in test_set.queries] == ["paraphrase", "exact_term", None]
    assert [
        [(term.doc_id, term.grade) for term in query.relevant] for query in test_set.queries
    ] == [[("d17", 3), ("d40", 1)], [("d1", 2), ("d2", 0)], [("d3", 1), ("d4", 1)]]


@pytest.mark.parametrize(
    ("before", "after", "code", "line"),
    [
        ("{doc_id: d17, grade: 3}", "{grade: 3}", "T105", 6),
        ("{doc_id: d40, grade: 1}", "{doc_id: d40}", "T105", 7),
        ("grade: 1}", "grade: high}", "Q110", 7),
        ("grade: 1}", "grade: 1.5}", "Q111", 7),
        ("doc_id: d40", "doc_id: d17", "Q142", 7),
        ("d1: 2", "d1: two", "Q110", 11),
        ("query_text: fever", "query_txt: fever", "T106", 9),
        ("relevant_docs: {", "relevant_dosc: {", "T106", 11),
        ("query_text: fever", 'query_text: ""', "T121", 9),
        ("[d3, d4]", "d3", "T105", 14),
        ("    query_text: fever\n", "", "T105", 8),
    ],
)
def test_mistakes_in_these_fields_have_a_place(tmp_path, before, after, code, line):
    path = written(tmp_path, OTHER_NAMES.replace(before, after, 1), "set.yaml")
    found = {finding.code: finding for finding in validate_topics(path).findings}
    assert found[code].line == line
    with pytest.raises(FormatError) as refused:
        read_test_set(path)
    assert refused.value.where.startswith(f"{path}:{line}")


@pytest.mark.every(5)
@pytest.mark.parametrize("doc_id", DOC_ID_KEYS)
@pytest.mark.parametrize("grade", GRADE_KEYS)
@pytest.mark.parametrize("judged", GRADED_KEYS)
def test_every_spelling_of_a_judgment(tmp_path, doc_id, grade, judged):
    case = {"query_id": "q1", "query_text": "fever", judged: [{doc_id: "d17", grade: 3}]}
    (query,) = read_test_set(written(tmp_path, {"queries": [case]})).queries
    assert [(term.doc_id, term.grade) for term in query.relevant] == [("d17", 3)]
    (query,) = read_test_set(written(tmp_path, [{**case, judged: {"d17": 3}}])).queries
    assert [(term.doc_id, term.grade) for term in query.relevant] == [("d17", 3)]


def changed(**fields):
    query = {**OWN["queries"][0], **fields}
    return {**OWN, "queries": [{k: v for k, v in query.items() if v != "absent"}]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed(text="absent"), r"text is missing .*\(T105\)"),
        (changed(text="  "), r"topic q1 has no text \(T121\)"),
        (changed(query_id=7.5), r"id 7.5 is read as the number 7.5 \(T114\)"),
        (changed(query_id="a b"), r"id 'a b' .*\(T113\)"),
        (changed(relevant=[]), "a grade above 0"),
        (
            changed(relevant=[{"doc_id": "HP:1", "grade": 128}]),
            "grade: expected at most 127",
        ),
        (changed(relevant=[{"doc_id": "HP:1", "grade": "3"}]), r"'3'.*\(Q110\)"),
        (changed(relevant=[{"doc_id": "HP:1", "grade": True}]), r"boolean true.*\(T115\)"),
        (
            changed(relevant=[]),
            "at least one term with a grade above 0",
        ),
        (
            changed(relevant=[{"doc_id": "HP:1", "grade": grade} for grade in (1, 2)]),
            r"HP:1 has grade 2 here but 1 on .* \(Q142\) —",
        ),
        (changed(category="funny"), r"category is 'funny', not .*\(T118\)"),
        (changed(difficulty=3), r"difficulty is the integer 3, not .*\(T118\)"),
        (changed(description=["a"]), r"description is a list, not .*\(T118\)"),
        (
            {**OWN, "metadata": {"version": 1.0}},
            r"version is the number 1.0, not .*\(T118\)",
        ),
        ('[{"id": "1", "text": "a", "relevant": {"d": 1, "d": 2}}]', r"\(T116\)"),
        (changed(colour="blue"), r"unknown key 'colour' \(T106\)"),
        ({**OWN, "queries": []}, r"\(F101\)"),
        ({**OWN, "queries": None}, r"\(F101\)"),
        ({**OWN, "metadata": [1]}, r"metadata is a list, not a mapping \(T118\)"),
        ({"cases": []}, r"expected a list of test cases, .* but got cases"),
        ([], r"\(F101\)"),
        ("null", r"\(F101\)"),
        ("3", r"but got the integer 3 \(T105\)"),
        ("", r"\(F101\)"),
        ([3], r"expected a test case .* but got the integer 3 \(T105\)"),
        ([{"text": "x"}], r"id is missing .*\(T105\)"),
        ([{"text": "x", "hpo_ids": "HP:1"}], r"judged documents but got text \(T105\)"),
        ([{"text": "x", "hpo_ids": []}], "a grade above 0"),
        ([{"hpo_ids": ["HP:1"]}], r"text is missing .*\(T105\)"),
        ({"test_cases": {"a": 1}}, r"expected a test case .* but got the integer 1 \(T105\)"),
        ('[{"text": "x",]', r"invalid JSON.*\(T104\)"),
        ("[" * 100_000, r"nested more than 64 deep \(T104\)"),
        ("- a: 'b\n", r"invalid JSON.*\(T104\)"),
        ("when: 2020-99-99\n", r"\(T104\)"),
    ],
)
def test_wrong_files_are_refused_with_their_place(tmp_path, content, message):
    path = written(tmp_path, content)
    with pytest.raises(FormatError, match=message) as caught:
        read_test_set(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        changed(query_id=7),
        changed(relevant=[{"doc_id": "HP:1", "grade": 4}, {"doc_id": "HP:2", "grade": -1}]),
        changed(relevant=[{"doc_id": "HP:1", "grade": 1}] * 2),
        {**OWN, "queries": OWN["queries"] * 2},
        {
            **OWN,
            "queries": [*OWN["queries"], {**OWN["queries"][0], "id": "9", "relevant": []}][::-1],
        },
        {"queries": {"9": {"text": "x", "relevant": ["d1", 2]}}},
        {"queries": [{"qid": 9, "query": "x", "relevant": {"d1": 1}}]},
        {"test_cases": {"9": {"text": "x", "hpo_ids": ["d1"]}}},
    ],
)
def test_what_the_validator_only_warns_of_is_read(tmp_path, content):
    path = written(tmp_path, content)
    assert not validate_topics(path).errors
    test_set = read_test_set(path)
    assert {query.query_id for query in test_set.queries} <= {"7", "9", "q1", "q2", "q3"}
    assert sum(len(query.relevant) for query in test_set.queries)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            "- id: 010\n  text: a\n  relevant: {d: 1}\n",
            1,
            r"id 010 is read as the integer 8.*\(T114\)",
        ),
        ("- id: '1'\n  text: NO\n  relevant: {d: 1}\n", 2, r"boolean false \(T115\)"),
        ("- id: '1'\n  text: a\n  relevant:\n    d: 1\n    e: 0.5\n", 5, r"0.5.*\(Q111\)"),
        (
            "- id: '1'\n  text: a\n  relevant:\n    d: 1\n    d: 2\n",
            5,
            r"key d .*\(T116\)",
        ),
        ("queries:\n- id: ~\n  text: a\n  relevant: {d: 1}\n", 2, r"id is null \(T105\)"),
        ("queries:\n- id: x\n  relevant: {d: 1}\n", 2, r"text is missing.*\(T105\)"),
        ("test_cases:\n- hpo_ids: [HP:1]\n", 2, r"text is missing.*\(T105\)"),
        (
            "test_cases:\n- text: x\n  hpo_ids: [HP:1]\n- text: ~\n  hpo_ids: [HP:1]\n",
            4,
            r"text is null.*\(T105\)",
        ),
    ],
)
def test_errors_in_yaml_have_their_line(tmp_path, text, line, words):
    with pytest.raises(FormatError, match=words) as caught:
        read_test_set(written(tmp_path, text, "x.yaml"))
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "queries:\n- &a {id: q1, text: fever, relevant: {d: 2}}\n- {<<: *a, id: q2}\n",
        "test_cases:\n- &a {id: q1, text: fever, hpo_ids: [d]}\n- {<<: *a, id: q2}\n",
    ],
)
def test_aliases_are_refused_here_and_there(tmp_path, text):
    path = written(tmp_path, text, "merge.yaml")
    assert [(one.code, one.line) for one in validate_topics(path).errors] == [("T104", 3)]
    with pytest.raises(FormatError, match=r"an alias.*T104") as refused:
        read_test_set(path)
    assert refused.value.line == 3


@pytest.mark.parametrize("name", ["set.tsv", "set.txt", "set.jsonl", "set"])
def test_the_rules_apply_whatever_the_name_of_a_test_set(tmp_path, name):
    good = '\n{"queries": [{"id": "1", "text": "a", "relevant": {"d": 1}}]}'
    assert len(read_test_set(written(tmp_path, good, name)).queries) == 1
    with pytest.raises(FormatError, match=r"7\.5.*T114") as refused:
        read_test_set(written(tmp_path, good.replace('"1"', "7.5"), name))
    assert refused.value.line == 2
