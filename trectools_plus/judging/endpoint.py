"""Judges that label documents: a model behind an OpenAI-compatible endpoint, or a function."""

from __future__ import annotations

import inspect
import json
import operator
import re
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pydantic import ValidationError

from trectools_plus.errors import TrectoolsPlusError, UsageError, describe_error
from trectools_plus.formats.hashing import sha256_text
from trectools_plus.judging.labels import LabelOrigin, Usage
from trectools_plus.judging.prompt import Prompt
from trectools_plus.plugins import (
    import_object,
    working_directory_on_path,
)
from trectools_plus.redaction import is_secret_name, secret_in_url
from trectools_plus.retrieval.backends.http.answers import AnswerError, refuse_incomplete
from trectools_plus.retrieval.backends.http.client import JsonClient, RequestLimits
from trectools_plus.retrieval.backends.secrets import Secret
from trectools_plus.retrieval.source import Failure

DEFAULT_PARAMETERS: Mapping[str, Any] = {"temperature": 0, "max_tokens": 1024}
"""Parameters of a request that the user does not set."""
_FIXED = ("model", "messages", "stream", "n")
_LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0")


class Reply(NamedTuple):
    """The answer of a judge.

    Attributes:
        text: The raw text.
        problem: Why the text is not to be read, for example because it is cut off.
        usage: The tokens, if the service counts them.
    """

    text: str
    problem: str | None = None
    usage: Usage | None = None


class ModelLabeller:
    """A model behind an endpoint for chat completions; called from several threads.

    Args:
        model: The model.
        limits: Its address, for example ``http://localhost:8080/v1``, and the limits of requests.
        prompt: The prompt.
        parameters: Parameters of the request, instead of or beside the defaults; ``None`` leaves a
            parameter out.
        key: The key of the service.

    Attributes:
        origin: The settings that determine its answers.
        concurrency: Maximum number of simultaneous calls.

    Raises:
        UsageError: If the address or a parameter cannot be used.
    """

    def __init__(
        self,
        model: str,
        limits: RequestLimits,
        prompt: Prompt,
        parameters: Mapping[str, Any] = MappingProxyType({}),
        key: Secret | None = None,
    ) -> None:
        self._url = complete_url(limits.url)
        self.prompt: Prompt | None = prompt
        self._fill = prompt.fill
        for name in parameters:
            if name in _FIXED or is_secret_name(name):
                raise UsageError(
                    f"{name} cannot be set",
                    where="--set",
                    remedy="leave it out; name the variable with the key with --key-from-env",
                )
        parameters = {**DEFAULT_PARAMETERS, **parameters}
        self.origin = LabelOrigin(
            model=model,
            host=urlsplit(self._url).netloc,
            prompt_sha256=prompt.sha256,
            parameters={name: value for name, value in parameters.items() if value is not None},
        )
        self.concurrency = limits.concurrency
        headers = {"accept": "application/json", "user-agent": "trectools-plus"}
        if key is not None:
            headers["authorization"] = f"Bearer {key.value}"
        self._client = JsonClient(limits, headers, key)

    def ask(self, query: str, document: str) -> Reply | Failure:
        """Send a request, again after failures that can pass."""
        content = self._fill(query, document)
        body = {
            "model": self.origin.model,
            "messages": [{"role": "user", "content": content}],
            **self.origin.parameters,
        }

        reply = self._client.request(
            lambda: {"method": "POST", "url": self._url, "json": body},
            lambda document, _ms, _attempts: read_reply(document),
        )
        if isinstance(reply, Failure):
            return reply
        return reply._replace(text=self._client.scrub(reply.text))

    def close(self) -> None:
        """Close the connections, and wake threads that wait for a retry."""
        self._client.close()


def complete_url(url: str) -> str:
    """Return the address for chat completions of an endpoint, given with or without its path.

    Raises:
        UsageError: If it is not an address, or contains a secret.
    """
    if (secret := secret_in_url(url)) is not None:
        raise UsageError(
            f"the address contains {secret}",
            where="--endpoint",
            remedy="put the key into an environment variable, and name it with --key-from-env",
        )
    if "://" not in url:
        url = f"{'http' if is_local(f'http://{url}') else 'https'}://{url}"
    parts, port = urlsplit(""), None
    with suppress(ValueError):
        parts, port = urlsplit(url), urlsplit(url).port
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(
            "not an address",
            where=f"--endpoint {url}",
            remedy="write for example http://localhost:8080/v1",
        )
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path += "/chat/completions" if re.search(r"/v\d", path) else "/v1/chat/completions"
    return urlunsplit(parts._replace(path=path, fragment=""))


def is_local(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = ""
    with suppress(ValueError):
        host = urlsplit(url).hostname or ""
    return host in _LOCAL or host.endswith(".localhost")


def read_reply(document: Any) -> Reply:
    """Return the text of a chat completion.

    Raises:
        AnswerError: If it is not a chat completion, or reports an error.
    """
    refuse_incomplete(document)
    try:
        choice = document["choices"][0]
        refuse_incomplete(choice)
        finish, message = choice.get("finish_reason"), choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (AttributeError, IndexError, KeyError, TypeError):
        raise AnswerError("the answer has no choices with a message", document) from None
    text, problem = content if isinstance(content, str) else "", None
    if refusal:
        text, problem = text or str(refusal), "a refusal"
    elif finish == "content_filter":
        problem = "a refusal (content filter)"
    elif finish == "length":
        problem = "it is cut off at max_tokens"
    usage = None
    with suppress(ValidationError):
        usage = Usage.model_validate(document.get("usage"))
    return Reply(text, problem, usage)


class FunctionLabeller:
    """A function that takes the texts of a query and a document.

    It returns a grade, or a text with the JSON that :func:`read_grade` reads.

    Args:
        name: ``module:function``.

    Raises:
        UsageError: If it cannot be imported, or is not a function in Python.
    """

    prompt: Prompt | None = None
    concurrency: int = 1

    def __init__(self, name: str) -> None:
        module, _, object_name = name.partition(":")
        try:
            self._function = import_object(module, object_name)
            source = inspect.getsource(self._function)
        except TrectoolsPlusError:
            raise
        except (Exception, SystemExit) as error:
            remedy = "name a function in Python as importable.module:name"
            raise UsageError(
                describe_error(error), where=f"--judge {name}", remedy=remedy
            ) from error
        self.origin = LabelOrigin(model=name, prompt_sha256=sha256_text(source))

    def ask(self, query: str, document: str) -> Reply | Failure:
        """Call the function."""
        try:
            with working_directory_on_path():
                answer = self._function(query, document)
            if not isinstance(answer, str):
                answer = json.dumps({"grade": answer}, default=operator.index)  # of NumPy
        except (Exception, SystemExit) as error:
            return Failure(describe_error(error), lasting=True)
        return Reply(answer)

    def close(self) -> None:
        """Do nothing."""


Labeller = ModelLabeller | FunctionLabeller
"""Something that judges a document for a query."""
