"""Test sets: queries with graded terms.

::

    model.py       the model of a test set, its JSON Schema and errors
    loading.py     shipped sets, and files in JSON and YAML
    languages.py   one language per set; another field as the text
    tables.py      as topics and qrels
    conversion.py  to and from files in other layouts
    validation.py  the rules, with an ontology
    splitting.py   a part to hold out, with the proportions of the whole
    refreshing.py  the next version
    agreement.py   two annotators' grades
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
