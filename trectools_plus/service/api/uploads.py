"""Read uploads, and write them to files.

The service chooses the paths: it uses neither the file name nor any other content of a request. The
readers of this package need files, so uploads are written into the folder of the request, which is
removed after the work.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from typing import Literal

import yaml
from starlette.datastructures import UploadFile
from starlette.requests import Request

from trectools_plus.formats.files.compression import detect
from trectools_plus.formats.files.limits import MAX_DEPTH
from trectools_plus.formats.topic_records.forms import form_of
from trectools_plus.service.api.settings import Limits
from trectools_plus.service.problems import ProblemError

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
        path: The file with its content.
        form: The format according to the media type; ``None`` if the type does not determine it.
        file: The name of the file at the client, which names a run in the response; never a path
            here.
    """

    name: str
    path: Path
    form: Form | None = None
    file: str | None = None

    def as_document(self) -> Path:
        """Give the file the ending .json or .yaml, from which readers derive the format."""
        with self.path.open("rb") as stream:
            start = stream.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        is_json = self.form == "json" or (self.form != "yaml" and start in (b"{", b"["))
        return self.path.rename(self.path.with_suffix(".json" if is_json else ".yaml"))


@dataclass(frozen=True, slots=True)
class Expected:
    """The parts that a request can have.

    Attributes:
        parts: The maximum number of parts of each name.
        raw: The name to give to a body that is not a form; ``None`` if only forms are accepted.
        types: The accepted media types of such a body.
        optional: The names of parts that can be missing.
    """

    parts: Mapping[str, int]
    raw: str | None = None
    types: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


async def read_uploads(request: Request, folder: Path, expected: Expected) -> tuple[Upload, ...]:
    """Read a body: ``multipart/form-data``, or a single part.

    Args:
        request: The request.
        folder: The folder for the files.
        expected: The parts that the request can have.

    Raises:
        ProblemError: 415 for another media type, 422 if a part is unknown, missing, empty or
            compressed, or there are too many.
    """
    media = _media_type(request.headers.get("content-type"))
    if expected.raw is not None and media in expected.types:
        part = Upload(expected.raw, folder / expected.raw, _form_of(media))
        with part.path.open("wb") as target:
            async for chunk in request.stream():
                target.write(chunk)
        return (_checked(part),)
    if media != MULTIPART:
        accepted = ", ".join((MULTIPART, *expected.types))
        raise ProblemError(
            415,
            "unsupported-media-type",
            "the media type of the body is not supported",
            remedy=f"send one of {accepted}",
            headers={"Accept": accepted},
        )
    limit = sum(expected.parts.values()) + 1  # one more than allowed, so that it is reported
    async with request.form(max_files=limit, max_fields=limit, max_part_size=1 << 30) as form:
        counts = Counter(name for name, _ in form.multi_items())
        _check_parts(counts, expected)
        seen: Counter[str] = Counter()
        parts = []
        for name, value in form.multi_items():
            seen[name] += 1
            path = folder / (name if counts[name] == 1 else f"{name}-{seen[name]}")
            if isinstance(value, UploadFile):
                file = "".join(filter(str.isprintable, value.filename or ""))[:_LONGEST_NAME]
                part = Upload(name, path, _form_of(_media_type(value.content_type)), file or None)
                with path.open("wb") as target:
                    copyfileobj(value.file, target)
            else:
                part = Upload(name, path)
                path.write_text(value, "utf-8", "replace")
            parts.append(_checked(part))
    return tuple(parts)


def _check_parts(counts: Counter[str], expected: Expected) -> None:
    names = ", ".join(expected.parts)
    if counts.keys() - expected.parts.keys():
        what = "the form has an unknown part"
        raise ProblemError(422, "unknown-part", what, remedy=f"expected parts: {names}")
    for name, most in expected.parts.items():
        if counts[name] > most:
            what = f"expected the part {name} at most {most} times"
            raise ProblemError(422, "too-many-parts", what)
        if not counts[name] and name not in expected.optional:
            what, remedy = f"the part {name} is missing", f"send a file as {name}"
            raise ProblemError(422, "missing-part", what, remedy=remedy)


def _checked(part: Upload) -> Upload:
    data = part.path.read_bytes()
    if not data.strip():
        raise ProblemError(422, "empty-part", f"{part.name} is empty")
    if detect(data) is not None:
        what, remedy = f"{part.name} is compressed", "send it without compression"
        raise ProblemError(422, "compressed-part", what, remedy=remedy)
    return part


def _media_type(header: str | None) -> str:
    return (header or "").partition(";")[0].strip().lower()


def _form_of(media: str) -> Form | None:
    if media in JSON_TYPES:
        return "json"
    return "yaml" if media in YAML_TYPES else "text" if media == "text/plain" else None


# An unterminated string matches up to the end of the data. Otherwise the search would start again
# at each quotation mark in it, which takes quadratic time.
_JSON_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_VALUES_PER_RECORD = 10
"""Reading a line or a topic takes as long as about this number of values in JSON."""


def check_size(path: Path, limits: Limits) -> None:
    """Check the number of values and aliases in JSON and YAML, and of records in other formats.

    Malformed JSON and YAML, and too deep nesting, are accepted, because the reader reports them
    with a line number.

    Args:
        path: Topics or a test set; name and first characters determine the format.
        limits: The maximum numbers of aliases and values.

    Raises:
        ProblemError: 422 if a limit is exceeded.
    """
    data = path.read_bytes()
    # Decode the text like the reader, so that the same values are counted.
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "\ufffd")
    form = form_of(path.name, text)
    count = 0
    if form in ("json", "jsonl"):
        # An upper bound: each value and key, except for the first, follows one of these.
        without_strings = _JSON_STRING.sub(b"", data)
        count = 1 + sum(map(without_strings.count, (b"[", b"{", b",", b":")))
    if form == "yaml":
        count = _count_yaml(text, limits)
    elif form != "json":
        records = max(data.count(b"\n"), data.lower().count(b"<top"))
        count = max(count, records * _VALUES_PER_RECORD)
    if count > limits.values:
        raise ProblemError(
            422,
            "too-many-values",
            f"the upload contains more than {limits.values:,} values, including those that "
            "aliases repeat",
            remedy="send less data, or restart the service with a larger --max-queries",
        )


def _count_yaml(text: str, limits: Limits) -> int:
    """Return the number of values with those that aliases repeat; stop above the limit."""
    if text.count("\n%TAG") > MAX_DEPTH:
        return 0  # the reader refuses them
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # as in the reader
    values = aliases = 0
    sizes: dict[str | None, int] = {}
    enclosing: list[tuple[str | None, int]] = []  # anchors of open collections, values before them
    try:
        for event in yaml.parse(text, loader):
            if isinstance(event, yaml.AliasEvent):
                aliases += 1
                values += sizes.get(event.anchor, 1)
            elif isinstance(event, yaml.CollectionStartEvent):
                enclosing.append((event.anchor, values))
                values += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = enclosing.pop()
                sizes[anchor] = values - before
            elif isinstance(event, yaml.ScalarEvent):
                values += 1
                sizes[event.anchor] = 1  # replaces an earlier anchor of the same name
            if aliases > limits.aliases:
                what = f"the YAML has more than {limits.aliases} aliases"
                remedy = "repeat the values instead of using aliases"
                raise ProblemError(422, "too-many-aliases", what, remedy=remedy)
            if values > limits.values or len(enclosing) > MAX_DEPTH:
                break  # parsing deeper would take quadratic time
    except (yaml.YAMLError, RecursionError, ValueError):
        pass
    return values
