"""The test sets that come with the package, and any other by its path."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trectools_plus.errors import InputError
from trectools_plus.testsets.columns import TextField, with_text_field
from trectools_plus.testsets.model import TestSet
from trectools_plus.testsets.reading import read_test_set

DEFAULT_TEST_SET = "hpo-en-standard"
"""The test set of ``--dataset hpo`` where no other is named."""

_FOLDER = Path(__file__).parent / "data"
_ENDING = ".json"


@dataclass(frozen=True, slots=True)
class ListedTestSet:
    """A test set that comes with the package.

    Attributes:
        name: What it is called: ``load_test_set(name)``.
        language: The language of its texts, as ISO 639-1 code.
        queries: How many queries it has.
        version: Its version.
        description: What it holds.
    """

    name: str
    language: str
    queries: int
    version: str
    description: str


def load_test_set(
    name_or_path: str | Path, *, text_field: TextField = "text", language: str | None = None
) -> TestSet:
    """Load a test set that comes with the package, or read one's own (JSON or YAML).

    Args:
        name_or_path: A name, such as ``hpo-en-tiny``, or a file, compressed or not; ``mine``
            finds ``mine.yaml``, ``mine.yml`` or ``mine.json`` too. A file that is called like a
            shipped set needs its folder: ``./hpo-en-tiny``.
        text_field: Where the texts are: sets may have German texts beside English descriptions,
            say. See :func:`trectools_plus.testsets.columns.with_text_field`.
        language: The texts' language, as ISO 639-1 code, for a set that does not say.

    Raises:
        InputError: If there is no such set or file, or it cannot be read.
        FormatError: If it is neither JSON nor YAML, a field is missing or wrong, or a query lacks
            the ``text_field``.
        UsageError: If the set says that its texts have another language.
    """
    test_set = read_test_set(find_test_set(name_or_path))
    return with_text_field(test_set, text_field, language, str(name_or_path))


def find_test_set(name_or_path: str | Path) -> Path:
    """The file of a test set: a shipped one, or a file, whose ending may be left out.

    Raises:
        InputError: If the name is none of the shipped sets', and there is no such file.
    """
    text = str(name_or_path)
    if text in shipped_names():
        return _FOLDER / f"{text}{_ENDING}"
    if text != "-" and not Path(text).exists():
        for ending in (".yaml", ".yml", ".json"):
            if Path(f"{text}{ending}").is_file():
                return Path(f"{text}{ending}")
    if text != "-" and Path(text).name == text and "." not in text and not Path(text).exists():
        raise InputError(
            "no such test set or file",
            where=text,
            remedy=f"name a file, or one of {', '.join(shipped_names())}",
        )
    return Path(name_or_path)


def shipped_names() -> list[str]:
    """The names of the test sets that come with the package, in alphabetical order."""
    return sorted(path.name.removesuffix(_ENDING) for path in _FOLDER.glob(f"*{_ENDING}"))


def list_test_sets() -> list[ListedTestSet]:
    """The test sets that come with the package, in the order of their names."""
    found = []
    for name in shipped_names():
        test_set = read_test_set(_FOLDER / f"{name}{_ENDING}")
        said = test_set.metadata
        listed = ListedTestSet(
            name, said.language, len(test_set.queries), said.version, said.description
        )
        found.append(listed)
    return found
