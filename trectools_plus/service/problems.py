"""Errors as problem documents (RFC 9457): ``application/problem+json``, never a traceback.

``type`` is ``about:blank``, so ``title`` is the status in words. ``code`` identifies the problem
for programs, and ``remedy`` says what to do.
"""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.validation.findings import FindingsError

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("trectools_plus.service")
_MAX_ERRORS = 20
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Phrases of RFC 9110 that differ from those of older Python versions."""
_CODES = {401: "unauthorised", 413: "body-too-large"}
"""Codes that differ from the words of the status."""


class ProblemItem(BaseModel):
    """One of several errors."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    where: str | None = None
    """The place: a parameter, or a file and line."""
    what: str
    """The error."""


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    """Always ``about:blank``: the status identifies the type of problem."""
    title: str
    """The status in words."""
    status: int
    """The HTTP status of the response."""
    code: str
    """Stable identifier of the problem, for programs."""
    detail: str
    """Description of the error, in one line."""
    remedy: str | None = None
    """How to fix it."""
    errors: list[ProblemItem] = []
    """The individual errors, if there are several."""


class ProblemError(HTTPException):
    """An error whose response is a problem document.

    Args:
        status: HTTP status.
        code: Identifier of the problem.
        detail: Description of the error.
        remedy: How the client can fix it.
        errors: The individual errors.
        headers: Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        remedy: str | None = None,
        errors: list[ProblemItem] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.problem = ProblemDocument(
            title=_TITLES.get(status) or HTTPStatus(status).phrase,
            status=status,
            code=code,
            detail=detail,
            remedy=remedy,
            errors=(errors or [])[:_MAX_ERRORS],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return ProblemError.of, (self.problem, self.headers)

    @classmethod
    def of(cls, problem: ProblemDocument, headers: Mapping[str, str] | None = None) -> ProblemError:
        """Return the error for a problem document."""
        error = cls(problem.status, problem.code, problem.detail, headers=headers)
        error.problem = problem
        return error


def to_json(content: Any) -> bytes:
    """Return JSON in ASCII, because ids can contain lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False).encode("ascii")


def json_response(content: Any) -> Response:
    """Return a JSON response; bytes must already be JSON."""
    body = content if isinstance(content, bytes) else to_json(content)
    return Response(body, media_type="application/json")


def problem_response(error: ProblemError) -> Response:
    """Return the response for an error."""
    content = to_json(error.problem.model_dump(mode="json"))
    return Response(content, error.status_code, error.headers, MEDIA_TYPE)


def as_problem(error: Exception) -> ProblemError:
    """Convert any error to a problem; the details of an unexpected error are only logged."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, TrectoolsPlusError):
        return _from_package_error(error)
    if isinstance(error, HTTPException):
        phrase = HTTPStatus(error.status_code).phrase
        code = _CODES.get(error.status_code, phrase.lower().replace(" ", "-"))
        detail = str(error.detail)[:500] or phrase
        return ProblemError(error.status_code, code, detail, headers=error.headers)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ProblemError(
            507,
            "no-space",
            "the disk of the service is full",
            remedy="free space on the disk of temporary files",
            headers={"Retry-After": "60"},
        )
    _LOG.error("unexpected error", exc_info=error)
    return ProblemError(
        500,
        "internal-error",
        "the service failed unexpectedly",
        remedy="try again; the log of the service contains the cause",
    )


def _from_package_error(error: TrectoolsPlusError) -> ProblemError:
    items = [
        ProblemItem(where=finding.place, what=f"{finding.code} {finding.message}")
        for finding in getattr(error, "findings", ())
    ]
    items += [ProblemItem(where=one.where, what=one.what) for one in getattr(error, "errors", ())]
    code = "findings" if isinstance(error, FindingsError) else "unusable-content"
    where = f" — {error.where}" if error.where else ""
    return ProblemError(422, code, f"{error.what}{where}", remedy=error.remedy, errors=items)


async def answer_problem(_: Request, error: Exception) -> Response:
    """Return the response for any exception, as an exception handler of FastAPI."""
    return problem_response(as_problem(error))


async def answer_invalid(_: Request, error: Exception) -> Response:
    """Return the response for parameters that do not match the OpenAPI document."""
    found = error.errors() if hasattr(error, "errors") else []
    items = [
        ProblemItem(
            where=".".join(map(str, one["loc"])), what=str(one["msg"]).removeprefix("Value error, ")
        )
        for one in found
    ]
    first = f": {items[0].where}: {items[0].what}" if items else ""
    return problem_response(
        ProblemError(
            422,
            "invalid-parameter",
            f"the request is invalid{first}"[:500],
            remedy="see /openapi.json for the parameters",
            errors=items,
        )
    )
