"""Judgments of people and models, and what can be said of runs with both.

::

    plan.py      the plan: pool of documents, order of queries, files of its folder
    extending.py further runs for a plan, which keeps its judgments
    pilot.py     the number of queries that people must judge
    labels.py    labels of pooled documents, by people and models
    people.py    labels of people, from the review page (review/)
    values.py    values of measures per query, from labels
    estimates/   means and differences of runs, and their report
    labelling.py questions to a judge, and the storage of its answers
    endpoint.py  judges: a model behind an endpoint, or a function
    prompt.py    the prompt of a model, and the grade in its answer
"""

from trectools_plus.lazy_names import import_lazily

__getattr__, __dir__ = import_lazily(
    __name__,
    {
        "judging.estimates.combined": ["combine_judgments"],
        "judging.estimates.estimate": ["estimate"],
        "judging.estimates.report": ["JudgmentReport"],
        "judging.estimates.verification": ["verify_plan"],
        "judging.plan": ["PlanFolder", "PlanOptions", "make_plan"],
    },
    internal={
        "judging.agreement": ["LabelAgreement"],
        "judging.endpoint": ["FunctionLabeller", "Labeller", "ModelLabeller"],
        "judging.estimates.checks": ["record_estimate"],
        "judging.estimates.combined": ["CombinedMean"],
        "judging.estimates.estimate": ["JudgedBy", "select_labels", "write_judgments"],
        "judging.extending": ["extend_plan"],
        "judging.labelling": ["LabelOptions", "LabelSummary", "Labelling", "raise_if_stopped"],
        "judging.labels": ["Label", "write_qrels"],
        "judging.pilot": ["Pilot", "plan_people"],
        "judging.plan": ["JudgmentPlan", "find_plan"],
        "judging.prompt": ["read_prompt"],
        "retrieval.backends.http.client": ["RequestLimits"],
        "retrieval.backends.secrets": ["read_key"],
    },
)
