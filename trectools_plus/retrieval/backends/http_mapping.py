"""Settings of a JSON retrieval service: its requests, and the paths of ids and scores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from trectools_plus.choices import Panel
from trectools_plus.errors import UsageError
from trectools_plus.retrieval.backends.http_templates import (
    ENGINES,
    LIKE_PLACEHOLDER,
    Engine,
    Template,
    resolve_preset,
)
from trectools_plus.retrieval.setting_types import (
    NONE,
    Flag,
    Names,
    Number,
    Option,
    OptionalText,
    SettingsModel,
    WholeNumber,
    make_model,
    setting,
)
from trectools_plus.text import secret_in_url, split_list

DEFAULT_BODY = """{
  "mode": "{mode}",
  "queries": [{"query_id": "{query_id}", "query_text": "{query_text}", "top_k": "{top_k}"}]
}"""
ERRORS = tuple(
    split_list(
        "error,errors,Error,error_message,exception,failures,timed_out,timedOut,partial_results,"
        "partialResults,incomplete_results,!success,!ok"
    )
)
"""Paths of errors in the answers of many services."""
OPERATIONAL = ("key_env", "concurrency", "timeout", "retries", "backoff")
"""Settings that do not affect the answers, so that a fetch can be resumed with other values."""
_SECRET_NAME = re.compile(
    # "max_tokens" and "tokenizer" do not match.
    r"authorization|cookie|token(?!s|i)|secret|passw|credential"
    r"|(api|access|subscription|auth|app)[-_]?key"
    r"|^(x-)?key$",
    re.IGNORECASE,
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+: [ -~]*")
_FROM_ENVIRONMENT = (
    "put the secret into an environment variable, and write the variable's name into http.key_env"
)


class HttpSettings(SettingsModel):
    """A service and its mapping: the key ``http`` of ``benchmark.yaml``.

    The placeholders ``{mode}``, ``{query_id}``, ``{query_text}``, ``{query_vector}`` and
    ``{top_k}`` are replaced in ``url`` (escaped) and ``body``. Inside a longer text,
    ``{query_text|lucene}`` and ``{query_text|json}`` escape the text for a nested language. Paths
    have names, numbers and lists: ``hits.hits[*]._id``.
    """

    engine: Annotated[Engine | None, NONE] = setting(
        None,
        "For --backend http: search engine at --http-url, whose requests are built in: "
        f"{', '.join(ENGINES)}. Other settings override them.",
        Option(
            "NAME",
            Panel.BACKENDS,
        ),
    )
    url: str = setting(
        "",
        "A URL with http:// or https://, without a user, key or signature. With engine, it ends "
        "before the path of the engine's requests, for example after the port.",
        Option("URL", Panel.BACKENDS, "--http-url", help="For --backend http: URL of the service."),
    )
    index: OptionalText = setting(
        None,
        "For engine: the index, collection, class or schema; by default the end of the URL's path.",
    )
    text_fields: Names = setting(
        (),
        "For engine: the searched text fields; for Vespa one field or fieldset, for Qdrant the "
        "sparse vector.",
    )
    vector_field: OptionalText = setting(None, "For engine: the field of the vectors.")
    id_field: OptionalText = setting(
        None, "For engine: the field with the document id, if it is not the engine's id."
    )
    rank_profile: OptionalText = setting(None, "For engine: Vespa's rank profile.")
    modes: dict[str, dict[str, Any]] = setting(
        dict, "Settings of each mode, by name; the others are inherited."
    )
    mode: OptionalText = setting(
        None, "The value of {mode}, and the mode of the preset; by default the mode's name."
    )
    embedding_model: OptionalText = setting(
        None, "The folder of the model of {query_vector}; by default the built-in embeddings."
    )
    key_env: OptionalText = setting(
        None,
        "For --backend http: environment variable with the service's key, sent in the header "
        "X-API-Key, or that of --engine.",
        Option("VARIABLE", Panel.BACKENDS, "--http-key-env"),
    )
    key_header: str = setting("X-API-Key", "The header for the key.")
    key_prefix: str = setting("", "Text before the key in its header, for example 'Bearer '.")
    headers: dict[str, str] = setting(dict, "Additional headers without secrets.")
    body: OptionalText = setting(
        DEFAULT_BODY,
        "The request's body as JSON text; none sends a GET request. A text that is "
        'only a placeholder becomes its value: "{top_k}" becomes a number.',
    )
    results: OptionalText = setting(
        "$.results[*]",
        "Path of the entries, of which one is for the query; none uses the whole answer.",
    )
    query_id: OptionalText = setting(
        "$.query_id", "Path of the query's id in its entry; none expects a single entry."
    )
    ids: str = setting(
        "$.segments[*].segment_id", "Path of the ids in an entry, best first.", min_length=1
    )
    scores: OptionalText = setting(
        "$.segments[*].score", "Path of the scores in an entry, one for each id; none uses 1/rank."
    )
    total: OptionalText = setting(
        None,
        "Path in an entry of the number of results found. If it is 0, the list of ids may be "
        "missing; above 0, it must not be empty. If it is above the number of ids, and fewer than "
        "requested were returned, the query's list is reported as incomplete.",
    )
    errors: Names = setting(
        ERRORS,
        "Paths in the answer and in an entry. If one leads to a value other than null, false, 0, "
        "ok or an empty text or list, the answer is a failure. With ! before it, a path must not "
        "lead to false.",
    )
    incomplete: Names = setting(
        (), "Further such paths: signs that documents are missing. The presets of engines set them."
    )
    higher_is_better: Flag = setting(True, "false for distances.")
    concurrency: WholeNumber = setting(4, "Maximum number of simultaneous requests.", ge=1, le=64)
    timeout: Number = setting(30, "Seconds for one request.", gt=0, le=3600)
    retries: WholeNumber = setting(
        4,
        "Maximum number of retries after HTTP status 408, 425, 429, 500, 502, 503 or 504, a "
        "timeout, a broken connection, or an unusable answer.",
        ge=0,
        le=20,
    )
    backoff: Number = setting(
        0.5,
        "Seconds before the first retry; doubled for each further retry, and shortened at random "
        "by up to a half.",
        ge=0,
        le=60,
    )

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        if secret := secret_in_url(url):
            raise ValueError(f"the URL contains {secret} — {_FROM_ENVIRONMENT}")
        try:
            parts = urlsplit(url)
            host, _ = (parts.hostname or "").encode("idna"), parts.port
        except ValueError:
            host, parts = b"", urlsplit("")
        if parts.scheme not in ("http", "https") or not host or re.search(r"\s", url):
            raise ValueError(
                "expected a URL that starts with http:// or https:// and contains a host"
            )
        return url

    @field_validator("key_env")
    @classmethod
    def _check_variable(cls, name: str | None) -> str | None:
        # The message does not show the value, which may be the key itself.
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise ValueError(
                "expected the name of an environment variable — put the key into a variable, and "
                "write the variable's name here"
            )
        return name

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        _refuse_secrets(headers)
        for name, text in headers.items():
            if secret := secret_in_url(f"http://host/?{name}={text}"):
                raise ValueError(f"a value contains {secret} — {_FROM_ENVIRONMENT}")
            if not _HEADER.fullmatch(f"{name}: {text}") or LIKE_PLACEHOLDER.search(text):
                raise ValueError(
                    f"'{name}' is not a valid header — use printable ASCII without placeholders"
                )
        return headers

    @field_validator("body", mode="before")
    @classmethod
    def _check_body(cls, body: Any) -> Any:
        if body is None or body in ("", "none"):
            return None
        if not isinstance(body, str):
            raise ValueError(
                "expected the body as JSON text — write it as a block of text after body: |"
            )
        try:
            json.loads(body)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"invalid JSON: {error.msg}, line {error.lineno} column {error.colno}"
            ) from error
        _refuse_secrets(re.findall(r'"([^"]*)"\s*:', body))
        return body

    @field_validator("results", "query_id", "ids", "scores", "total", "errors", "incomplete")
    @classmethod
    def _check_paths(cls, paths: Any) -> Any:
        for path in paths if isinstance(paths, tuple) else filter(None, [paths]):
            parse_path(path.removeprefix("!"))
        return paths

    @model_validator(mode="after")
    def _check_template(self) -> Self:
        for mode in self.modes:
            self.for_mode(mode)
        if self.engine is not None or self.modes:
            return self
        if "url" not in self.model_fields_set:
            raise ValueError("the service's URL is missing — give http.url, or --http-url")
        self.template()
        return self

    def template(self) -> Template:
        """Return the request of a mode with its placeholders.

        Raises:
            ValueError: If it does not contain the query.
        """
        return Template(self.url, self.body)

    def for_mode(self, name: str) -> Self:
        """Return the settings of one mode: the preset of the engine with the given settings.

        Raises:
            ValueError: If there is no such mode, or its settings are not valid.
        """
        if self.engine is None and not self.modes:
            return self.model_copy(update={"mode": self.mode or name})
        own = self.modes.get(name, {})
        if not own.keys().isdisjoint(("modes", "engine")):
            raise ValueError(f"modes.{name}: a mode has no modes or engine of its own")
        settings = {key: getattr(self, key) for key in self.model_fields_set - {"modes"}} | own
        settings["mode"] = mode = own.get("mode") or self.mode or name
        engine = settings.pop("engine", None)
        if engine is None and name not in self.modes:
            raise ValueError(f"unknown mode '{name}' — use one of {', '.join(self.modes)}")
        try:
            if engine is not None:
                settings = resolve_preset(engine, mode, settings)
            return make_model(type(self), settings)
        except UsageError as error:
            remedy = error.remedy and f" — {error.remedy}"
            raise ValueError(f"modes.{name}.{error.where}: {error.what}{remedy or ''}") from error

    @property
    def facts(self) -> dict[str, Any]:
        """The settings that determine the answers, without those of single modes."""
        return self.model_dump(
            mode="json", exclude={*OPERATIONAL, "key_header", "key_prefix", "modes"}
        )

    @model_serializer(mode="wrap")
    def _without_presets(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what a preset or mode determines."""
        fields: dict[str, Any] = handler(self)
        if self.engine is None and not self.modes:
            return fields
        return {name: value for name, value in fields.items() if name in self.model_fields_set}


