"""Reuse of earlier results: the same configuration, data and code give the same figures.

Output folders are the cache. A report contains a key, which is a hash of everything that the
figures depend on, and ``SHA256SUMS`` contains the hash of each file. A folder is not reused if any
of its files has changed or is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from trectools_plus.benchmark.report.folder import ReportFolder
from trectools_plus.benchmark.run.config import BenchmarkConfig
from trectools_plus.benchmark.run.output_folder import (
    LATENCY_FILE,
    PER_QUERY_FILE,
    QRELS_FILE,
    REPORT_FILE,
    read_checksums,
)
from trectools_plus.errors import InputError
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.measures.parser import parse_measures
from trectools_plus.provenance import describe_machine, package_versions
from trectools_plus.retrieval.backends.embedded.modes import models_used

_NAMES_FILE = re.compile(r"\b(ontology|annotations)=")
"""In a measure's name: a file whose content is not hashed."""


def make_cache_key(config: BenchmarkConfig, contents: Mapping[str, str]) -> str | None:
    """Hash configuration, queries, documents, judgments, given runs and code with SHA-256.

    Args:
        config: The settings.
        contents: Hashes of the parts of the data.

    Returns:
        The key; ``None`` where a part cannot be hashed: standard input, a measure from outside
        this package, an ontology or annotations named by a measure, a service, or a function of
        the user.

    Raises:
        InputError: If a run cannot be read.
    """
    if not config.is_embedded:
        return None
    runs = config.runs or {}
    if "-" in (*runs.values(), config.qrels, config.topics, config.corpus):
        return None
    for measure in parse_measures(config.measure_names):
        if not type(measure).__module__.startswith("trectools_plus.") or _NAMES_FILE.search(
            measure.name
        ):
            return None
    parts = {
        "config": config.as_manifest(),
        "contents": dict(contents),
        "runs": {name: sha256_file(path) for name, path in runs.items()},
        "models": {
            role: model.sha256
            for role, model in models_used(config.mode_keys, config.retrieval).items()
        },
        "packages": package_versions(),
        "machine": describe_machine(),
        "code": _hash_code(),
    }
    return sha256_text(json.dumps(parts, sort_keys=True, ensure_ascii=False))


def find_cached(key: str, output_dir: Path) -> ReportFolder | None:
    """Find a complete and unchanged output folder with this key.

    Args:
        key: From :func:`make_cache_key`.
        output_dir: The folder that is searched first, then the folders beside it.
    """
    reports = sorted(output_dir.parent.glob(f"*/{REPORT_FILE}"), reverse=True)
    for folder in dict.fromkeys([output_dir, *(report.parent for report in reports)]):
        try:
            if key.encode() not in (folder / REPORT_FILE).read_bytes():
                continue
            source = ReportFolder(folder)
            if source.report.manifest.cache_key == key and _is_complete(source):
                return source
        except (OSError, InputError):
            continue
    return None


def _is_complete(source: ReportFolder) -> bool:
    """Return whether every file is there and unchanged."""
    listed = {name: digest for digest, name in read_checksums(source.folder)}
    runs = [one.run.path for one in source.report.modes.values() if one.run.path is not None]
    needed = {REPORT_FILE, PER_QUERY_FILE, QRELS_FILE, *runs}
    if any(one.latency_ms is not None for one in source.report.modes.values()):
        needed.add(LATENCY_FILE)
    return needed <= listed.keys() and all(
        sha256_file(source.folder / name) == digest for name, digest in listed.items()
    )


@cache
def _hash_code() -> str:
    """Return the SHA-256 of this package's sources, which change more often than its version."""
    root = Path(__file__).resolve().parents[2]
    lines = [
        f"{path.relative_to(root).as_posix()} {sha256_file(path)}\n"
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return sha256_text("".join(lines))
