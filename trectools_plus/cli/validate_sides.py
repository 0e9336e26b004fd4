"""What runs and qrels are checked against: topics, judgments, the documents that there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trectools_plus.formats.tables import Topics
    from trectools_plus.validation.findings import FileReport
    from trectools_plus.validation.profiles import Choices
    from trectools_plus.validation.views.pairs import DocumentIds


@dataclass(frozen=True, slots=True)
class Sides:
    """The other side of a check, as far as it was named.

    Attributes:
        qrels: Judgments.
        run: Results.
        topics: The queries that should be answered.
        docids: A list of the documents that there are.
        docid_pattern: What their ids look like.
    """

    qrels: str | None = None
    run: str | None = None
    topics: str | None = None
    docids: Path | None = None
    docid_pattern: str | None = None

    def read_topics(self, choices: Choices) -> Topics | FileReport | None:
        """The queries that should be answered, of a test set too, or what is wrong with their file.

        Raises:
            FormatError: If it cannot be read, and no rule that was chosen says why.
        """
        if self.topics is None:
            return None
        from trectools_plus.errors import FormatError
        from trectools_plus.formats.topics import read_topics
        from trectools_plus.testsets.loading import load_test_set
        from trectools_plus.testsets.tables import topics_of
        from trectools_plus.validation.topics.engine import validate_topics

        try:
            return read_topics(self.topics)
        except FormatError:
            if self.topics == "-":  # read once
                raise
            report = validate_topics(self.topics)
            if choices.judge(report).errors:
                return report
            if report.kind != "testset":
                raise
            return topics_of(load_test_set(self.topics), self.topics)

    def read_documents(self) -> DocumentIds | None:
        """What document ids there are."""
        if self.docids is None and self.docid_pattern is None:
            return None
        from trectools_plus.validation.views.pairs import DocumentIds, read_document_ids

        ids = None if self.docids is None else read_document_ids(self.docids)
        return DocumentIds(ids, self.docid_pattern)
