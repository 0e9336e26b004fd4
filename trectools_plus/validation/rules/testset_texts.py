"""Rules on the texts of a test set, and on whether it is one."""

from __future__ import annotations

from trectools_plus.text import in_all, quoted, visible
from trectools_plus.validation.near_texts import near_pairs
from trectools_plus.validation.registry import Hit, rule
from trectools_plus.validation.rules.topics_texts import normalised
from trectools_plus.validation.testset_view import TestSetView


@rule(
    "T213",
    "no-test-set",
    on="testset",
    scope="file",
    severity="error",
    fix="no",
    checks="topics without judgments, or judgments without texts",
    rationale="A test set has both: what is searched with, and what should be found.",
    example="set.yaml: error T213: topics without judgments. Convert topics and qrels to a test "
    "set: testset convert TOPICS OUT.json --qrels QRELS.",
    remedy="Convert topics and qrels to a test set: testset convert TOPICS OUT.json --qrels QRELS",
)
def no_test_set(test_set: TestSetView) -> Hit | None:
    """The file is no test set."""
    if test_set.is_test_set or test_set.topics.frame.is_empty():
        return None
    if test_set.topics.kind == "testset":
        return Hit("judgments without texts: no query can be searched with")
    return Hit("topics without judgments")


@rule(
    "T231",
    "near-duplicate",
    on="testset",
    scope="file",
    severity="warning",
    fix="no",
    blocks_scoring=False,
    checks="two texts with the same word stems, or three quarters of their character trigrams in "
    "common",
    rationale="What is nearly the same counts twice in every mean, and intervals are too narrow: "
    "they take queries for independent.",
    example="set.yaml:9: warning T231: query 3 'Recurrent infection' is nearly query 1 'Recurrent "
    "infections' (line 3). Drop one, or word it otherwise.",
    remedy="Drop one, or word it otherwise",
)
def near_duplicate(test_set: TestSetView) -> Hit | None:
    """Two texts are nearly the same."""
    texts = test_set.texts
    norms = normalised(texts["text"])
    pairs = near_pairs(texts["text"].to_list(), test_set.language)
    # Texts that are the same have a rule of their own.
    first: dict[int, int] = {}
    for earlier, later in pairs:
        if norms[earlier] != norms[later]:
            first.setdefault(later, earlier)
    if not first:
        return None
    later, earlier = next(iter(first.items()))
    one, other = texts.row(earlier, named=True), texts.row(later, named=True)
    message = (
        f"query {visible(other['query_id'])} {quoted(other['text'])} is nearly query "
        f"{visible(one['query_id'])} {quoted(one['text'])} (line {one['text_line']})"
        f"{in_all(len(first), 'such text')}"
    )
    lines = texts["text_line"].gather(list(first)).to_list()
    return Hit(message, lines, len(first), query_id=other["query_id"])
