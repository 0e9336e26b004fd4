"""Servers: evaluation, validation, scoring and metrics over HTTP, and the review page."""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "service.api.app": ["create_app"],
        "service.review.app": ["review_app"],
    },
    internal={
        "judging.review.judgments": ["export_qrels"],
        "judging.review.store": ["read_store"],
        "service.api.metrics": ["render_metrics", "write_textfile"],
        "service.api.settings": ["Limits", "ServiceSettings"],
        "service.api.snapshots": ["read_snapshots"],
        "service.review.app": ["ReviewOptions", "run_review"],
        "service.review.importing": ["import_judgments"],
        "service.review.plan_summary": ["PlanSummary", "summarise_plan"],
        "service.review.summary": ["Remark", "ReviewSummary", "summarise_review"],
        "service.server": ["read_key", "run_server"],
    },
)
