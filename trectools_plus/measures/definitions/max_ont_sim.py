"""``MaxOntSim@k``: the highest similarity between an expected term and the first k terms.

Introduced with the Phentrieve benchmark of retrieval from the Human Phenotype Ontology
(https://github.com/berntpopp/phentrieve); its published figures are those of ``hybrid_depth``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from trectools_plus.errors import UsageError
from trectools_plus.measures.definitions.base import (
    Definition,
    FloatArray,
    Measure,
)
from trectools_plus.measures.judged import JudgedQueries
from trectools_plus.measures.providers.user import BaseMeasure
from trectools_plus.ontology.ontology import Ontology, load_information, load_ontology
from trectools_plus.ontology.similarity import (
    FROM_ANNOTATIONS,
    FROM_GRAPH,
    INFORMATION_FORMULAS,
    InformationContent,
    best_matches,
    formula_named,
)
from trectools_plus.plugins import refuse_code
from trectools_plus.text import listed

if TYPE_CHECKING:
    import polars as pl

_BY_DEPTH = (
    "LCA: the deepest common ancestor; depth: edges on the shortest way up to a root; D: the "
    "largest depth"
)
_BY_INFORMATION = "MICA: the common ancestor with the highest IC"


class MaxOntSim(BaseMeasure):
    """The highest similarity between any expected term and any of the first k terms.

    It is 1.0 if an expected term is found, with every formula, and 0 if there is no expected or no
    retrieved term. The expected terms are the query's relevant documents. Alternative ids, and
    obsolete ids with one replacement, count as their term; any other id is similar only to itself.
    If no expected id of the qrels, or no id in the first k of the run, is a term, the figures would
    be meaningless, so this is an error. If some ids are not terms, notes report them.

    Args:
        cutoff: The deepest rank that counts; ``None`` for the whole ranking.
        formula: ``hybrid``, ``hybrid_depth``, ``simple_resnik_like`` or ``lin``: see
            :mod:`trectools_plus.ontology.similarity`.
        ontology: An OBO file; ``None`` is the installed Human Phenotype Ontology.
        annotations: A file in the format of ``phenotype.hpoa``, from which ``lin`` takes
            information content; ``None`` is the graph of the ontology.
        rel: The lowest grade of an expected term, at least 1.

    Raises:
        UsageError: If the formula, a parameter or the cutoff is invalid, or ``annotations`` is
            given for a formula that does not use information content.
    """

    sees_unjudged = True
    parameter_defaults: Mapping[str, Any] = MappingProxyType(
        {"rel": 1, "formula": "hybrid", "ontology": None, "annotations": None}
    )

    def __init__(self, cutoff: int | None = None, **parameters: Any) -> None:
        super().__init__(cutoff, **parameters)
        values = dict(self.parameters)
        for name in ("ontology", "annotations"):
            if values[name] is not None:
                values[name] = str(values[name])
                refuse_code(f"{name}={values[name]}")
        values["formula"] = str(values["formula"]).lower()
        self.parameters = values
        self._formula = formula_named(values["formula"])
        self._ontology: str | None = values["ontology"]
        self._annotations: str | None = values["annotations"]
        if self._annotations and self._formula not in INFORMATION_FORMULAS:
            raise UsageError(
                f"the formula {values['formula']} does not use annotations; 'lin' does",
                where=self.name,
            )

    def takes(self, name: str) -> bool:
        """Return whether it uses an ``ontology`` or ``annotations`` that its name does not give."""
        is_used = name == "ontology" or self._formula in INFORMATION_FORMULAS
        return is_used and self.parameters[name] is None

    def with_files(
        self, ontology: str | Path | None, annotations: str | Path | None = None
    ) -> Self:
        """Return the measure with files that its name does not give.

        Args:
            ontology: An OBO file, ignored if the name gives one; ``None`` for no change.
            annotations: An annotation file, ignored if the name gives one or the formula does not
                use it; ``None`` for no change.
        """
        bound = copy.copy(self)
        if ontology is not None and self.takes("ontology"):
            bound._ontology = str(ontology)
        if annotations is not None and self.takes("annotations"):
            bound._annotations = str(annotations)
        return bound

    def load_ontology(self) -> Ontology:
        """Load the ontology.

        Raises:
            MissingExtraError: If no ontology is given and the extra ``hpo`` is not installed.
            InputError: If the ontology cannot be read.
        """
        return load_ontology(self._ontology)

    def _load_information(self, ontology: Ontology) -> InformationContent | None:
        if self._formula not in INFORMATION_FORMULAS:
            return None
        if self._annotations is None:
            return ontology.information
        return load_information(ontology, self._annotations)

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
            InputError: If the ontology or the annotations cannot be read.
        """
        ontology = load_ontology(self._ontology)
        information = self._load_information(ontology)
        expected = [
            [doc_id for doc_id, grade in judged.items() if grade >= self.relevance_level]
            for judged in qrels
        ]
        predicted = [ranking[: self.cutoff] for ranking in rankings]
        return best_matches(
            ontology.ids, ontology.hierarchy, expected, predicted, self._formula, information
        )

    def notes_on_qrels(self, queries: JudgedQueries) -> list[str]:
        """Report expected ids and annotated ids that are not terms.

        Raises:
            UsageError: If no expected id is a term of the ontology.
        """
        import polars as pl

        expected = queries.frame.filter(pl.col("relevance") >= self.relevance_level)["doc_id"]
        notes = self._unknown(expected, "relevant documents of the qrels")
        information = self._load_information(load_ontology(self._ontology))
        annotated = () if information is None else information.notes
        return [*super().notes_on_qrels(queries), *notes, *annotated]

    def notes_on_run(self, run_name: str, ranked: pl.DataFrame) -> list[str]:
        """Report ids in the first k that are not terms.

        Raises:
            UsageError: If no id is a term of the ontology.
        """
        import polars as pl

        predicted = ranked.filter(pl.col("rank") <= (self.cutoff or ranked.height))["doc_id"]
        return self._unknown(predicted, f"documents of run {run_name}")

    def _unknown(self, doc_ids: pl.Series, kind_of_ids: str) -> list[str]:
        """Return a note on ids that are not terms; raise an error if no id is a term."""
        ontology = load_ontology(self._ontology)
        distinct = doc_ids.unique(maintain_order=True)
        unknown = distinct.filter(ontology.ids.numbers(distinct.to_list()) < 0).to_list()
        if not unknown:
            return []
        where = f"{ontology.path} {ontology.version}".strip()
        problem = (
            f"{len(unknown)} of {len(distinct)} {kind_of_ids} are not terms of {where}: "
            f"{listed(unknown)}"
        )
        if len(unknown) == len(distinct):
            raise UsageError(
                problem,
                where=self.name,
                remedy="specify the ontology of the qrels and runs: --ontology FILE, or "
                "MaxOntSim(ontology='FILE')@10",
            )
        return [f"{problem}; they are similar only to an equal id"]

    @property
    def definition(self) -> Definition:
        """The exact meaning of its figures, with the formula of similarity."""
        summary = " ".join((self._formula.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
        if self._formula in INFORMATION_FORMULAS:
            from_file = self._annotations is not None
            source = FROM_ANNOTATIONS.format(file=self._annotations) if from_file else FROM_GRAPH
            summary = f"{summary}. {_BY_INFORMATION}. {source}"
        elif "LCA" in summary:
            summary = f"{summary}. {_BY_DEPTH}"
        shown = "in the ranking" if self.cutoff is None else f"in the first {self.cutoff}"
        return self._define(
            f"the highest similarity between any expected term and any term {shown}; "
            "1.0 if an expected term is found, 0 without expected or retrieved terms; "
            f"similarity by '{self.parameters['formula']}' over "
            f"{self._ontology or 'the installed Human Phenotype Ontology'}: {summary}",
            f"a term of grade {self.relevance_level} or more is expected; grades weigh alike",
            "none: a maximum in [0, 1]",
        )


def bind_files(
    measures: Iterable[Measure],
    ontology: str | Path | None = None,
    annotations: str | Path | None = None,
) -> list[Measure]:
    """Return the measures, with files that their names do not specify.

    Args:
        measures: Any measures.
        ontology: An OBO file; see :meth:`MaxOntSim.with_files`.
        annotations: An annotation file.
    """
    return [
        measure.with_files(ontology, annotations) if isinstance(measure, MaxOntSim) else measure
        for measure in measures
    ]


def check_files_used(
    measures: Iterable[Measure],
    ontology: str | Path | None = None,
    annotations: str | Path | None = None,
) -> None:
    """Check that a measure uses each file that is given.

    Raises:
        UsageError: If no measure uses a file.
    """
    of_ontology = [measure for measure in measures if isinstance(measure, MaxOntSim)]
    for name, file in (("ontology", ontology), ("annotations", annotations)):
        if file is not None and not any(measure.takes(name) for measure in of_ontology):
            raise UsageError(
                f"no measure uses the {name}",
                where=f"--{name}",
                remedy="add one, for example MaxOntSim(formula='lin')@10, or remove the option",
            )
