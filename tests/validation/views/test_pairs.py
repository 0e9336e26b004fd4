"""The list of documents that there are."""

from __future__ import annotations

import gzip
from pathlib import Path

from harness.files import write

from trectools_plus.validation.rules.pairs import read_document_ids


def test_a_list_is_one_id_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "ids.txt.gz", gzip.compress('\ufeffa\r\n b \n\nc d\n"q"\n'.encode()))
    assert read_document_ids(path).to_list() == ["a", "b", "c d", '"q"']
