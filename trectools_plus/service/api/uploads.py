"""What a request brings: the parts of its body, under names of the service's own.

Neither a file name nor anything inside a request is ever used as a path. Readers of this package
take files, so the parts are written into a private folder that goes when the work is done; what
they say of the places of errors names the parts.
"""

from __future__ import annotations

import re

# A text that never ends is taken to the end at once: looking on from each quotation mark inside it
# would take a time that grows with its square.
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from starlette.requests import Request

from trectools_plus.errors import SeveralFilesError, TrectoolsPlusError
from trectools_plus.formats.files.compression import detect
from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.topic_schema import form_of
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.problems import ProblemError, ProblemItem, as_problem

MULTIPART = "multipart/form-data"
JSON_TYPES = ("application/json",)
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")
TEXT_TYPES = ("text/plain", "application/octet-stream")

Form = Literal["json", "yaml", "text"]


@dataclass(frozen=True, slots=True)
class Part:
    """One upload.

    Attributes:
        name: What it is called: ``test_set``, ``run`` …
        data: Its bytes.
        form: What its media type says; ``None`` where that says nothing.
    """

    name: str
    data: bytes
    form: Form | None = None


async def read_parts(
    request: Request, allowed: Mapping[str, int], *, raw: str | None, types: tuple[str, ...]
) -> list[Part]:
    """Read a body: ``multipart/form-data``, or one part alone as it is.

    Args:
        request: The request.
        allowed: How many parts of each name a form may have.
        raw: The part that a body which is no form is; ``None`` where it has to be one.
        types: Media types of such a body.

    Raises:
        ProblemError: 415 for another media type, 422 if a part is unknown, missing or compressed,
            or there are too many.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given == MULTIPART:
        parts = await _read_form(request, allowed)
    elif raw is not None and given in types:
        parts = [Part(raw, await request.body(), _form_of(given))]
    else:
        taken = ", ".join([MULTIPART, *(types if raw else ())])
        raise ProblemError(
            415,
            "unsupported-media-type",
            "the body's media type is none that is taken here",
            remedy=f"send one of {taken}",
            headers={"Accept": taken},
        )
    for part in parts:
        if not part.data.strip():
            raise ProblemError(422, "empty-part", f"{part.name} is empty")
        if detect(part.data) is not None:
            raise ProblemError(
                422, "compressed-part", f"{part.name} is compressed", remedy="send it as it is"
            )
    return parts


async def _read_form(request: Request, allowed: Mapping[str, int]) -> list[Part]:
    most = sum(allowed.values()) + 1
    parts: list[Part] = []
    async with request.form(max_files=most, max_fields=most, max_part_size=1 << 30) as form:
        for name, value in form.multi_items():
            if name not in allowed:
                raise ProblemError(
                    422,
                    "unknown-part",
                    "the form has a part that is not known here",
                    remedy=f"parts are {', '.join(allowed)}",
                )
            if isinstance(value, str):
                parts.append(Part(name, value.encode("utf-8", "replace")))
            else:
                media = (value.content_type or "").partition(";")[0].strip().lower()
                parts.append(Part(name, await value.read(), _form_of(media)))
    for name, count in allowed.items():
        if sum(part.name == name for part in parts) > count:
            raise ProblemError(
                422, "too-many-parts", f"expected at most {count} of the part {name}"
            )
    return parts


def named(parts: list[Part], name: str) -> list[Part]:
    """The parts of one name.

    Raises:
        ProblemError: 422 if there is none.
    """
    found = [part for part in parts if part.name == name]
    if not found:
        raise ProblemError(
            422, "missing-part", f"the part {name} is missing", remedy=f"send a file as {name}"
        )
    return found


class Folder:
    """A private folder of uploads.

    Args:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hidden = (f"{path}/", f"{sysconfig.get_path('purelib')}/")

    def put(self, part: Part, name: str | None = None) -> str:
        """Write a part, and return the path of its file.

        Args:
            part: The upload.
            name: What to call it; as the part where not given.
        """
        path = self._path / (name or part.name)
        path.write_bytes(part.data)
        return str(path)

    def hidden(self, content: Any) -> Any:
        """The same JSON content with this folder, and that of packages, left out of every text."""
        if isinstance(content, str):
            for prefix in self._hidden:
                content = content.replace(prefix, "")
            return content
        if isinstance(content, Mapping):
            return {self.hidden(key): self.hidden(value) for key, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.hidden(item) for item in content]
        return content


