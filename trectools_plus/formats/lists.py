"""Lists as people write them: parts between commas."""

from __future__ import annotations


def split_list(text: str) -> list[str]:
    """Split at commas that are outside parentheses and quotes: ``AP(rel=2)@100,RBP(p=0.8,rel=1)``.

    Blanks around parts and empty parts are dropped.
    """
    parts, depth, start, quote = [], 0, 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "()":
            depth += 1 if character == "(" else -1
        elif character == "," and depth <= 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]
