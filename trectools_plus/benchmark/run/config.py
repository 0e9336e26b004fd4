"""The configuration of a benchmark, from Python, YAML or the command line."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trectools_plus.benchmark.run.targets import Target, find_presets
from trectools_plus.choices import (
    DEFAULT_MEASURES,
    MEASURE_HELP,
    MISSING_HELP,
    MODES,
    NO_RELEVANT_HELP,
    ONTOLOGY_HELP,
    Averaging,
    Missing,
    NoRelevant,
    Panel,
    UnknownTerms,
)
from trectools_plus.errors import UsageError
from trectools_plus.formats.topics import TopicOptions
from trectools_plus.retrieval.backends.modes import (
    check_modes,
    expand_modes,
    kind_of,
    model_of,
    name_default_modes,
)
from trectools_plus.retrieval.backends.selection import EMBEDDED, BackendSettings, default_modes
from trectools_plus.retrieval.setting_types import Flag, Names, Number, Option, WholeNumber, setting
from trectools_plus.retrieval.settings import RetrievalSettings
from trectools_plus.statistics.arrays import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    IntervalOptions,
)
from trectools_plus.statistics.comparison import DEFAULT_CORRECTION, DEFAULT_TEST, TEST_ALIASES
from trectools_plus.text import split_list

if TYPE_CHECKING:
    from trectools_plus.measures.definitions.base import Measure


def resampling_of(config: Mapping[str, Any]) -> IntervalOptions:
    """Return the settings of intervals and tests of a manifest's configuration, with defaults."""
    return {
        "interval": str(config.get("interval", "auto")),
        "confidence": float(config.get("confidence", DEFAULT_CONFIDENCE)),
        "resamples": int(config.get("resamples", DEFAULT_RESAMPLES)),
        "seed": int(config.get("seed", DEFAULT_SEED)),
    }


@dataclass(frozen=True, slots=True)
class Comparing:
    """The systems and the settings of a comparison.

    Attributes:
        baseline: The systems that every other one is compared with; empty to compare every pair.
        test: A name of ``PAIRED_TESTS``.
        correction: ``holm``, ``bh`` or ``none``.
        options: The settings of intervals and tests.
    """

    baseline: Sequence[str] = ()
    test: str = DEFAULT_TEST
    correction: str = DEFAULT_CORRECTION
    options: IntervalOptions = field(default_factory=IntervalOptions)

    @classmethod
    def of(cls, settings: Mapping[str, Any], baseline: Sequence[str]) -> Self:
        """Return the value of settings by name, of which others are ignored."""
        test = settings.get("test", DEFAULT_TEST)
        correction = settings.get("correction", DEFAULT_CORRECTION)
        return cls(baseline, TEST_ALIASES.get(test, test), correction, resampling_of(settings))


TERM_CUTOFFS = (1, 3, 5, 10)
"""Cutoffs of the default measures for ontology terms."""
_TERM_MEASURES = ("HitRate", "nDCG", "R", "P", "APcap", "MaxOntSim")


def name_default_measures(*, terms: bool) -> tuple[str, ...]:
    """Name the default measures.

    Args:
        terms: Name the measures for terms of an ontology: the reciprocal rank, and HitRate, nDCG,
            R, P, APcap and MaxOntSim at each cutoff. Otherwise those of ``eval``.
    """
    if not terms:
        return DEFAULT_MEASURES
    return ("RR", *map("@".join, product(_TERM_MEASURES, map(str, TERM_CUTOFFS))))


def _split_measures(value: Any) -> Any:
    from trectools_plus.measures.parser import split_names

    return split_names(value) if isinstance(value, str) else value


MeasureNames = Annotated[tuple[str, ...], BeforeValidator(_split_measures)]
"""Names of measures; as text, separated by commas outside parentheses."""
FileName = Annotated[
    str, BeforeValidator(lambda name: os.fspath(name) if isinstance(name, os.PathLike) else name)
]


