"""Files read in chunks give what they give as a whole, for all flags, in one process and in two."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.measures.scoring.test_files import collections, large, only_as_a_whole, write
from trectools_plus import distributed as copies
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats import query_chunks
from trectools_plus.trec_eval import scoring as files
from trectools_plus.trec_eval.arguments import parse_arguments
from trectools_plus.trec_eval.output import output_lines
from trectools_plus.validation import parts

FLAGS = [
    "-q",
    "-c",
    "-J",
    "-l2",
    "-l0",
    "-M3",
    "-D12",
    "-n",
    "-N99",
    "--strict-input",
    "--permissive",
]
MEASURES = ["-mofficial", "-mset", "-mall_trec", "-mnum_ret", "-mndcg.0=2,1=5", "-mP.2,3"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(parts, "SNIFFED_BYTES", 1)
    monkeypatch.setattr(query_chunks, "CHUNK_BYTES", 120)


def outcome(flags, qrels, run):
    """Return everything that the command prints, or the error."""
    arguments = parse_arguments([*flags, str(qrels), str(run)])
    try:
        scores, notes = files.score_graded_files(arguments)
        return list(output_lines(scores, arguments)), notes
    except TrectoolsPlusError as error:
        return type(error), str(error)


def whole_outcome(*given):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "judge_file", only_as_a_whole)
        return outcome(*given)


@given(
    collections(),
    st.lists(st.sampled_from(FLAGS), max_size=3, unique=True),
    st.lists(st.sampled_from(MEASURES), max_size=2, unique=True),
    st.sampled_from([9, 10]),
)
def test_lines_notes_and_errors_are_those_of_the_whole_file(
    tmp_path_factory, collection, flags, measures, version
):
    qrels, run = write(tmp_path_factory.mktemp("clean"), collection)
    flags = [f"--trec-eval-version={version}", *flags, *measures]
    assert outcome(flags, qrels, run) == whole_outcome(flags, qrels, run)


@pytest.mark.every(3)
@pytest.mark.parametrize("version", [9, 10])
@pytest.mark.parametrize("flags", [[], ["-q", "-c"], ["-J"], ["-M5", "-l2"], ["-D30", "-q"]])
def test_two_processes_give_the_same(tmp_path, monkeypatch, flags, version):
    monkeypatch.setattr(parts, "_BYTES_PER_PROCESS", 1)
    monkeypatch.setattr(copies, "_count_processors", lambda: 2)
    monkeypatch.setattr(copies, "can_copy_process", lambda: sys.platform == "linux")
    monkeypatch.setattr(files, "read_run", None)
    qrels, run = write(tmp_path, large())
    flags = [f"--trec-eval-version={version}", "-m", "all_trec", *flags]
    found = outcome(flags, qrels, run)
    monkeypatch.undo()
    assert found == whole_outcome(flags, qrels, run)
