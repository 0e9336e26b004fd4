"""Tables in LaTeX compile, whatever the names of systems."""

import re
import subprocess

import pytest

from trectools_plus.errors import UsageError
from trectools_plus.reporting import Layout, table_as_text
from trectools_plus.reporting.document import escape_latex

ODD = (
    r"50% of {a}_b & $x$ #1 ~^ \input{x} | <b>",
    "naïve Ærø Łódź Dvořák Ångström ß ő ệ",
    "α-nDCG β λ Ω ω ϑ, 検索, 🔎, e\u0301, \u200b",
    "a--b ---c ''d'' ,,e,, `f` ?` \" * [g] x² H₂ …“”‘’",
    "[first] *",
    "\\",
)


def compile_tables(pdflatex, folder, tables):
    """Compile tables in one document and return the log; every error fails."""
    body = "\n".join(tables)
    (folder / "paper.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
        f"See Table~\\ref{{tab:main_1}}.\n{body}\n\\end{{document}}\n",
        "utf-8",
    )
    command = [pdflatex, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(2):  # the second time, the reference is known
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=120,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, done.stdout[-3000:]
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF")
    return (folder / "paper.log").read_text("utf-8", "replace")


@pytest.mark.process
def test_tables_compile_with_odd_names(make_report, tmp_path, pdflatex):
    modes = {f"m{place}": {"nDCG@10": 0.1 * place, "MeanRank": 9.5 + place} for place in range(6)}
    report = make_report(modes)
    named = {
        mode: result.model_copy(update={"label": label})
        for (mode, result), label in zip(report.modes.items(), ODD, strict=True)
    }
    report = report.model_copy(update={"modes": named})
    rows = Layout("rows", label="tab:main_1", caption=r"\emph{Odd} names")
    tables = [
        table_as_text(report, "latex", layout=rows),
        table_as_text(report, "latex", layout=Layout("columns", 2, "50% of $5 & more_")),
        table_as_text(make_report(modes, groups={}), "latex"),
    ]
    assert all(r"\textsuperscript" in one and r"\textbf" in one for one in tables)
    log = compile_tables(pdflatex, tmp_path, tables)
    assert "undefined" not in log
    assert not re.search("Missing character|not set up", log)


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a_b & 5%", r"a\_b \& 5\%"),
        (
            r"\input{x} $y$ #1 <b>",
            r"\textbackslash{}input\{x\} \$y\$ \#1 \textless{}b\textgreater{}",
        ),
        ("é ñ ü ő Å", "é ñ ü ő Å"),
        ("e\u0301", "é"),
        ("Δ ≤ α", r"\(\Delta\) \(\leq\) U+03B1"),
        ("検 🔎", "U+691C U+1F50E"),
        ("a\n  b\x07", "a bU+0007"),
        ("–", "--"),
    ],
)
def test_text_is_escaped(text, latex):
    assert escape_latex(text) == latex


def test_caption_and_label_are_in_the_table(make_report):
    table = make_report()
    text = table_as_text(table, "latex", layout=Layout(caption="50% better", label="tab:x-1"))
    assert "\\caption{50\\% better}\n  \\label{tab:x-1}\n" in text
    assert r"\label" not in table_as_text(table, "latex")
    cited = table_as_text(table, "latex", layout=Layout(caption=r"See \cite{a_b}"))
    assert r"\caption{See \cite{a_b}}" in cited


def test_decimals_are_limited():
    with pytest.raises(UsageError, match="expected decimals between 0 and 12 but got -1"):
        Layout(decimals=-1)