RUN_NAME = re.compile(r"\w[\w .+-]{0,99}")
"""Valid names of runs: the file is ``runs/<name>.run``."""


_DATA = ("dataset", "corpus", "runs")
"""Settings that name data; exactly one is given."""


class FetchSettings(BackendSettings):
    """The documents and queries, the backend, which may have its own documents, and the search."""

    dataset: FileName | None = setting(
        None,
        "Documents, queries and judgments: hpo or sample (built in), irds:<ir_datasets id>, or a "
        "folder in BEIR or TREC layout.",
        Option("NAME"),
    )
    test_file: FileName | None = setting(
        None,
        "Test set, a file or a shipped name; without --dataset, the documents are those of hpo.",
        Option("SET", Panel.DATA, default="hpo-en-standard"),
    )
    unknown_terms: UnknownTerms = setting(
        "error",
        "Ids expected by the test set that are not terms of the ontology: refuse the set (error), "
        "or drop these judgments. Alternative ids, and obsolete ids with one replacement, are "
        "always read as their terms.",
        Option(panel=Panel.DATA),
    )
    language: str | None = setting(
        None,
        "Use only the cases of the test set in this language, for example de.",
        Option("CODE", Panel.DATA),
    )
    corpus: FileName | None = setting(
        None, "Documents: JSONL with doc_id (or _id), title and text.", Option("FILE", Panel.DATA)
    )
    topics: FileName | None = setting(
        None,
        "Queries: TSV, CSV, JSONL, JSON, TREC SGML or XML, or irds:<ir_datasets id>.",
        Option("FILE", Panel.DATA),
    )
    id_field: str | None = setting(
        None,
        "Field of the topics with the id.",
        Option("NAME", Panel.DATA, default="by its name: query_id, number, …"),
    )
    text_fields: Names = setting(
        (),
        "Fields of the topics with the text, comma-separated; several are joined.",
        Option("NAMES", Panel.DATA, default="by their names: text, query, title, …"),
    )
    qrels: FileName | None = setting(None, "Judgments: TREC qrels or BEIR TSV.", Option("FILE"))
    runs: dict[str, FileName] | None = setting(
        None, "Run files by name, to compare instead of searching."
    )
    ontology: FileName | None = setting(
        None, ONTOLOGY_HELP, Option("FILE", Panel.DATA, default="the installed HPO")
    )
    modes: Names = setting(
        (),
        "Modes to search, comma-separated: lexical (or bm25), vector (or dense), ngram, hybrid, "
        "splade, or an aggregation strategy of multi-vector search; with --backend, the modes of "
        "the backend; each --retriever is a mode.",
        Option("NAMES", default="lexical,vector,hybrid, or every --retriever"),
    )
    depth: WholeNumber = setting(
        100, "Maximum number of results per query.", Option("N", Panel.SEARCH, minimum=1), ge=1
    )
    exclude_self: Flag = setting(
        False,
        "Drop the document whose id equals the query's id, before the cut to --depth.",
        Option(panel=Panel.SEARCH),
    )
    retrieval: RetrievalSettings = setting(
        RetrievalSettings, "Settings of modes that index documents."
    )

    @model_validator(mode="before")
    @classmethod
    def _dataset_of_test_file(cls, values: Any) -> Any:
        if isinstance(values, Mapping) and values.get("test_file") is not None:
            named = [name for name in _DATA if values.get(name) is not None]
            return values if named else {**values, "dataset": "hpo"}
        return values

    @field_validator("runs")
    @classmethod
    def _usable_run_names(cls, runs: dict[str, str] | None) -> dict[str, str] | None:
        if runs is None:
            return None
        if not runs:
            raise ValueError("no run is given — write NAME=FILE, at least once")
        for name in runs:
            if not RUN_NAME.fullmatch(name):
                raise ValueError(
                    f"run name '{name}' cannot be a file name — "
                    "use letters, digits, spaces, . + - _"
                )
        if len({*map(str.casefold, runs)}) < len(runs):
            raise ValueError("names of runs differ only by upper and lower case — rename one")
        return runs

    @property
    def topic_options(self) -> TopicOptions:
        """The fields of the topics."""
        return TopicOptions(self.id_field, tuple(self.text_fields))

    def check_data(self) -> None:
        """Check that the data are of one kind, with topics and qrels if that kind needs them.

        Raises:
            ValueError: If no data or several kinds are given, or a file is missing or superfluous.
        """
        kinds = [name for name in _DATA if getattr(self, name) is not None]
        if kinds == ["dataset", "runs"]:
            kinds = ["dataset"]  # it has the qrels, and the texts of the queries
        has_documents = not kinds and self.topics is not None and not self.is_embedded
        if len(kinds) != 1 and not has_documents:
            named = " and ".join(f"`{kind}`" for kind in kinds)
            problem = f"{named} cannot be combined" if kinds else "no data given"
            raise ValueError(
                f"{problem} — give `dataset`, or `corpus` with `topics` and `qrels`, or `runs` "
                "with `qrels`"
            )
        # A test set has queries and judgments, as a dataset.
        of_test_set = kinds == ["corpus"] and self.test_file is not None
        has_queries = of_test_set or kinds == ["dataset"]
        for name in ("topics", "qrels"):
            is_given = getattr(self, name) is not None
            if is_given and has_queries:
                other = "test_file" if of_test_set else "dataset"
                raise ValueError(f"`{name}` and `{other}` cannot be combined — leave `{name}` out")
            is_needed = name == "qrels" or kinds == ["corpus"]
            if is_needed and not is_given and not has_queries:
                raise ValueError(f"`{''.join(kinds)}` needs `{name}` — give the file")


