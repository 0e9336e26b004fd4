"""Reading ``benchmark.yaml`` and merging it with the options of the command line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trectools_plus.benchmark.run.config import (
    DEPTH,
    EXCLUDE_SELF,
    ONTOLOGY,
    BenchmarkConfig,
    DataSettings,
    FileName,
    move_fusion,
)
from trectools_plus.benchmark.run.targets import Target
from trectools_plus.choices import STRATEGIES
from trectools_plus.errors import InputError, UsageError
from trectools_plus.formats.collection import is_named_collection
from trectools_plus.formats.files.opening import is_address
from trectools_plus.formats.ir_datasets import is_catalogue_name
from trectools_plus.formats.nodes.model import (
    Node,
    TreeError,
    find_line,
    load_value,
    refuse_repeats,
)
from trectools_plus.formats.nodes.parsing import parse_document
from trectools_plus.models import explain_problem
from trectools_plus.retrieval.backends.http.mapping import HttpSettings
from trectools_plus.retrieval.backends.selection import BackendSettings
from trectools_plus.retrieval.fetch.answering import Collapse
from trectools_plus.retrieval.setting_types import (
    BUILTIN,
    Flag,
    Names,
    Option,
    WholeNumber,
    read_models,
    setting,
)
from trectools_plus.retrieval.settings import RetrievalSettings

_OF_TEST_CASES = ("unknown_terms", "language")
_SUPERSEDES = {
    "dataset": ("corpus", "topics", "qrels", "runs", "test_file", *_OF_TEST_CASES),
    "corpus": ("dataset", "test_file", "runs", *_OF_TEST_CASES),
    "test_file": ("corpus", "topics", "qrels", "runs"),
    "runs": (
        *("dataset", "test_file", *_OF_TEST_CASES),
        *("corpus", "modes", "depth", "retrieval", "exclude_self"),
        *BackendSettings.model_fields,
    ),
    "measures": ("cutoffs",),
    "cutoffs": ("measures",),
}
"""By option, the settings of the file that it replaces."""

_MODELS = ("embedding_model", "splade_model")
"""Folders among the settings of ``retrieval``."""

_MERGED = ("retrieval", "http", "collapse")
"""Mappings of which the command line may set a part."""

_NOT_SERVED = ("backend", "retriever", "http", "collapse", "timeout", "exclude_self")
_NOT_SERVED_DATA = ("topics", "qrels", "runs", "exclude", "ontology", "annotations")
"""Settings of documents, queries and judgments that the service does not use."""
_SEARCH = ("dataset", "corpus", "test_file", "modes", "depth", "retrieval")
"""Settings of a search that is not compared with another one."""

_PATHS = (
    *("test_file", "corpus", "topics", "qrels", "exclude"),
    *("ontology", "annotations", "output_dir"),
)
_WITH_PATHS = {"runs": ("runs",), "retrieval": _MODELS, "http": ("embedding_model",)}
"""By setting with parts, the parts that are paths."""


_Settings = TypeVar("_Settings", bound=DataSettings)
ConfigOptions = Mapping[str, Any]
"""Settings by field of :class:`BenchmarkConfig`; ``None`` counts as not given.

