"""Errors as problem documents (RFC 9457): ``application/problem+json``, never a traceback.

``type`` is ``about:blank``, so ``title`` is the status in words. ``code`` identifies the problem
for programs, and ``remedy`` says what to do.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.validation.findings import FindingsError

MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("trectools_plus.service")
_TITLES = {
    413: "Content Too Large",
    422: "Unprocessable Content",
    499: "Client Closed Request",
}
"""Phrases of RFC 9110 that differ from those of older Python versions, and that of nginx."""


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

    The first three arguments are positional, so that the error can be sent between processes.

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
        remedy: str | None = None,
        errors: Sequence[ProblemItem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.problem = ProblemDocument(
            title=_TITLES.get(status) or HTTPStatus(status).phrase,
            status=status,
            code=code,
            detail=detail,
            remedy=remedy,
            errors=list(errors[:20]),
        )


def to_json(content: Any) -> bytes:
    """Return JSON in ASCII, because ids can contain lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False).encode("ascii")


def problem_response(error: ProblemError) -> Response:
    """Return the response for an error."""
    content = to_json(error.problem.model_dump(mode="json"))
    return Response(content, error.status_code, error.headers, MEDIA_TYPE)


async def answer_problem(_: Request, error: Exception) -> Response:
    """Return the response for any exception, as an exception handler of FastAPI."""
    return problem_response(as_problem(error))


def as_problem(error: BaseException) -> ProblemError:
    """Convert any error to a problem; the details of an unexpected error are only logged."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, TrectoolsPlusError):
        return _from_package_error(error)
    if isinstance(error, RequestValidationError):
        return _from_invalid_request(error)
    if isinstance(error, HTTPException):
        phrase = HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "-")
        detail = str(error.detail)[:500] or phrase
        return ProblemError(error.status_code, code, detail, headers=error.headers)
    for kind, row in _UNEXPECTED.items():
        if isinstance(error, kind):
            return ProblemError(*row)
    _LOG.error("unexpected error", exc_info=error)
    return ProblemError(
        500,
        "internal-error",
        "the service failed unexpectedly",
        "try again; the log of the service contains the cause",
    )


_UNEXPECTED: dict[type[BaseException], tuple[int, str, str, str]] = {
    ClientDisconnect: (499, "client-closed", "the client has closed the connection", ""),
    CancelledError: (503, "stopping", "the service is stopping", "try again later"),
    sqlite3.Error: (
        503,
        "not-kept",
        "the review database cannot be used",
        "try again; another program may have locked it",
    ),
}
"""Errors of libraries with status, code, description and remedy of their problem."""


def _from_package_error(error: TrectoolsPlusError) -> ProblemError:
    items = [
        ProblemItem(where=finding.place, what=f"{finding.code} {finding.message}")
        for finding in getattr(error, "findings", ())
    ]
    items += [
        ProblemItem(where=item.where, what=item.what) for item in getattr(error, "errors", ())
    ]
    code = "findings" if isinstance(error, FindingsError) else "unusable-content"
    where = f" — {error.where}" if error.where else ""
    return ProblemError(422, code, f"{error.what}{where}", error.remedy, items)


def _from_invalid_request(error: RequestValidationError) -> ProblemError:
    items = [
        ProblemItem(where=".".join(map(str, item["loc"])), what=str(item["msg"]))
        for item in error.errors()
    ]
    detail = f"the request is invalid: {items[0].where}: {items[0].what}"[:500]
    return ProblemError(422, "invalid-parameter", detail, errors=items)
