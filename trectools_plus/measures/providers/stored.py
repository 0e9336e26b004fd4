"""Measures of a report that are not computed again: their values are those of the report."""

from __future__ import annotations

import re
from dataclasses import replace

from trectools_plus.measures.definitions.base import (
    AVERAGED_OVER,
    TIES,
    Definition,
)

_CLASS = re.compile(r"[\w.<>]+:[\w.<>]+")


def is_of_user(definition: Definition) -> bool:
    """Return whether a class of a user computes the measure."""
    return _CLASS.fullmatch(definition.provider) is not None


def without_words(definition: Definition) -> Definition:
    """Return a definition without the words of a user's class, which nobody can verify."""
    if not is_of_user(definition):
        return definition
    return replace(
        definition,
        formula=f"see {definition.provider}",
        gain="its own",
        denominator="its own",
        ties=TIES,
        averaged_over=AVERAGED_OVER,
        trec_eval_call=None,
    )
