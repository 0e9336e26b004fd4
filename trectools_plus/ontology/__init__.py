"""Term hierarchies: OBO files, ancestors, depths, and how similar two terms are.

::

    obo.py        a file's [Term] stanzas           terms.py      what a stanza says
    check.py      do they make a hierarchy?         ids.py        what an id stands for
    hierarchy.py  ancestors and depths as arrays    pairs.py      where two terms meet
    information.py  how much a term says            annotations.py  what terms apply to what
    formulas.py   similarity from that              matching.py   best match of many queries
    ontology.py   all of it, by term id             hpo.py        the installed files
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
