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


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    __test__: ClassVar[bool] = False  # not something for pytest to collect


class RelevantTerm(_Model):
    """A term that a text means, and how well it fits.

    Attributes:
        doc_id: The term's id.
        grade: 3 the term itself, 2 close to it, 1 related, 0 judged and not relevant; sets with a
            scale of their own may go up to 127, and use -1 for what is not judged.
    """

    doc_id: Identifier
    grade: StrictInt = Field(ge=-127, le=127)


class TestQuery(_Model):
    """One test case.

    Attributes:
        query_id: Its id, unique in the set.
        text: What is searched with.
        relevant: The judged terms; without one above 0, the query is left out of every mean.
        category: What kind of wording it is.
        difficulty: How hard it is for a system that matches words.
        query_type: A coarser kind of wording.
        hpo_domain: The organ system: a child of "Phenotypic abnormality", by its label.
        language: The text's language, as ISO 639-1 code.
        description: A remark, or the text in English.
    """

    query_id: Identifier
    text: str = Field(pattern=r"\S")
    relevant: tuple[RelevantTerm, ...]
    category: Category | None = None
    difficulty: Difficulty | None = None
    query_type: QueryType | None = None
    hpo_domain: str | None = None
    language: str | None = None
    description: str | None = None

    @field_validator("relevant")
    @classmethod
    def _check_relevant(cls, terms: tuple[RelevantTerm, ...]) -> tuple[RelevantTerm, ...]:
        _refuse_repeated(term.doc_id for term in terms)
        return terms


class TestSetMetadata(BaseModel):
    """What a test set says of itself; further keys are kept.

    Attributes:
        dataset_id: Its name.
        version: Its version.
        language: The language of all its texts, as ISO 639-1 code; empty when not said.
        description: What it holds, and what its grades mean.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    __test__: ClassVar[bool] = False

    dataset_id: str
    version: str = ""
    language: str = ""
    description: str = ""


class TestSet(_Model):
    """Test cases with graded terms.

    Attributes:
        metadata: What the set says of itself.
        queries: The test cases.
    """

    metadata: TestSetMetadata
    queries: tuple[TestQuery, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_queries(self) -> Self:
        _refuse_repeated(query.query_id for query in self.queries)
        if not any(term.grade > 0 for query in self.queries for term in query.relevant):
            raise ValueError("expected at least one term with a grade above 0")
        return self


def _refuse_repeated(ids: Iterable[str]) -> None:
    repeated = [item for item, count in Counter(ids).items() if count > 1]
    if repeated:
        raise ValueError(f"{', '.join(repeated[:3])} given more than once")
