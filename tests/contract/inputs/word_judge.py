"""A judge that counts shared words, for ``judge label --judge word_judge:grade``."""

import json


def grade(query: str, document: str) -> str:
    """Return a grade with a reason; in words if no word is shared."""
    shared = {*query.lower().split()} & {*document.lower().split()}
    if not shared:
        return "I see nothing in common."
    return json.dumps({"reason": f"shared words: {len(shared)}", "grade": min(len(shared), 3)})
