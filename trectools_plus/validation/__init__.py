"""Check runs, qrels and topics: rules with codes return findings, which are rendered separately."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {"validation.findings": ["FindingsError"], "validation.fixing": ["fix_qrels", "fix_run"]},
    internal={
        "validation.engine": [
            "Choices",
            "check_pair",
            "open_qrels",
            "open_run",
            "report_view",
            "validate_qrels",
            "validate_run",
        ],
        "validation.findings": [
            "FileReport",
            "Finding",
            "Fix",
            "Severity",
            "as_document",
            "refuse_errors",
            "render_github",
            "render_text",
        ],
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
        "validation.rules.pairs": ["read_document_ids"],
        "validation.rules.topics": ["CATALOGUE"],
        "validation.topics": ["validate_topics"],
        "validation.views.kinds": ["QrelsView", "RunView"],
    },
)
