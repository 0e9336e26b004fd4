"""Read uploads, and write them to files.

The service chooses the paths: it uses neither the file name nor any other content of a request. The
readers of this package need files, so uploads are written into the folder of the request, which is
removed after the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj

from starlette.datastructures import UploadFile
from starlette.requests import Request

from trectools_plus.formats.files.opening import detect
from trectools_plus.service.guard import ProblemError
from trectools_plus.service.models import Limits

MULTIPART = "multipart/form-data"
SUFFIXES = {
    "application/json": ".json",
    "application/yaml": ".yaml",
    "application/x-yaml": ".yaml",
    "text/yaml": ".yaml",
}
"""Media types that determine the format of a document."""
TYPES = (*SUFFIXES, "text/plain", "application/octet-stream")
"""Accepted media types of a body that is not a form."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload.

    Attributes:
        name: The name, for example ``test_set`` or ``run``.
        path: The file with its content.
        suffix: The suffix of its format; empty if the media type does not determine it.
        file: The name of the file at the client, which names a run in the response; never a path
            here.
    """

    name: str
    path: Path
    suffix: str = ""
    file: str | None = None

    def as_document(self) -> Path:
        """Give the file the ending .json or .yaml, from which readers derive the format."""
        start = self.path.read_bytes()[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")
        guessed = ".json" if start.startswith((b"{", b"[")) else ".yaml"
        return self.path.rename(self.path.with_suffix(self.suffix or guessed))


@dataclass(frozen=True, slots=True)
class Expected:
    """The parts that a request can have.

    Attributes:
        parts: The least and greatest number of parts of each name.
        raw: The name to give to a body that is not a form; ``None`` if only forms are accepted.
    """

    parts: Mapping[str, tuple[int, int]]
    raw: str | None = None

    def check(self, counts: Counter[str]) -> None:
        """Check the numbers of parts.

        Raises:
            ProblemError: 422 if a part is unknown or missing, or there are too many.
        """
        wrong = counts.keys() - self.parts.keys()
        wrong |= {
            name for name, (least, most) in self.parts.items() if not least <= counts[name] <= most
        }
        if wrong:
            numbers = [f"{name}: {least} to {most}" for name, (least, most) in self.parts.items()]
            remedy = f"send these numbers of parts: {', '.join(numbers)}"
            what = "a part of the form is missing, unknown, or there are too many of a name"
            raise ProblemError(422, "wrong-parts", what, remedy)


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
    if expected.raw is not None and media in TYPES:
        part = Upload(expected.raw, folder / expected.raw, SUFFIXES.get(media, ""))
        with part.path.open("wb") as target:
            async for chunk in request.stream():
                target.write(chunk)
        return (_checked(part),)
    if media != MULTIPART:
        accepted = ", ".join((MULTIPART, *(TYPES if expected.raw else ())))
        what = "the media type of the body is not supported"
        raise ProblemError(415, "unsupported-media-type", what, f"send one of {accepted}")
    limit = sum(most for _, most in expected.parts.values()) + 1
    # The limit of the body is smaller than that of a part.
    async with request.form(max_files=limit, max_fields=limit, max_part_size=1 << 30) as form:
        expected.check(Counter(name for name, _ in form.multi_items()))
        parts = []
        for name in expected.parts:
            values = form.getlist(name)
            for number, value in enumerate(values, 1):
                path = folder / (name if len(values) == 1 else f"{name}-{number}")
                parts.append(_checked(_write_part(name, value, path)))
    return tuple(parts)


def _write_part(name: str, value: UploadFile | str, path: Path) -> Upload:
    if isinstance(value, str):
        path.write_text(value, "utf-8", "replace")
        return Upload(name, path)
    with path.open("wb") as target:
        copyfileobj(value.file, target)
    file = "".join(filter(str.isprintable, value.filename or ""))[:_LONGEST_NAME]
    return Upload(name, path, SUFFIXES.get(_media_type(value.content_type), ""), file or None)


def _checked(part: Upload) -> Upload:
    data = part.path.read_bytes()
    if not data.strip():
        raise ProblemError(422, "empty-part", f"{part.name} is empty")
    if detect(data) is not None:
        what, remedy = f"{part.name} is compressed", "send it without compression"
        raise ProblemError(422, "compressed-part", what, remedy)
    return part


def _media_type(header: str | None) -> str:
    return (header or "").partition(";")[0].strip().lower()


def check_size(path: Path, limits: Limits) -> None:
    """Check the number of values of topics or a test set.

    The reader limits what aliases repeat, and the depth of nesting.

    Args:
        path: The file.
        limits: The maximum number of values.

    Raises:
        ProblemError: 422 if it is exceeded.
    """
    data = path.read_bytes()
    # An upper bound: each value, key and record, except for the first, follows one of these.
    if sum(map(data.count, (b"[", b"{", b",", b":", b"<", b"\n"))) > limits.values:
        raise ProblemError(
            422,
            "too-many-values",
            f"the upload contains more than {limits.values:,} values",
            "send less data, or restart the service with a larger --max-queries",
        )
