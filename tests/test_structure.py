"""Modules import each other in one direction only, and are no larger than they were.

Imports at the top of a module, in functions, for type checkers only, and names of modules in texts
all count. Three kinds of names are imported later and are resolved here:

* A package with a stub (see ``lazy_names.py``) imports a name from the module that its stub names,
  so ``from package import Name`` is an import of that module.
* ``cli/app.py`` imports every command.
* The root package stands above all layers: it offers the names of all of them and registers the
  renderings of results. No module takes a name from it.
"""

import ast
import re
from collections import Counter
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from harness.sizes import Size, sizes_of

ROOT = Path(__file__).parent.parent / "trectools_plus"
NAME = ROOT.name


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@cache
def read_stub(package):
    """The names of a package with a stub: the module of each, and its name there."""
    stub = MODULES[package].with_suffix(".pyi")
    if not stub.is_file():
        return {}
    return {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in ast.parse(stub.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def resolve(module, name):
    """The modules that ``from module import name`` imports."""
    if f"{module}.{name}" in MODULES:
        yield f"{module}.{name}"
    elif module in MODULES:
        yield module
        if module != NAME and name in read_stub(module):
            yield from resolve(*read_stub(module)[name])


def longest_module(text):
    """The module that a text like ``trectools_plus.cli.app:main`` names."""
    name = text.split(":")[0]
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    if name:
        yield name


def imports(module):
    path = MODULES[module]
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")
            above = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                found.update(resolve(base, alias.name))
        elif isinstance(node, ast.Constant) and str(node.value).startswith(f"{NAME}."):
            found.update(longest_module(str(node.value)))
    if module == f"{NAME}.cli.app":
        found.update(one for one in MODULES if one.startswith(f"{NAME}.cli.commands."))
    # A module is imported after the packages that contain it.
    found |= {name[: dot.start()] for name in found for dot in re.finditer(r"\.", name)}
    above = {module[: dot.start()] for dot in re.finditer(r"\.", module)}
    return (found & MODULES.keys()) - {module, *above}


def test_no_module_takes_a_name_from_the_root_package():
    for module, path in MODULES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module == NAME and module != NAME:
                names = {alias.name for alias in node.names}
                assert all(f"{NAME}.{name}" in MODULES for name in names), (module, names)


def test_there_are_no_cycles():
    TopologicalSorter({module: imports(module) for module in MODULES}).prepare()


MOST_FILES = 14
"""Files of a folder that can be overlooked."""


def test_folders_are_small():
    counts = Counter(path.parent for path in MODULES.values())
    assert {folder.name: n for folder, n in counts.items() if n > MOST_FILES} == {}


def test_public_classes_have_names_of_their_own():
    places = {}
    for module, path in MODULES.items():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


CEILINGS = {
    "formats": Size(2_780, 39_997),
    "validation": Size(1_962, 32_984),
    "retrieval": Size(2_778, 39_749),
    "benchmark": Size(2_253, 33_831),
    "reporting": Size(1_312, 20_989),
    "service": Size(1_261, 16_888),
    "cli": Size(1_242, 20_090),
    "measures": Size(1_337, 19_309),
    "extraction": Size(1_245, 17_797),
    "judging": Size(1_503, 21_170),
    "statistics": Size(1_084, 15_887),
    "trec_eval": Size(948, 12_942),
    ".": Size(453, 5_318),
    "testsets": Size(529, 7_848),
    "ontology": Size(417, 5_986),
    "distributed": Size(111, 1_357),
}
"""The greatest sizes of the folders of the package. A ceiling is only ever lowered."""
TESTS_CEILING = Size(18_986, 296_288)
MOST_MODULES = 229
MOST_SCRIPT_LINES = 1_420


@pytest.mark.parametrize("folder", CEILINGS)
def test_a_folder_is_below_its_ceiling(folder):
    size, most = sizes_of(ROOT).get(folder, Size(0, 0)), CEILINGS[folder]
    assert size.statements <= most.statements
    assert size.tokens <= most.tokens


def test_every_folder_has_a_ceiling():
    assert sizes_of(ROOT).keys() <= CEILINGS.keys()


def test_the_tests_are_below_their_ceiling():
    sizes = sizes_of(Path(__file__).parent).values()
    assert sum(size.statements for size in sizes) <= TESTS_CEILING.statements
    assert sum(size.tokens for size in sizes) <= TESTS_CEILING.tokens


def test_modules_and_scripts_of_pages_are_below_their_ceilings():
    scripts = [path.read_text("utf-8") for path in ROOT.rglob("*.js")]
    assert len(MODULES) <= MOST_MODULES
    assert sum(text.count("\n") for text in scripts) <= MOST_SCRIPT_LINES
