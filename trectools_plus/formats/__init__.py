"""Read and write runs, qrels, topics and corpora."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {},
    internal={
        "formats.collection": [
            "Collection",
            "SAMPLE",
            "SAMPLE_FOLDER",
            "load_corpus",
            "sample_files",
        ],
        "formats.files.atomic": ["atomic_write", "refuse_other_content", "write_new"],
        "formats.files.opening": ["is_address", "is_catalogue_name"],
        "formats.files.guards": ["refuse_link_out", "refuse_lost_data", "refuse_overwriting"],
        "formats.interchange.names": [
            "ColumnNames",
            "column_names",
            "columns_for_qrels",
            "columns_for_run",
        ],
        "formats.run_names": [
            "NamedRun",
            "name_baselines",
            "name_of_file",
            "name_runs",
        ],
        "formats.tables": ["Corpus", "Qrels", "Run", "Topics"],
        "formats.topics": ["TopicOptions", "read_topics"],
        "formats.writing": ["write_qrels", "write_run"],
    },
)
