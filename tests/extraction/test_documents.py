import json

import pytest

from trectools_plus.errors import InputError, SeveralFilesError
from trectools_plus.extraction.inputs import read_documents


def write(folder, name, content):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def document(doc_id, *annotations, text="text"):
    return {"doc_id": doc_id, "full_text": text, "annotations": list(annotations)}


def test_reads_by_dataset_by_folder_and_all_together(collection, ontology):
    one = read_documents(collection, ontology, "small")
    assert one == read_documents(collection, ontology, "small")
    assert one.documents == read_documents(collection / "small", ontology).documents
    assert [each.doc_id for each in one.documents] == ["d1", "d2", "d3"]
    assert one.documents[0].gold == {"X:2": "affirmed", "X:3": "affirmed", "X:4": "negated"}
    assert (one.name, one.annotations) == ("small", 5)
    write(collection / "more" / "annotations", "d9.json", document("d9"))
    assert len(read_documents(collection, ontology).documents) == 4


def test_gold_ids_of_another_release_are_mapped_split_or_lost(tmp_path, ontology):
    ids = ("X:40", "X:42", "X:43", "Y:1", "X:4")
    record = document("a", *({"hpo_id": one} for one in ids))
    write(tmp_path / "annotations", "a.json", record)
    found = read_documents(tmp_path, ontology)
    assert set(found.documents[0].gold) == {"X:4", "X:1", "X:7", "Y:1"}
    assert found.terms - {*ontology.ids.live} == {"Y:1"}
    assert ["X:40, X:42, X:43, Y:1" in note for note in found.notes] == [True]


def test_every_file_at_fault_is_named(tmp_path, ontology):
    folder = tmp_path / "annotations"
    write(folder, "a.json", document("a"))
    write(folder, "b.json", document("a"))
    write(folder, "c.json", "{")
    write(folder, "d.json", {"doc_id": "d", "annotations": []})
    write(folder, "e.json", document("e", {"hpo_id": 7}))
    write(folder, "f.json", document("f", {"hpo_id": "X:4", "assertion_status": "maybe"}))
    (folder / "g.json").write_bytes(b"\xff")
    with pytest.raises(SeveralFilesError) as caught:
        read_documents(tmp_path, ontology)
    lines = dict(zip("bcdefg", str(caught.value).splitlines(), strict=True))
    for letter, line in lines.items():
        assert f"{letter}.json" in line
    assert "Invalid JSON" in lines["c"]
    assert "full_text is missing" in lines["d"]
    assert "annotations.0.hpo_id" in lines["e"]
    assert "'maybe'" in lines["f"]
    assert "document 'a' is also in a.json" in lines["b"]


@pytest.mark.parametrize(("folder", "dataset"), [("", "smal"), ("nowhere", None), ("empty", None)])
def test_no_documents_is_an_error(collection, ontology, folder, dataset):
    (collection / "empty" / "annotations").mkdir(parents=True)
    with pytest.raises(InputError, match=r"document|annotations"):
        read_documents(collection / folder, ontology, dataset)


def test_a_byte_order_mark_is_no_fault(tmp_path, ontology):
    path = write(tmp_path / "annotations", "a.json", document("a"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_documents(tmp_path, ontology).documents) == 1


def test_the_hash_follows_content(collection, ontology):
    first = read_documents(collection, ontology).sha256
    path = collection / "small" / "annotations" / "d3.json"
    record = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(record | {"metadata": 1}), "utf-8")
    assert read_documents(collection, ontology).sha256 == first
    path.write_text(json.dumps(record | {"full_text": "other"}), "utf-8")
    assert read_documents(collection, ontology).sha256 != first
