"""Test sets: queries with graded terms.

::

    model.py       the model of a test set, its JSON Schema; write sets, read topics and qrels
    loading.py     load shipped sets, and files in JSON and YAML; the language of a set
    validation.py  validate test sets, with an ontology
    splitting.py   split a set; replace queries for the next version
    agreement.py   compare the grades of two annotators
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "testsets.agreement": ["grade_agreement"],
        "testsets.model": ["convert_test_set"],
        "testsets.loading": ["list_test_sets"],
        "testsets.splitting": ["refresh_test_set", "split_test_set"],
    },
    internal={
        "testsets.agreement": ["read_grades"],
        "testsets.loading": [
            "ListedTestSet",
            "find_shipped",
            "find_test_set",
            "load_test_set",
            "shipped_names",
            "split_languages",
            "with_text_field",
        ],
        "testsets.model": [
            "TestQuery",
            "TestSet",
            "form_of_output",
            "json_schema_of_test_sets",
            "path_of_language",
            "read_parts",
            "topics_of",
            "write_test_set",
        ],
        "testsets.splitting": ["PLURALS", "record_annotators", "strata_fields", "write_split"],
        "testsets.validation": ["check_test_set", "resolve_terms", "validate_test_sets"],
        "validation.views.topics": ["TopicsView"],
    },
)
