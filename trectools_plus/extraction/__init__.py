"""Extract terms of an ontology from texts, and score extractions of any system.

::

    inputs.py        annotated documents, mentions, predictions, and files of predictions
    segmentation.py  sentences, clauses, phrases and words of a text
    names.py         the names of terms, and variations learnt from them
    dictionary.py    search a text for the names of terms
    assertion.py     detect negation, uncertainty and other persons
    notes.py         lay words, values and translations in letters
    extractor.py     the complete extraction for one text, with dictionary and retrieval
    settings.py      the settings of an extraction
    scoring.py       precision, recall, F1 and mistakes; compare two systems
    report.py        the models of the report
    runner.py        from a folder of documents to a report, and again from its files
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "extraction.extractor": ["Extractor"],
        "extraction.runner": [
            "ExtractionOptions",
            "SweepOptions",
            "run_extraction",
            "sweep_extraction",
        ],
        "extraction.scoring": ["compare_extractions"],
    },
    internal={
        "extraction.assertion": ["CUE_LANGUAGES", "assert_mentions"],
        "extraction.inputs": ["Mention", "Predictions", "write_predictions"],
        "extraction.report": ["REPORT_FILE", "extraction_report_schema", "load_extraction_report"],
        "extraction.runner": ["DEFAULT_VALUES", "Extracted", "extract_texts"],
        "extraction.settings": ["ExtractionSettings", "make_extraction_settings"],
        "statistics.arrays": ["Resampling"],
    },
)
