"""Random judgments and runs with the output of C trec_eval 10-rc3.

python tests/trec_eval/c_cases.py PATH/TO/trec_eval             writes c_outputs.json
python tests/trec_eval/c_cases.py PATH/TO/trec_eval --count 300 compares other random cases
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

OUTPUTS = Path(__file__).with_name("c_outputs.json")
KINDS = ("prefs", "qrels_prefs", "qrels_jg", "zscores", "levels")
REFUSED = {"-M0", "-l-1", "-l-2"}
"""Flags with which C has figures, and which ``trec-eval`` refuses."""
PER_KIND = 12

# fmt: off
MEASURES = (
    "-mnum_ret", "-mnum_rel", "-mnum_rel_ret", "-mmap", "-mgm_map", "-mRprec", "-mbpref",
    "-mgm_bpref", "-mrecip_rank", "-miprec_at_recall..0,.3,.6,1.0", "-mP.1,3", "-mrecall.1,3",
    "-mrelstring", "-minfAP", "-mRprec_mult..5,1.0,2.0", "-mutility.1,2,3,4", "-m11pt_avg",
    "-mbinG", "-mG", "-mndcg", "-mndcg_rel", "-mRndcg", "-mndcg_cut.2", "-mmap_cut.2",
    "-mrelative_P.1,9", "-msuccess.2", "-mset_P", "-mset_relative_P", "-mset_recall", "-mset_map",
    "-mset_F.2", "-mnum_nonrel_judged_ret", "-munj.3", "-mrbp_resid", "-mrunid", "-mnum_q",
)
# fmt: on
MEASURES_OF = {
    "prefs": ("-mall_prefs", "-Rprefs"),
    "qrels_prefs": ("-mall_prefs", "-Rqrels_prefs"),
    "qrels_jg": ("-mqrels_jg", "-mP_avgjg.1,3", "-mRprec_mult_avgjg..5,1.5", "-Rqrels_jg"),
}


def case(kind: str, seed: int) -> dict[str, Any]:
    """Return flags, judgments and run, and means and deviations for z-scores."""
    draw = random.Random(f"{kind} {seed}")
    documents = [*(f"d{number}" for number in range(draw.choice((3, 6, 9)))), "é", "Z"]
    queries = [str(number) for number in range(1, draw.choice((2, 3, 4)))]
    has_ties = draw.random() < 0.5
    run = []
    for query in queries + (["x"] if draw.random() < 0.3 else []):
        for rank, document in enumerate(draw.sample(documents, draw.randint(1, len(documents)))):
            score = draw.choice((1, 2, 3)) if has_ties else round(draw.random(), 6)
            run.append(f"{query} Q0 {document} {rank + 1} {score} t")
    judged = queries + (["y"] if draw.random() < 0.3 else [])
    rows = _preferences(draw, judged, documents) if kind == "prefs" else []
    if not rows:
        levels = (0, 0, 1, 2, 3) if kind == "qrels_prefs" else (0, 0, 1, 2, -1, 3)
        for query in judged:
            for judge in range(draw.randint(1, 3)) if kind.startswith("qrels") else (0,):
                some = draw.sample(documents, draw.randint(1, len(documents)))
                rows += [f"{query} {judge} {one} {draw.choice(levels)}" for one in some]
                if kind not in MEASURES_OF:
                    rows.append(f"{query} {judge} other 0")  # C stops without a grade of 0 or more
    draw.shuffle(rows)
    flags = ["-q", "-c", *MEASURES_OF.get(kind, MEASURES)]
    if draw.random() < 0.3:
        flags.append("-J")
    if draw.random() < 0.3:
        flags.append(f"-M{draw.choice((0, 1, 3))}")
    if kind == "levels" or (kind == "qrels_jg" and draw.random() < 0.4):
        flags.append(f"-l{draw.choice((0, -1, -2, 0))}")
    means = []
    if kind == "zscores":
        for query in judged:
            for name in ("map", "num_ret", "P_3", "gm_map", "iprec_at_recall_0.30", "utility"):
                if draw.random() < 0.9:
                    mean, deviation = draw.choice((0, 0.1, 0.5)), draw.choice((0, 0.2, 1, 2))
                    means.append(f"{query} {name} {mean} {deviation}")
        # C compares with what stands behind the last line of a query.
        means += [f"{query} zzz 0 1" for query in [*judged, "zzz"]]
    return {"flags": flags, "judgments": rows, "run": run, "means": means}


def _preferences(draw: random.Random, queries: list[str], documents: list[str]) -> list[str]:
    rows = []
    for query in queries:
        for judge in range(draw.randint(1, 3)):
            levels = {one: draw.choice((0, 0, 1, 2, 3, 4, 2.5)) for one in documents}
            for number in range(draw.choice((1, 1, 2, 3))):
                for document in draw.sample(documents, draw.randint(1, len(documents))):
                    rows.append(f"{query} j{judge} l{number} {document} {levels[document]}")
                    if draw.random() < 0.05:
                        rows.append(rows[-1])
    return rows


def arguments(one: dict[str, Any], folder: Path) -> list[str]:
    """Write the files of a case, and return the command line of trec_eval."""
    paths = {name: folder / name for name in ("judgments", "run", "means")}
    for name, path in paths.items():
        path.write_text("".join(f"{line}\n" for line in one[name]), "utf-8")
    means = ["-Z", str(paths["means"])] if one["means"] else []
    return [*one["flags"], *means, str(paths["judgments"]), str(paths["run"])]


def output_of_c(program: str, one: dict[str, Any]) -> list[str] | None:
    """Return C's lines; ``None`` if it stops or crashes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, *arguments(one, Path(folder))]
        done = subprocess.run(command, capture_output=True, check=False)
    return None if done.returncode else done.stdout.decode("utf-8").splitlines()


def output_of_ours(one: dict[str, Any], folder: Path) -> list[str]:
    """Return the lines of ``trec-eval``."""
    from trectools_plus import trec_eval

    parsed = trec_eval.parse_arguments(
        ["--trec-eval-version=10", "--permissive", *arguments(one, folder)]
    )
    scores, _ = trec_eval.score_files(parsed)
    return [line for block in trec_eval.output_lines(scores, parsed) for line in block.split("\n")]


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=0)
    options = parser.parse_args()
    if not options.count:
        found: dict[str, list[Any]] = {}
        for kind in KINDS:
            seeds = iter(range(1000))
            found[kind] = []
            while len(found[kind]) < PER_KIND:
                seed = next(seeds)
                one = case(kind, seed)
                lines = output_of_c(options.program, one)
                if lines is not None and not REFUSED & {*one["flags"]}:
                    found[kind].append([seed, lines])
        OUTPUTS.write_text(json.dumps(found, indent=0, ensure_ascii=False) + "\n", "utf-8")
        return
    for kind in KINDS:
        n_equal = n_refused_by_c = 0
        for seed in range(1000, 1000 + options.count):
            one = case(kind, seed)
            lines = output_of_c(options.program, one)
            if lines is None or REFUSED & {*one["flags"]}:
                n_refused_by_c += 1
                continue
            with tempfile.TemporaryDirectory() as folder:
                if output_of_ours(one, Path(folder)) == lines:
                    n_equal += 1
                else:
                    print(f"{kind} {seed} differs")
        print(f"{kind}: {n_equal} equal, {n_refused_by_c} refused here or by C")


if __name__ == "__main__":
    _main()