They are checked when the configuration is built, with those of the file.
"""


def load_config(
    path: str | Path | None = None,
    options: ConfigOptions | None = None,
    model: type[BenchmarkConfig] = BenchmarkConfig,
) -> BenchmarkConfig:
    """Read a configuration; options override the file, and the file the defaults.

    Paths in the file are relative to its folder, paths in ``options`` to the current folder.

    Args:
        path: A YAML file with the fields of :class:`BenchmarkConfig`, if any.
        options: Settings that override the file.
        model: The model of the settings.

    Raises:
        InputError: If the file cannot be read.
        UsageError: If it is not a YAML mapping, or a field is unknown or invalid; names the file
            and every such field.
    """
    file = _SettingsFile(path, options)
    for name, superseded in _SUPERSEDES.items():
        if name in file.given:
            file.remove(superseded)
    return file.validate(model, file.merge())


class FetchSettings(DataSettings):
    """The documents and queries, the backend, and the settings of fetching."""

    ontology: FileName | None = ONTOLOGY
    retrieval: RetrievalSettings = setting(
        RetrievalSettings, "Settings of modes that index documents."
    )
    modes: Names = setting(
        (),
        "Modes to fetch, comma-separated: lexical (or bm25), vector (or dense), ngram, hybrid, "
        "splade, or an aggregation strategy of "
        "multi-vector search; with --backend, the modes of the backend; each --retriever is a "
        "mode.",
        Option("NAMES", default="lexical,vector,hybrid, or every --retriever"),
    )
    depth: WholeNumber = DEPTH
    exclude_self: Flag = EXCLUDE_SELF


def load_fetch_settings(
    path: str | Path | None = None, options: ConfigOptions | None = None
) -> FetchSettings:
    """Read data, backend and settings of fetching from the same file; ignore the rest.

    Another backend, or a retriever, in ``options`` removes the modes of the file. Other data remove
    those that they replace.

    Raises:
        InputError, UsageError: As :func:`load_config`.
    """
    file = _SettingsFile(path, options)
    file.remove(BenchmarkConfig.model_fields.keys() - FetchSettings.model_fields.keys())
    file.remove(("qrels", "runs", "unknown_terms"))  # judgments and given runs are not fetched
    named = file.given.get("backend")
    if file.given.get("retriever") or (named and file.values.get("backend", named) != named):
        file.remove(("modes",))
    for name, superseded in {**_SUPERSEDES, "topics": ("dataset", "test_file")}.items():
        if name in file.given:
            file.remove(superseded)
    merged = file.merge()
    is_hpo = merged.get("dataset") == "hpo" or merged.get("test_file") is not None
    if "ontology" not in file.given and not is_hpo:
        merged.pop("ontology", None)  # with other documents, only scoring uses it
    return file.validate(FetchSettings, merged)


def load_search_settings(path: str | Path, *, other_documents: bool = False) -> dict[str, Any]:
    """Read the documents, the test set and the modes from the same file.

    Settings of measures and statistics are ignored.

    Args:
        path: The file.
        other_documents: Whether the user gave other documents, which replace all data of the file.

    Returns:
        Those of ``dataset``, ``corpus``, ``test_file``, ``modes``, ``depth`` and ``retrieval``
        that the file contains; ``retrieval`` is not validated.

    Raises:
        InputError: If the file cannot be read.
        UsageError: If it is not a YAML mapping, or a setting is unknown or invalid, or names data
            or a backend that the service does not search.
    """
    file = _SettingsFile(path)
    default = BenchmarkConfig.model_fields
    for name in file.values:
        if name not in BenchmarkConfig.model_fields:
            remedy = _suggest(name, BenchmarkConfig.model_fields)
            raise UsageError(f"unknown setting '{name}'", where=str(path), remedy=remedy)
        is_replaced = other_documents and name in _NOT_SERVED_DATA
        is_served = name not in (*_NOT_SERVED, *_NOT_SERVED_DATA) or is_replaced
        if not is_served and file.values[name] not in (None, default[name].get_default()):
            raise UsageError(
                f"the service does not use `{name}`",
                where=str(path),
                remedy="leave it out; the service searches dataset or corpus with embedded modes, "
                "and evaluates test_file",
            )
    found = {name: file.values[name] for name in _SEARCH if name in file.values}
    checked: dict[str, Any] = {name: found[name] for name in ("modes", "depth") if name in found}
    settings = file.validate(FetchSettings, checked)
    return {**found, **{name: getattr(settings, name) for name in checked}}


class _SettingsFile:
    """The settings of a file, and those that the user gave as options.

    Args:
        path: The file, if any.
        options: The options.

    Attributes:
        values: The settings of the file, with paths relative to the current folder.
        given: The options that are not ``None``.

    Raises:
        InputError: If the file cannot be read.
        UsageError: If it is not a YAML mapping.
    """

    def __init__(self, path: str | Path | None, options: ConfigOptions | None = None) -> None:
        self._path = path
        self._root: Node | None = None
        self.values: dict[str, Any] = {}
        if path is not None:
            content, self._root = _read_yaml(Path(path))
            self.values = _anchor_paths(move_fusion(content), Path(path).parent)
        self.given = {name: one for name, one in (options or {}).items() if one is not None}

    def remove(self, names: Iterable[str]) -> None:
        """Remove settings of the file."""
        for name in names:
            self.values.pop(name, None)

    def merge(self) -> dict[str, Any]:
        """Merge options and file; of some mappings, options override only the given keys."""
        merged = {**self.values, **self.given}
        for name in _MERGED:
            old, new = self.values.get(name), self.given.get(name)
            if isinstance(old, dict) and isinstance(new, dict):
                merged[name] = {**old, **new}
        return merged

    def validate(self, model: type[_Settings], values: Mapping[str, Any]) -> _Settings:
        """Return the model of the settings.

        Raises:
            UsageError: If a field is unknown or invalid; names the file and every such field.
        """
        try:
            return model.model_validate(values)
        except ValidationError as error:
            raise self._translate(error) from error

    def _translate(self, error: ValidationError) -> UsageError:
        """Return one error for all invalid settings, each with its name and the problem."""
        found = [self._explain(item) for item in error.errors(include_url=False)]
        if len(found) == 1:
            what, where, remedy = found[0]
            return UsageError(what, where=where, remedy=remedy)
        parts = [f"{where}: {what}" if where else what for what, where, _ in found]
        remedies = dict.fromkeys(remedy for *_, remedy in found if remedy)
        return UsageError("; ".join(parts), remedy="; ".join(remedies) or None)

    def _explain(self, item: ErrorDetails) -> tuple[str, str | None, str | None]:
        place = item["loc"]
        if item["type"] == "extra_forbidden":
            remedy = _suggest(str(place[-1]), _known_fields(item))
            return f"unknown setting '{_dotted(place)}'", self._where(place[:-1] or place), remedy
        what, remedy = explain_problem(item)
        spelled = re.search(r"^`(\w+)`: ", what)
        if not place and spelled:
            # A check of several settings that reports one of them.
            place, what = (spelled[1],), what[spelled.end() :]
        return what, self._where(place), remedy

    def _where(self, place: tuple[int | str, ...]) -> str | None:
        """Return the name of the field, with the file and the line if it is in the file."""
        if place and (self._path is None or place[0] in self.given):
            inside = len(place) > 1 and not isinstance(place[1], int)  # a mapping, not a list
            return _dotted(place) if inside else str(place[0])
        if self._path is None:
            return None
        line = find_line(self._root, place)
        parts = [str(self._path), *([] if line is None else [str(line)])]
        return ":".join(parts) + (f": {_dotted(place)}" if place else "")


def _read_yaml(path: Path) -> tuple[dict[str, Any], Node | None]:
    """Read the settings of a file as texts, and the tree with their line numbers."""
    try:
        tree = parse_document(path.read_bytes().decode("utf-8-sig"), "yaml")
        refuse_repeats(tree)
        content = None if tree.root is None else load_value(tree.root, as_text=True)
    except OSError as error:
        raise InputError(
            f"the configuration cannot be read: {error.strerror}", where=str(path)
        ) from error
    except TreeError as error:
        problem = error.what.removeprefix("invalid YAML: ")
        raise UsageError(f"not valid YAML: {problem}", where=f"{path}:{error.line}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not valid YAML: {error}", where=str(path)) from error
    if content is None:
        return {}, None
    if not isinstance(content, dict):
        raise UsageError(
            "expected a mapping of settings",
            where=str(path),
            remedy="write lines like `dataset: hpo`",
        )
    return content, tree.root


def _anchor_paths(
    values: Mapping[str, Any], folder: Path, names: Iterable[str] = _PATHS, parent: str = ""
) -> dict[str, Any]:
    """Make the file's paths relative to the current folder.

    Args:
        values: Settings, or a part of them.
        folder: The folder of the file.
        names: The settings that are paths, or mappings of paths.
        parent: The setting whose parts are given.
    """
    anchored = dict(values)
    for name, value in values.items():
        if isinstance(value, dict):
            inside = names if parent else _WITH_PATHS.get(name, ())
            anchored[name] = _anchor_paths(value, folder, inside, name)
        elif isinstance(value, str) and (name in names or parent in names):
            anchored[name] = _anchor(value, folder)
    dataset = None if parent else values.get("dataset")
    if isinstance(dataset, str) and not is_named_collection(dataset):
        path = _anchor(dataset, folder)  # without "./", a folder could be read as a name
        anchored["dataset"] = f"./{path}" if is_named_collection(path) else path
    return anchored


def _anchor(path: str, folder: Path) -> str:
    from trectools_plus.testsets.loading import find_shipped  # the help of commands needs no files

    is_name = path == "-" or path == BUILTIN or is_address(path) or is_catalogue_name(path)
    if is_name or find_shipped(path) is not None:
        return path
    return str(folder / Path(path).expanduser())


def _dotted(place: tuple[int | str, ...]) -> str:
    return ".".join(str(step) for step in place)


def _known_fields(item: ErrorDetails) -> Iterable[str]:
    if len(item["loc"]) == 1:
        return BenchmarkConfig.model_fields
    known: dict[int | str, Iterable[str]] = {
        "http": HttpSettings.model_fields,
        "retrieval": RetrievalSettings.model_fields,
        "collapse": Collapse.model_fields,
    }
    return known.get(item["loc"][0], Target.model_fields)


def _suggest(name: str, known: Iterable[str]) -> str | None:
    names = list(known)
    if near := difflib.get_close_matches(name, names, n=1):
        return f"did you mean '{near[0]}'?"
    return f"use one of {', '.join(names)}" if names else None


SINGLE = "vector"
SINGLE_LABEL = "Single-Vector"


def compare_vectors_options(
    options: ConfigOptions, strategies: Sequence[str] | None = None, *, single: bool = True
) -> ConfigOptions:
    """Return the settings of a benchmark whose modes are different kinds of vector search.

    Args:
        options: Further settings, for example ``dataset``; see
            :class:`trectools_plus.benchmark.run.config.BenchmarkConfig`.
        strategies: Aggregation strategies of a multi-vector index; all if ``None``.
        single: Include the search with one vector per document and compare every strategy with it;
            otherwise compare every pair of strategies.

    Returns:
        Settings for :func:`trectools_plus.benchmark.run.config_file.load_config`.

    Raises:
        UsageError: If a strategy is unknown or named twice, there is nothing to compare, or the
            settings include ``multi_vector`` or several embedding models.
    """
    chosen = STRATEGIES if strategies is None else tuple(strategies)
    modes, retrieval = (SINGLE, *chosen) if single else chosen, options.get("retrieval") or {}
    unknown = [name for name in chosen if name not in STRATEGIES]
    has_models = isinstance(read_models(retrieval.get("embedding_model")), Mapping)
    problems = (
        (
            bool(unknown),
            f"unknown strategy '{''.join(unknown[:1])}'",
            "--strategies",
            f"use one of {', '.join(STRATEGIES)}",
        ),
        (
            len(set(chosen)) < len(chosen),
            f"a strategy is given twice: {', '.join(chosen)}",
            "--strategies",
            "give each strategy once",
        ),
        (
            "multi_vector" in retrieval,
            "cannot be set here: the strategies set it for each mode",
            "multi_vector",
            "leave it out",
        ),
        (
            has_models,
            "compares kinds of search with one embedding model",
            "compare-vectors",
            f"use benchmark run --modes {','.join((SINGLE, *chosen))} with several models",
        ),
        (
            len(modes) < 2,
            "there is nothing to compare",
            "--strategies",
            "give at least one strategy, or two with --no-single",
        ),
    )
    for is_wrong, what, where, remedy in problems:
        if is_wrong:
            raise UsageError(what, where=where, remedy=remedy)
    single_vector = {**retrieval, "multi_vector": False}
    settings: ConfigOptions = {**options, "modes": modes, "retrieval": single_vector}
    if single:
        settings = {**settings, "baseline": (SINGLE,), "mode_names": {SINGLE: SINGLE_LABEL}}
    return settings