@contextmanager
def stored() -> Iterator[Folder]:
    """A folder for the length of the ``with`` block; errors from inside do not name it.

    Raises:
        ProblemError: For what this package raises inside.
    """
    with tempfile.TemporaryDirectory(prefix="trectools-plus-") as path:
        folder = Folder(Path(path))
        try:
            yield folder
        except (TrectoolsPlusError, SeveralFilesError) as error:
            found = as_problem(error)
            hidden = folder.hidden(found.problem.model_dump())
            raise ProblemError(
                found.problem.status,
                found.problem.code,
                hidden["detail"],
                remedy=hidden["remedy"],
                errors=[ProblemItem(**item) for item in hidden["errors"]],
            ) from error


def file_name(part: Part) -> str:
    """A name whose ending says JSON or YAML, for readers that go by it."""
    start = part.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    is_json = part.form == "json" or (part.form != "yaml" and start in (b"{", b"["))
    return f"{part.name}.{'json' if is_json else 'yaml'}"


def _form_of(media: str) -> Form | None:
    if media in JSON_TYPES:
        return "json"
    return "yaml" if media in YAML_TYPES else "text" if media == "text/plain" else None


_JSON_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def refuse_large(part: Part, name: str, limits: Limits) -> None:
    """See that a document names few of its values again, and holds not too many with them.

    Text in another form passes: its size bounds the work that it makes. So does what is not JSON
    or YAML, or is nested too deeply: the reader refuses it with the line.

    Args:
        part: Topics or a test set.
        name: The name that it is read under; with the first characters it says which form it has.
        limits: How many aliases and values there may be.

    Raises:
        ProblemError: 422 if there are more.
    """
    # Just as the reader sees it: what it reads, and nothing else, is counted.
    text = part.data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")
    form = form_of(name, text)
    if form == "json" and _count_json(part.data) > limits.values:
        raise _too_many_values(part, limits)
    if form == "yaml":
        _count_yaml(text, part, limits)


def _count_json(data: bytes) -> int:
    """At least the number of values and keys: each but the first stands after one of these."""
    bare = _JSON_TEXT.sub(b"", data)
    return 1 + sum(map(bare.count, (b"[", b"{", b",", b":")))


def _count_yaml(text: str, part: Part, limits: Limits) -> None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the parser of the reader
    values = aliases = 0
    sizes: dict[str, int] = {}
    around: list[tuple[str | None, int]] = []  # anchor of each open list or mapping, values before
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.AliasEvent):
                aliases += 1
                values += sizes.get(str(event.anchor), 1)
            elif isinstance(event, yaml.CollectionStartEvent):
                around.append((event.anchor, values))
                values += 1
                if len(around) > MAX_DEPTH:
                    return  # the time of going on grows with the square of the depth
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = around.pop()
                if anchor is not None:
                    sizes[anchor] = values - before
            elif isinstance(event, yaml.ScalarEvent):
                values += 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1  # it may have named something larger before
            if aliases > limits.aliases:
                raise ProblemError(
                    422,
                    "too-many-aliases",
                    f"the YAML of {part.name} has more than {limits.aliases} aliases",
                    remedy="write the values out",
                )
            if values > limits.values:
                raise _too_many_values(part, limits)
    except (yaml.YAMLError, RecursionError, ValueError):
        return


def _too_many_values(part: Part, limits: Limits) -> ProblemError:
    return ProblemError(
        422,
        "too-many-values",
        f"{part.name} holds more than {limits.values:,} values, those that aliases repeat included",
        remedy="send less, or have the service started with a larger --max-queries",
    )
