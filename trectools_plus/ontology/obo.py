"""Read ``[Term]`` stanzas of OBO files, and check that they form a hierarchy.

Format: https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html. Stanzas of other kinds,
and tags that do not describe names, definitions or the ``is_a`` hierarchy, are ignored.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import FileContent


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another name of a term.

    Attributes:
        text: The name.
        scope: ``EXACT``, ``NARROW``, ``BROAD`` or ``RELATED``.
        kind: The synonym type, for example ``layperson`` or ``abbreviation``; may be empty.
    """

    text: str
    scope: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """One ``[Term]`` stanza.

    Attributes:
        term_id: Its id, for example ``HP:0001250``.
        name: Its label; empty if there is none.
        definition: The definition without its sources; empty if there is none.
        synonyms: Its other names, in file order.
        parents: The ids of its ``is_a`` tags, in file order.
        alternative_ids: Ids of terms that were merged into this one.
        comment: The comment; empty if there is none.
        is_obsolete: True if the term is obsolete.
        replaced_by: The ids to use instead of an obsolete term.
        consider: Ids that may fit instead of an obsolete term.
        line: The line of the file on which the stanza starts.
    """

    term_id: str
    name: str = ""
    definition: str = ""
    synonyms: tuple[Synonym, ...] = ()
    parents: tuple[str, ...] = ()
    alternative_ids: tuple[str, ...] = ()
    comment: str = ""
    is_obsolete: bool = False
    replaced_by: tuple[str, ...] = ()
    consider: tuple[str, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class OboFile:
    """An OBO file as read, without checks between its terms.

    Attributes:
        path: The file as the user named it.
        data_version: The ``data-version`` of the header; empty if it has none.
        terms: The terms in file order, including obsolete terms.
    """

    path: str
    data_version: str
    terms: tuple[Term, ...]

    def error(self, term: Term, problem: str, remedy: str) -> FormatError:
        """Return an error at the line of a term."""
        return FormatError(problem, path=self.path, line=term.line, remedy=remedy)


_STANZA = re.compile(r"^\[(.*)\][^\S\n]*$", re.MULTILINE)
_VERSION = re.compile(r"^data-version:(.*)", re.MULTILINE)
_ID = r"(id|is_a|alt_id|replaced_by|consider):[ \t]*([^\s!{]\S*)"
_QUOTED = r'(def|synonym):[ \t]*"([^"\\\n]*(?:\\.[^"\\\n]*)*)"[ \t]*'
_SCOPE = r"(?:(EXACT|NARROW|BROAD|RELATED)\b)?[ \t]*([^\s\[\]{}!]*)"
_TEXT = r"(name|is_obsolete|comment):[ \t]*(.*)"
_TAG = re.compile(rf"^(?:{_ID}|{_QUOTED}{_SCOPE}|{_TEXT})", re.MULTILINE)
_OTHER_TAG = r"(?!(?:id|is_a|alt_id|replaced_by|consider|def|synonym):)[A-Za-z][ -9;-~\t]*:"
_NO_OBO = re.compile(
    rf"^(?!{_OTHER_TAG}|{_ID}|{_QUOTED}|\[.*\][^\S\n]*$|!|[^\S\n]*$).*", re.MULTILINE
)
_COMMENT = re.compile(r"(?<!\\)\s+!.*")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}
_MAX_CYCLE_TERMS = 6
"""The number of terms of a cycle that a message lists."""


def read_obo(source: FileContent) -> OboFile:
    """Read the content of an OBO file.

    Raises:
        FormatError: If a line is not OBO, a term has no id, or there are no terms.
    """
    text = source.text.replace("\r\n", "\n")
    if other := _NO_OBO.search(text):
        raise FormatError(
            "expected '[Term]' or 'tag: value', with an id after id: and is_a: and a text in "
            f"double quotes after def: and synonym:, but got {other[0].strip()[:40]!r}",
            path=source.path,
            line=1 + text.count("\n", 0, other.start()),
            remedy="correct the line, or check that the file is an ontology in OBO format",
        )
    header, *stanzas = _STANZA.split(text)
    line = 1 + header.count("\n")
    terms: list[Term] = []
    for kind, stanza in zip(stanzas[::2], stanzas[1::2], strict=True):
        if kind == "Term":
            terms.append(_read_term(stanza, source.path, line))
        line += stanza.count("\n")
    if not terms:
        raise FormatError(
            "expected an OBO file but found no [Term]",
            path=source.path,
            remedy="use an ontology in OBO format, for example hp.obo",
        )
    version = _VERSION.search(header)
    return OboFile(source.path, version[1].strip() if version else "", tuple(terms))


