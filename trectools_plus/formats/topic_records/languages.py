"""Languages of texts: codes of two and three letters for the same language."""

from __future__ import annotations

from collections.abc import Sequence

_LONG = {
    "eng": "en", "zho": "zh", "chi": "zh", "cmn": "zh", "fas": "fa", "per": "fa", "rus": "ru",
    "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt",
    "nld": "nl", "dut": "nl", "jpn": "ja", "kor": "ko", "ara": "ar", "hin": "hi", "swe": "sv",
    "fin": "fi", "pol": "pl", "tur": "tr", "ces": "cs", "cze": "cs", "hun": "hu", "ukr": "uk",
    "ben": "bn", "mar": "mr", "english": "en", "german": "de", "french": "fr", "spanish": "es",
    "chinese": "zh", "persian": "fa", "russian": "ru", "italian": "it", "dutch": "nl",
    "czech": "cs", "cz": "cs",
}  # fmt: skip


def is_language(name: str) -> bool:
    """Return true for a code of a language, or its English name: ``en``, ``eng``, ``english``."""
    return same_language(name) in _LONG.values()


def same_language(code: str) -> str:
    """Return the code of two letters of a language: ``en`` for ``en``, ``eng`` and ``en-GB``."""
    plain = code.strip().lower()
    base = plain.replace("_", "-").partition("-")[0]
    return _LONG.get(base, base)


def choose_language(available: Sequence[str], wanted: str | None) -> str | None:
    """Return the wanted language as the file spells it; without a wish, English or the first.

    ``None`` if the wanted language is not available.
    """
    goal = same_language(wanted or "en")
    found = next((code for code in available if same_language(code) == goal), None)
    if found is None and wanted is None and available:
        return available[0]
    return found
