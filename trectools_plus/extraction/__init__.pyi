# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.extraction.assertion import CUE_LANGUAGES as CUE_LANGUAGES
from trectools_plus.extraction.assertion import assert_mentions as assert_mentions
from trectools_plus.extraction.extractor import Extractor as Extractor
from trectools_plus.extraction.inputs import Predictions as Predictions
from trectools_plus.extraction.inputs import write_predictions as write_predictions
from trectools_plus.extraction.report import REPORT_FILE as REPORT_FILE
from trectools_plus.extraction.report import ExtractionSettings as ExtractionSettings
from trectools_plus.extraction.report import extraction_report_schema as extraction_report_schema
from trectools_plus.extraction.report import load_extraction_report as load_extraction_report
from trectools_plus.extraction.report import make_extraction_settings as make_extraction_settings
from trectools_plus.extraction.runner import DEFAULT_VALUES as DEFAULT_VALUES
from trectools_plus.extraction.runner import Extracted as Extracted
from trectools_plus.extraction.runner import ExtractionOptions as ExtractionOptions
from trectools_plus.extraction.runner import SweepOptions as SweepOptions
from trectools_plus.extraction.runner import extract_texts as extract_texts
from trectools_plus.extraction.runner import run_extraction as run_extraction
from trectools_plus.extraction.runner import sweep_extraction as sweep_extraction
from trectools_plus.extraction.scoring import compare_extractions as compare_extractions
from trectools_plus.extraction.words import Mention as Mention
from trectools_plus.statistics.arrays import Resampling as Resampling

__all__ = [
    "ExtractionOptions",
    "Extractor",
    "SweepOptions",
    "compare_extractions",
    "run_extraction",
    "sweep_extraction",
]
