"""A generated collection of real words, and tasks that search and embed it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measuring import Spent, Task

N_DOCUMENTS = 50_000
N_QUERIES = 2_500
SEED = 50_000

# The time of the calls themselves, without start-up: the process prints its seconds of CPU.
_EMBED = """
import json, sys, time
from trectools_plus.retrieval.index.encoder import TextEncoder
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
texts = ["{title} {text}".format(**json.loads(line)) for line in lines]
encoder = TextEncoder()
encoder.embed_documents(["warm up"])
start = time.perf_counter(), time.process_time()
for at in range(0, len(texts), 2048):
    encoder.embed_documents(texts[at : at + 2048])
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""


@dataclass(frozen=True)
class Collection:
    """Paths of documents and queries."""

    corpus: Path
    topics: Path


def make_collection(
    folder: Path, n_documents: int = N_DOCUMENTS, n_queries: int = N_QUERIES
) -> Collection:
    """Write the files, unless they exist.

    A document is a title and 2 to 30 phrases of names and definitions of the HPO; a query is one
    to three phrases. A phrase is 3 to 8 adjacent words.
    """
    made = Collection(folder / f"corpus-{n_documents}.jsonl", folder / f"topics-{n_queries}.tsv")
    if made.topics.exists():
        return made
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(SEED)
    words = _words()

    def phrases(count: int) -> str:
        starts = random.integers(0, len(words) - 8, count)
        lengths = random.integers(3, 9, count)
        return " ".join(
            " ".join(words[start : start + length])
            for start, length in zip(starts, lengths, strict=True)
        )

    sizes = random.integers(2, 31, n_documents).tolist()
    with made.corpus.open("w", encoding="utf-8") as stream:
        for number, size in enumerate(sizes):
            document = {"doc_id": f"d{number:06}", "title": phrases(1), "text": phrases(size)}
            stream.write(json.dumps(document) + "\n")
    sizes = random.integers(1, 4, n_queries).tolist()
    rows = [f"q{number}\t{phrases(size)}\n" for number, size in enumerate(sizes)]
    made.topics.write_text("".join(rows), encoding="utf-8")
    return made


def _words() -> list[str]:
    from trectools_plus.ontology.ontology import load_ontology

    terms = load_ontology().terms.values()
    texts = (text for term in terms for text in (term.name, term.definition or ""))
    return [word for text in texts for word in text.split()]


def fetch_command(python: str | Path, made: Collection, mode: str, output: Path) -> list[str]:
    """Return the command that fetches one mode with the version of this interpreter.

    The first call with a new ``TRECTOOLS_PLUS_CACHE`` builds the index, so it should not be timed.
    """
    options = {"corpus": made.corpus, "topics": made.topics, "modes": mode, "output-dir": output}
    named = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    return [str(python), "-m", "trectools_plus", "runs", "fetch", *named]


def embedding(python: str | Path, made: Collection) -> Task:
    """A task that embeds all documents, without start-up and reading."""

    def run() -> Spent:
        command = [str(python), "-P", "-c", _EMBED, str(made.corpus)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds, processor_seconds = map(float, done.stdout.split())
        return Spent(seconds, processor_seconds)

    return run
