"""Extract terms of an ontology from texts, and score what a system finds.

::

    documents.py    annotated documents           predictions.py  mentions, predictions, their files
    segmentation.py sentences, clauses, words     dictionary.py   names found in texts
    search.py       retrieval, checked by words   assertion.py    negated, uncertain, another person
    extractor.py    all of these, aggregated      settings.py     the settings
    scoring.py      precision, recall, mistakes   report.py       the models of the report
    runner.py       from folder to report         comparison.py   two systems, paired
    sweep.py        one setting varied
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(__name__)
