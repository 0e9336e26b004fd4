"""Term hierarchies: OBO files, ancestors, depths, and the similarity of terms.

::

    obo.py          read and check OBO files         ids.py         resolve ids
    hierarchy.py    ancestors and depths as arrays   ontology.py    the class for users
    hpo.py          the installed HPO files          similarity.py  information content, and
                                                                    formulas for pairs of terms
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "ontology.hpo": ["load_information"],
        "ontology.similarity": ["best_matches"],
    },
    internal={
        "ontology.hpo": ["load_ontology"],
        "ontology.ontology": ["Ontology"],
    },
)
