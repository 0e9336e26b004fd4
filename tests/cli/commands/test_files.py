"""``files``: everything that the package contains for users can be copied."""

from pathlib import Path

import pytest
from harness.observe import ROOT

from trectools_plus.cli.commands.sets import FILES
from trectools_plus.formats import SAMPLE_FOLDER

FOLDERS = {
    **{name: ROOT / "docs" / name for name in ("monitoring", "schema", "examples")},
    "sample": SAMPLE_FOLDER,
}
SOURCES = {
    f"{name}/{path.relative_to(folder).as_posix()}": path
    for name, folder in FOLDERS.items()
    for path in folder.rglob("*")
    if path.is_file()
}


def test_the_list_is_complete(tmp_path, program):
    assert set(FILES) == set(SOURCES)
    done = program("trectools-plus files", tmp_path)
    assert done.code == 0
    assert all(name in done.text for name in FILES)


def test_a_file_is_copied_by_name_and_never_overwritten(tmp_path, program, check_mistake):
    for name in ("gate.yml", "schema/TestSet.schema.json", "lexical.run"):
        assert program(f"trectools-plus files {name}", tmp_path).code == 0
        assert (tmp_path / Path(name).name).is_file()
    (tmp_path / "gate.yml").write_text("mine", "utf-8")
    done = program("trectools-plus files gate.yml alerts.yml", tmp_path)
    check_mistake(done, 2, "gate.yml")
    assert (tmp_path / "gate.yml").read_text("utf-8") == "mine"
    assert not (tmp_path / "alerts.yml").exists()


@pytest.mark.parametrize("name", ["nothing.yml", "../pyproject.toml", "schem", ""])
def test_an_unknown_file_is_an_error(name, tmp_path, program):
    done = program(["trectools-plus", "files", name], tmp_path)
    assert done.code == 2
    assert "trectools-plus files" in done.stderr
