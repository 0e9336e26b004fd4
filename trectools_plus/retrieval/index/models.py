"""Models in local folders, for the extra ``neural``.

A model is a folder, identified by a hash of its files. Nothing is downloaded. PyTorch is imported
only when a model is opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trectools_plus.choices import Device
from trectools_plus.errors import InputError, MissingExtraError, describe_error
from trectools_plus.formats.hashing import sha256_file, sha256_text
from trectools_plus.models import ReportModel
from trectools_plus.retrieval.settings import RetrievalSettings

Facts = dict[str, str | int | None]
"""Everything that determines the output of a model, by name."""
_PACKAGES = ("sentence-transformers", "torch", "transformers")


class SourceFile(ReportModel):
    """A file that was given, or a folder with a local model."""

    path: str
    """As the user wrote it."""
    sha256: str
    """SHA-256 of its bytes; of a model, hash of the names and contents of all its files."""


def record_models(paths: Mapping[str, str | None]) -> dict[str, SourceFile]:
    """Return the models of folders, by role.

    Args:
        paths: The folders by role; ``None`` for the built-in embeddings.

    Raises:
        InputError: If a folder is missing or cannot be read.
    """
    return {
        role: SourceFile(path=path, sha256=hash_model(path))
        for role, path in paths.items()
        if path is not None
    }


def hash_model(path: str | Path) -> str:
    """Return SHA-256 of the names and contents of a model's files, without hidden files.

    Args:
        path: The folder.

    Raises:
        InputError: If the folder is missing or cannot be read.
    """
    root = Path(path)
    try:
        files = sorted(file for file in root.rglob("*") if file.is_file())
        visible = tuple(
            (name, file.stat().st_size, file.stat().st_mtime_ns)
            for file in files
            if "/." not in f"/{(name := file.relative_to(root).as_posix())}"
        )
        if not visible:
            raise InputError(
                "expected the folder of a model" if root.exists() else "the model does not exist",
                where=str(path),
                remedy="give the local folder of a model in the layout of sentence-transformers",
            )
        return _hash_files(str(root.resolve()), visible)
    except OSError as error:
        raise InputError(
            f"the model cannot be read: {error.strerror or error}", where=str(path)
        ) from error


@lru_cache(maxsize=16)
def _hash_files(root: str, files: tuple[tuple[str, int, int], ...]) -> str:
    return sha256_text(
        "".join(f"{sha256_file(Path(root, name))}  {name}\n" for name, _, _ in files)
    )


def open_model(kind: str, path: str, settings: RetrievalSettings, option: str) -> Any:
    """Load a model of ``sentence_transformers`` from a folder.

    Args:
        kind: The model's class: ``SentenceTransformer`` or ``SparseEncoder``.
        path: The folder.
        settings: ``device`` and ``max_length`` are used.
        option: The name of the user's setting, for messages.

    Raises:
        MissingExtraError: If the extra is not installed.
        InputError: If the folder does not contain such a model, or the device is not available.
    """
    if find_spec("sentence_transformers") is None:
        raise MissingExtraError(option, "neural")
    hash_model(path)  # reports a missing or unreadable folder
    _check_kind(kind, Path(path))
    import sentence_transformers
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        create: Callable[..., Any] = getattr(sentence_transformers, kind)
        model = create(path, device=settings.device, local_files_only=True)
    except Exception as error:  # the library raises various errors for unusable folders
        raise InputError(
            f"the model cannot be opened as {kind} on {settings.device}: {describe_error(error)}",
            where=path,
            remedy="a SparseEncoder needs sentence-transformers 5, cuda a PyTorch with CUDA",
        ) from error
    if settings.max_length is not None:
        model.max_seq_length = settings.max_length
    return model


def has_cuda() -> bool:
    """Return whether the installed PyTorch, if any, finds a CUDA device."""
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def _check_kind(kind: str, folder: Path) -> None:
    """Check the kind of a model; the library would replace missing weights by random numbers."""
    is_packed = (folder / "modules.json").is_file()
    name = "config_sentence_transformers.json" if is_packed else "config.json"
    config: Any = {}
    with suppress(OSError, ValueError):
        config = json.loads((folder / name).read_text(encoding="utf-8"))
    if is_packed:
        declared = expected = config.get("model_type") or "SentenceTransformer"
    else:
        declared = " ".join(config.get("architectures") or ["unknown"])
        expected = kind if "ForMaskedLM" in declared else "SentenceTransformer"
    if kind != expected:
        raise InputError(
            f"expected a {kind} but the folder contains another kind of model ({declared})",
            where=str(folder),
            remedy="give a model that was trained for this task",
        )


def model_facts(path: str, device: Device, model: Any) -> Facts:
    """Return everything that determines a model's output, for index keys."""
    length = model.max_seq_length
    return {
        "model_sha256": hash_model(path),
        "max_length": None if length is None else int(length),
        "device": device,
        **{name: version(name) for name in _PACKAGES},
    }


def first_rows(texts: Iterable[str]) -> list[int]:
    """Return, for each text, the row of the first text that equals it.

    The last digits of a model's output depend on the other texts of a batch. A text that occurs
    several times is therefore embedded only once, so that its documents get equal scores.
    """
    # Hashes need less memory than texts.
    first = dict[bytes, int]()
    hashes = (hashlib.sha256(text.encode()).digest() for text in texts)
    return [first.setdefault(key, row) for row, key in enumerate(hashes)]
