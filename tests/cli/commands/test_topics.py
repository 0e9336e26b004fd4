"""Tests of ``topics validate``: exit codes, kinds, formats."""

import pytest

from trectools_plus.errors import InputError, UsageError

TSV = "1\tfirst query\n2\tsecond query\n"
SET = 'queries:\n  - id: "1"\n    text: first query\n    relevant: {d01: 2, d02: 0}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "topics.tsv": TSV,
        "tabs.tsv": TSV.replace("d q", "d\tq"),
        "spaces.tsv": TSV.replace("2\t", "q 2\t"),
        "set.yaml": SET,
        "octal.yaml": SET.replace('"1"', "010"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("topics.tsv", "set.yaml"), 0),
        (("tabs.tsv",), 0),
        (("tabs.tsv", "--strict"), 1),
        (("spaces.tsv",), 1),
        (("spaces.tsv", "--ignore", "T113"), 0),
        (("octal.yaml",), 1),
        (("octal.yaml", "--select", "F"), 0),
    ],
)
def test_exit_codes(check_exit_code, arguments, code):
    check_exit_code("topics validate", arguments, code)


def test_standard_input_is_recognised_by_its_content(document):
    for text, kind in ((TSV, "topics"), (SET, "testset")):
        assert document("topics validate -", stdin=text)["files"][0]["kind"] == kind


@pytest.mark.usefixtures("folder")
def test_unreadable_files_and_unknown_codes_are_no_findings(invoke):
    assert isinstance(invoke("topics validate none.tsv").exception, InputError)
    assert isinstance(invoke("topics validate topics.tsv --select X").exception, UsageError)
