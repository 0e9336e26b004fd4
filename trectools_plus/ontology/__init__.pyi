# Names that are imported on first use, and their modules: see lazy_names.py. Public names are in
# __all__.

from trectools_plus.ontology.ontology import Ontology as Ontology
from trectools_plus.ontology.ontology import load_information as load_information
from trectools_plus.ontology.ontology import load_ontology as load_ontology
from trectools_plus.ontology.similarity import best_matches as best_matches

__all__ = [
    "best_matches",
    "load_information",
]
