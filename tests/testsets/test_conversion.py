"""Test sets written in every form and read again."""

import json

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.errors import FormatError, InputError, UsageError
from trectools_plus.formats import Qrels, Topics
from trectools_plus.testsets import (
    TestQuery,
    TestSet,
    form_of_output,
    load_test_set,
    read_parts,
    write_test_set,
)
from trectools_plus.testsets.loading import read_test_set
from trectools_plus.testsets.model import (
    LAYOUTS,
    RelevantTerm,
    TestSetMetadata,
    convert_test_set,
    from_tables,
    qrels_of,
)
from trectools_plus.validation import load_qrels

IDS = st.text("abcXYZ019-_.:é", min_size=1, max_size=6).filter(lambda text: text[0] not in "#")
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=20
).filter(lambda text: text.strip() and text == text.strip())
NOTES = st.none() | TEXTS


def optional(*words):
    return st.none() | st.sampled_from(words)


@st.composite
def queries(draw, query_id):
    ids = draw(st.lists(IDS, max_size=3, unique=True))
    grades = [draw(st.integers(-1, 4)) for _ in ids]
    return TestQuery(
        query_id=query_id,
        text=draw(TEXTS),
        relevant=tuple(
            RelevantTerm(doc_id=doc_id, grade=grade, span=draw(NOTES))
            for doc_id, grade in zip(ids, grades, strict=True)
        ),
        category=draw(optional("exact_match", "synonym", "complex")),
        difficulty=draw(optional("easy", "medium", "hard")),
        query_type=draw(optional("exact_term", "paraphrase")),
        hpo_domain=draw(NOTES),
        language=draw(optional("en", "de")),
        description=draw(NOTES),
    )


@st.composite
def any_sets(draw):
    """Any test set whose ids can stand in runs and qrels; one query has a relevant term."""
    ids = draw(st.lists(IDS, min_size=1, max_size=6, unique=True))
    found = [draw(queries(query_id)) for query_id in ids]
    first = found[0].model_copy(update={"relevant": (RelevantTerm(doc_id="d", grade=1),)})
    metadata = {
        "dataset_id": draw(TEXTS),
        "version": draw(st.sampled_from(["", "1.0.0", "010", "1e3", "no"])),
        "language": draw(st.sampled_from(["", "en"])),
        "description": draw(st.just("") | TEXTS),
        "note": draw(st.sampled_from(["none", "2025-01-31"])),
    }
    return TestSet(metadata=TestSetMetadata(**metadata), queries=(first, *found[1:]))


@pytest.mark.parametrize("name", ["set.json", "set.yaml", "set.yml.gz", "set.json.zst"])
@given(test_set=any_sets())
def test_files_give_the_same_set_back(tmp_path_factory, name, test_set):
    path = tmp_path_factory.getbasetemp() / name
    convert_test_set(test_set, path, form_of_output(path))
    assert read_test_set(path) == test_set


def without_spans(query):
    terms = tuple(term.model_copy(update={"span": None}) for term in query.relevant)
    return query.model_copy(update={"relevant": terms})


@pytest.mark.parametrize("form", ["trec", "trec-jsonl", "beir"])
@given(test_set=any_sets())
def test_folders_have_all_fields_but_spans(tmp_path_factory, form, test_set):
    folder = tmp_path_factory.mktemp("folder")
    converted = convert_test_set(test_set, folder, form)
    assert all(path.is_file() for path in converted.files)
    topics, qrels = (folder / name for name in LAYOUTS[form])
    back = read_parts(topics, qrels)
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata == test_set.metadata.model_dump(mode="json")
    assert load_qrels(qrels).to_dict() == qrels_of(test_set).to_dict()
    has_spans = any(term.span for query in test_set.queries for term in query.relevant)
    assert ("span" in converted.dropped) == has_spans
    if form == "trec":
        assert [(one.query_id, one.text) for one in back.queries] == [
            (one.query_id, " ".join(one.text.split())) for one in test_set.queries
        ]
    else:
        assert back.queries == tuple(map(without_spans, test_set.queries))


def test_tsv_says_what_it_leaves_out(tmp_path):
    converted = convert_test_set(load_test_set("hpo-en-tiny"), tmp_path, "trec")
    assert converted.dropped == (
        "category", "difficulty", "query_type", "hpo_domain", "language", "span",
    )  # fmt: skip


def test_judgments_of_other_topics_are_refused():
    topics, qrels = Topics.from_dict({"1": "a"}), Qrels.from_dict({"1": {"d": 1}, "2": {"d": 1}})
    with pytest.raises(InputError, match=r"1.*2"):
        from_tables(topics, qrels, {"dataset_id": "x"})


def test_two_grades_for_one_document_are_refused():
    frame = pl.DataFrame(
        {"query_id": ["1", "1"], "doc_id": ["d", "d"], "relevance": [1, 2], "iteration": ["0", "1"]}
    )
    with pytest.raises(FormatError):
        from_tables(Topics.from_dict({"1": "a"}), Qrels(frame), {"dataset_id": "x"})


def test_a_name_says_the_form():
    assert form_of_output("a.yaml.gz") == "yaml"
    assert form_of_output("a.JSON") == "json"
    with pytest.raises(UsageError):
        form_of_output("folder")
    with pytest.raises(UsageError):
        write_test_set(load_test_set("hpo-en-tiny"), "folder")


def test_yaml_texts_are_texts_to_any_loader(tmp_path):
    query = TestQuery(query_id="010", text="no", relevant=(RelevantTerm(doc_id="1e3", grade=3),))
    test_set = TestSet(metadata=TestSetMetadata(dataset_id="1.10"), queries=(query,))
    path = tmp_path / "a.yaml"
    convert_test_set(test_set, path, "yaml")
    assert read_test_set(path) == test_set
    [read] = yaml.safe_load(path.read_text())["queries"]
    assert (read["query_id"], read["text"]) == ("010", "no")
    assert '"1e3"' in path.read_text()


def test_ids_that_no_qrels_can_hold_are_refused_before_anything_is_written(tmp_path):
    query = TestQuery(query_id="#1", text="a", relevant=(RelevantTerm(doc_id="d", grade=1),))
    test_set = TestSet(metadata=TestSetMetadata(dataset_id="x"), queries=(query,))
    with pytest.raises(InputError, match="#1"):
        convert_test_set(test_set, tmp_path / "out", "beir")
    assert not (tmp_path / "out").exists()
