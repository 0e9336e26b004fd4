"""Extract terms of an ontology from texts, and score extractions of any system.

::

    inputs.py      annotated documents, predictions, and files of predictions
    words.py       sentences, phrases, words and mentions of a text, and the names of terms
    dictionary.py  search a text for the names of terms
    assertion.py   detect negation, uncertainty and other persons
    extractor.py   the complete extraction for one text, with dictionary and retrieval
    scoring.py     precision, recall, F1 and mistakes; compare two systems
    report.py      the settings, and the models of the report
    runner.py      from a folder of documents to a report, and again from its files
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
        "extraction.inputs": ["Predictions", "write_predictions"],
        "extraction.report": [
            "ExtractionSettings",
            "REPORT_FILE",
            "extraction_report_schema",
            "load_extraction_report",
            "make_extraction_settings",
        ],
        "extraction.runner": ["DEFAULT_VALUES", "Extracted", "extract_texts"],
        "extraction.words": ["Mention"],
        "statistics.arrays": ["Resampling"],
    },
)
