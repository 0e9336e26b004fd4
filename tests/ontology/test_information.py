import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trectools_plus.errors import FormatError
from trectools_plus.ontology.ontology import load_information
from trectools_plus.ontology.similarity import information_from_annotations, read_annotations

TOY = Path(__file__).parents[2] / "fixtures" / "ontology" / "toy.hpoa"
HEADER = "database_id\tdisease_name\tqualifier\thpo_id\n"


@pytest.fixture
def write_hpoa(tmp_path):
    """Write (object, qualifier, term) rows below a header, and return the path."""

    def write(*rows, header=HEADER):
        path = tmp_path / "written.hpoa"
        path.write_text(header + "".join(f"{o}\tname\t{q}\t{t}\n" for o, q, t in rows))
        return path

    return write


def test_other_spellings_of_the_file_give_the_same(tmp_path):
    plain = read_annotations(TOY).frame
    text = TOY.read_text()
    older = text.replace(
        "database_id\tdisease_name\tqualifier\thpo_id",
        "#DatabaseID\tDiseaseName\tQualifier\tHPO_ID",
    )
    for name, content in {
        "older.tab": older,
        "windows.hpoa": text.replace("\n", "\r\n"),
        "blank.hpoa": text + "\n\n",
        "mark.hpoa": "\ufeff" + text,
        "quotes.hpoa": text.replace("Ann", 'Ann "the one'),
    }.items():
        path = tmp_path / name
        path.write_bytes(content.encode())
        assert read_annotations(path).frame.equals(plain), name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no annotations"),
        ("#only\n# comments\n", "no annotations"),
        (HEADER, "no annotations"),
        (HEADER + "OMIM:1\tname\tNOT\tTOY:0006\n", "no annotations"),
        ("disease\tterm\nOMIM:1\tTOY:0006\n", "database_id and hpo_id .*:1 "),
        (
            HEADER + "OMIM:1\tname\t\tTOY:0006\n\nOMIM:2\tname\n",
            "and an hpo_id .*:4 ",
        ),
        (HEADER + "\tname\t\tTOY:0006\n", "and an hpo_id .*:2 "),
        (HEADER + "OMIM:1\tname\t\t \n", "and an hpo_id .*:2 "),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "bad.hpoa"
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_annotations(path)


def test_terms_of_another_ontology(toy, write_hpoa):
    path = write_hpoa(("A", "", "TOY:0008"), ("A", "", "X:1"), ("B", "", "X:2"))
    information = load_information(toy, path)
    assert "(1 objects)" in information.source
    (note,) = information.notes
    assert "2 of 3 terms" in note
    assert "X:1, X:2" in note
    with pytest.raises(FormatError, match="X:1"):
        load_information(toy, write_hpoa(("A", "", "X:1")))


ROWS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS)
def test_counts_equal_brute_force(toy, write_hpoa, rows):
    path = write_hpoa(*((f"D:{disease}", "", f"TOY:{term:04d}") for disease, term in rows))
    annotations = read_annotations(path)
    information = information_from_annotations(toy.ids, toy.hierarchy, annotations)
    objects = {disease for disease, _ in rows}
    for place, term_id in enumerate(toy.terms):
        having = {d for d, term in rows if term_id in toy.ancestors(f"TOY:{term:04d}")}
        expected = -math.log(max(1, len(having)) / len(objects))
        assert information.values[place] == pytest.approx(expected, abs=1e-12)
    assert (information.values >= 0).all()
    assert np.isfinite(information.values).all()


def test_annotations_that_never_occur_are_left_out(write_hpoa):
    header = HEADER.replace("\n", "\tfrequency\n")
    never, ever = ["0/7", "0%", "0.0 %", "HP:0040285"], ["1/7", "10%", "", "100%"]
    rows = [("OMIM:1", "", f"TOY:000{n}\t{value}") for n, value in enumerate(never, 1)]
    rows += [("OMIM:2", "", f"TOY:000{n}\t{value}") for n, value in enumerate(ever, 1)]
    frame = read_annotations(write_hpoa(*rows, header=header)).frame
    assert set(frame["object"]) == {"OMIM:2"}
    assert frame.height == 4
