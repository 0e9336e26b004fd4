"""What a test set is: phrases to search with, and the terms that each should find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, field_validator, model_validator

Category = Literal["exact_match", "synonym", "abbreviation", "layperson", "complex"]
Difficulty = Literal["easy", "medium", "hard"]
QueryType = Literal["exact_term", "paraphrase", "complex_clinical"]

Identifier = Annotated[str, Field(pattern=r"^\S+$")]
"""An id without blanks, so that it fits in a column of a run file."""

LOWEST_GRADE, HIGHEST_GRADE = 0, 3
"""The grades of this package's scale; others are read, and reported by ``testset validate``."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
    __test__: ClassVar[bool] = False  # not something for pytest to collect


class RelevantTerm(_Model):
    """A term that a text means, and how well it fits."""

    doc_id: Identifier
    """The term's id."""
    grade: StrictInt = Field(ge=-127, le=127)
    """3 the term itself, 2 close to it, 1 related, 0 judged and not relevant. Sets with a scale of
    their own are read too: up to 127, and -1 for what is not judged."""


class TestQuery(_Model):
    """One test case."""

    query_id: Identifier
    """Its id, unique in the set."""
    text: str = Field(pattern=r"\S")
    """What is searched with."""
    relevant: tuple[RelevantTerm, ...]
    """The judged terms; without one above 0, the query is left out of every mean."""
    category: Category | None = None
    """What kind of wording it is."""
    difficulty: Difficulty | None = None
    """How hard it is for a system that matches words."""
    query_type: QueryType | None = None
    """A coarser kind of wording."""
    hpo_domain: str | None = None
    """The organ system: a child of "Phenotypic abnormality", by its label."""
    language: str | None = None
    """The text's language, as ISO 639-1 code."""
    description: str | None = None
    """A remark, or the text in English."""

    @field_validator("relevant")
    @classmethod
    def _check_relevant(cls, terms: tuple[RelevantTerm, ...]) -> tuple[RelevantTerm, ...]:
        _refuse_repeated(term.doc_id for term in terms)
        return terms

    @property
    def has_relevant(self) -> bool:
        """Whether a term is relevant, so that the query has a score."""
        return any(term.grade > 0 for term in self.relevant)


class TestSetMetadata(BaseModel):
    """What a test set says of itself; further keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, use_attribute_docstrings=True)
    __test__: ClassVar[bool] = False

    dataset_id: str
    """Its name; that of the file where it says none."""
    version: str = ""
    """Its version, such as ``1.0.0``; a set whose queries were replaced has another."""
    language: str = ""
    """The language of all its texts, as ISO 639-1 code; empty when not said."""
    description: str = ""
    """What it holds, and what its grades mean."""


class TestSet(_Model):
    """Test cases with graded terms."""

    metadata: TestSetMetadata
    """What the set says of itself."""
    queries: tuple[TestQuery, ...] = Field(min_length=1)
    """The test cases."""

    @model_validator(mode="after")
    def _check_queries(self) -> Self:
        _refuse_repeated(query.query_id for query in self.queries)
        if not any(query.has_relevant for query in self.queries):
            raise ValueError("expected at least one term with a grade above 0")
        return self


def _refuse_repeated(ids: Iterable[str]) -> None:
    repeated = [item for item, count in Counter(ids).items() if count > 1]
    if repeated:
        raise ValueError(f"{', '.join(repeated[:3])} given more than once")
