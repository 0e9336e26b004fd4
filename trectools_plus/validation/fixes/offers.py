"""The fixes by the code of their rule: for which files, whether they are safe, what they do.

A safe fix leaves the ranking that evaluation sees as it is. All others are applied only when they
are named, for only the owner of the file knows whether they are right.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Offer:
    """A fix.

    Attributes:
        name: The rule's name.
        safe: Whether ``--fix OUT`` alone applies it.
        kinds: The kinds of files it is for.
        what: What it does, in the past tense.
        effect: For a fix that can delete rows, or rewrite scores or grades: what it changes and
            what that does to the figures, in the present tense. Empty for all others. No hint
            suggests a command with such a fix.
    """

    name: str
    safe: bool
    kinds: tuple[str, ...]
    what: str
    effect: str = ""


_TABLES = ("run", "qrels")
_ALL = ("run", "qrels", "topics")
_RUN = ("run",)
_QRELS = ("qrels",)
_TOPICS = ("topics",)
_RANKS = "numbered the ranks 1, 2, 3, … by score"
_SCORES = "lowered tied scores so that they fall with rank"

OFFERS: dict[str, Offer] = {
    "F102": Offer("byte-order-mark", True, _ALL, "took off the byte order mark"),
    "F103": Offer("not-utf8", False, _ALL, "converted to UTF-8"),
    "F104": Offer("crlf", True, _ALL, "wrote LF for CRLF"),
    "F105": Offer("bare-cr", True, _ALL, "wrote LF for bare CR"),
    "F107": Offer("comment-line", True, _ALL, "left out comment lines"),
    "F108": Offer("blank-line", True, _ALL, "left out blank lines"),
    "F109": Offer("no-final-newline", True, _ALL, "ended the last line"),
    "F112": Offer("gzip-name", False, _ALL, "compressed as the output's name says"),
    "R101": Offer("too-few-columns", False, _RUN, "added the missing column"),
    "R102": Offer("too-many-columns", False, _RUN, "joined the words of the tag with '_'"),
    "R103": Offer("other-format", False, _RUN, "wrote blanks for the delimiter"),
    "R105": Offer("header-line", True, _RUN, "left out the header line"),
    "R106": Offer("odd-spacing", True, _RUN, "put one blank between columns"),
    "R107": Offer("second-column", True, _RUN, "wrote Q0 in column 2"),
    "R108": Offer("columns-swapped", False, _RUN, "swapped columns 2 and 3"),
    "R110": Offer(
        "score-not-decimal",
        False,
        _RUN,
        "wrote decimal numbers",
        "rewrites the scores; trec_eval reads other numbers afterwards",
    ),
    "R120": Offer("rank-not-integer", True, _RUN, _RANKS),
    "R121": Offer(
        "scores-reversed",
        False,
        _RUN,
        "negated the scores",
        "rewrites the scores, negated or swapped with the ranks; every ranking is reversed",
    ),
    "R122": Offer("duplicate-rank", True, _RUN, _RANKS),
    "R123": Offer("rank-start", True, _RUN, _RANKS),
    "R124": Offer("rank-gap", True, _RUN, _RANKS),
    "R125": Offer("rank-score-conflict", True, _RUN, _RANKS),
    "R126": Offer("row-order", True, _RUN, "sorted the rows of each query by rank"),
    "R127": Offer("interleaved-queries", True, _RUN, "grouped the rows by query"),
    "R128": Offer("query-order", False, _RUN, "sorted the queries"),
    "R131": Offer(
        "duplicate-document",
        True,
        _RUN,
        "left out rows that are repeated as they are",
        "deletes rows; the row that stays decides at which rank a document counts",
    ),
    "R141": Offer(
        "tied-scores",
        False,
        _RUN,
        _SCORES,
        "rewrites tied scores; the rank column decides the order of the ties",
    ),
    "R142": Offer(
        "all-tied",
        False,
        _RUN,
        "wrote scores from the ranks",
        "rewrites the scores from the ranks; the rank column decides the order",
    ),
    "R143": Offer(
        "tie-in-float32",
        False,
        _RUN,
        _SCORES,
        "rewrites scores that tie in 32 bits; the rank column decides their order",
    ),
    "R151": Offer("several-tags", False, _RUN, "wrote one tag"),
    "R152": Offer("tag-form", False, _RUN, "put the tag in form"),
    "R161": Offer(
        "depth",
        False,
        _RUN,
        "left out the results beyond the depth, by score",
        "deletes the results beyond the limit; figures at deeper cutoffs or without one change",
    ),
    "Q101": Offer("too-few-columns", False, _QRELS, "inserted the iteration 0"),
    "Q103": Offer("header-line", True, _QRELS, "left out the header line"),
    "Q106": Offer("odd-spacing", True, _QRELS, "put one blank between columns"),
    "Q111": Offer("fractional-grade", True, _QRELS, "wrote whole grades without a point"),
    "Q132": Offer(
        "only-negative",
        False,
        _QRELS,
        "left out queries with negative grades only",
        "deletes queries; the means are over fewer queries",
    ),
    "Q135": Offer(
        "grade-in-column-2",
        False,
        _QRELS,
        "swapped columns 2 and 4",
        "rewrites the grades with column 2; every figure changes",
    ),
    "Q141": Offer("duplicate-agrees", True, _QRELS, "left out repeated judgments"),
    "Q142": Offer(
        "duplicate-conflicts",
        False,
        _QRELS,
        "kept one of several grades",
        "deletes judgments; the grade that stays decides the gain of a document",
    ),
    "Q143": Offer(
        "looks-diversity",
        False,
        _QRELS,
        "merged the subtopics",
        "deletes judgments; one subtopic or the highest grade of each document counts",
    ),
    "Q151": Offer("interleaved", True, _QRELS, "grouped the rows by query"),
    "T101": Offer("separator", False, _TOPICS, "wrote a tab behind the first word"),
    "T102": Offer("extra-tab", True, _TOPICS, "wrote a blank for a tab in the text"),
    "T103": Offer("header-line", True, _TOPICS, "left out the header line"),
    "T111": Offer("duplicate-id-same", True, _TOPICS, "left out repeated topics"),
    "T113": Offer("space-in-id", False, _TOPICS, "wrote '_' for blanks in ids"),
    "T114": Offer("id-not-text", True, _TOPICS, "put ids in quotes"),
    "T115": Offer("boolean-value", True, _TOPICS, "put texts in quotes"),
    "T117": Offer("text-cut", False, _TOPICS, "put texts in quotes, with what stood behind '#'"),
    "P104": Offer("query-id-near-match", False, _TABLES, "wrote query ids as the other file does"),
    "P106": Offer("document-id-near-match", False, _RUN, "wrote document ids as the qrels do"),
    "P110": Offer(
        "self-retrieval",
        False,
        _RUN,
        "left out documents that are the query itself",
        "deletes the results that are the query itself; the results below them move up",
    ),
}
"""All fixes. R131 and Q103 do less unless they are asked for by name."""
