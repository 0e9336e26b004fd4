"""Test sets: queries with graded terms.

::

    model.py       the model of a test set, its JSON Schema and errors
    loading.py     shipped sets, and files in JSON and YAML
    languages.py   one language per set; texts from another field
    tables.py      test sets as topics and qrels
    conversion.py  test sets in other layouts
    validation.py  the rules, with an ontology
    splitting.py   a stratified split
    refreshing.py  the next version
    agreement.py   the grades of two annotators
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
