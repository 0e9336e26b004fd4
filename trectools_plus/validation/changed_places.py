"""Signs that columns of a run have changed places; those of its pieces add up to the run's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trectools_plus.validation.order import Ordered


@dataclass(frozen=True, slots=True)
class SecondAndThird:
    """What tells that columns 2 and 3 have changed places.

    Attributes:
        third: The values of column 3; two of them where there are more.
        some_second: Whether column 2 holds something else than 'Q0'.
        several_rows: Whether some query has several rows.
        repeated: Whether a query has the same value in column 2 again.
    """

    third: frozenset[str] = frozenset()
    some_second: bool = False
    several_rows: bool = False
    repeated: bool = False

    @classmethod
    def of(cls, frame: pl.DataFrame) -> SecondAndThird:
        """The signs in some rows; where column 3 varies, nothing else is looked at."""
        third = frame["doc_id"]
        if third.is_empty():
            return cls()
        if third[0] == third[min(1, frame.height - 1)]:
            other = (third != third[0]).arg_max() or 0
        else:
            other = 1
        if third[other] != third[0]:
            return cls(frozenset((third[0], third[other])))
        pairs = frame.select("query_id", "q0")
        return cls(
            frozenset((third[0],)),
            bool((frame["q0"].cast(pl.String).str.to_uppercase() != "Q0").any()),
            pairs.height > pairs["query_id"].n_unique(),
            bool(pairs.is_duplicated().any()),
        )

    def __add__(self, other: SecondAndThird) -> SecondAndThird:
        """The signs in the rows of both; none of their queries may be the same."""
        return SecondAndThird(
            frozenset(sorted(self.third | other.third)[:2]),
            self.some_second or other.some_second,
            self.several_rows or other.several_rows,
            self.repeated or other.repeated,
        )

    @property
    def have_changed_places(self) -> bool:
        """Whether column 3 is 'Q0', or one other value while column 2 varies."""
        if len(self.third) != 1:
            return False
        if next(iter(self.third)).upper() == "Q0":
            return self.some_second
        # One document again and again is another fault, unless column 2 tells the rows apart.
        return self.several_rows and not self.repeated


@dataclass(frozen=True, slots=True)
class RankAndScore:
    """What tells that columns 4 and 5 have changed places.

    Attributes:
        no_rank: Whether column 4 holds something else than whole numbers.
        several_rows: Whether some query has several rows.
        agree: Whether column 4 holds falling decimals, and column 5 counts 1, 2, 3.
    """

    no_rank: bool = False
    several_rows: bool = False
    agree: bool = True

    @classmethod
    def of(cls, grouped: Ordered, fourth: pl.Series) -> RankAndScore:
        """The signs in some rows.

        Args:
            grouped: The rows by query.
            fourth: Column 4 as it is spelled, in the order of the file.
        """
        same = grouped.same_query
        counting = (grouped.score[1:] == grouped.score[:-1] + 1) | ~same
        no_rank, several_rows = bool(np.isnan(grouped.rank).any()), bool(same.any())
        if not counting.all():
            return cls(no_rank, several_rows, agree=False)
        decimals = fourth.cast(pl.Float64, strict=False).to_numpy()
        if grouped.row is not None:
            decimals = decimals[grouped.row]
        falling = (decimals[1:] <= decimals[:-1]) | ~same
        agree = bool(np.isfinite(decimals).all()) and bool(falling.all())
        return cls(no_rank, several_rows, agree)

    def __add__(self, other: RankAndScore) -> RankAndScore:
        """The signs in the rows of both; none of their queries may be the same."""
        return RankAndScore(
            self.no_rank or other.no_rank,
            self.several_rows or other.several_rows,
            self.agree and other.agree,
        )

    @property
    def have_changed_places(self) -> bool:
        """Whether ranks are where scores should be."""
        return self.no_rank and self.several_rows and self.agree
