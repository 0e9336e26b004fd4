"""``MaxOntSim@k``: how near the first k terms come to an expected one.

Introduced with the Phentrieve benchmark of retrieval from the Human Phenotype Ontology
(https://github.com/berntpopp/phentrieve); its published figures are those of ``hybrid_depth``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import polars as pl

from trectools_plus.errors import UsageError
from trectools_plus.measures.base import BaseMeasure, Definition, FloatArray, own_provider
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.ontology.formulas import formula_named
from trectools_plus.ontology.hpo import load_ontology
from trectools_plus.ontology.matching import best_matches

_SHOWN = 3


class MaxOntSim(BaseMeasure):
    """The highest similarity of any expected term with any of the first k terms.

    1.0 on an exact hit, whatever the formula; 0 when either side is empty. The expected terms are
    the query's relevant documents. Alternative ids, and obsolete ids with one replacement, stand
    for their term; any other id is similar to nothing but itself. An evaluation is refused when no
    expected id of the qrels, or no id in the first k of the run, is a term: the figures would say
    nothing of the run. When some are none, its notes say so.

    Args:
        cutoff: The deepest rank it looks at; ``None`` is the whole ranking.
        formula: ``hybrid``, ``hybrid_depth`` or ``simple_resnik_like``: see
            :mod:`trectools_plus.ontology.formulas`.
        ontology: An OBO file; the installed Human Phenotype Ontology when ``None``.
        rel: The lowest grade of an expected term, at least 1.

    Raises:
        UsageError: If the formula, a parameter or the cutoff is not one.
    """

    parameter_defaults: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"rel": 1, "formula": "hybrid", "ontology": None}
    )

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        if parameters.get("ontology") is not None:
            parameters["ontology"] = str(parameters["ontology"])
        super().__init__(cutoff, **parameters)
        self._formula = formula_named(self.parameters["formula"])

    def score_query(
        self, ranked_doc_ids: Sequence[str], qrels_of_query: Mapping[str, int]
    ) -> float:
        """Score one query; see :meth:`score_queries`."""
        return float(self.score_queries([ranked_doc_ids], [qrels_of_query])[0])

    def score_queries(
        self, rankings: Sequence[Sequence[str]], qrels: Sequence[Mapping[str, int]]
    ) -> FloatArray:
        """Score all queries at once.

        Raises:
            MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
            InputError: If the ontology cannot be read.
        """
        ontology = load_ontology(self.parameters["ontology"])
        level, cutoff = self.relevance_level, self.cutoff
        expected = [[d for d, grade in judged.items() if grade >= level] for judged in qrels]
        predicted = [ranking[:cutoff] for ranking in rankings]
        return best_matches(ontology.ids, ontology.hierarchy, expected, predicted, self._formula)

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """Say how many expected ids are no terms.

        Raises:
            UsageError: If none is a term of the ontology.
        """
        expected = queries.frame.filter(pl.col("relevance") >= self.relevance_level)["doc_id"]
        notes = self._unknown(expected, "relevant documents of the qrels")
        return [*super().notes_on_qrels(queries), *notes]

    def notes_on_run(self, run_name: str, ranked: pl.DataFrame) -> list[str]:
        """Say how many ids in the first k are no terms.

        Raises:
            UsageError: If none is a term of the ontology.
        """
        cutoff = ranked.height if self.cutoff is None else self.cutoff
        predicted = ranked.filter(pl.col("rank") <= cutoff)["doc_id"]
        first = "documents" if self.cutoff is None else f"documents in the first {self.cutoff}"
        return self._unknown(predicted, f"{first} of run {run_name}")

    def _unknown(self, doc_ids: pl.Series, what: str) -> list[str]:
        """A note on ids that stand for no live term; an error when all are such."""
        ontology = load_ontology(self.parameters["ontology"])
        distinct = doc_ids.unique(maintain_order=True).to_list()
        numbers = ontology.ids.numbers(distinct)
        unknown = [distinct[place] for place in (numbers < 0).nonzero()[0].tolist()]
        if not unknown:
            return []
        shown = ", ".join(unknown[:_SHOWN]) + (", …" if len(unknown) > _SHOWN else "")
        where = f"{ontology.path} {ontology.version}".strip()
        if len(unknown) == len(distinct):
            raise UsageError(
                f"{self.name} needs terms, but none of the {what} is one: {shown}",
                where=where,
                remedy="give the ontology of the qrels and runs: MaxOntSim(ontology='FILE')@10",
            )
        return [
            f"not among the terms of {where}, so similar to nothing but an equal id: "
            f"{len(unknown)} of {len(distinct)} {what}: {shown}"
        ]

    @property
    def _definition(self) -> Definition:
        cutoff = "all" if self.cutoff is None else f"the first {self.cutoff}"
        ontology = self.parameters["ontology"] or "the installed Human Phenotype Ontology"
        return Definition(
            name=self.name,
            formula=f"the highest similarity of any expected term with any of {cutoff} terms; "
            "1.0 on an exact hit, 0 when either side is empty; "
            f"similarity by '{self.parameters['formula']}' over {ontology}: "
            f"{_summary_of(self._formula)}",
            gain=f"a term of grade {self.relevance_level} or more is expected; grades weigh alike",
            cutoff=self.cutoff,
            denominator="none: a maximum in [0, 1]",
            relevance_level=self.relevance_level,
            provider=own_provider(),
        )


def _summary_of(formula: Any) -> str:
    """The formula's own words, on one line, without the final full stop."""
    paragraph = (formula.__doc__ or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).rstrip(".")
