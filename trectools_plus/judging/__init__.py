"""Judgments of people and models, and what can be said of runs with both.

::

    plan.py         the plan: pool of documents, order of queries, files of its folder
    extending.py    further runs for a plan, which keeps its judgments
    pilot.py        the number of queries that people must judge
    store.py        the database of the review page, and the results that it shows
    judgments.py    judgments of people, in this database
    labels.py       labels of pooled documents, by people and models
    values.py       values of measures per query and agreement, from labels
    labelling.py    questions to a judge, and the storage of its answers
    endpoint.py     judges: a model with its prompt, or a function
    combined.py     means and differences, from people and a model
    estimates.py    estimates of runs
    report.py       their report, and doubts about them
    verification.py verification of a plan and its estimates
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "judging.combined": ["combine_judgments"],
        "judging.estimates": ["estimate"],
        "judging.report": ["JudgmentReport"],
        "judging.verification": ["verify_plan"],
        "judging.plan": ["PlanFolder", "PlanOptions", "make_plan"],
    },
    internal={
        "judging.combined": ["CombinedMean"],
        "judging.endpoint": ["FunctionLabeller", "Labeller", "ModelLabeller", "read_prompt"],
        "judging.estimates": ["JudgedBy", "select_labels", "write_judgments"],
        "judging.extending": ["extend_plan"],
        "judging.labelling": ["LabelOptions", "LabelSummary", "Labelling", "raise_if_stopped"],
        "judging.labels": ["Label", "write_qrels"],
        "judging.pilot": ["Pilot", "plan_people"],
        "judging.plan": ["JudgmentPlan", "find_plan"],
        "judging.report": ["record_estimate"],
        "judging.values": ["LabelAgreement"],
        "retrieval.backends.http_client": ["RequestLimits", "read_key"],
    },
)
