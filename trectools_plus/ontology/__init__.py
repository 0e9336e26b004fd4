"""Term hierarchies: OBO files, ancestors, depths, and the similarity of terms.

::

    obo.py          read and check [Term] stanzas    ids.py         resolve ids
    hierarchy.py    ancestors and depths as arrays   information.py information content
    similarity.py   formulas for pairs of terms      ontology.py    all of it, by term id
    hpo.py          the installed files
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
