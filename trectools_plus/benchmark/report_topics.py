"""The topics of a report that is there already, where they can still be had as they were."""

from __future__ import annotations

from pathlib import Path

from trectools_plus.benchmark.dataset import hash_query_fields
from trectools_plus.benchmark.report_folder import ReportFolder
from trectools_plus.errors import TrectoolsPlusError
from trectools_plus.formats.collection import CATALOGUE_PREFIX
from trectools_plus.formats.hashing import sha256_file
from trectools_plus.formats.tables import Topics


def read_report_topics(source: ReportFolder) -> Topics | None:
    """Read the topics that a report was made with, fields included.

    Args:
        source: The report.

    Returns:
        The topics; ``None`` where there were none, they cannot be read any more, or they are no
        longer the same. A dataset without a topics file is asked for them only where its queries
        had fields beside their texts: nothing else of the topics is needed later.
    """
    file = source.report.manifest.dataset.files.get("topics")
    if file is not None:
        return _read_file(file.path, file.sha256)
    if "query_fields" not in source.report.manifest.dataset.contents:
        return None
    try:
        topics = _read_collection(source)
    except TrectoolsPlusError:
        return None
    return topics if topics is not None and _is_same(topics, source) else None


def _read_file(path: str, sha256: str) -> Topics | None:
    from trectools_plus.formats.topics import read_topics

    if not Path(path).is_file() or sha256_file(path) != sha256:
        return None
    return read_topics(path)


def _read_collection(source: ReportFolder) -> Topics | None:
    """The topics of a built-in collection or of one of the catalogue."""
    config = source.config
    if config.dataset == "hpo":
        from trectools_plus.benchmark.hpo import load_hpo_topics

        return load_hpo_topics(config.test_file)
    if config.dataset is not None and config.dataset.startswith(CATALOGUE_PREFIX):
        from trectools_plus.formats.ir_datasets import CatalogueDataset

        return CatalogueDataset(config.dataset.removeprefix(CATALOGUE_PREFIX)).read_topics()
    return None


def _is_same(topics: Topics, source: ReportFolder) -> bool:
    from trectools_plus.retrieval.fetch.topics import hash_topics

    contents = source.report.manifest.dataset.contents
    return contents.get("topics") == hash_topics(topics) and contents.get(
        "query_fields"
    ) == hash_query_fields(topics)
