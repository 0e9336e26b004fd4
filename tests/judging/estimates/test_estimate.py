"""Estimates from the judgments of a plan."""

import numpy as np
import pytest
from harness.observe import ROOT
from harness.pages import read_blocks, run_python
from harness.plans import grades_of, label_all, make_small, write_labels

from trectools_plus.errors import CheckFailedError, UsageError
from trectools_plus.formats import Qrels
from trectools_plus.judging.combined import combine_judgments
from trectools_plus.judging.estimates import estimate
from trectools_plus.judging.labels import LABELS_FILE, LabelOrigin
from trectools_plus.measures import evaluate

JUDGING = "trectools_plus.judging"
ORIGIN = LabelOrigin(model="judge", host="localhost", prompt_sha256="0" * 64)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """A plan of 40 queries and three runs."""
    return make_small(tmp_path_factory.mktemp("judging"), queries=40, names="abc", people=25)


def _model(plan, noise=0.3, seed=1):
    """Labels that mostly agree with those of people."""
    generator = np.random.default_rng(seed)
    return [
        one.model_copy(
            update={
                "grade": int(generator.integers(4)) if generator.random() < noise else one.grade,
                "annotator": "judge",
                "kind": "model",
                "origin": ORIGIN,
            }
        )
        for one in label_all(plan, len(plan.plan.queries))
    ]


def _find(report, measure, run, other=None):
    (found,) = (
        one
        for one in report.estimates
        if one.measure == measure and {one.run, one.baseline} == {run, other}
    )
    return found if found.run == run else found.reversed()


def test_every_mean_and_difference_is_that_of_two_evaluations(plan):
    people, model = label_all(plan, 25), _model(plan)
    write_labels(plan, model)
    report = estimate(plan, people=people)
    of_people = evaluate(Qrels.from_dict(grades_of(people)), plan.runs, measures=plan.plan.measures)
    of_model = evaluate(Qrels.from_dict(grades_of(model)), plan.runs, measures=plan.plan.measures)
    judged = [of_model.query_ids["a"].index(one) for one in of_people.query_ids["a"]]
    for measure in plan.plan.measures:
        y, f = (
            {name: found.values(name, measure) for name in "abc"} for found in (of_people, of_model)
        )
        alone = combine_judgments(y["a"], f["a"], judged)
        shown = _find(report, measure, "a").estimates[0]
        assert tuple(shown.combined.model_dump().values()) == pytest.approx(alone.combined)
        assert shown.people.mean == pytest.approx(of_people.mean("a", measure))
        assert shown.model.mean == pytest.approx(of_model.mean("a", measure))
        assert shown.effective == pytest.approx(alone.effective)
        difference = combine_judgments(y["a"] - y["b"], f["a"] - f["b"], judged)
        pair = _find(report, measure, "a", "b").estimates[0]
        assert pair.combined.mean == pytest.approx(difference.combined.mean)
        # Three pairs: the interval is simultaneous, so it is wider.
        assert pair.combined.high > difference.combined.high


def test_too_few_queries_of_people_stand_alone(plan):
    write_labels(plan, _model(plan))
    report = estimate(plan, people=label_all(plan, 19))
    assert "20 are needed" in report.refusal
    assert all(one.combined is None for row in report.estimates for one in row.estimates)
    assert "alone" in report.result
    assert any("25 were planned" in one for one in report.warnings)
    with pytest.raises(CheckFailedError):
        estimate(plan, people=label_all(plan, 1))


def test_people_who_skip_a_query_do_not_give_a_sample(plan):
    write_labels(plan, _model(plan))
    skipped = plan.plan.queries[22]
    people = [one for one in label_all(plan, 25) if one.query_id != skipped]
    report = estimate(plan, people=people)
    assert skipped in report.refusal
    assert report.counts.people == 22


def test_missing_answers_of_the_model_are_never_0(plan):
    model = _model(plan)
    model[::7] = [one.model_copy(update={"grade": None}) for one in model[::7]]
    write_labels(plan, model)
    report = estimate(plan, people=label_all(plan, 25))
    assert report.counts.missing_model == len(model[::7])
    assert any("gave no grade" in one for one in report.warnings)
    graded = evaluate(Qrels.from_dict(grades_of(model)), plan.runs, measures=["nDCG@4"])
    shown = _find(report, "nDCG@4", "b").estimates[0].model.mean
    assert shown == pytest.approx(graded.mean("b", "nDCG@4"))


def test_a_model_that_was_not_asked_about_all_pairs_is_refused(plan):
    write_labels(plan, _model(plan)[:-3])
    with pytest.raises(CheckFailedError, match="3"):
        estimate(plan, people=label_all(plan, 25))
    (plan.path / LABELS_FILE).unlink()
    with pytest.raises(CheckFailedError):
        estimate(plan, people=label_all(plan, 25))


@pytest.mark.parametrize("measure", ["AP", "AP@100", "nDCG@5", "RR"])
def test_deeper_measures_are_refused(plan, measure):
    write_labels(plan, _model(plan))
    with pytest.raises(UsageError, match="4"):
        estimate(plan, people=label_all(plan, 25), measures=[measure])


def test_runs_are_named(plan):
    write_labels(plan, _model(plan))
    assert estimate(plan, people=label_all(plan, 25), runs=["b", "a"]).runs == ["a", "b"]
    with pytest.raises(UsageError, match="z"):
        estimate(plan, people=label_all(plan, 25), runs=["z"])


def test_a_prompt_that_was_changed_after_people_judged(plan):
    later = "2026-02-01T00:00:00Z"
    changed = ORIGIN.model_copy(update={"prompt_sha256": "1" * 64})
    second = [one.model_copy(update={"origin": changed, "time": later}) for one in _model(plan)]
    write_labels(plan, [*_model(plan), *second])
    report = estimate(plan, people=label_all(plan, 25))
    assert any("prompt was changed" in one for one in report.warnings)
    write_labels(plan, second)
    assert estimate(plan, people=label_all(plan, 25)).warnings == []


def test_the_code_of_the_page_prints_the_result(tmp_path, monkeypatch):
    page = ROOT / "docs/judging.md"
    plan = make_small(tmp_path, queries=25, depth=10, people=20)
    write_labels(plan, _model(plan))
    for module in ("estimates", "verification"):
        monkeypatch.setattr(f"{JUDGING}.{module}.read_people", lambda folder: label_all(plan, 20))
    monkeypatch.chdir(tmp_path)
    ((_, printed),) = run_python(read_blocks(page.read_text("utf-8")))
    assert "nDCG@10" in printed
    assert "must not be quoted" in printed
