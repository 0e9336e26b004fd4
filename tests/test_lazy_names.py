"""Names of packages: each can be imported, is public in one place, and no module has its name."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from harness.pages import read_blocks

import trectools_plus

ROOT = Path(trectools_plus.__file__).parent
PACKAGES = [
    ".".join(stub.relative_to(ROOT.parent).parent.parts) for stub in ROOT.rglob("__init__.pyi")
]


def read_stub(name):
    """The module of each name in a stub, and the public names."""
    stub = Path(str(import_module(name).__file__)).with_suffix(".pyi")
    homes = {}
    public = None
    for node in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.name: str(node.module) for alias in node.names}
        elif isinstance(node, ast.Assign):
            public = ast.literal_eval(node.value)
    return homes, sorted(homes) if public is None else public


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_can_be_imported(name):
    package = import_module(name)
    homes, public = read_stub(name)
    assert public == package.__all__
    assert set(public) <= set(homes) <= set(dir(package))
    for listed, home in homes.items():
        value = getattr(package, listed)
        assert getattr(import_module(home), listed) in (value, getattr(value, "__wrapped__", None))
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        package.nothing_of_this_name  # noqa: B018


@pytest.mark.parametrize("name", PACKAGES)
def test_no_public_name_is_a_module(name):
    # The import of a module sets an attribute of its package, and would replace the name.
    folder = Path(str(import_module(name).__file__)).parent
    assert {path.stem for path in folder.iterdir()} & set(read_stub(name)[0]) == set()


def test_a_name_is_public_in_one_place_and_has_an_example():
    public = [name for package in PACKAGES for name in import_module(package).__all__]
    assert sorted(public) == sorted(set(public))
    assert len(public) <= 90
    assert len(trectools_plus.__all__) <= 40
    assert set(read_stub("trectools_plus")[0]) == set(trectools_plus.__all__)
    docs = (ROOT.parent / "docs").rglob("*.md")
    blocks = [block for page in docs for block in read_blocks(page.read_text("utf-8"))]
    code = [ast.parse(block.text) for block in blocks if block.language == "python"]
    imports = [node for tree in code for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert set(public) <= {alias.name for node in imports for alias in node.names}


def test_packages_load_nothing_until_a_name_is_used():
    code = f"import sys, {', '.join(PACKAGES)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"numpy", "polars", "pydantic", "ast"} & set(done.stdout.split()) == set()
