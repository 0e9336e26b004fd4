"""A retrieval service to test with, a process of its own: it fails, stalls and dies on demand.

What it does with a query, the query's text says: ``fail 503 2`` answers 503 to its first two
requests, ``wait 2`` adds ``Retry-After: 2`` to them, ``stall 5`` sleeps for as many seconds,
``limit 5`` returns at most five of the documents that ``total`` counts,
``drop`` closes the connection, ``die`` ends the process; any other text is answered at once. Every
query that arrives is a line of the log, written before it is answered.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
import zlib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOG, DELAY, KEY = sys.argv[1], float(sys.argv[2]), sys.argv[3]
DOCUMENTS = 40
CHUNKS = 5
lock = threading.Lock()
seen: Counter[str] = Counter()
log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def segments(mode: str, text: str, top_k: int) -> list[dict[str, Any]]:
    """Chunks by falling score; the scores are hashes of mode, text and chunk."""
    scored = []
    for number in range(DOCUMENTS):
        for chunk in range(CHUNKS if mode == "chunks" else 1):
            name = f"d{number}#{chunk}" if mode == "chunks" else f"d{number}"
            score = zlib.crc32(f"{mode} {text} {name}".encode()) / 2**32
            # A few documents hold all the best chunks.
            scored.append((score + (number < 3), name))
    scored.sort(reverse=True)
    return [{"segment_id": name, "score": score} for score, name in scored[:top_k]]


def limit_of(text: str) -> int | None:
    found = re.search(r"limit (\d+)", text)
    return None if found is None else int(found[1])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        given = self.headers.get("X-API-Key", "")
        if KEY and given != KEY:
            self.answer(401, {"error": f"the key {given} is not valid"})
            return
        for query in body["queries"]:
            line = f"{query['query_id']}\t{query['top_k']}\t{time.monotonic()}\n"
            os.write(log, line.encode())
        time.sleep(DELAY)
        for query in body["queries"]:
            if self.misbehave(query["query_id"], query["query_text"]):
                return
        results = [
            {
                "query_id": query["query_id"],
                "segments": segments(body["mode"], query["query_text"], query["top_k"])[
                    : limit_of(query["query_text"])
                ],
                "total": DOCUMENTS,
                "diagnostics": {"asked": query["top_k"], "key": given},
            }
            for query in body["queries"]
            if query["query_text"] != "forget"
        ]
        self.answer(200, {"results": results})

    def misbehave(self, query_id: str, text: str) -> bool:
        with lock:
            seen[query_id] += 1
        words = dict(re.findall(r"(fail|wait|stall) (\S+)", text))
        times = int((re.search(r"fail \d+ (\d+)", text) or ["", "0"])[1])
        if "fail" in words and seen[query_id] <= times:
            headers = {"Retry-After": words["wait"]} if "wait" in words else {}
            message = {"error": f"no, not with {self.headers.get('X-API-Key')}"}
            self.answer(int(words["fail"]), message, headers)
            return True
        if "stall" in words:
            time.sleep(float(words["stall"]))
        if text == "die":
            os._exit(1)
        if text == "drop":
            self.close_connection = True
            return True
        return False

    def answer(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
