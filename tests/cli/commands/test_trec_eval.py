"""Tests of ``trectools-plus trec-eval``: arguments, output, exit codes."""

import gzip

import pytest

pytestmark = pytest.mark.process

QRELS = "1 0 a 1\n1 0 b 0\n2 0 a 1\n"
RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 1.0 t\n"


@pytest.fixture
def trec_eval(tmp_path, program):
    """Return a function that calls the command in a folder with qrels and a run."""
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "run.gz").write_bytes(gzip.compress(RUN.encode()))

    def call(*arguments, stdin=""):
        given = tmp_path / "stdin"
        given.write_text(stdin)
        return program(["trectools-plus", "trec-eval", *arguments], tmp_path, given)

    return call


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["qrels"], 2, "two files"),
        (["-R", "prefs", "qrels", "run"], 2, "use -m prefs"),
        (["-w", "qrels", "run"], 1, "-w"),
        (["qrels", "missing"], 2, "missing"),
        (["run", "qrels"], 1, "Q104"),
    ],
)
def test_mistakes_are_one_line(trec_eval, check_mistake, arguments, code, said):
    check_mistake(trec_eval(*arguments), code, said)
