"""The project as a newcomer meets it: commands, documentation, exported names, layout."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import trectools_plus
from trectools_plus.cli.reference import generated_pages

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parent.parent
DOCS = {path.relative_to(ROOT / "docs"): path for path in (ROOT / "docs").rglob("*.md")}


def test_generated_pages_are_current():
    for name, text in generated_pages().items():
        page = ROOT / "docs" / name
        assert page.exists(), f"run scripts/docs: {name} is missing"
        assert page.read_text("utf-8") == text, f"run scripts/docs: {name} is stale"


@pytest.mark.parametrize("page", sorted(DOCS.values()), ids=lambda page: page.name)
def test_links_to_files_of_the_repository_resolve(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


VERSIONED = ("README.md", "docs/index.md", "docs/examples/gate.yml")


def test_every_file_that_states_the_version_states_this_one():
    version = trectools_plus.__version__
    assert metadata.version("trectools-plus") == version, "run scripts/test: it installs again"
    text = "".join((ROOT / name).read_text("utf-8") for name in VERSIONED)
    stated = re.findall(r"trectools_plus-([\d.]+\d)-py3|version += +\{(.*)\}", text)
    assert {one for pair in stated for one in pair if one} == {version}
    assert len(stated) == 5
    (newest, *_) = re.findall(
        r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert newest == version


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REQUIREMENTS = {
    requirement.name: requirement
    for extra, texts in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items()
    if not extra.startswith("dev")
    for requirement in map(Requirement, texts)
}


def pinned(constraints):
    lines = (ROOT / constraints).read_text("utf-8").splitlines()
    pins = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): Version(version) for name, version in pins}


# The local models take a gigabyte, and their lowest version an older transformers.
UNTESTED = {"sentence-transformers"}


@pytest.mark.parametrize("name", sorted(REQUIREMENTS.keys() - UNTESTED))
def test_the_lowest_version_that_is_allowed_is_the_one_that_is_tested(name):
    bound = max(REQUIREMENTS[name].specifier, key=lambda part: part.operator)
    assert bound.operator == ">="
    assert pinned("constraints-lowest.txt")[canonicalize_name(name)] == Version(bound.version)


@pytest.mark.parametrize("name", sorted(REQUIREMENTS))
def test_the_versions_of_continuous_integration_are_allowed(name):
    assert pinned("constraints.txt")[canonicalize_name(name)] in REQUIREMENTS[name].specifier
