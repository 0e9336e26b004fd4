"""The estimates of a plan that were made before: who looks often finds what holds by chance."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from trectools_plus.errors import InputError
from trectools_plus.formats.files.appending import AppendedFile
from trectools_plus.judging.labels import read_rows
from trectools_plus.judging.plan import PlanFolder
from trectools_plus.models import ReportModel
from trectools_plus.text import plural

LOOKS_FILE = "estimates.jsonl"


class Look(ReportModel):
    """An estimate of a plan."""

    created_at: str
    """The time of its last judgment, in UTC."""
    people: int
    """Queries that people had judged completely."""
    measures: list[str]
    """The measures."""
    runs: list[str]
    """The runs."""
    confidence: float
    """The level of its intervals."""
    labels_sha256: dict[str, str]
    """SHA-256 of the judgments by ``people`` and ``model``."""


def list_earlier(folder: PlanFolder, look: Look) -> list[Look]:
    """Return the estimates of a plan, and of those that it extends, that were made before one.

    Making it again is no further one.

    Raises:
        FormatError: If a line is not an estimate.
        InputError: If the file is a link out of the folder.
    """
    looks = list(read_rows(folder.path / LOOKS_FILE, Look, "an estimate"))
    return looks[: looks.index(look)] if look in looks else looks


def record_look(folder: PlanFolder, look: Look) -> None:
    """Add an estimate to the list of the plan, if the folder can be written."""
    path = folder.path / LOOKS_FILE
    if look not in read_rows(path, Look, "an estimate"):
        with suppress(InputError), closing(AppendedFile(path, "list of estimates", "it")) as file:
            file.append(f"{look.model_dump_json()}\n".encode())


def describe_earlier(earlier: Sequence[Look]) -> list[str]:
    """Return a warning that names the earlier estimates."""
    shown = "; ".join(
        f"{', '.join(look.measures)} of {', '.join(look.runs)} from "
        f"{plural(look.people, 'query', 'queries')} of people"
        for look in earlier
    )
    warning = (
        f"This is estimate {len(earlier) + 1} from the judgments of this plan; before: {shown}. "
        "Intervals do not hold if an earlier estimate decided what people judged, or what is shown."
    )
    return [warning] if earlier else []
