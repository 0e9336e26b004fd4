"""The call of a user's retrieval function, which its signature decides."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from inspect import Parameter, signature
from typing import Any

from trectools_plus.errors import UsageError
from trectools_plus.formats.interchange.names import normalize

_QUERY = re.compile(
    r"q|s|(search|query|question|topic|input)?(query|question|text|string|str|term)|topic|input|"
    r"keywords?|utterance|sentence|prompt"
)
"""Names of a parameter that takes the text of one query."""
_DEPTH = re.compile(
    r"k|n|top[kn]?|(max|num|n)k?|depth|limit|number|size|count|cutoff|length|maximum|howmany|"
    r"(max|num|n|numberof|count)(results|hits|docs|documents|rows)|results|hits|rows|"
    r"results?(limit|count|size)|(page|result)?size|(results)?perpage"
)
"""Names of a parameter that takes the number of results."""
_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (*_POSITIONAL, Parameter.KEYWORD_ONLY)
_WRONG_NUMBER = re.compile(r"\barguments?\b")


class Call:
    """A call of a function with a query and, if it takes one, the number of results.

    A function takes the number if a parameter is named like one (``k``, ``top_k``, ``limit`` …), or
    if a second argument is required. Values that ``functools.partial`` sets are never changed.

    Args:
        function: Any callable.
        where: Its name in messages.

    Attributes:
        takes_text: Whether the name or type of the first parameter is that of one query.

    Raises:
        UsageError: If it takes no argument, or requires more than these two.
    """

    def __init__(self, function: Callable[..., Any], where: str) -> None:
        try:
            parameters = list(signature(function).parameters.values())
        except (TypeError, ValueError):  # a builtin
            parameters = [Parameter("rest", Parameter.VAR_POSITIONAL)]
        bound = function.keywords if isinstance(function, partial) else {}
        named = [one for one in parameters if one.kind in _NAMED and one.name not in bound]
        takes_rest = any(one.kind is Parameter.VAR_POSITIONAL for one in parameters)
        query = _find_query(named)
        if query is None and not takes_rest:
            raise UsageError(
                "the function takes no query", where=where, remedy="define it as (query, k)"
            )
        depth = _find_depth([one for one in named if one is not query])
        required = [one for one in named if one.default is Parameter.empty]
        if others := [one.name for one in required if one not in (query, depth)]:
            raise UsageError(
                f"the function requires {', '.join(others)} beside the query and the number of "
                "results",
                where=where,
                remedy="give default values, or set them with functools.partial",
            )
        self._function = function
        self.takes_text = query is not None and _is_text(query)
        # Names of keywords; None is by position.
        self._query = query.name if query is not None and query is not parameters[0] else None
        if query is not None and query.kind is Parameter.KEYWORD_ONLY:
            self._query = query.name
        by_position = depth is None or depth.kind is Parameter.POSITIONAL_ONLY
        self._depth = None if depth is None or by_position else depth.name
        self._passes_depth = depth is not None or (takes_rest and self._query is None)
        self._may_refuse_depth = depth is None and self._passes_depth

    def __call__(self, query: Any, depth: int) -> Any:
        """Call the function.

        Raises:
            Exception: Any error of the function.
        """
        arguments = [query] if self._query is None else []
        named = {} if self._query is None else {self._query: query}
        if not self._passes_depth:
            return self._function(*arguments, **named)
        if self._depth is not None:
            return self._function(*arguments, **named, **{self._depth: depth})
        try:
            return self._function(*arguments, depth, **named)
        except TypeError as error:
            # Neither a builtin nor *args shows the number of arguments.
            if not self._may_refuse_depth or not _WRONG_NUMBER.search(str(error)):
                raise
            found = self._function(*arguments, **named)
        self._passes_depth = False
        return found


def _find_query(named: list[Parameter]) -> Parameter | None:
    """Return the parameter that takes the query: by its name, otherwise the first."""
    by_name = next((one for one in named if _QUERY.fullmatch(normalize(one.name))), None)
    positional = [one for one in named if one.kind in _POSITIONAL]
    if by_name is not None and (by_name.kind in _POSITIONAL or not positional):
        return by_name
    others = [one for one in positional if not _is_depth(one)]
    required = [one for one in named if one.default is Parameter.empty and not _is_depth(one)]
    return next(iter([*others, *positional, *required, *named]), None)


def _find_depth(others: list[Parameter]) -> Parameter | None:
    """Return the parameter that takes the number of results."""
    by_name = next((one for one in others if _is_depth(one)), None)
    required = [one for one in others if one.default is Parameter.empty]
    return by_name or (required[0] if len(required) == 1 else None)


def _is_depth(parameter: Parameter) -> bool:
    return _DEPTH.fullmatch(normalize(parameter.name)) is not None


def _is_text(parameter: Parameter) -> bool:
    is_named = _QUERY.fullmatch(normalize(parameter.name)) is not None
    return is_named or parameter.annotation in (str, "str")
