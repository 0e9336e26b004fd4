# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.formats.collection import SAMPLE as SAMPLE
from trectools_plus.formats.collection import SAMPLE_FOLDER as SAMPLE_FOLDER
from trectools_plus.formats.collection import Collection as Collection
from trectools_plus.formats.collection import load_corpus as load_corpus
from trectools_plus.formats.collection import sample_files as sample_files
from trectools_plus.formats.files.atomic import atomic_write as atomic_write
from trectools_plus.formats.files.atomic import refuse_other_content as refuse_other_content
from trectools_plus.formats.files.atomic import write_new as write_new
from trectools_plus.formats.files.guards import refuse_link_out as refuse_link_out
from trectools_plus.formats.files.guards import refuse_lost_data as refuse_lost_data
from trectools_plus.formats.files.guards import refuse_overwriting as refuse_overwriting
from trectools_plus.formats.files.opening import is_address as is_address
from trectools_plus.formats.files.opening import is_catalogue_name as is_catalogue_name
from trectools_plus.formats.interchange.names import ColumnNames as ColumnNames
from trectools_plus.formats.interchange.names import column_names as column_names
from trectools_plus.formats.interchange.names import columns_for_qrels as columns_for_qrels
from trectools_plus.formats.interchange.names import columns_for_run as columns_for_run
from trectools_plus.formats.run_names import NamedRun as NamedRun
from trectools_plus.formats.run_names import name_baselines as name_baselines
from trectools_plus.formats.run_names import name_of_file as name_of_file
from trectools_plus.formats.run_names import name_runs as name_runs
from trectools_plus.formats.tables import Corpus as Corpus
from trectools_plus.formats.tables import Qrels as Qrels
from trectools_plus.formats.tables import Run as Run
from trectools_plus.formats.tables import Topics as Topics
from trectools_plus.formats.topics import TopicOptions as TopicOptions
from trectools_plus.formats.topics import read_topics as read_topics
from trectools_plus.formats.writing import write_qrels as write_qrels
from trectools_plus.formats.writing import write_run as write_run

__all__ = []
