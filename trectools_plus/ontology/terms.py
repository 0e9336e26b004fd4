"""What an OBO file says of a term."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Synonym:
    """Another name of a term.

    Attributes:
        text: The name.
        scope: ``EXACT``, ``NARROW``, ``BROAD`` or ``RELATED``.
        kind: The synonym type, such as ``layperson`` or ``abbreviation``; empty when untyped.
    """

    text: str
    scope: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """One ``[Term]`` stanza.

    Attributes:
        term_id: Its id, such as ``HP:0001250``.
        name: Its label; empty when the file gives none.
        definition: The definition without its sources; empty when the file gives none.
        synonyms: Its other names, in file order.
        parents: The ids it ``is_a``, in file order.
        alternative_ids: Ids of terms that were merged into this one.
        comment: The curators' remark; empty when the file gives none.
        is_obsolete: Whether the term was withdrawn.
        replaced_by: The ids to use in place of a withdrawn term.
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
    line: int = 0
