"""The fix of files whose columns are separated by something else than blanks, or quoted (R103)."""

from __future__ import annotations

import csv
from io import StringIO

from trectools_plus.validation.fixes.draft import Draft
from trectools_plus.validation.fixes.job import Job
from trectools_plus.validation.rules.run_columns import DELIMITERS


def split_at_delimiter(draft: Draft, job: Job) -> Draft:
    """Write blanks for the delimiter, and take off quotes (R103)."""
    shape = draft.view.shape
    if shape.verdict != "other-format" or "R103" not in job.asked:
        return draft
    delimiter = DELIMITERS.get(shape.format or "")
    if delimiter is None:
        job.skip("R103", f"{shape.format}: convert it with the program that wrote it")
        return draft
    text = draft.data.decode()
    if delimiter == " " and '","' in text.partition("\n")[0]:
        delimiter = ","
    lines = []
    try:
        for fields in csv.reader(StringIO(text, newline="\n"), delimiter=delimiter, strict=True):
            stripped = [field.strip() for field in fields]
            if any(len(field.split()) != 1 for field in stripped):
                job.skip("R103", f"an empty field, or a blank inside of one: {fields}")
                return draft
            lines.append(" ".join(stripped))
    except csv.Error as error:
        job.skip("R103", f"its quotes are not in order ({error})")
        return draft
    if len(lines) != len(text.splitlines()):
        job.skip("R103", "a quoted field holds a line end")
        return draft
    job.done("R103", len(lines))
    return draft.replaced(("\n".join(lines) + "\n").encode(), None)
