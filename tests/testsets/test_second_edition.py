"""The second edition of the shipped test sets does not change."""

import hashlib
from pathlib import Path

import trectools_plus
from trectools_plus.testsets.loading import load_test_set, read_test_set, shipped_editions

FOLDER = Path(trectools_plus.__file__).parent / "testsets" / "data" / "2"
SHA256 = "43a86693dec07486579d07041cb50dabd6dd4921f30668c0996346e81db19360"
"""Of all files in the order of their names."""


def test_the_files_are_unchanged() -> None:
    content = b"".join(path.read_bytes() for path in sorted(FOLDER.iterdir()))
    assert hashlib.sha256(content).hexdigest() == SHA256


def test_the_edition_is_loaded_by_its_number() -> None:
    names = {one.removesuffix("@2") for one in shipped_editions() if one.endswith("@2")}
    assert names == {path.stem for path in FOLDER.iterdir()}
    name = "hpo-de-standard"
    assert load_test_set(f"{name}@2") == read_test_set(FOLDER / f"{name}.json")
    assert load_test_set(f"{name}@2") != load_test_set(name)
