"""Options of other tools that work here too; help and completion do not list them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from trectools_plus.cli.verbosity import note_later

ALIASES = {"--model-name": "--embedding-model", "--model": "--embedding-model"}
"""The options that these stand for, with the same value."""
DEVICES = {"--gpu": "cuda", "--cpu": "cpu"}
"""Flags that stand for a value of ``--device``."""


def replace_aliases(words: Sequence[str], known: Collection[str]) -> list[str]:
    """Replace options of other tools by the options of a command.

    ``--gpu`` is left out, with a note, on a machine without a GPU.

    Args:
        words: The command line after the command's name.
        known: The options of the command. An alias that is one of them is not replaced.
    """
    end = words.index("--") if "--" in words else len(words)
    return [*_replaced(words[:end], known), *words[end:]]


def _replaced(words: Sequence[str], known: Collection[str]) -> Iterator[str]:
    for word in words:
        name, equals, value = word.partition("=")
        option = ALIASES.get(name)
        if name in known:
            yield word
        elif option in known:
            yield f"{option}{equals}{value}"
        elif word in DEVICES and "--device" in known:
            yield from _device(DEVICES[word])
        else:
            yield word


def _device(name: str) -> Sequence[str]:
    if name == "cuda":
        from trectools_plus.retrieval import has_cuda

        if not has_cuda():
            note_later("no GPU found; models run on the CPU")
            return []
    return ["--device", name]
