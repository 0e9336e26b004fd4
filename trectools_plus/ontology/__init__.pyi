# Names that are imported on first use, and where from: see lazy_names.py.

from trectools_plus.ontology.hpo import load_ontology as load_ontology
from trectools_plus.ontology.ontology import Ontology as Ontology

__all__: list[str]