DEFAULT_MODE_NAMES = {
    "lexical": "Lexical-Only",
    "vector": "Vector-Only",
    "hybrid": "Hybrid",
    "ngram": "N-grams",
    "splade": "SPLADE",
}


_BACKEND = tuple(BackendSettings.model_fields)
TEST_CASES = ("unknown_terms", "language")
"""Settings of the test cases of ``hpo``."""
_OF_TOPICS = ("id_field", "text_fields")
_FUSION = ("fusion_method", "fusion", "weights", "rrf_k", "normalisation", "candidates")
"""Settings of ``retrieval`` that are also accepted beside it."""
FETCHING = ("modes", "depth", "retrieval", "exclude_self", *_BACKEND)
"""Settings that apply to fetching only."""


def move_fusion(values: dict[str, Any]) -> dict[str, Any]:
    """Read settings of the fusion beside ``retrieval`` as if they were in it."""
    moved = {name: values[name] for name in _FUSION if name in values}
    rest = {name: value for name, value in values.items() if name not in moved}
    return {**rest, "retrieval": {**(values.get("retrieval") or {}), **moved}} if moved else values


class BenchmarkConfig(FetchSettings):
    """The settings of a benchmark; each is a key of ``benchmark.yaml``.

    The data are one of: ``dataset``; ``corpus`` with ``topics`` and ``qrels``; ``runs`` with
    ``qrels`` (and ``topics``, for the queries' texts). A backend with its own documents needs no
    ``corpus``. :class:`FetchSettings` has the settings of data and search, :class:`BackendSettings`
    those of the backend.
    """

    exclude: FileName | None = setting(
        None,
        "Documents to leave out of runs and judgments before ranks are counted: lines 'query_id "
        "doc_id', or qrels.",
        Option("FILE", Panel.DATA),
    )
    modes: Names = setting(
        MODES,
        "Modes to compare, comma-separated: lexical (or bm25), vector (or dense), ngram, hybrid, "
        "splade, or an aggregation strategy of multi-vector search.",
        Option("NAMES"),
    )
    mode_names: dict[str, str] = setting(dict, "Names of modes (or runs) in tables.")
    measures: MeasureNames = setting(
        (),
        f"{MEASURE_HELP} The first one is primary unless another one is named.",
        Option(
            "NAME",
            names="--measure --measures -m",
            help=MEASURE_HELP,
            default=f"{', '.join(DEFAULT_MEASURES)}; for hpo RR, and "
            f"{', '.join(_TERM_MEASURES[:-1])} and {_TERM_MEASURES[-1]} at "
            f"{', '.join(map(str, TERM_CUTOFFS))}",
            is_repeated=True,
        ),
    )
    primary_measure: str | None = setting(
        None,
        "Measure of the verdict, the order of rows, groups and failing queries.",
        Option("MEASURE", Panel.FIGURES, default="the first measure; else nDCG@10, for hpo RR"),
    )
    headline_measures: MeasureNames = setting(
        (),
        "Measures to show first, comma-separated; by default those of --measure. The report has "
        "all.",
    )
    annotations: FileName | None = setting(
        None,
        "Annotations in the format of phenotype.hpoa, from which the formula lin of MaxOntSim "
        "takes information content.",
    )
    missing: Missing = setting("zero", MISSING_HELP, Option("zero|drop", Panel.FIGURES))
    no_relevant: NoRelevant = setting("zero", NO_RELEVANT_HELP)
    baseline: Names | None = setting(
        None,
        "Compare every other mode with this mode, or with several, comma-separated.",
        Option("NAMES", default="compare every pair"),
    )
    correction: Literal["holm", "bh", "none"] = setting(
        "holm",
        "Correction for the number of comparisons: holm, bh (Benjamini and Hochberg) or none.",
        Option("NAME", Panel.FIGURES),
    )
    test: Annotated[
        Literal["t_test", "paired_bootstrap", "randomisation", "wilcoxon"],
        BeforeValidator(lambda name: TEST_ALIASES.get(str(name), name)),
    ] = setting(
        "t_test",
        "Paired test that decides on significance: t_test, paired_bootstrap, randomisation or "
        "wilcoxon.",
        Option("NAME", Panel.FIGURES),
    )
    interval: Literal["auto", "percentile", "bca", "t", "wilson"] = setting(
        "auto",
        "Method of the intervals: percentile or bca (bootstrap), t, wilson (measures of 0 and 1), "
        "or auto: wilson with fewer than ten hits or misses, otherwise bca.",
        Option("NAME", Panel.FIGURES),
    )
    confidence: Number = setting(
        DEFAULT_CONFIDENCE,
        "Confidence level of the intervals, between 0 and 1.",
        Option("LEVEL", Panel.FIGURES),
        gt=0,
        lt=1,
    )
    resamples: WholeNumber = setting(
        DEFAULT_RESAMPLES,
        "Number of bootstrap resamples of the queries.",
        Option("N", Panel.FIGURES),
        ge=100,
        le=10_000_000,
    )
    seed: WholeNumber = setting(
        DEFAULT_SEED, "Seed of the random numbers.", Option("N", Panel.FIGURES), ge=0
    )
    targets: dict[str, Target | None] = setting(
        dict,
        "Targets for the means: trec-2025, bands (nDCG from 0.5 competitive, from 0.8 strong), or "
        "both. In a file also targets by measure.",
        Option("NAMES", Panel.FIGURES),
    )
    retrieval: RetrievalSettings = setting(
        RetrievalSettings, "Settings of the embedded modes.", validate_default=True
    )
    output_dir: FileName | None = setting(
        None,
        "Folder for the report and the runs.",
        Option("DIR", names="--output-dir -o", default="results/<experiment id>"),
        exclude=True,
    )

    @field_validator("measures")
    @classmethod
    def _known_measures(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("no measure is given — give one, or leave `measures` out")
        _parsed(names)
        return names

    @field_validator("retrieval")
    @classmethod
    def _for_documents(cls, settings: RetrievalSettings, info: ValidationInfo) -> RetrievalSettings:
        """Choose between one vector per document and per part: the hash shall show the choice."""
        is_embedded = info.data.get("backend", EMBEDDED) == EMBEDDED
        has_parts = is_embedded and info.data.get("dataset") == "hpo"
        return settings.for_documents(has_parts=has_parts)

    @field_validator("targets", mode="before")
    @classmethod
    def _read_presets(cls, targets: Any, info: ValidationInfo) -> Any:
        if not isinstance(targets, str | list | tuple):
            return targets
        data = info.data
        terms = data.get("dataset") == "hpo" or data.get("ontology") is not None
        names = data.get("measures") or name_default_measures(terms=terms)
        presets = split_list(targets) if isinstance(targets, str) else list(map(str, targets))
        with _reported():
            return find_presets(presets, [measure.name for measure in _parsed(names)])

    @field_validator("targets")
    @classmethod
    def _canonical_targets(cls, targets: dict[str, Target | None]) -> dict[str, Target | None]:
        return {_parsed([name])[0].name: target for name, target in targets.items()}

    @model_validator(mode="before")
    @classmethod
    def _name_modes(cls, values: Any) -> Any:
        """Unless modes are named, use all retrievers, or the modes that the weights name."""
        if not isinstance(values, dict):
            return values
        values = move_fusion(values)
        if "modes" in values:
            return values
        if named := default_modes(values.get("retriever"), values.get("http")):
            return {**values, "modes": named}
        if values.get("runs") is None and values.get("backend", EMBEDDED) == EMBEDDED:
            with contextlib.suppress(ValidationError):  # reported with the field
                settings = RetrievalSettings.model_validate(values.get("retrieval", {}))
                return {**values, "modes": name_default_modes(settings)}
        return values

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.runs is None:
            with _reported("modes"):
                if self.is_embedded:
                    check_modes(self.mode_keys, self.retrieval)
                else:
                    self.check_backend_modes(self.modes)
            unset = RetrievalSettings().for_documents(has_parts=False)
            if not self.is_embedded and self.retrieval != unset:
                raise ValueError("`retrieval`: it needs the embedded backend — leave it out")
        self.check_data()
        given, is_hpo = self.model_fields_set, self.dataset == "hpo"
        conflicts = (
            (self.test_file and not is_hpo and not self.corpus, "test_file", "hpo or a corpus"),
            *((name in given and not is_hpo, name, "dataset hpo") for name in TEST_CASES),
            *((name in given and not self.topics, name, "topics") for name in _OF_TOPICS),
            *((self.runs is not None, name, "a search: `runs` are scored as given")
              for name in FETCHING if name in given),
        )  # fmt: skip
        for is_wrong, name, condition in conflicts:
            if is_wrong:
                raise ValueError(f"`{name}`: it needs {condition} — leave it out")
        self._check_headlines()
        self._check_names()
        return self

    def _check_headlines(self) -> None:
        """Check that the named measures are measures of this benchmark, and use the annotations."""
        measures = _parsed(self.measure_names)
        if self.annotations is not None:
            from trectools_plus.measures.definitions.max_ont_sim import check_files_used

            with _reported("annotations"):
                check_files_used(measures, annotations=self.annotations)
        primary = () if self.primary_measure is None else (self.primary_measure,)
        known = {measure.name for measure in measures}
        named = {"primary_measure": primary, "headline_measures": self.headline_measures}
        for key, names in {**named, "targets": tuple(self.targets)}.items():
            for name in names:
                if _parsed([name])[0].name not in known:
                    raise ValueError(
                        f"`{key}`: {name} is not one of the measures — add it to `measures`, "
                        f"or name one of {', '.join(self.measure_names)}"
                    )

    def _check_names(self) -> None:
        """Check that settings name modes of this benchmark."""
        for key, names in (("baseline", self.baseline or ()), ("mode_names", self.mode_names)):
            for name in names:
                if name not in self.mode_keys:
                    known = ", ".join(self.mode_keys)
                    raise ValueError(f"`{key}`: '{name}' is not one of the modes — use {known}")

    @property
    def has_terms(self) -> bool:
        """True if the embedded modes search the terms of an ontology."""
        return self.is_embedded and self.dataset == "hpo"

    @property
    def comparing(self) -> Comparing:
        """The baselines and the settings of comparisons and intervals."""
        return Comparing.of(dict(self), self.baseline or ())

    @property
    def mode_keys(self) -> tuple[str, ...]:
        """The compared modes: names of given runs, or modes to fetch."""
        if self.runs is not None:
            return tuple(self.runs)
        return expand_modes(self.modes, self.retrieval) if self.is_embedded else self.modes

    @property
    def measure_names(self) -> tuple[str, ...]:
        """The requested measures, or the default ones for this dataset."""
        return self.measures or name_default_measures(terms=self.over_terms)

    @property
    def over_terms(self) -> bool:
        """True if the documents are known to be terms of an ontology."""
        return self.dataset == "hpo" or self.ontology is not None

    def bind_measures(self, names: Sequence[str | Measure]) -> list[Measure]:
        """Parse measures; those over an ontology use the files of this benchmark.

        Raises:
            UsageError: If a measure is unknown.
        """
        from trectools_plus.measures.parser import parse_measures

        measures = parse_measures(names)
        if self.ontology is None and self.annotations is None:
            return measures
        from trectools_plus.measures.definitions.max_ont_sim import bind_files

        return bind_files(measures, self.ontology, self.annotations)

    def label(self, mode: str) -> str:
        """Return a mode's name in tables."""
        if mode in self.mode_names:
            return self.mode_names[mode]
        if self.runs is not None:
            return mode
        model = model_of(mode) if self.retrieval.model_names else ""
        kind = mode.removesuffix(f"-{model}") if model else mode
        if model and kind_of(mode) == "vector":
            return model
        return f"{DEFAULT_MODE_NAMES.get(kind, kind)} {model}".rstrip()

    @property
    def averaging(self) -> Averaging:
        """The treatment of queries without results and without a relevant document."""
        return Averaging(self.missing, self.no_relevant)

    def as_manifest(self) -> dict[str, Any]:
        """Return all settings as JSON values, defaults included, without the output folder."""
        # A configuration that was read from a manifest has the default measures too.
        is_default = self.measures == name_default_measures(terms=self.over_terms)
        headlines = list(self.headline_measures or (() if is_default else self.measures))
        # Unless they are set, they are left out, so that hashes are those of versions without them.
        further = ("id_field", "text_fields", "exclude", "primary_measure", "interval", "timeout")
        unused = {
            name
            for name in (*further, *TEST_CASES)
            if getattr(self, name) == type(self).model_fields[name].default
        }
        # The embedded backend has no further settings.
        unused |= {*(_BACKEND if self.is_embedded else ("retrieval",))}
        unused |= {*(FETCHING if self.runs is not None else ())}
        settings = self.model_dump(mode="json", exclude={*unused, "headline_measures"})
        chosen = {"headline_measures": headlines} if headlines else {}
        return {**settings, "measures": list(self.measure_names), **chosen}


def _parsed(names: Sequence[str]) -> list[Measure]:
    from trectools_plus.measures.parser import parse_measures

    with _reported():
        return parse_measures(names)


@contextlib.contextmanager
def _reported(field: str = "") -> Iterator[None]:
    """Raise errors of the block as the ``ValueError`` that pydantic reports with the field."""
    try:
        yield
    except UsageError as error:
        raise ValueError(f"`{field}`: {error}" if field else str(error)) from error