def _read_term(stanza: str, path: str, start: int) -> Term:
    ids: dict[str, list[str]] = defaultdict(list)
    texts: dict[str, str] = defaultdict(str)
    synonyms: list[Synonym] = []
    for id_tag, value, quoted_tag, quoted, scope, kind, tag, text in _TAG.findall(stanza):
        if id_tag:
            ids[id_tag].append(value)
        elif quoted_tag == "synonym":
            synonyms.append(Synonym(_unescape(quoted), scope or "RELATED", kind))
        else:
            text = text if tag == "comment" or "!" not in text else _COMMENT.sub("", text)
            texts[tag or quoted_tag] = _unescape(quoted or text.rstrip())
    if len(ids["id"]) != 1:
        second = stanza.rindex("\nid:") + 1 if ids["id"] else 0
        raise FormatError(
            f"expected one id in a [Term] but got {', '.join(ids['id']) or 'none'}",
            path=path,
            line=start + stanza.count("\n", 0, second),
            remedy="start each term with a line [Term], followed by its id",
        )
    return Term(
        term_id=ids["id"][0],
        name=texts["name"],
        definition=texts["def"],
        synonyms=tuple(synonyms),
        parents=tuple(ids["is_a"]),
        alternative_ids=tuple(ids["alt_id"]),
        comment=texts["comment"],
        is_obsolete=texts["is_obsolete"] == "true",
        replaced_by=tuple(ids["replaced_by"]),
        consider=tuple(ids["consider"]),
        line=start,
    )


def _unescape(text: str) -> str:
    escaped = "\\" in text
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text) if escaped else text


def index_terms(file: OboFile) -> dict[str, Term]:
    """Return terms by id.

    Raises:
        FormatError: If two stanzas have the same id.
    """
    terms: dict[str, Term] = {}
    for term in file.terms:
        first = terms.setdefault(term.term_id, term)
        if first is not term:
            problem = f"{term.term_id} is defined twice, first on line {first.line}"
            raise file.error(term, problem, "keep one of the two stanzas")
    return terms


def alternative_ids(file: OboFile, terms: Mapping[str, Term]) -> dict[str, str]:
    """Return the live term for each alternative id.

    Raises:
        FormatError: If an alternative id belongs to two terms, or is itself a live term.
    """
    owners: dict[str, str] = {}
    for term in file.terms:
        for other in () if term.is_obsolete else term.alternative_ids:
            live = other in terms and not terms[other].is_obsolete
            owner = other if live else owners.setdefault(other, term.term_id)
            if owner != term.term_id:
                problem = f"{term.term_id} has the alternative id {other}, which belongs to {owner}"
                raise file.error(term, problem, "remove it from one of the terms")
    return owners


def live_parents(
    file: OboFile, terms: Mapping[str, Term], alternatives: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return the parents of every live term, with alternative ids resolved.

    Raises:
        FormatError: If a parent is unknown or obsolete, or terms are their own ancestors.
    """
    live = {term.term_id: term for term in file.terms if not term.is_obsolete}
    parents: dict[str, tuple[str, ...]] = {}
    for term_id, term in live.items():
        above = tuple(dict.fromkeys(alternatives.get(parent, parent) for parent in term.parents))
        for parent in above:
            if parent not in live:
                reason = "obsolete" if parent in terms else "not a term of the file"
                problem = f"{term_id} is_a {parent}, which is {reason}"
                raise file.error(term, problem, "correct the is_a line, or add the parent's [Term]")
        parents[term_id] = above
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1][::-1]
        shown = " is_a ".join(cycle[:_MAX_CYCLE_TERMS]) + " …" * (len(cycle) > _MAX_CYCLE_TERMS)
        first = min((terms[term_id] for term_id in cycle), key=lambda term: term.line)
        problem = f"terms are their own ancestors: {shown}"
        raise file.error(first, problem, "remove one of these is_a lines") from None
    return parents
