"""Read uploads, and write them to temporary files.

The service chooses the paths: it uses neither the file name nor any other content of a request. The
readers of this package need files, so uploads are written into a private folder, which is removed
after the work. Error messages contain the names of the uploaded parts instead of paths.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from starlette.requests import Request

from trectools_plus.errors import SeveralFilesError, TrectoolsPlusError
from trectools_plus.formats.files.abandoned import temporary_folder
from trectools_plus.formats.files.compression import detect
from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.topic_records.forms import form_of
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.problems import ProblemError, ProblemItem, as_problem

MULTIPART = "multipart/form-data"
JSON_TYPES = ("application/json",)
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")
TEXT_TYPES = ("text/plain", "application/octet-stream")

Form = Literal["json", "yaml", "text"]
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload.

    Attributes:
        name: The name, for example ``test_set`` or ``run``.
        data: The bytes.
        form: The format according to the media type; ``None`` if the type does not determine it.
        file: The name of the file at the client, which names a run in the response; never a path
            here.
    """

    name: str
    data: bytes
    form: Form | None = None
    file: str | None = None


async def has_body(request: Request) -> bool:
    """Return true if a request has a body, or declares the media type of one."""
    return "content-type" in request.headers or bool(await request.body())


async def read_uploads(
    request: Request, allowed: Mapping[str, int], *, raw: str | None, types: tuple[str, ...]
) -> list[Upload]:
    """Read a body: ``multipart/form-data``, or a single part.

    Args:
        request: The request.
        allowed: The maximum number of parts of each name in a form.
        raw: The name to give to a body that is not a form; ``None`` if only forms are accepted.
        types: The accepted media types of such a body.

    Raises:
        ProblemError: 415 for another media type, 422 if a part is unknown, empty or compressed, or
            there are too many.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given == MULTIPART:
        parts = await _read_form(request, allowed)
    elif raw is not None and given in types:
        parts = [Upload(raw, await request.body(), _form_of(given))]
    else:
        accepted = ", ".join([MULTIPART, *(types if raw else ())])
        raise ProblemError(
            415,
            "unsupported-media-type",
            "the media type of the body is not supported",
            remedy=f"send one of {accepted}",
            headers={"Accept": accepted},
        )
    for part in parts:
        if not part.data.strip():
            raise ProblemError(422, "empty-part", f"{part.name} is empty")
        if detect(part.data) is not None:
            raise ProblemError(
                422,
                "compressed-part",
                f"{part.name} is compressed",
                remedy="send it without compression",
            )
    return parts


async def _read_form(request: Request, allowed: Mapping[str, int]) -> list[Upload]:
    limit = sum(allowed.values()) + 1  # one more than allowed, so that it is reported below
    parts: list[Upload] = []
    async with request.form(max_files=limit, max_fields=limit, max_part_size=1 << 30) as form:
        for name, value in form.multi_items():
            if name not in allowed:
                raise ProblemError(
                    422,
                    "unknown-part",
                    "the form has an unknown part",
                    remedy=f"expected parts: {', '.join(allowed)}",
                )
            if isinstance(value, str):
                parts.append(Upload(name, value.encode("utf-8", "replace")))
            else:
                media = (value.content_type or "").partition(";")[0].strip().lower()
                data = await value.read()
                file = "".join(filter(str.isprintable, value.filename or ""))[:_LONGEST_NAME]
                parts.append(Upload(name, data, _form_of(media), file or None))
    for name, count in allowed.items():
        if sum(part.name == name for part in parts) > count:
            raise ProblemError(
                422, "too-many-parts", f"expected the part {name} at most {count} times"
            )
    return parts


def uploads_named(parts: list[Upload], name: str) -> list[Upload]:
    """Return the parts with a name.

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
        path: The path of the folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hidden = (f"{path}/", f"{sysconfig.get_path('purelib')}/")

    def put(self, part: Upload, name: str | None = None) -> str:
        """Write a part, and return the path of its file.

        Args:
            part: The upload.
            name: The name of the file; by default the name of the part.
        """
        path = self._path / (name or part.name)
        path.write_bytes(part.data)
        return str(path)

    def hide_paths(self, content: Any) -> Any:
        """Remove the paths of this folder and of installed packages from JSON content."""
        if isinstance(content, str):
            for prefix in self._hidden:
                content = content.replace(prefix, "")
            return content
        if isinstance(content, Mapping):
            return {self.hide_paths(key): self.hide_paths(value) for key, value in content.items()}
        if isinstance(content, list | tuple):
            return [self.hide_paths(item) for item in content]
        return content


