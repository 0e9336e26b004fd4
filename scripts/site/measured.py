"""Tables of docs/ with measured figures, for `scripts/docs measured`.

A page has each between `<!-- scripts/docs measured NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from statistics import fmean

from extractors import TABLES as EXTRACTION_TABLES

from trectools_plus.benchmark.report import MeasureResult
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.dataset import load_dataset
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.choices import STRATEGIES
from trectools_plus.formats.interchange.names import NOTE_WORDS
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures.evaluation import evaluate
from trectools_plus.ontology.ontology import load_ontology
from trectools_plus.retrieval.backends.embedded import EmbeddedBackend, build_retrievers
from trectools_plus.retrieval.fetch import FetchRequest, fetch, fetch_runs
from trectools_plus.retrieval.fusion import fuse
from trectools_plus.retrieval.hpo.answers import confidence_in
from trectools_plus.retrieval.hpo.ontology_terms import corpus_of
from trectools_plus.statistics.arrays import FloatArray
from trectools_plus.statistics.paired import PairedComparison, paired_difference
from trectools_plus.testsets import list_test_sets, load_test_set

LANGUAGES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "nl": "Dutch"}
PAGES = ("extraction.md", "retrieval.md", "terms.md", "testsets.md")
_SECTION = re.compile(r"(<!-- scripts/docs measured (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)


def with_figures(markdown: str) -> str:
    """Return a page with newly measured figures."""
    return _SECTION.sub(
        lambda mark: f"{mark[1]}\n{SECTIONS[mark[2]]().strip()}\n\n{mark[3]}", markdown
    )


def sets_section() -> str:
    """Describe the shipped test sets."""
    categories = NOTE_WORDS["category"]
    names = {
        " ".join(name.casefold().split())
        for term in load_ontology().terms.values()
        for name in (term.name, *(synonym.text for synonym in term.synonyms))
    }
    heads = ["set", "languages", "queries", *(f"`{one}`" for one in categories), "verbatim names"]
    lines = [f"| {' | '.join(heads)} |", "|---|---" + "|---:" * (len(heads) - 2) + "|"]
    sizes: dict[tuple[int, str], list[str]] = {}
    for listed in list_test_sets():
        _, language, size = listed.name.split("-")
        sizes.setdefault((listed.queries, size), []).append(language)
    for (queries, size), languages in sorted(sizes.items()):
        test_set = load_test_set(f"hpo-en-{size}")
        counts = Counter(query.category for query in test_set.queries)
        verbatim = sum(" ".join(one.text.casefold().split()) in names for one in test_set.queries)
        cells = [f"`hpo-…-{size}`", ", ".join(sorted(languages)), f"{queries}"]
        cells += [f"{counts[one]}" for one in categories]
        lines.append(f"| {' | '.join([*cells, f'{100 * verbatim / queries:.0f}%'])} |")
    note = (
        "The categories, and the proportion of texts that are a label or synonym of a term, are "
        "those of the English set."
    )
    return "\n".join([*lines, "", note, ""])


def vectors_section() -> str:
    """Measure RR of single-vector, multi-vector and lexical search on the standard test sets."""
    modes = ("lexical", "vector", *STRATEGIES)
    labels = {"vector": "single vector", "lexical": "BM25"}
    named = {mode: labels.get(mode, f"`{mode}`") for mode in modes}
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "dataset": "hpo",
            "measures": "RR",
            "output_dir": folder,
            "modes": modes,
            "retrieval": {"multi_vector": False},
            "baseline": "all_max",
        }
        reports = {
            language: run_benchmark(
                load_config(options={**options, "test_file": f"hpo-{code}-standard"})
            ).report
            for code, language in LANGUAGES.items()
        }
    means = {
        mode: [one.modes[mode].measures["RR"].mean for one in reports.values()] for mode in modes
    }
    heads = ["", *(f"{name} ({one.manifest.dataset.queries})" for name, one in reports.items())]
    lines = [f"| {' | '.join([*heads, 'mean'])} |", "|---" * (len(heads) + 1) + "|"]
    for mode, values in means.items():
        cells = [_interval(one.modes[mode].measures["RR"]) for one in reports.values()]
        lines.append(f"| {named[mode]} | {' | '.join(cells)} | {fmean(values):.4f} |")
    best = max(STRATEGIES, key=lambda mode: fmean(means[mode]))
    lines += ["", f"The strategy with the highest mean over the sets is {named[best]}.", ""]
    return "\n".join(lines) + "\n"


FUSED_SETS = {
    "Cranfield": "irds:cranfield",
    **{
        language: f"hpo-{code}-{size}"
        for language, code, size in (
            ("HPO, English", "en", "comprehensive"),
            ("HPO, German", "de", "comprehensive"),
            ("HPO, French", "fr", "standard"),
            ("HPO, Spanish", "es", "standard"),
            ("HPO, Dutch", "nl", "standard"),
        )
    },
}
COMPONENTS = ("lexical", "vector", "ngram")


@cache
def _search(name: str) -> tuple[dict[str, Run], Qrels]:
    """Return the runs of the components and of hybrid, with the default settings.

    For the HPO also those of ``part``, the components as hybrid searches them.
    """
    where = {"dataset": name} if name.startswith("irds:") else {"dataset": "hpo", "test_file": name}
    data = load_dataset(load_config(options={**where, "measures": "RR"}))
    fetched = {**fetch(data.corpus, data.topics, [*COMPONENTS, "hybrid"])}
    if not name.startswith("irds:"):
        hybrid = build_retrievers(data.corpus, ["hybrid"])["hybrid"]
        parts = dict(zip((f"part {one}" for one in COMPONENTS), hybrid.components, strict=True))
        backend = EmbeddedBackend(parts)
        fetched |= fetch_runs(FetchRequest(data.corpus, data.topics, [*parts], backend=backend))
    return {mode: found.run for mode, found in fetched.items()}, data.qrels


def _values(name: str, runs: Mapping[str, Run]) -> dict[str, FloatArray]:
    """Return the primary measure of each query: nDCG@10 for Cranfield, RR for the test sets."""
    measure = "nDCG@10" if name.startswith("irds:") else "RR"
    found = evaluate(_search(name)[1], runs, [measure])
    return {run: found.values(run, measure) for run in runs}


def _difference(contrast: FloatArray, baseline: FloatArray) -> str:
    found = paired_difference(contrast, baseline)
    ends = "" if found.low is None else f" [{found.low:+.3f}, {found.high:+.3f}]"
    return f"{found.difference:+.4f}{ends}"


def _settled(what: str, found: Mapping[str, PairedComparison]) -> str:
    """List the collections whose interval of the difference from RRF does not contain 0."""
    above = ", ".join(label for label, one in found.items() if (one.low or 0) > 0) or "none"
    below = ", ".join(label for label, one in found.items() if (one.high or 0) < 0) or "none"
    return f"{what} above RRF, with an interval above 0: {above}; below RRF: {below}."


def fusion_section() -> str:
    """Compare methods of merging lexical and vector search, query by query."""
    lines = [
        "| collection | queries | RRF, k = 60 | min-max, 0.6 and 0.4 | difference "
        "| z-score, 0.6 and 0.4 |",
        "|---|---:|---:|---:|---|---:|",
    ]
    compared: dict[str, PairedComparison] = {}
    for label, name in FUSED_SETS.items():
        runs = {mode: _search(name)[0][mode] for mode in ("lexical", "vector")}
        fused = {
            normalisation: fuse(runs, "weighted", weights=[0.6, 0.4], normalisation=normalisation)
            for normalisation in ("min-max", "z-score")
        }
        values = _values(name, {"rrf": fuse(runs, "rrf"), **fused})
        cells = [f"{values[method].mean():.4f}" for method in ("rrf", "min-max")]
        cells += [_difference(values["min-max"], values["rrf"]), f"{values['z-score'].mean():.4f}"]
        lines.append(f"| {label} | {len(values['rrf'])} | {' | '.join(cells)} |")
        compared[label] = paired_difference(values["min-max"], values["rrf"])
    lines += ["", _settled("Weighted min-max", compared)]
    return "\n".join([*lines, ""])


def components_section() -> str:
    """Compare hybrid with its components, and with the fusion by ranks, on the HPO test sets."""
    lines = [
        "| test set | lexical | vector | ngram | hybrid | hybrid − best component | hybrid − RRF |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    found: dict[str, PairedComparison] = {}
    for label, name in FUSED_SETS.items():
        if name.startswith("irds:"):
            continue
        runs = _search(name)[0]
        merged = fuse({mode: runs[f"part {mode}"] for mode in COMPONENTS}, "rrf")
        values = _values(name, {**runs, "rrf": merged})
        best = max(COMPONENTS, key=lambda mode: values[mode].mean())
        cells = [f"{values[mode].mean():.4f}" for mode in (*COMPONENTS, "hybrid")]
        cells += [f"{_difference(values['hybrid'], values[best])} ({best})"]
        cells += [_difference(values["hybrid"], values["rrf"])]
        lines.append(f"| {label} | {' | '.join(cells)} |")
        found[label] = paired_difference(values["hybrid"], values["rrf"])
    lines += ["", _settled("Hybrid", found)]
    return "\n".join([*lines, ""])


def confidence_section() -> str:
    """Count the first results without confidence, right and wrong."""
    corpus = corpus_of(load_ontology())
    modes = ("hybrid", "ngram", "vector")
    retrievers = build_retrievers(corpus, modes)
    flagged: dict[tuple[str, bool], list[bool]] = {}
    for name in FUSED_SETS.values():
        if name.startswith("irds:"):
            continue
        for query in load_test_set(name).queries:
            relevant = {one.doc_id for one in query.relevant if one.grade > 0}
            for mode, retriever in retrievers.items():
                (found,) = retriever.search([query.text], 1)
                first = found.doc_ids[0] if found.doc_ids else ""
                confidence = confidence_in(retriever, query.text, first)
                is_flagged = confidence is not None and confidence < 0
                flagged.setdefault((mode, first in relevant), []).append(is_flagged)
    lines = ["| mode | right first results without confidence | wrong ones |", "|---|---:|---:|"]
    for mode in modes:
        cells = [
            f"{100 * fmean(flagged[mode, right]):.1f}% of {len(flagged[mode, right])}"
            for right in (True, False)
        ]
        lines.append(f"| {mode} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _interval(result: MeasureResult) -> str:
    return f"{result.mean:.4f} [{result.ci.low:.3f}, {result.ci.high:.3f}]"


SECTIONS: dict[str, Callable[[], str]] = {
    **EXTRACTION_TABLES,
    "fusion": fusion_section,
    "components": components_section,
    "confidence": confidence_section,
    "vectors": vectors_section,
    "sets": sets_section,
}
