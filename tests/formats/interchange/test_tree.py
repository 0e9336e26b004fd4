"""Topics as tables with a header."""

from pathlib import Path

import pytest
from harness.files import write

from trectools_plus import load_topics
from trectools_plus.validation import FindingsError


@pytest.mark.parametrize(
    "text",
    [
        'query_id,text\n1,two words\n2,"a, b"\n',
        "Topic ID;Query;Note\r\n1;two words;x\r\n2;a, b;\r\n",
        "qid\ttitle\tlang\n1\ttwo words\ten\n2\ta, b\ten\n",
    ],
)
def test_topics(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "topics.csv", text.encode())
    assert load_topics(path).to_dict() == {"1": "two words", "2": "a, b"}


def test_an_empty_table_has_no_topics(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query_id,text\n")
    with pytest.raises(FindingsError, match="F101"):
        load_topics(tmp_path / "a.csv")
