"""Names of datasets and reports in metrics and answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from trectools_plus.service.api.snapshots import dataset_name, report_names


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("hpo", "hpo"),
        ("irds:beir/scifact/test", "irds:beir/scifact/test"),
        ("/srv/secret/garden", "garden"),
        ("../garden/", "garden"),
        (".", "dataset"),
        ("..", "dataset"),
        ("/", "dataset"),
    ],
)
def test_a_dataset_is_called_without_folders(given: str, name: str) -> None:
    assert dataset_name(given) == name


def test_reports_have_names_of_their_own(tmp_path: Path) -> None:
    paths = [
        str(tmp_path / place)
        for place in ("a/x", "b/x/BenchmarkReport.json", "x#2", "c/x", "y/BenchmarkReport.json")
    ]
    assert report_names(paths) == ["x", "x#2", "x#2#2", "x#3", "y"]
    assert report_names(paths[3:]) == ["x", "y"]
