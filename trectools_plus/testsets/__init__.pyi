# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.testsets.agreement import grade_agreement as grade_agreement
from trectools_plus.testsets.agreement import read_grades as read_grades
from trectools_plus.testsets.loading import ListedTestSet as ListedTestSet
from trectools_plus.testsets.loading import find_shipped as find_shipped
from trectools_plus.testsets.loading import find_test_set as find_test_set
from trectools_plus.testsets.loading import list_test_sets as list_test_sets
from trectools_plus.testsets.loading import load_test_set as load_test_set
from trectools_plus.testsets.loading import shipped_names as shipped_names
from trectools_plus.testsets.loading import split_languages as split_languages
from trectools_plus.testsets.loading import with_text_field as with_text_field
from trectools_plus.testsets.model import TestQuery as TestQuery
from trectools_plus.testsets.model import TestSet as TestSet
from trectools_plus.testsets.model import convert_test_set as convert_test_set
from trectools_plus.testsets.model import form_of_output as form_of_output
from trectools_plus.testsets.model import json_schema_of_test_sets as json_schema_of_test_sets
from trectools_plus.testsets.model import path_of_language as path_of_language
from trectools_plus.testsets.model import read_parts as read_parts
from trectools_plus.testsets.model import topics_of as topics_of
from trectools_plus.testsets.model import write_test_set as write_test_set
from trectools_plus.testsets.splitting import PLURALS as PLURALS
from trectools_plus.testsets.splitting import record_annotators as record_annotators
from trectools_plus.testsets.splitting import refresh_test_set as refresh_test_set
from trectools_plus.testsets.splitting import split_test_set as split_test_set
from trectools_plus.testsets.splitting import strata_fields as strata_fields
from trectools_plus.testsets.splitting import write_split as write_split
from trectools_plus.testsets.validation import check_test_set as check_test_set
from trectools_plus.testsets.validation import resolve_terms as resolve_terms
from trectools_plus.testsets.validation import validate_test_sets as validate_test_sets

__all__ = [
    "convert_test_set",
    "grade_agreement",
    "list_test_sets",
    "refresh_test_set",
    "split_test_set",
]
from trectools_plus.validation.views.topics import TopicsView as TopicsView
