"""Check runs, qrels and topics: rules with codes return findings, which are rendered separately."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {"validation.findings": ["FindingsError"], "validation.fixing": ["fix_qrels", "fix_run"]},
    internal={
        "validation.catalogue": ["CATALOGUE"],
        "validation.engine": [
            "check_pair",
            "open_qrels",
            "open_run",
            "report_view",
            "validate_qrels",
            "validate_run",
        ],
        "validation.exclusions": ["Exclusions"],
        "validation.findings": ["FileReport", "Finding", "Fix", "Severity", "refuse_errors"],
        "validation.fixing": ["FixSummary", "split_fix_values"],
        "validation.inputs": ["validate"],
        "validation.loading": [
            "ConvertedTable",
            "convert_qrels",
            "convert_run",
            "describe_file",
            "load_qrels",
            "load_run",
            "load_topics",
        ],
        "validation.registry": ["Rule"],
        "validation.rendering": ["as_document", "render_github", "render_text"],
        "validation.settings": ["Choices"],
        "validation.topics.engine": ["validate_topics"],
        "validation.views.pairs": ["read_document_ids"],
        "validation.views.qrels": ["QrelsView"],
        "validation.views.runs": ["RunView"],
    },
)
