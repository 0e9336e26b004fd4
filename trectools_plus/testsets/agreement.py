"""Agreement of two annotators: kappa over the pairs that both graded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from trectools_plus.display import Displayed
from trectools_plus.errors import IncomparableError
from trectools_plus.formats.files.content import read_file
from trectools_plus.formats.tables import Qrels
from trectools_plus.formats.topic_formats import format_of
from trectools_plus.statistics.agreement import WEIGHTS, Agreement, cohens_kappa
from trectools_plus.statistics.arrays import Resampling, check_choice
from trectools_plus.testsets.loading import find_test_set, load_test_set
from trectools_plus.testsets.model import (
    HIGHEST_GRADE,
    LOWEST_GRADE,
    distinct_judgments,
    qrels_of,
)
from trectools_plus.validation.loading import load_qrels

DEFAULT_THRESHOLD = 0.6
"""The value that kappa must exceed: "substantial agreement" (Landis and Koch 1977)."""


@dataclass(frozen=True, slots=True)
class GradeDisagreement:
    """A pair of query and term that two annotators graded differently.

    Attributes:
        query_id: The query.
        doc_id: The term or document.
        first: The grade of the first annotator.
        second: The grade of the second.
    """

    query_id: str
    doc_id: str
    first: int
    second: int


@dataclass(frozen=True, slots=True, repr=False)
class GradeAgreement(Displayed):
    """The agreement of two annotators.

    Attributes:
        kappas: Cohen's kappa by weighting: ``none``, ``linear``, ``quadratic``.
        weights: The weighting of the kappa that is compared with the threshold.
        threshold: The value that this kappa must exceed.
        pairs: The number of pairs that both graded.
        only_first: The number of pairs that only the first graded; they are ignored.
        only_second: The number of pairs that only the second graded.
        agreed: The number of pairs with the same grade.
        disagreements: The other pairs, the largest difference first, then by query and document.
        queries: The queries of the pairs that both graded.
    """

    kappas: dict[str, Agreement]
    weights: str
    threshold: float
    pairs: int
    only_first: int
    only_second: int
    agreed: int
    disagreements: tuple[GradeDisagreement, ...]
    queries: frozenset[str] = frozenset()

    @property
    def accepted(self) -> bool:
        """True if the kappa with this weighting is defined and above the threshold."""
        return self.kappas[self.weights].value > self.threshold


def grade_agreement(
    first: Qrels,
    second: Qrels,
    *,
    weights: str = "none",
    threshold: float = DEFAULT_THRESHOLD,
    resampling: Resampling | None = None,
) -> GradeAgreement:
    """Compare the grades of the pairs that two annotators both graded.

    Args:
        first: The grades of one annotator.
        second: The grades of the other annotator.
        weights: The weighting of the kappa that is compared with the threshold: ``none``,
            ``linear`` or ``quadratic``.
        threshold: The value that this kappa must exceed.
        resampling: Settings of the intervals, which resample queries with all their pairs.

    Returns:
        Kappas with intervals, the verdict, and the pairs with different grades.

    Raises:
        IncomparableError: If no pair was graded by both.
        UsageError: If an option is out of range.
    """
    resampling = resampling or Resampling()
    check_choice(weights, WEIGHTS, "weighting")
    left, right = (distinct_judgments(qrels) for qrels in (first, second))
    both = left.join(right, on=["query_id", "doc_id"], suffix="_other").sort("query_id", "doc_id")
    if both.is_empty():
        raise IncomparableError(
            "no pair of query and term was graded by both annotators",
            remedy="give two files with grades of the same pairs, with the same ids",
        )
    query_ids, _, grades, others = (column.to_list() for column in both)
    graded = {LOWEST_GRADE, HIGHEST_GRADE, *grades, *others}
    categories = range(min(graded), max(graded) + 1)
    kappas = {
        name: cohens_kappa(
            grades,
            others,
            weights=name,
            categories=categories,
            clusters=query_ids,
            **asdict(resampling),
        )
        for name in WEIGHTS
    }
    differ = [GradeDisagreement(*row) for row in both.rows() if row[2] != row[3]]
    differ.sort(key=lambda pair: -abs(pair.first - pair.second))
    return GradeAgreement(
        kappas=kappas,
        weights=weights,
        threshold=threshold,
        pairs=both.height,
        only_first=left.height - both.height,
        only_second=right.height - both.height,
        agreed=both.height - len(differ),
        disagreements=tuple(differ),
        queries=frozenset(query_ids),
    )


def read_grades(name_or_path: str | Path) -> Qrels:
    """Read the grades of an annotator from a test set or qrels.

    Args:
        name_or_path: The file, or the name of a shipped test set.

    Raises:
        InputError: If it cannot be read.
        FormatError: If it is malformed.
        FindingsError: If the qrels contain errors, for example two grades for one pair.
    """
    path = find_test_set(name_or_path)
    source = read_file(path)
    if format_of(source.path, source.head.decode("utf-8", "replace")).is_document:
        return qrels_of(load_test_set(name_or_path), str(name_or_path))
    return load_qrels(str(path))
