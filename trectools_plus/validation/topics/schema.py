"""The names of fields in test sets, and what a misspelled one was meant to be (T106)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from trectools_plus.formats.nodes.model import Scalar
from trectools_plus.text import visible
from trectools_plus.validation.topics.view import Trouble, Troubles

ID_KEYS = ("query_id", "id", "qid", "_id", "case_id")
TEXT_KEYS = ("text", "query_text", "query", "title")
GRADED_KEYS = ("relevant", "relevant_docs")
LISTED_KEYS = ("expected_hpo_ids", "hpo_ids")
JUDGED_KEYS = (*GRADED_KEYS, *LISTED_KEYS)
SPELLINGS = {"query_id": ID_KEYS, "text": TEXT_KEYS, "relevant": JUDGED_KEYS}
"""By this package's own name of a field, its names in the forms that are read."""
NOTE_KEYS = ("category", "difficulty", "query_type", "hpo_domain", "language", "description")
NOTE_WORDS = {
    "category": ("exact_match", "synonym", "abbreviation", "layperson", "complex"),
    "difficulty": ("easy", "medium", "hard"),
    "query_type": ("exact_term", "paraphrase", "complex_clinical"),
}
"""Fields that hold one of a few words."""
METADATA_KEYS = ("dataset_id", "version", "language", "description")
"""What metadata say in texts; they may hold more."""
CASE_KEYS = (*ID_KEYS, *TEXT_KEYS, *JUDGED_KEYS, *NOTE_KEYS)
TERM_KEYS = ("doc_id", "grade")
TOP_KEYS = ("metadata", "queries", "test_cases")

SPELLINGS_LOOKED_AT = 200
"""Unknown keys for which a known one of similar spelling is looked for."""

_PURPOSE = {
    **dict.fromkeys(ID_KEYS, "id"),
    **dict.fromkeys(TEXT_KEYS, "text"),
    **dict.fromkeys(JUDGED_KEYS, "judgments"),
}


class Schema:
    """Notes keys that are not in the schema.

    Args:
        troubles: Where to note them.
    """

    def __init__(self, troubles: Troubles) -> None:
        self._troubles = troubles
        self._near: dict[str, list[str]] = {}

    def check(
        self,
        keys: Iterable[Scalar],
        known: tuple[str, ...],
        query_id: str | None = None,
        *,
        missing: Collection[str] | None = None,
        only_near: bool = False,
    ) -> set[str]:
        """Note unknown keys.

        Args:
            keys: Those of a mapping.
            known: Those that it may have.
            query_id: The test case that it belongs to.
            missing: Fields that it lacks, so that a misspelled key may be one of them; any known
                one if not given.
            only_near: Whether only misspelled ones are noted, and only for missing fields: other
                keys are free.

        Returns:
            Of the ``missing`` fields, those that a misspelled key was meant to be.
        """
        meant: set[str] = set()
        for key in keys:
            if key.text in known:
                continue
            near = self._closest(key.text, known)
            purpose = _PURPOSE.get(near, near) if near is not None else None
            fills_gap = purpose is not None and (missing is None or purpose in missing)
            if only_near and not fills_gap:
                continue
            hint = f"; did you mean '{near}'?" if near is not None else ""
            remedy = None if near is not None else f"Known keys: {', '.join(known)}"
            said = f"unknown key '{visible(key.text)}'{hint}"
            self._troubles.add("T106", Trouble(key.line, said, key.column, query_id, remedy=remedy))
            if fills_gap and purpose is not None:
                meant.add(purpose)
        return meant

    def _closest(self, key: str, known: tuple[str, ...]) -> str | None:
        """The known key that one is a misspelling of; ``None`` if there is none."""
        if key not in self._near and len(self._near) < SPELLINGS_LOOKED_AT:
            self._near[key] = get_close_matches(key[:64].lower(), known, 1, 0.75)
        return next((name for name in self._near.get(key, ()) if name in known), None)
