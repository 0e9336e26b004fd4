"""Names of datasets and reports in metrics and answers."""

import pytest

from trectools_plus.service.metrics import dataset_name


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
def test_a_dataset_is_called_without_folders(given, name):
    assert dataset_name(given) == name
