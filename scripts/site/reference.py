"""The commands, rules, public names and result objects on pages of the site.

A page has the list between `<!-- reference: commands -->` (`rules`, `names`, `results`, `forms`,
`options`) and `<!-- end -->`, where this MkDocs hook writes it: help texts, the catalogue, tables
of formats, or entries that mkdocstrings fills with signatures and docstrings. In the checkout,
scripts/docs writes the names alone to docs/python.md, and the tables to docs/formats.md.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from trectools_plus.cli.reference import iter_commands
from trectools_plus.formats.interchange.detection import FORMATS, LineForm
from trectools_plus.formats.interchange.json_forms import JsonForm
from trectools_plus.validation import CATALOGUE

PACKAGE = Path(__file__).resolve().parents[2] / "trectools_plus"
_MARK = re.compile(r"(<!-- reference: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
_SPECIAL, _ESCAPED = re.compile(r"([|\[\]])"), r"\\\1"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks of a page by entries of the reference."""
    return _MARK.sub(lambda mark: LISTS[mark[2]](), markdown)


def with_names(markdown: str) -> str:
    """Replace the public names of a page by one item for each package."""
    items = [
        textwrap.fill(
            f"- `{package}`: " + ", ".join(f"`{name}`" for name in names),
            120,
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for package, names in public_names().items()
    ]
    return _MARK.sub(lambda mark: "\n".join([mark[1], *items, "", mark[3]]), markdown)


def with_formats(markdown: str) -> str:
    """Replace the tables of formats of a page."""
    return _MARK.sub(lambda mark: f"{mark[1]}{LISTS[mark[2]]()}{mark[3]}", markdown)


@cache
def public_names() -> dict[str, list[str]]:
    """Return the public names of each package that has some; `trectools_plus` comes first."""
    stubs = (stub.relative_to(PACKAGE.parent) for stub in PACKAGE.rglob("__init__.pyi"))
    packages = sorted(".".join(stub.parent.parts) for stub in stubs)
    listed = {name: list(import_module(name).__all__) for name in packages}
    return {name: names for name, names in listed.items() if names}


@cache
def result_objects() -> dict[str, list[str]]:
    """Return the classes that public functions return, and those of their attributes, by module.

    Public names are left out, because docs/python.md lists them.
    """
    public = [
        getattr(import_module(package), name)
        for package, names in public_names().items()
        for name in names
    ]
    seen, open_ends = set(map(id, public)), list(public)
    found: dict[str, list[str]] = {}
    while open_ends:
        for result in _types_of(open_ends.pop()):
            if id(result) not in seen:
                seen.add(id(result))
                open_ends.append(result)
                found.setdefault(result.__module__, []).append(result.__qualname__)
    return {module: sorted(found[module]) for module in sorted(found)}


def _types_of(value: Any) -> Iterator[type]:
    """Yield the classes of this project in a function's result, or in a class's attributes."""
    if not inspect.isclass(value):
        annotations = {"return": inspect.unwrap(value).__annotations__.get("return")}
        yield from _classes(annotations, inspect.unwrap(value).__module__)
        return
    for base in value.__mro__:
        if base.__module__.startswith(PACKAGE.name):
            yield from _classes(inspect.get_annotations(base), base.__module__)
            for member in vars(base).values():
                getter = getattr(member, "fget", None) or getattr(member, "func", None)
                if getter is not None and not getter.__name__.startswith("_"):
                    returned = getter.__annotations__.get("return")
                    yield from _classes({"return": returned}, base.__module__)


def _classes(annotations: dict[str, Any], module: str) -> Iterator[type]:
    """Yield the classes of this project that annotations name.

    Names that exist only for type checkers are skipped: they are classes of other libraries.
    """
    for name, annotation in annotations.items():
        if name.startswith("_"):
            continue
        names = vars(import_module(module))
        words = re.findall(r"\w+", annotation) if isinstance(annotation, str) else ()
        values = [names.get(word) for word in words] if words else [annotation]
        for value in values:
            yield from _own_classes(value)


def _own_classes(value: Any) -> Iterator[type]:
    if inspect.isclass(value) and value.__module__.startswith(f"{PACKAGE.name}."):
        yield value
    for part in typing.get_args(value):
        yield from _own_classes(part)


def _entries(names: dict[str, list[str]]) -> str:
    lines = []
    for module, listed in names.items():
        lines += [f"### `{module}`", ""]
        lines += [f"::: {module}.{name}\n" for name in listed]
    return "\n".join(lines)


def _commands() -> str:
    """Return the help texts of all commands, one section per command."""
    return "\n".join(
        f"## {name}\n\n```text\n{text.rstrip()}\n```\n" for name, text in iter_commands()
    )


def _rules() -> str:
    """Return the catalogue of rules; the code of each is an anchor."""
    parts = []
    for subject, heading in HEADINGS.items():
        rules = [rule for rule in CATALOGUE if rule.on == subject]
        parts += [f"### {heading}\n", "| code | name | severity | checks |", "|---|---|---|---|"]
        parts += [
            f"| [{rule.code}](#{rule.code}) | {rule.name} | {rule.severity} | "
            f"{_SPECIAL.sub(_ESCAPED, rule.checks)} |"
            for rule in rules
        ]
        parts.append("")
        for rule in rules:
            parts += [f'<a id="{rule.code}"></a>\n', f"#### {rule.code} {rule.name}\n"]
            parts += [f"{rule.rationale}\n", f"```text\n{rule.example}\n```\n"]
            parts += [f"What to do: {rule.remedy}. Fix: {FIXES[rule.fix_kind]}.\n"]
    return "\n".join(parts)


def _forms() -> str:
    """Return the table of the forms of JSON, with the keys of each."""
    lines = ["| form | key of a run | key of qrels | |", "|---|---|---|---|"]
    forms = (form for form in FORMATS if isinstance(form, JsonForm))
    for (label, text), rows in groupby(forms, lambda form: (form.label, form.text)):
        marks = [(_keys(row.queries, row.run), _keys(row.queries, row.qrels)) for row in rows]
        run, qrels = (", ".join(dict.fromkeys(keys)) for keys in zip(*marks, strict=True))
        lines.append(f"| {label} | {run} | {qrels} | {text} |")
    return "\n".join([*lines, ""])


def _keys(*keys: str | None) -> str:
    return "–" if keys[-1] is None else ", ".join(f"`{key}`" for key in keys if key)


def _options() -> str:
    """Return the table of the formats that `--from` names."""
    lines = ["| `--from` | content | read by |", "|---|---|---|"]
    for form in FORMATS:
        if form.option:
            is_converted = isinstance(form, LineForm) and bool(form.run or form.qrels)
            commands = "`convert`" if is_converted else "every command"
            lines.append(f"| `{form.option}` | {form.label}: {form.text} | {commands} |")
    return "\n".join([*lines, ""])


HEADINGS = {
    "file": "Files",
    "run": "Runs",
    "qrels": "Qrels",
    "topics": "Topics and test sets",
    "testset": "Test sets, their ontology and their parts",
    "pair": "Run against qrels and topics",
}
FIXES = {
    "safe": "safe, the ranking that is evaluated stays",
    "ask": "if the rule is named",
    "no": "not from the file alone",
}
LISTS: dict[str, Callable[[], str]] = {
    "commands": _commands,
    "rules": _rules,
    "names": lambda: _entries(public_names()),
    "results": lambda: _entries(result_objects()),
    "forms": _forms,
    "options": _options,
}
