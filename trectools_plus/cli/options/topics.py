"""Options of commands that read topics: the fields with id and text, and the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from trectools_plus import formats
from trectools_plus.choices import Panel
from trectools_plus.text import split_list

IdField = Annotated[
    str | None,
    typer.Option(
        "--id-field",
        metavar="NAME",
        help="Field of the topics with the id.  [default: by its name: query_id, number, …]",
        rich_help_panel=Panel.DATA,
    ),
]
TextFields = Annotated[
    str | None,
    typer.Option(
        "--text-fields",
        metavar="NAMES",
        help="Fields of the topics with the text, comma-separated; several are joined.  "
        "[default: by their names: text, query, title, …]",
        rich_help_panel=Panel.DATA,
    ),
]
TopicsLanguage = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="CODE",
        help="Language to choose if topics have texts in several, for example de.  [default: en, "
        "else the first]",
        rich_help_panel=Panel.DATA,
    ),
]


@dataclass(frozen=True)
class TopicFieldOptions:
    """Fields of topics, for :func:`~trectools_plus.cli.options.groups.with_groups`."""

    id_field: IdField = None
    text_fields: TextFields = None
    language: TopicsLanguage = None

    def options(self) -> formats.TopicOptions:
        """Return the options of the reader of topics."""
        return topic_options(self.id_field, self.text_fields, self.language)


def topic_options(
    id_field: str | None, text_fields: str | None, language: str | None
) -> formats.TopicOptions:
    """Return the options of the reader of topics; ``text_fields`` are comma-separated."""
    return formats.TopicOptions(id_field, tuple(split_list(text_fields or "")), language)
