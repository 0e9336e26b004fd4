"""The option ``--sign``, and the passphrase of its key."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from trectools_plus.choices import Panel
from trectools_plus.errors import UsageError

PASSPHRASE = "TRECTOOLS_PLUS_PASSPHRASE"
SignKey = Annotated[
    Path | None,
    typer.Option(
        "--sign",
        metavar="KEY",
        help="Sign the folder with this SSH private key: write SHA256SUMS.sig. A passphrase is "
        f"asked for, or read from {PASSPHRASE}. Needs the extra 'sign'.",
        rich_help_panel=Panel.WORK,
    ),
]


def ask_passphrase() -> str:
    """Return the passphrase of a key, from the environment or the terminal.

    Raises:
        UsageError: If there is neither.
    """
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not sys.stdin.isatty():
        raise UsageError(
            "the private key has a passphrase", where="--sign", remedy=f"set {PASSPHRASE}"
        )
    answer: str = typer.prompt("Passphrase", hide_input=True, err=True)
    return answer