def _refuse_secrets(names: Iterable[str]) -> None:
    for name in filter(_SECRET_NAME.search, names):
        # A name with other characters can contain the secret itself.
        shown = name if re.fullmatch(r"[\w.-]+", name) else "a name"
        raise ValueError(
            f"'{shown}' looks like the name of a secret, but settings are written to manifests — "
            f"{_FROM_ENVIRONMENT}"
        )


Step = str | int | None
"""The name of a member, the place of an item, or ``None`` for all items of a list."""
_STEP = re.compile(
    r"\.(?P<name>[^.\[\]()*?~'\"\s]+)|\[(?P<place>\d+)\]|(?P<all>\[\*\])"
    r"|\[(?P<quote>['\"])(?P<quoted>[^'\"]*)(?P=quote)\]"
)


@cache
def parse_path(path: str) -> tuple[Step, ...]:
    """Parse a path of ``.name`` or ``['name']``, ``[0]`` and ``[*]``; it may start with ``$``.

    Raises:
        ValueError: If it is not such a path.
    """
    rest = path.removeprefix("$")
    rest = rest if rest[:1] in ("", ".", "[") else f".{rest}"
    steps = list[Step]()
    while rest:
        step = _STEP.match(rest)
        if step is None:
            raise ValueError(
                f"'{path}' is not a path: unexpected '{rest}' — use only names, numbers and lists, "
                "for example $.hits[*]['doc id'] or $.ids[0][*]"
            )
        name = step["name"] or step["quoted"]
        steps.append(int(step["place"]) if step["place"] else name)
        rest = rest[step.end() :]
    return tuple(steps)
