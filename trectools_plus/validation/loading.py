"""Read runs, qrels and topics for scoring, and reject files with errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from trectools_plus.formats.tables import QRELS_SCHEMA, RUN_SCHEMA, Qrels, Run, Topics
from trectools_plus.formats.topic_records.model import TopicOptions
from trectools_plus.formats.topics import read_topics
from trectools_plus.validation.engine import (
    check_pair_view,
    check_view,
    open_qrels,
    open_run,
)
from trectools_plus.validation.findings import FileReport, Finding, refuse_errors
from trectools_plus.validation.topics.engine import validate_topics
from trectools_plus.validation.views.pairs import PairView
from trectools_plus.validation.views.qrels import QrelsView


def load_run(path: str | Path, *, qrels: Qrels | None = None) -> Run:
    """Read a run and reject it if it breaks a rule that blocks scoring.

    The file is in TREC form, a table with a header (CSV or TSV) or JSON: see ``docs/formats.md``.

    Args:
        path: The run; ``-`` is standard input.
        qrels: The qrels for scoring; if given, the ids must match.

    Returns:
        The run; its name is the tag.

    Raises:
        FindingsError: If the file has an error that blocks scoring; see its ``findings``.
        InputError: If the file cannot be read at all.
    """
    run, _ = load_run_with_findings(path, qrels=qrels, blocking_only=True)
    return run


def load_run_with_findings(
    path: str | Path,
    *,
    qrels: Qrels | None = None,
    max_depth: int | None = None,
    inspect: Callable[[Run], None] | None = None,
    blocking_only: bool = False,
) -> tuple[Run, tuple[Finding, ...]]:
    """Read a run like :func:`load_run`, and also return findings that do not block scoring.

    Args:
        path: The run; ``-`` is standard input.
        qrels: The qrels for scoring; if given, the ids must match.
        max_depth: Results allowed per query; ``None`` for no limit.
        inspect: Called with the run before its ids are compared with the qrels; may raise an error.
        blocking_only: Run only the rules that can block scoring.
    """
    view = open_run(path, max_depth)
    if isinstance(view, FileReport):
        refuse_errors(view.findings)
        raise AssertionError("a report without a view must contain an error")
    findings = check_view(view, blocking_only=blocking_only)
    refuse_errors(findings)
    frame = view.frame.select(pl.col(name).cast(dtype) for name, dtype in RUN_SCHEMA.items())
    run = Run(frame, name=str(view.frame["tag"][0]), path=str(path))
    if inspect is not None:
        inspect(run)
    if qrels is not None:
        pair = PairView(view, QrelsView.of_table(qrels))
        findings += check_pair_view(pair, blocking_only=blocking_only)
        refuse_errors(findings)
    return run, tuple(findings)


def load_qrels(path: str | Path) -> Qrels:
    """Read qrels and reject them if they break a rule that blocks scoring.

    Repeated judgments with the same grade are dropped. A file is in TREC form, a table with a
    header (CSV or TSV, for example BEIR's), or JSON: see ``docs/formats.md``.

    Args:
        path: The qrels; ``-`` is standard input.

    Raises:
        FindingsError: If the file has an error that blocks scoring; see its ``findings``.
        InputError: If the file cannot be read at all.
    """
    qrels, _ = load_qrels_with_findings(path, blocking_only=True)
    return qrels


def load_qrels_with_findings(
    path: str | Path, *, blocking_only: bool = False
) -> tuple[Qrels, tuple[Finding, ...]]:
    """Read qrels like :func:`load_qrels`, and also return findings that do not block scoring.

    Args:
        path: The qrels; ``-`` is standard input.
        blocking_only: Run only the rules that can block scoring.
    """
    view = open_qrels(path)
    if isinstance(view, FileReport):
        refuse_errors(view.findings)
        raise AssertionError("a report without a view must contain an error")
    findings = check_view(view, blocking_only=blocking_only)
    refuse_errors(findings)
    frame = view.frame.select(pl.col(name).cast(dtype) for name, dtype in QRELS_SCHEMA.items())
    if not view.repeats.is_empty():  # the rules ensure that repeated judgments agree
        frame = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return Qrels(frame, path=str(path)), tuple(findings)


def load_topics(
    path: str | Path,
    *,
    id_field: str | None = None,
    text_fields: Sequence[str] = (),
    language: str | None = None,
) -> Topics:
    """Read topics and reject them if the validators find an error.

    The content of the file decides its format: TSV (``id TAB text``), tables with a header, JSON
    Lines, JSON, TREC SGML, XML and others, see ``docs/formats.md``. Additional fields become text
    columns. ``read_as`` of the result describes unusual formats and fields.

    Args:
        path: The topics; ``-`` is standard input, to which the validators are not applied;
            ``irds:<id>`` is a dataset of ``ir_datasets``.
        id_field: The field with the id; by default, the names of the fields decide.
        text_fields: The fields with the text, which are joined by blanks.
        language: The language to choose if topics have texts in several, for example ``en``.

    Raises:
        FindingsError: If the file has an error; its ``findings`` list all of them.
        FormatError: If the reader rejects the content of the file.
        InputError: If the file cannot be read.
    """
    options = TopicOptions(id_field, tuple(text_fields), language)
    if str(path) != "-":
        refuse_errors(validate_topics(path, options=options).findings)
    return read_topics(path, options)
