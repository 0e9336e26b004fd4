"""Output folders are a cache: the same configuration, data and code give the same figures.

A report contains a key, which is a hash of everything that the figures depend on, and
``SHA256SUMS`` has the hash of each file. A folder is not reused if a file has changed or is missing.
"""

from __future__ import annotations

import json
import re
import shutil
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
    OutputFolder,
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
    runs = config.runs or {}
    if not config.is_embedded or "-" in (
        *runs.values(),
        *(config.qrels, config.topics, config.corpus),
    ):
        return None
    for measure in parse_measures(config.measure_names):
        is_own = type(measure).__module__.startswith("trectools_plus.")
        if not is_own or _NAMES_FILE.search(measure.name):
            return None
    models = models_used(config.mode_keys, config.retrieval)
    parts = {
        "config": config.as_manifest(),
        "contents": dict(contents),
        "runs": {name: sha256_file(path) for name, path in runs.items()},
        "models": {role: model.sha256 for role, model in models.items()},
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


def copy_files(source: ReportFolder, folder: OutputFolder) -> None:
    """Copy a report's runs and judgments into an output folder that is not yet published.

    Raises:
        InputError: If one is missing or cannot be written.
    """
    names = [run.path for run in source.report.runs if run.path is not None]
    for name in [*names, QRELS_FILE]:
        try:
            shutil.copyfile(source.files.file(name), folder.partial / name)
        except OSError as error:
            where = str(source.folder / name)
            raise InputError(f"cannot be copied: {error.strerror}", where=where) from error


def _is_complete(source: ReportFolder) -> bool:
    """Return whether every file is there and unchanged."""
    listed = {name: digest for digest, name in read_checksums(source.folder)}
    modes = source.report.modes.values()
    needed = {REPORT_FILE, PER_QUERY_FILE, QRELS_FILE}
    needed |= {mode.run.path for mode in modes if mode.run.path is not None}
    if any(mode.latency_ms is not None for mode in modes):
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
