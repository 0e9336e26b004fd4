"""Check the figures that the Markdown or the page of another version shows.

Another version writes other sentences and tables, so they cannot be compared byte for byte. Each
table of measures and modes must show the means of the report, with their intervals. Every other
number with a decimal point must be the rounded form of a number of the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

from trectools_plus.benchmark.report import BenchmarkReport
from trectools_plus.statistics.comparison import ends_of

_DECIMAL = re.compile(r"(?<![\w.])[-−+]?\d+\.\d+(?![\w.]*\.\d)")
_TAG = re.compile(r"<[^>]*>")
_MARKUP = re.compile(r"[*`_\\]")
_SKIPPED = {"script", "style", "svg", "head"}
_BLOCKS = {"p", "li", "dd", "dt", "h1", "h2", "h3", "h4", "caption", "summary", "pre", "figcaption"}

Row = tuple[int, list[str]]
"""A line of the source, and the texts of its cells."""


def find_false_claims(text: str, report: BenchmarkReport, *, is_page: bool) -> Iterator[str]:
    """Yield location and content of each figure that is not one of the report.

    Args:
        text: The Markdown, or the page.
        report: The report, made again.
        is_page: True for the page.
    """
    rows = _read_page(text) if is_page else _read_markdown(text)
    known = _Numbers(report.model_dump(mode="json"))
    heading: list[str] = []
    for line, cells in rows:
        expected = _expect(report, heading, cells)
        if len(cells) > 1 and not any(_DECIMAL.search(cell) for cell in cells):
            heading = cells
        for place, cell in enumerate(cells):
            shown = [match.group().replace("−", "-") for match in _DECIMAL.finditer(cell)]
            figures = expected.get(place)
            for number in shown:
                if figures is not None and not _is_one_of(number, figures):
                    yield f"line {line}: {number} is not a figure of {cells[0]} in this column"
                    break
                if figures is None and number not in known:
                    yield f"line {line}: {number} is not a figure of the report"


def _expect(
    report: BenchmarkReport, heading: Sequence[str], cells: Sequence[str]
) -> dict[int, list[float]]:
    """Return by column the figures of a row of a table of measures and modes."""
    if len(heading) != len(cells):
        return {}
    labels = {result.label: mode for mode, result in report.modes.items()}
    by_measure = set(labels) <= set(heading)
    if not by_measure and heading[1:2] != report.measure_names[:1]:
        return {}
    found = {}
    for place, name in enumerate(heading):
        measure, label = (cells[0], name) if by_measure else (name, cells[0])
        mode = labels.get(label)
        if mode is not None and measure in report.modes[mode].measures:
            figures = report.modes[mode].measures[measure]
            values = [figures.mean, figures.median, figures.std, *ends_of(figures.ci)]
            found[place] = [value for value in values if value is not None]
    return found


def _is_one_of(number: str, values: Sequence[float]) -> bool:
    decimals = len(number.partition(".")[2])
    return any(
        abs(float(number) - scale * value) <= 0.51 * 10**-decimals
        for value in values
        for scale in (1, 100)
    )


class _Numbers:
    """The numbers of a document, and those in its texts, by their rounded forms."""

    def __init__(self, document: Any) -> None:
        values = {abs(value) for value in _list_numbers(document)}
        self._values = sorted({*values, *(100 * value for value in values)})
        self._rounded: dict[int, set[int]] = {}

    def __contains__(self, number: str) -> bool:
        decimals = len(number.partition(".")[2])
        if decimals not in self._rounded:
            size = 10.0**decimals
            self._rounded[decimals] = {
                nearest
                for value in self._values
                for nearest in (int(value * size), int(value * size) + 1)
            }
        return round(abs(float(number)) * 10.0**decimals) in self._rounded[decimals]


def _list_numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _list_numbers(key)
            yield from _list_numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_numbers(item)
    elif isinstance(value, str):
        yield from (float(found) for found in re.findall(r"\d+\.\d+|\d+", value) if len(found) < 18)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def _read_markdown(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|")) if line.startswith("|") else [line]
        if not all(re.fullmatch(r"\s*:?-+:?\s*", cell) for cell in cells):
            yield number, [_strip(cell) for cell in cells]


def _strip(cell: str) -> str:
    return " ".join(_MARKUP.sub("", _TAG.sub(" ", cell)).split())


def _read_page(text: str) -> Iterator[Row]:
    reader = _PageReader()
    reader.feed(text)
    reader.close()
    return iter(reader.rows)


class _PageReader(HTMLParser):
    """Collects the rows of tables, and blocks of text."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self._skipped = 0
        self._cells: list[str] | None = None
        self._block: list[str] = []
        self._line = 1

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        if tag in _SKIPPED:
            self._skipped += 1
        elif tag == "tr":
            self._flush()
            self._cells, self._line = [], self.getpos()[0]
        elif tag in ("td", "th") and self._cells is not None:
            self._cells.append("")
        elif tag in _BLOCKS and self._cells is None:
            self._flush()
            self._line = self.getpos()[0]

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped -= 1
        elif tag == "tr" and self._cells is not None:
            self.rows.append((self._line, [" ".join(cell.split()) for cell in self._cells]))
            self._cells = None
        elif tag in _BLOCKS and self._cells is None:
            self._flush()

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        if self._cells:
            self._cells[-1] += f" {data}"
        elif self._cells is None:
            self._block.append(data)

    def _flush(self) -> None:
        text = " ".join(" ".join(self._block).split())
        if text:
            self.rows.append((self._line, [text]))
        self._block = []
