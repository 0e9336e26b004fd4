"""Output to GitHub Actions: the summary of the step, and a comment on the pull request."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trectools_plus.errors import InputError, UsageError

_TIMEOUT = 30  # seconds
_PAGE, _MOST_PAGES = 100, 50
_LONGEST = 65_000
"""GitHub accepts comments of up to 65,536 characters."""


def append_step_summary(markdown: str) -> None:
    """Append Markdown to the file in ``GITHUB_STEP_SUMMARY``; do nothing if it is not set.

    Args:
        markdown: The text.

    Raises:
        InputError: If the file cannot be written.
    """
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as stream:
            stream.write(f"{markdown}\n")
    except OSError as error:
        raise InputError(
            f"the step summary cannot be written: {error.strerror}", where=path
        ) from error


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The pull request for the comment.

    Attributes:
        api: Base address of the REST API.
        repository: ``owner/name``.
        number: The pull request's number.
        token: The token for the API; never shown.
    """

    api: str
    repository: str
    number: int
    token: str = field(repr=False)


def find_pull_request() -> PullRequest:
    """Return the pull request of the current workflow, from the environment variables.

    Raises:
        UsageError: If a variable is missing, or the workflow does not run for a pull request.
    """
    names = ("GITHUB_TOKEN", "GITHUB_REPOSITORY", "GITHUB_EVENT_PATH")
    token, repository, path = (os.environ.get(name, "") for name in names)
    if missing := [name for name in names if not os.environ.get(name)]:
        raise UsageError(
            f"the environment variable {missing[0]} is missing",
            where="--post-comment",
            remedy="run this in a workflow with `env: GITHUB_TOKEN: ${{ github.token }}`",
        )
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8"))
        number = int((event.get("pull_request") or event["issue"])["number"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(
            "this workflow does not run for a pull request",
            where="--post-comment",
            remedy="trigger the workflow on pull_request, or omit --post-comment",
        ) from None
    api = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    return PullRequest(api.rstrip("/"), repository, number, token)


def post_comment(request: PullRequest, markdown: str, marker: str) -> str:
    """Post a comment, or update the existing comment that begins with ``marker``.

    Args:
        request: The pull request.
        markdown: The comment; it begins with the marker. It is cut after 65,000 characters.
        marker: The first line of the comment, which identifies it.

    Returns:
        The URL of the comment.

    Raises:
        InputError: If the API cannot be reached or refuses.
    """
    comments = f"/repos/{request.repository}/issues/{request.number}/comments"
    body = {"body": markdown[:_LONGEST]}
    known: list[Any] = []
    for page in range(1, _MOST_PAGES + 1):
        known += _call(request, "GET", f"{comments}?per_page={_PAGE}&page={page}")
        if len(known) < page * _PAGE:
            break
    for comment in known:
        if str(comment.get("body", "")).startswith(marker):
            place = f"/repos/{request.repository}/issues/comments/{int(comment['id'])}"
            return str(_call(request, "PATCH", place, body).get("html_url", ""))
    return str(_call(request, "POST", comments, body).get("html_url", ""))


_PERMISSION = "the token needs `permissions: pull-requests: write`"
_NETWORK = "check that the server in GITHUB_API_URL can be reached"


def _call(request: PullRequest, method: str, place: str, body: Any = None) -> Any:
    """Call the API and return its response as JSON values; redirects would get the token."""
    import httpx

    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {request.token}",
        "User-Agent": "trectools-plus",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    try:
        url = f"{request.api}{place}"
        response = httpx.request(method, url, json=body, headers=headers, timeout=_TIMEOUT)
        response.raise_for_status()
        return response.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason, remedy = str(error) or type(error).__name__, _NETWORK
        if isinstance(error, httpx.HTTPStatusError):
            reason, remedy = f"HTTP status {error.response.status_code}", _PERMISSION
        raise InputError(
            f"the comment cannot be posted: {reason.replace(request.token, '***')}",
            where=f"{request.api}/repos/{request.repository}, pull request {request.number}",
            remedy=remedy,
        ) from None
