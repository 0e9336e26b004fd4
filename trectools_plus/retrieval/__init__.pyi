# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.retrieval.backends.embedded import BuiltIndex as BuiltIndex
from trectools_plus.retrieval.backends.embedded import build_indexes as build_indexes
from trectools_plus.retrieval.backends.embedded import build_retrievers as build_retrievers
from trectools_plus.retrieval.backends.modes import check_modes as check_modes
from trectools_plus.retrieval.backends.modes import expand_modes as expand_modes
from trectools_plus.retrieval.backends.modes import language_note as language_note
from trectools_plus.retrieval.backends.modes import unused_settings as unused_settings
from trectools_plus.retrieval.backends.modes import (
    uses_builtin_embeddings as uses_builtin_embeddings,
)
from trectools_plus.retrieval.backends.modes import uses_vectors as uses_vectors
from trectools_plus.retrieval.backends.selection import EMBEDDED as EMBEDDED
from trectools_plus.retrieval.backends.selection import BackendSettings as BackendSettings
from trectools_plus.retrieval.backends.selection import default_modes as default_modes
from trectools_plus.retrieval.fetch import FetchRequest as FetchRequest
from trectools_plus.retrieval.fusion import Fusion as Fusion
from trectools_plus.retrieval.fusion import fuse as fuse
from trectools_plus.retrieval.hpo.answers import TextAnswer as TextAnswer
from trectools_plus.retrieval.hpo.answers import TextSearcher as TextSearcher
from trectools_plus.retrieval.hpo.ontology_terms import open_terms as open_terms
from trectools_plus.retrieval.index.models import has_cuda as has_cuda
from trectools_plus.retrieval.index.parts import TextParts as TextParts
from trectools_plus.retrieval.index.vector import MultiVectorRetriever as MultiVectorRetriever
from trectools_plus.retrieval.run_files import FetchedFile as FetchedFile
from trectools_plus.retrieval.run_files import fetch_to_dir as fetch_to_dir
from trectools_plus.retrieval.setting_types import make_model as make_model
from trectools_plus.retrieval.settings import RetrievalSettings as RetrievalSettings
from trectools_plus.retrieval.source import Backend as Backend
from trectools_plus.retrieval.source import Failure as Failure
from trectools_plus.retrieval.source import FetchOptions as FetchOptions
from trectools_plus.retrieval.source import Hits as Hits
from trectools_plus.retrieval.source import Query as Query
from trectools_plus.retrieval.source import Ranking as Ranking
from trectools_plus.retrieval.source import Retriever as Retriever
from trectools_plus.retrieval.source import Source as Source

__all__ = [
    "Backend",
    "MultiVectorRetriever",
    "Query",
    "RetrievalSettings",
    "Retriever",
    "TextParts",
]