@contextmanager
def private_folder() -> Iterator[Folder]:
    """Create a folder for the duration of the ``with`` block; errors do not contain its path.

    Raises:
        ProblemError: For any error of this package in the block.
    """
    with temporary_folder() as path:
        folder = Folder(path)
        try:
            yield folder
        except (TrectoolsPlusError, SeveralFilesError) as error:
            found = as_problem(error)
            hidden = folder.hide_paths(found.problem.model_dump())
            raise ProblemError(
                found.problem.status,
                found.problem.code,
                hidden["detail"],
                remedy=hidden["remedy"],
                errors=[ProblemItem(**item) for item in hidden["errors"]],
            ) from error


def file_name(part: Upload) -> str:
    """Return a file name that ends in .json or .yaml, from which readers derive the format."""
    start = part.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    is_json = part.form == "json" or (part.form != "yaml" and start in (b"{", b"["))
    return f"{part.name}.{'json' if is_json else 'yaml'}"


def _form_of(media: str) -> Form | None:
    if media in JSON_TYPES:
        return "json"
    return "yaml" if media in YAML_TYPES else "text" if media == "text/plain" else None


# An unterminated string matches up to the end of the data. Otherwise the search would start again
# at each quotation mark in it, which takes quadratic time.
_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def check_size(part: Upload, name: str, limits: Limits) -> None:
    """Check the number of values and aliases in JSON and YAML, and of records in other formats.

    Malformed JSON and YAML, and too deep nesting, are accepted, because the reader reports them
    with a line number.

    Args:
        part: Topics or a test set.
        name: The file name for the reader; name and first characters determine the format.
        limits: The maximum numbers of aliases and values.

    Raises:
        ProblemError: 422 if a limit is exceeded.
    """
    # Decode the text like the reader, so that the same values are counted.
    text = part.data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")
    form = form_of(name, text)
    if form in ("json", "jsonl") and _count_json(part.data) > limits.values:
        raise _too_many_values(part, limits)
    if form == "yaml":
        _count_yaml(text, part, limits)
    elif form != "json" and _count_records(part.data) > limits.values // _VALUES_PER_RECORD:
        raise _too_many_values(part, limits)


_VALUES_PER_RECORD = 10
"""Reading a line or a topic takes as long as about this number of values in JSON."""


def _count_records(data: bytes) -> int:
    """Return an upper bound of the number of lines or topics."""
    return max(data.count(b"\n"), data.lower().count(b"<top"))


def _count_json(data: bytes) -> int:
    """Return an upper bound of the number of values and keys in JSON.

    Each of them, except for the first, follows a bracket, a comma or a colon.
    """
    without_strings = _JSON_STRING.sub(b"", data)
    return 1 + sum(map(without_strings.count, (b"[", b"{", b",", b":")))


def _count_yaml(text: str, part: Upload, limits: Limits) -> None:
    if text.count("\n%TAG") > MAX_DEPTH:
        return  # the reader refuses them
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # as in the reader
    values = aliases = 0
    sizes: dict[str, int] = {}
    enclosing: list[tuple[str | None, int]] = []  # anchors of open collections, values before them
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.AliasEvent):
                aliases += 1
                values += sizes.get(str(event.anchor), 1)
            elif isinstance(event, yaml.CollectionStartEvent):
                enclosing.append((event.anchor, values))
                values += 1
                if len(enclosing) > MAX_DEPTH:
                    return  # parsing further would take quadratic time
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = enclosing.pop()
                if anchor is not None:
                    sizes[anchor] = values - before
            elif isinstance(event, yaml.ScalarEvent):
                values += 1
                if event.anchor is not None:
                    sizes[event.anchor] = 1  # replaces an earlier anchor of the same name
            if aliases > limits.aliases:
                raise ProblemError(
                    422,
                    "too-many-aliases",
                    f"the YAML of {part.name} has more than {limits.aliases} aliases",
                    remedy="repeat the values instead of using aliases",
                )
            if values > limits.values:
                raise _too_many_values(part, limits)
    except (yaml.YAMLError, RecursionError, ValueError):
        return


def _too_many_values(part: Upload, limits: Limits) -> ProblemError:
    return ProblemError(
        422,
        "too-many-values",
        f"{part.name} contains more than {limits.values:,} values, including those that aliases "
        "repeat",
        remedy="send less data, or restart the service with a larger --max-queries",
    )
