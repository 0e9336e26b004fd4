import io
import sys

import pytest

from trectools_plus.display import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_the_work_prints_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar():
        print("indexing …")
    print("{}")
    assert capsys.readouterr() == ("{}\n", "indexing …\n")


@pytest.mark.parametrize(("stream", "shown"), [(io.StringIO, False), (Terminal, True)])
def test_a_bar_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], shown: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    with progress_bar() as progress:
        progress("indexing", 0, 100)
        progress("indexing", 100, 100)
    assert ("indexing" in sys.stderr.getvalue()) == shown  # type: ignore[attr-defined]
