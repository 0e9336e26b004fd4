"""From texts to the ontology's terms they speak of, and how well a system finds them.

::

    documents.py   annotated documents         predictions.py  another system's answers
    chunking.py    sentences, clauses          words.py        stems with their places
    names.py       names of terms              dictionary.py   names found in texts
    wordings.py    words that stand for words  searching.py    retrieval, checked word by word
    triggers.py    phrases that negate         assertion.py    what a sentence says of a mention
    mentions.py    a place in a text           extractor.py    all of it, aggregated
    settings.py    the settings                counting.py     gold against predicted
    scores.py      precision, recall, F1       mistakes.py     missed, spurious, near
    report.py      the report's model          runner.py       a run from folder to report
    comparison.py  two systems, paired         sweep.py        precision against recall
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
