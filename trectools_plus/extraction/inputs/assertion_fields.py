"""Assertions, and the fields of files that say them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from trectools_plus.text import split_list

Assertion = Literal["affirmed", "negated", "uncertain", "other_person"]
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)

_VALUES: tuple[tuple[Assertion, str], ...] = (
    ("affirmed", "affirmed,present,positive,observed,confirmed,asserted,detected,found,definite"),
    ("affirmed", "current,historical,resolved,patient,proband,index,index_patient,self,subject,+"),
    ("negated", "negated,absent,excluded,normal,negative,denied,not_present,not_observed,none"),
    ("negated", "not_found,not_detected,ruled_out,unaffected,-,−,–,-1"),
    ("uncertain", "uncertain,possible,probable,suspected,hypothetical,questionable,unclear,?"),
    ("uncertain", "likely,conditional,indeterminate,unknown,equivocal,speculated"),
    ("other_person", "other_person,family,family_history,other,someone_else,relative,familial"),
    ("other_person", "family_member,mother,father,parent,brother,sister,sibling,grandmother"),
    ("other_person", "grandfather,grandparent,aunt,uncle,cousin,son,daughter,child,maternal"),
    ("other_person", "paternal,associated_with_someone_else"),
)
"""The values of fields, by what they say."""
_FIELDS: tuple[tuple[Assertion, str], ...] = (
    ("affirmed", "present,presence,observed,affirmed,polarity,positive,assertion,status"),
    ("negated", "negated,negation,negative,absent,absence,excluded,exclusion,denied"),
    ("uncertain", "uncertain,uncertainty,hypothetical,suspected"),
    ("other_person", "experiencer,subject,family"),
)
_SPELLINGS, _MEANINGS = (
    {name: assertion for assertion, names in rows for name in split_list(names)}
    for rows in (_VALUES, _FIELDS)
)
"""What a value says, and what a field means if it is true; ``false`` negates a field of the
assertion affirmed."""
_SIGNS = {"asserted", "ruled", *_MEANINGS} - {"status", "subject", "family", "positive"}
"""Words in the names of fields about assertion."""
_FILLERS = re.compile(r"^(?:is|was|in)_|_(?:status|value|flag|type|history)$")
_ABOUT_SOMETHING_ELSE = re.compile(
    r"_(?:id|text|spans?|start|end|evidence|reason|score|confidence|date|at|by)$"
)
_TRUE, _FALSE = ("true", "yes", "1", "1.0", "y"), ("false", "no", "0", "0.0", "n")
_PRECEDENCE: tuple[Assertion, ...] = ("affirmed", "uncertain", "negated", "other_person")
"""The assertion of a term in a document is the first of these that any of its mentions has."""


def strongest(assertions: Iterable[Assertion]) -> Assertion:
    """Return the first of affirmed, uncertain, negated and other person that is present."""
    return min(assertions, key=_PRECEDENCE.index)


def field_name(key: object) -> str:
    """Return the name of a field in lower case, with its words separated by underscores."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key).strip())
    return re.sub(r"[\s_-]+", "_", words.lower())


def read_assertion(record: Mapping[str, object]) -> Assertion:
    """Return the assertion that the fields of a record say; affirmed if there are none.

    If fields differ, the last of affirmed, uncertain, negated and other person applies.

    Raises:
        ValueError: If a field about assertion, or its value, is unknown.
    """
    said: list[Assertion] = ["affirmed"]
    for key, value in record.items():
        name = _FILLERS.sub("", field_name(key))
        if value in (None, "", [], {}) or _ABOUT_SOMETHING_ELSE.search(name):
            continue
        if name in _MEANINGS:
            said.append(_read_value(name, value, _MEANINGS[name]))
        elif not _SIGNS.isdisjoint(name.split("_")):
            known = ", ".join(_MEANINGS)
            raise ValueError(f"unknown field '{key}' about assertion, expected one of {known}")
    return max(said, key=_PRECEDENCE.index)


def _read_value(name: str, value: object, meaning: Assertion) -> Assertion:
    text = re.sub(r"(?<=\w)[\s_-]+(?=\w)", "_", str(value).strip().lower())
    opposite: Assertion = "negated" if meaning == "affirmed" else "affirmed"
    values = {**_SPELLINGS, **dict.fromkeys(_TRUE, meaning), **dict.fromkeys(_FALSE, opposite)}
    if text not in values:
        expected = ", ".join(ASSERTIONS)
        raise ValueError(f"unknown assertion '{value}' in field '{name}', expected {expected}")
    return values[text]
