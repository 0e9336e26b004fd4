"""Read ``[Term]`` stanzas of OBO files, and check that they form a hierarchy.

Format: https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html. Stanzas of other kinds,
and tags that do not describe names, definitions or the ``is_a`` hierarchy, are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from trectools_plus.errors import FormatError
from trectools_plus.formats.files.content import FileContent, read_file


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


Line = tuple[int, str, str]
"""Line number, tag, value."""

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SYNONYM_REST = re.compile(r"(?:(EXACT|NARROW|BROAD|RELATED)\b)?\s*([^\s\[\]{}!]*)")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}
_COMMENT = re.compile(r"(?<!\\)\s+!.*$")


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


def read_obo(path: str | Path) -> OboFile:
    """Read an OBO file, which may be compressed.

    Raises:
        InputError: If the file cannot be read.
        FormatError: If a line is not OBO, a term has no id, or there are no terms.
    """
    return parse_obo(read_file(path))


def parse_obo(source: FileContent) -> OboFile:
    """Parse the content of an OBO file.

    Raises:
        FormatError: As :func:`read_obo`.
    """
    text, path = source.text.replace("\r\n", "\n"), source.path
    version = ""
    terms: list[Term] = []
    for kind, start, lines in _stanzas(text, path):
        if not kind:
            version = next((value for _, tag, value in lines if tag == "data-version"), "")
        elif kind == "Term":
            terms.append(_term(start, lines, path))
    if not terms:
        raise FormatError(
            "expected an OBO file but found no [Term]",
            path=path,
            remedy="use an ontology in OBO format, for example hp.obo",
        )
    return OboFile(path, version, tuple(terms))


def _stanzas(text: str, path: str) -> Iterator[tuple[str, int, list[Line]]]:
    """Yield kind, first line and tags of each stanza; the header comes first, without a kind."""
    kind, start, lines = "", 1, list[Line]()
    for number, line in enumerate(text.split("\n"), 1):
        tag, colon, value = line.partition(":")
        if colon and tag.isascii() and tag[:1].isalpha():
            lines.append((number, tag, value.strip()))
        elif line.startswith("[") and line.rstrip().endswith("]"):
            yield kind, start, lines
            kind, start, lines = line.strip()[1:-1], number, []
        elif line.strip() and not line.startswith("!"):
            raise FormatError(
                f"expected 'tag: value' or '[Term]' but got {line.strip()[:40]!r}",
                path=path,
                line=number,
                remedy="check that the file is an ontology in OBO format",
            )
    yield kind, start, lines


def _term(start: int, lines: list[Line], path: str) -> Term:
    single: dict[str, str] = {}
    many: dict[str, list[str]] = {"is_a": [], "alt_id": [], "replaced_by": [], "consider": []}
    synonyms: list[Synonym] = []
    for number, tag, value in lines:
        if tag in many:
            many[tag].append(_identifier(value, tag, path, number))
        elif tag == "synonym":
            synonyms.append(_synonym(value, path, number))
        elif tag == "def":
            single[tag] = _quoted(value, tag, path, number)[0]
        elif tag == "id":
            if tag in single:
                raise FormatError(
                    f"a second id in the stanza of {single[tag]}",
                    path=path,
                    line=number,
                    remedy="start each term with a line [Term]",
                )
            single[tag] = _identifier(value, tag, path, number)
        elif tag in ("name", "comment", "is_obsolete"):
            single[tag] = _unescape(_COMMENT.sub("", value) if tag != "comment" else value)
    if "id" not in single:
        raise FormatError("a [Term] has no id", path=path, line=start, remedy="add a line 'id: …'")
    return Term(
        term_id=single["id"],
        name=single.get("name", ""),
        definition=single.get("def", ""),
        synonyms=tuple(synonyms),
        parents=tuple(many["is_a"]),
        alternative_ids=tuple(many["alt_id"]),
        comment=single.get("comment", ""),
        is_obsolete=single.get("is_obsolete") == "true",
        replaced_by=tuple(many["replaced_by"]),
        consider=tuple(many["consider"]),
        line=start,
    )


def _identifier(value: str, tag: str, path: str, line: int) -> str:
    """Return the id at the start of a value; a name after ``!`` or qualifiers may follow."""
    words = value.split(None, 1)
    if not words or words[0].startswith(("!", "{")):
        raise FormatError(f"expected an id after {tag}:", path=path, line=line, remedy="add the id")
    return words[0]


def _quoted(value: str, tag: str, path: str, line: int) -> tuple[str, str]:
    """Return the text between the quotes, and the rest."""
    match = _QUOTED.match(value)
    if match is None:
        raise FormatError(
            f"expected {tag}: followed by a text in double quotes but got {value[:40]!r}",
            path=path,
            line=line,
            remedy='write "…" with \\" for quotes in the text',
        )
    return _unescape(match[1]), value[match.end() :].strip()


def _synonym(value: str, path: str, line: int) -> Synonym:
    text, rest = _quoted(value, "synonym", path, line)
    match = _SYNONYM_REST.match(rest)
    scope, kind = (match[1], match[2]) if match else (None, "")
    return Synonym(text, scope or "RELATED", kind)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


Parents = Mapping[str, tuple[str, ...]]
"""The parents of each live term, all of them live."""

_MAX_CYCLE_TERMS = 6
"""The number of terms of a cycle that a message lists."""


def index_terms(file: OboFile) -> dict[str, Term]:
    """Return terms by id.

    Raises:
        FormatError: If two stanzas have the same id.
    """
    terms: dict[str, Term] = {}
    for term in file.terms:
        first = terms.setdefault(term.term_id, term)
        if first is not term:
            raise FormatError(
                f"{term.term_id} is defined twice, first on line {first.line}",
                path=file.path,
                line=term.line,
                remedy="keep one of the two stanzas",
            )
    return terms


def alternative_ids(terms: Mapping[str, Term], path: str) -> dict[str, str]:
    """Return the live term for each alternative id.

    Raises:
        FormatError: If an alternative id belongs to two terms, or is itself a live term.
    """
    owners: dict[str, str] = {}
    for term in terms.values():
        for other in () if term.is_obsolete else term.alternative_ids:
            live = other in terms and not terms[other].is_obsolete
            owner = other if live else owners.setdefault(other, term.term_id)
            if owner != term.term_id:
                raise FormatError(
                    f"{term.term_id} has the alternative id {other}, which belongs to {owner}",
                    path=path,
                    line=term.line,
                    remedy="remove the alternative id from one of the terms",
                )
    return owners


def live_parents(terms: Mapping[str, Term], alternatives: Mapping[str, str], path: str) -> Parents:
    """Return the parents of every live term, with alternative ids resolved.

    Raises:
        FormatError: If a parent is unknown or obsolete, or terms are their own ancestors.
    """
    parents: dict[str, tuple[str, ...]] = {}
    for term in terms.values():
        if not term.is_obsolete:
            above = (alternatives.get(parent, parent) for parent in term.parents)
            parents[term.term_id] = tuple(dict.fromkeys(above))
            _check_parents(term, parents[term.term_id], terms, path)
    _check_cycles(parents, terms, path)
    return parents


def _check_parents(
    term: Term, parents: tuple[str, ...], terms: Mapping[str, Term], path: str
) -> None:
    for parent in parents:
        if parent in terms and not terms[parent].is_obsolete:
            continue
        problem = "obsolete" if parent in terms else "not a term of the file"
        raise FormatError(
            f"{term.term_id} is_a {parent}, which is {problem}",
            path=path,
            line=term.line,
            remedy="correct the is_a line, or add the parent's [Term]",
        )


def _check_cycles(parents: Parents, terms: Mapping[str, Term], path: str) -> None:
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1][::-1]
        first = min(cycle, key=lambda term_id: terms[term_id].line)
        shown = " is_a ".join(cycle[:_MAX_CYCLE_TERMS])
        shown += " …" if len(cycle) > _MAX_CYCLE_TERMS else ""
        raise FormatError(
            f"terms are their own ancestors: {shown}",
            path=path,
            line=terms[first].line,
            remedy="remove one of these is_a lines",
        ) from None
