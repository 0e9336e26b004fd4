"""Results that are there already: the same configuration, data and code give the same figures.

An output folder is its own cache. Its report holds a key, a hash of everything that the figures
depend on, and ``SHA256SUMS`` the hash of each file. Nothing comes back from a folder of which any
file changed or is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
from trectools_plus.provenance import describe_machine, package_versions
from trectools_plus.retrieval.backends.embedded.modes import models_used

_OWN = "trectools_plus."
_NAMES_FILE = re.compile(r"\b(ontology|annotations)=")
"""In a measure's name: a file whose content nobody hashed."""


def make_cache_key(config: BenchmarkConfig, contents: Mapping[str, str]) -> str | None:
    """SHA-256 over configuration, queries, documents, judgments, given runs and code.

    Args:
        config: What is asked for.
        contents: Hashes of the data's parts.

    Returns:
        The key; ``None`` where a part cannot be hashed: standard input, a measure from outside
        this package, an ontology or annotations named by a measure, a service, somebody's own
        function.

    Raises:
        InputError: If a run cannot be read.
    """
    from trectools_plus.measures.parser import parse_measures

    if not config.is_embedded:
        return None
    runs = config.runs or {}
    if "-" in (*runs.values(), config.qrels, config.topics, config.corpus):
        return None
    for measure in parse_measures(config.measure_names):
        if not type(measure).__module__.startswith(_OWN) or _NAMES_FILE.search(measure.name):
            return None
    parts = {
        "config": config.as_manifest(),
        "contents": dict(contents),
        "runs": {name: sha256_file(path) for name, path in runs.items()},
        "models": {
            role: model.sha256
            for role, model in models_used(config.modes, config.retrieval).items()
        },
        "packages": package_versions(),
        "machine": describe_machine(),
        "code": _hash_code(),
    }
    return sha256_text(json.dumps(parts, sort_keys=True, ensure_ascii=False))


def find_cached(key: str, folders: Iterator[Path]) -> ReportFolder | None:
    """The first whole and unchanged output folder with this key.

    Args:
        key: From :func:`make_cache_key`.
        folders: Where to look.
    """
    for folder in folders:
        try:
            if key.encode() not in (folder / REPORT_FILE).read_bytes():
                continue
            source = ReportFolder(folder)
            if source.report.manifest.cache_key == key and _is_whole(source):
                return source
        except (OSError, InputError):
            continue
    return None


def neighbours(output_dir: Path) -> Iterator[Path]:
    """Folders where earlier results may be: the output folder itself, then those beside it."""
    yield output_dir
    for report in sorted(output_dir.parent.glob(f"*/{REPORT_FILE}"), reverse=True):
        if report.parent != output_dir:
            yield report.parent


def _is_whole(source: ReportFolder) -> bool:
    """Whether every file is the one that was written, and none is missing."""
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
    """SHA-256 over this package's own sources: a version number does not change while editing."""
    root = Path(__file__).resolve().parents[2]
    lines = [
        f"{path.relative_to(root).as_posix()} {sha256_file(path)}\n"
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    return sha256_text("".join(lines))
