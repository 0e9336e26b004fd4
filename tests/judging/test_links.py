"""Nothing is written through a link that leads out of a plan or a report."""

import pytest
from harness.plans import label_all, make_small, write_labels

from trectools_plus.errors import InputError
from trectools_plus.extraction import REPORT_FILE as EXTRACTION_FILE
from trectools_plus.formats import refuse_link_out
from trectools_plus.formats.files.guards import refuse_foreign
from trectools_plus.judging.labels import read_people
from trectools_plus.judging.store import load_plan_material, open_store, read_store
from trectools_plus.reporting import check_extraction_folder
from trectools_plus.reporting.judgments import JUDGMENT_FILES
from trectools_plus.service import import_judgments
from trectools_plus.validation import load_qrels


@pytest.fixture
def victim(tmp_path):
    """A file of the reader outside of the plan."""
    path = tmp_path / "victim"
    path.write_bytes(b"")
    path.chmod(0o644)
    return path


def is_untouched(victim):
    return victim.read_bytes() == b"" and victim.stat().st_mode & 0o777 == 0o644


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["review.db", "review.db-wal", "review.db-journal"])
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_database_is_no_link_out_of_its_folder(
    plan, tmp_path, victim, call_of, name, is_dangling
):
    target = tmp_path / "new" if is_dangling else victim
    material = load_plan_material(plan)
    database = plan.path / "review.db"
    open_store(database, material).close()
    (plan.path / name).unlink(missing_ok=True)
    (plan.path / name).symlink_to(target)
    qrels = tmp_path / "q.txt"
    qrels.write_text("".join(f"{plan.plan.queries[0]} 0 d{n} 1\n" for n in range(40)))
    for use in (
        lambda: open_store(database, material),
        lambda: import_judgments(plan, load_qrels(qrels), "Anna"),
        lambda: read_people(plan.path),
        lambda: read_store(plan.path),
    ):
        with pytest.raises(InputError):
            use()
    folder, port = str(plan.path), ("--port", "0")
    assert call_of("review serve")(folder, *port)[0] == 2
    assert call_of("review import")(folder, str(qrels))[0] == 2
    assert call_of("review export")(folder, "--qrels", "out.txt")[0] == 2
    assert is_untouched(victim)
    assert not (tmp_path / "new").exists()


@pytest.mark.every(3)
@pytest.mark.parametrize("name", JUDGMENT_FILES)
@pytest.mark.parametrize("is_dangling", [False, True])
def test_an_estimate_is_not_written_through_a_link(
    make_plan_of, tmp_path, victim, call_of, name,
    is_dangling,
):  # fmt: skip
    plan = make_plan_of
    call = call_of("judge estimate")
    assert call(str(plan.path))[0] == 0
    (plan.path / name).unlink()
    (plan.path / name).symlink_to(tmp_path / "new" if is_dangling else victim)
    assert call(str(plan.path))[0] == 2
    assert is_untouched(victim)
    assert not (tmp_path / "new").exists()


@pytest.fixture
def make_plan_of(tmp_path):
    """A plan of 30 queries, of which people judged 25."""
    plan = make_small(tmp_path, queries=30, people=25)
    write_labels(plan, label_all(plan, 30, "judge", "model"))
    judged = label_all(plan, 25)
    qrels = tmp_path / "judged.txt"
    qrels.write_text("".join(f"{one.query_id} 0 {one.doc_id} {one.grade}\n" for one in judged))
    import_judgments(plan, load_qrels(qrels), "Anna")
    return plan


def test_an_export_into_a_plan_is_not_written_through_a_link(
    make_plan_of, victim, call_of, tmp_path
):
    plan = make_plan_of
    call = call_of("review export")
    (plan.path / "out.qrels").symlink_to(victim)
    (plan.path / "sub").symlink_to(tmp_path)
    for name in ("out.qrels", "sub/new.qrels"):
        assert call(str(plan.path), "--qrels", str(plan.path / name))[0] == 2
    assert is_untouched(victim)
    assert not (tmp_path / "new.qrels").exists()
    (tmp_path / "own.qrels").symlink_to(victim)  # a link of the user
    assert call(str(plan.path), "--qrels", str(tmp_path / "own.qrels"))[0] == 0
    assert victim.read_bytes()


def test_links_inside_of_a_folder_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "a").write_text("")
    (tmp_path / "folder" / "b").symlink_to("a")
    refuse_foreign(tmp_path / "link", ["a", "b"], ["a", "b"])
    refuse_link_out(tmp_path / "link" / "b", tmp_path / "link")


def test_an_extraction_is_not_written_through_a_link(tmp_path, victim):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / EXTRACTION_FILE).write_text('{"manifest": 1, "system": 1, "scores": 1}')
    check_extraction_folder(tmp_path / "out")
    (tmp_path / "out" / "gold.json").symlink_to(victim)
    with pytest.raises(InputError):
        check_extraction_folder(tmp_path / "out")


MEASURE = """
from trectools_plus.measures import BaseMeasure

class First(BaseMeasure):
    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0) > 0)
"""


def test_a_class_that_the_user_names_is_estimated(make_plan_of, tmp_path, call_of, monkeypatch):
    """What the command names is the user's own; only what the plan names is a stranger's."""
    (tmp_path / "own_of_user.py").write_text(MEASURE)
    monkeypatch.syspath_prepend(tmp_path)
    call = call_of("judge estimate")
    code, out, err = call(str(make_plan_of.path), "-m", "own_of_user:First@3", "--format", "json")
    assert code == 0, err
    assert '"First@3"' in out or "own_of_user:First" in out
