"""Names and definitions of measures, and their values for runs."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {"measures.parser": ["parse_measures"]},
    internal={
        "measures.definitions.base": ["Definition", "Measure"],
        "measures.definitions.max_ont_sim": ["bind_files", "check_files_used"],
        "measures.evaluation": [
            "Counts",
            "DEFAULT_MEASURES",
            "Evaluation",
            "evaluate",
            "score_runs",
        ],
        "measures.exclusions": ["Exclusions"],
        "measures.judged": ["JudgedQueries", "notes_on_judges"],
        "measures.parser": ["ALIASES", "explain", "measure_labels", "parse_measure", "split_names"],
        "measures.providers.libraries": ["UNDEFINED", "ir_measures_labels"],
        "measures.providers.user": ["BaseMeasure", "BaseMetric"],
        "measures.scoring": ["open_files"],
    },
)
