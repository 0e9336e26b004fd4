"""A server that speaks the protocol of chat completions, and misbehaves as a script says.

It judges by the share of the query's words that the document has. A test gives it reactions for
some documents. As a program (``python scripted_server.py PORT FOLDER``), it stands in for the local
model of a tutorial: it knows the judgments of the sample data, errs now and then, and answers some
requests badly.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_TEXT = re.compile(r"<(query|document)-([0-9a-f]+)>\n(.*?)\n</\1-\2>", re.DOTALL)


def read_texts(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the query and the document of a request."""
    content = body["messages"][-1]["content"]
    found = {kind: text for kind, _, text in _TEXT.findall(content)}
    assert found.keys() == {"query", "document"}, content
    return found


def _stems(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def grade(query: str, document: str) -> int:
    """Grade a document by the share of the query's longer words that it has."""
    words = _stems(query)
    share = len(words & _stems(document)) / max(len(words), 1)
    return sum(share >= least for least in (0.4, 0.6, 0.8))


def read_sample(folder: Path) -> Callable[[str, str], int]:
    """Return a function that knows the qrels of a folder, and errs for one document of ten."""
    corpus = map(json.loads, (folder / "corpus.jsonl").read_text("utf-8").splitlines())
    documents = {f"{one['title']}\n{one['text']}": one["doc_id"] for one in corpus}
    topics = (folder / "topics.tsv").read_text("utf-8").splitlines()
    queries = {text: query_id for query_id, text in (line.split("\t")[:2] for line in topics)}
    rows = [line.split() for line in (folder / "qrels.txt").read_text("utf-8").splitlines()]
    grades = {(row[0], row[2]): int(row[3]) for row in rows}

    def judge(query: str, document: str) -> int:
        digest = _digest(query, document)
        known = grades.get((queries[query], documents[document]), 0)
        return digest // 10 % 4 if digest % 10 == 0 else known

    return judge


def _digest(query: str, document: str) -> int:
    return int(hashlib.sha256(f"{query}\0{document}".encode()).hexdigest(), 16)


def completion(content: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """Return a chat completion."""
    return {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }


class Handler(BaseHTTPRequestHandler):
    """Answers one request as the script says."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = read_texts(body)
        reaction = self.server.record(self.path, dict(self.headers), body, texts)
        time.sleep(self.server.delay)
        right = json.dumps({"reason": "It says so.", "grade": self.server.judge(**texts)})
        if reaction is None:
            self.send(completion(right))
        else:
            REACTIONS[reaction](self, right)

    def send(
        self, document: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send JSON, or a text as it is."""
        is_text = isinstance(document, str)
        content = (document if is_text else json.dumps(document)).encode()
        self.send_response(status)
        self.send_header("content-type", "text/html" if is_text else "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def close_connection_now(self, seconds: float = 0.0) -> None:
        """Close the connection without an answer, perhaps after some time."""
        time.sleep(seconds)
        self.close_connection = True

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "server_error"}}


REACTIONS: dict[str, Callable[[Handler, str], None]] = {
    "malformed answer": lambda one, right: one.send(completion(right[:-1])),
    "words": lambda one, _: one.send(completion("The document is relevant, so I give it a 3.")),
    "refusal": lambda one, _: one.send(completion(None, refusal="I cannot judge this.")),
    "grade 7": lambda one, _: one.send(completion('{"grade": 7}')),
    "two grades": lambda one, _: one.send(completion('{"grade": 1} or {"grade": 2}')),
    "obedient": lambda one, _: one.send(completion("3")),
    "empty": lambda one, _: one.send(completion("")),
    "cut off": lambda one, right: one.send(completion(right, "length")),
    "fence": lambda one, right: one.send(completion(f"```json\n{right}\n```")),
    "reasoning": lambda one, right: one.send(
        completion(right, reasoning_content='Maybe {"grade": 0}?')
    ),
    "thoughts": lambda one, right: one.send(
        completion(f'<think>Maybe {{"grade": 0}}?</think>\n{right}')
    ),
    "endless thoughts": lambda one, right: one.send(completion(f"<think>{right}")),
    "no choices": lambda one, _: one.send({"choices": []}),
    "error in 200": lambda one, _: one.send(_error("the model is not loaded")),
    "html": lambda one, _: one.send("<html>Bad gateway</html>"),
    "malformed json": lambda one, _: one.send('{"choices": ['),
    "429": lambda one, _: one.send(_error("slow down"), 429, {"retry-after": "1"}),
    "500": lambda one, _: one.send(_error("out of memory"), 500),
    "400": lambda one, _: one.send(_error("the context is too long"), 400),
    "401": lambda one, _: one.send(_error(f"no such key: {one.headers['authorization']}"), 401),
    "closed": lambda one, _: one.close_connection_now(),
    "timeout": lambda one, _: one.close_connection_now(seconds=3),
}
"""What the server can do instead of a right answer."""
PASSING = {3: "429", 10: "malformed json", 17: "html", 24: "500", 31: "closed", 38: "timeout"}
"""Reactions of a misbehaving server to some requests, by their number."""
UNUSABLE = ("words", "refusal", "malformed answer")
_ONE_IN = 40


class Server(ThreadingHTTPServer):
    """A scripted server.

    Args:
        port: The port; 0 for a free one.
        script: Reactions by a word that occurs in the document, one for each attempt; after the
            last one, answers are right. ``always`` at the end repeats the one before.
        delay: Seconds before each answer.
    """

    daemon_threads = True

    def __init__(
        self,
        port: int = 0,
        script: Mapping[str, Sequence[str]] | None = None,
        delay: float = 0.0,
    ) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script = dict(script or {})
        self.delay = delay
        self.judge: Callable[[str, str], int] = grade
        self.misbehaves = False
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.asked: list[tuple[str, str]] = []
        self._attempts: dict[str, int] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def record(
        self, path: str, headers: dict[str, str], body: dict[str, Any], texts: dict[str, str]
    ) -> str | None:
        """Record a request, and return its reaction."""
        with self._lock:
            self.requests.append((path, headers, body))
            self.asked.append((texts["query"], texts["document"]))
            if self.misbehaves:
                return self._misbehave(texts)
            for word, reactions in self.script.items():
                if word in texts["document"]:
                    attempt = self._attempts[word] = self._attempts.get(word, -1) + 1
                    if reactions[-1] == "always":
                        return reactions[min(attempt, len(reactions) - 2)]
                    return reactions[attempt] if attempt < len(reactions) else None
        return None

    def _misbehave(self, texts: dict[str, str]) -> str | None:
        """Return a reaction to this request: one that passes, or one that depends on the texts."""
        if (reaction := PASSING.get(len(self.requests))) is not None:
            return reaction
        digest = _digest(texts["document"], texts["query"])
        return None if digest % _ONE_IN else UNUSABLE[digest // _ONE_IN % len(UNUSABLE)]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that leave."""


@contextmanager
def serve(script: Mapping[str, Sequence[str]] | None = None, **options: Any) -> Iterator[Server]:
    """Run a server in a thread."""
    with Server(script=script, **options) as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def main() -> None:
    """Run a server until the process ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    with Server(given.port) as server:
        server.judge = read_sample(given.folder)
        server.misbehaves = True
        server.serve_forever()


if __name__ == "__main__":
    main()
