"""Term hierarchies: OBO files, ancestors, depths, and the similarity of terms.

::

    obo.py         read and check OBO files
    ids.py         resolve ids
    hierarchy.py   ancestors and depths as arrays
    similarity.py  information content, and formulas for pairs of terms
    ontology.py    the class for users, and the installed HPO files
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "ontology.ontology": ["load_information"],
        "ontology.similarity": ["best_matches"],
    },
    internal={
        "ontology.ontology": ["Ontology", "load_ontology"],
    },
)
