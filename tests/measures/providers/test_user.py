import pytest

from trectools_plus.errors import UsageError
from trectools_plus.formats.tables import Qrels, Run
from trectools_plus.measures import BaseMeasure, BaseMetric, evaluate

QRELS = Qrels.from_dict({"1": {"b": 2, "a": 1}, "2": {"a": 1}, "3": {"a": 1}, "4": {"a": 0}})
# In 32 bits a and b tie in query 1, and b comes first.
RUN = Run.from_dict({"1": {"a": 1.000000001, "b": 1.0, "c": 0.5}, "2": {"x": 1.0, "a": 0.5}})


class FirstGrade(BaseMeasure):
    """The grade of the first document."""

    def score_query(self, ranked_doc_ids, qrels_of_query):
        return float(qrels_of_query.get(ranked_doc_ids[0], 0))


class Seen(BaseMeasure):
    """Remembers what it was given."""

    seen: list

    def score_query(self, ranked_doc_ids, qrels_of_query):
        self.seen.append((list(ranked_doc_ids), dict(qrels_of_query)))
        return 0.0


class Broken(BaseMeasure):
    """Divides by zero, or returns what is no score."""

    parameter_defaults = {"how": "raise"}  # noqa: RUF012

    def score_query(self, ranked_doc_ids, qrels_of_query):
        how = self.parameters["how"]
        values = {"inf": float("inf"), "nan": float("nan"), "huge": -1e308, "large": 1e100}
        return values.get(how) or 1 / 0


def test_scored_beside_the_others():
    evaluation = evaluate(QRELS, RUN, [FirstGrade(), "RR"])
    assert evaluation.values("run", "FirstGrade").tolist() == [2.0, 0.0, 0.0, 0.0]
    assert evaluation.counts["run"].n_scored == 4
    definition = evaluation.definition("FirstGrade")
    assert definition.formula == f"see {definition.provider}"
    assert definition.provider.endswith(":FirstGrade")


def test_gets_the_canonical_ranking_cut_and_all_grades():
    measure = Seen(cutoff=2)
    measure.seen = []
    evaluate(QRELS, RUN, [measure])
    assert measure.name == "Seen@2"
    assert measure.seen == [(["b", "a"], {"b": 2, "a": 1}), (["x", "a"], {"a": 1})]


def test_queries_without_a_relevant_document_are_not_passed_to_it():
    """So that it can divide by the number of relevant documents."""
    run = {**RUN.to_dict(), "4": {"a": 2.0, "b": 1.0}}
    measure = Seen()
    measure.seen, measure.value_without_results = [], 0.25
    evaluation = evaluate(QRELS, Run.from_dict(run), [measure])
    assert [qrels for _, qrels in measure.seen] == [{"b": 2, "a": 1}, {"a": 1}]
    assert evaluation.values("run", "Seen").tolist() == [0.0, 0.0, 0.25, 0.25]
    dropped = evaluate(QRELS, Run.from_dict(run), [measure], no_relevant="drop")
    assert dropped.values("run", "Seen").tolist() == [0.0, 0.0, 0.25]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raise", "ZeroDivisionError: .* — Broken"),
        ("inf", r"finite value.* but got inf — Broken\(how='inf'\), query 1"),
        ("huge", r"finite value.* but got -1e\+308 — Broken\(how='huge'\), query 1"),
    ],
)
def test_failure_is_an_error_that_names_the_measure(how, message):
    with pytest.raises(UsageError, match=message):
        evaluate(QRELS, RUN, [Broken(how=how)])


@pytest.mark.parametrize("value", [float("inf"), 1e308, "none", None])
def test_value_without_results_must_be_a_number(value):
    measure = FirstGrade()
    measure.value_without_results = value
    with pytest.raises(UsageError, match="FirstGrade"):
        evaluate(QRELS, RUN, [measure])


def test_parameters_and_cutoff_are_checked():
    class Deep(FirstGrade):
        requires_cutoff = True
        parameter_defaults = {"rel": 1}  # noqa: RUF012

    assert Deep(5, rel=2).name == "Deep(rel=2)@5"
    assert Deep(5, rel=2).relevance_level == 2
    with pytest.raises(UsageError):
        Deep()
    with pytest.raises(UsageError):
        Deep(5, rel=0)
    with pytest.raises(UsageError):
        Deep(5, depth=1)


class CustomMetric(BaseMetric):
    """The grade of the first document, if it is relevant."""

    def __init__(self):
        super().__init__(name="custom_metric")
        self.seen = []

    def calculate(self, results):
        self.seen.append(results)
        return results["relevant"].get(results["ranked_ids"][0], 0)


def test_base_metric_scores_one_dictionary_per_query():
    metric = CustomMetric()
    evaluation = evaluate(QRELS, RUN, [metric, FirstGrade(), "RR"])
    assert evaluation.values("run", "custom_metric").tolist() == [2.0, 0.0, 0.0, 0.0]
    assert evaluation.definition("custom_metric").formula.endswith(":CustomMetric")
    first, second = metric.seen
    assert first == {
        "query_id": "1",
        "ranked_ids": ["b", "a", "c"],
        "scores": [1.0, 1.000000001, 0.5],
        "relevant": {"b": 2, "a": 1},
    }
    assert second == {
        "query_id": "2",
        "ranked_ids": ["x", "a"],
        "scores": [1.0, 0.5],
        "relevant": {"a": 1},
    }


@pytest.mark.parametrize("value", [None, "high", {"a": 1}])
def test_base_metric_must_return_a_number(value):
    class Wrong(BaseMetric):
        def calculate(self, results):
            return value

    with pytest.raises(UsageError):
        evaluate(QRELS, RUN, [Wrong()])
