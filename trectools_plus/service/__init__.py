"""Servers: evaluation, validation, scoring and metrics over HTTP, and the review page."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "service.app": ["create_app"],
        "service.review.app": ["review_app"],
    },
    internal={
        "judging.judgments": ["export_qrels"],
        "judging.store": ["read_store"],
        "service.metrics": ["read_snapshots", "render_metrics", "write_textfile"],
        "service.models": ["Limits", "ServiceSettings"],
        "service.review.app": ["ReviewOptions", "run_review"],
        "service.review.material": ["import_judgments"],
        "service.review.summary": [
            "PlanSummary",
            "Remark",
            "ReviewSummary",
            "summarise_plan",
            "summarise_review",
        ],
        "service.server": ["read_key", "run_server"],
    },
)
