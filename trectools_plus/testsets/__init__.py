"""Test sets: queries with graded terms, from reading to splitting.

::

    model.py      what a test set is               reading.py     from JSON and YAML
    forms.py      the forms of other projects      complaints.py  what is wrong, and on which line
    shipped.py    the sets that come along         writing.py     to JSON and YAML
    languages.py  one language per set             columns.py     another field as the text
    tables.py     as topics and qrels              folders.py     in TREC and BEIR layout
    validating.py the rules, with an ontology      terms.py       which ontology that is
    splitting.py  a part to hold out               shares.py      how many of each kind
    refreshing.py the next version                 versions.py    what it is called
    agreement.py  two annotators' grades
"""
