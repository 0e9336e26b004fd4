"""A retriever that ranks the documents of the garden collection by the letters of a text."""

from pathlib import Path

CALLS = Path("calls.txt").absolute()


def search(text, depth):
    with CALLS.open("a", encoding="utf-8") as calls:
        calls.write(f"{text}\n")
    found = {f"g{number:02}": text.count(chr(96 + number)) for number in range(1, 21)}
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:depth]
