"""Test sets: queries with graded terms.

::

    model.py       the model of a test set, its JSON Schema and errors
    loading.py     load shipped sets, and files in JSON and YAML
    languages.py   the language of a set; texts from another field
    tables.py      convert test sets to topics and qrels
    conversion.py  read and write test sets in other formats
    validation.py  validate test sets, with an ontology
    splitting.py   split a set into a used and a held-out part
    refreshing.py  replace queries for the next version
    agreement.py   compare the grades of two annotators
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
