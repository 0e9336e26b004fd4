"""A headless Chromium, driven through two pipes by the DevTools protocol: no driver, no port."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

SECONDS = 30.0
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)


def refuse(reason):
    """Skip, or fail where a browser is required."""
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


class Page:
    """One tab: opens files, runs scripts, and keeps what the console said."""

    def __init__(self, profile, program):
        from_browser, to_pipe = os.pipe()
        from_pipe, to_browser = os.pipe()
        command = [program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        # The browser reads descriptor 3 and writes descriptor 4.
        shell = f'exec "$@" 3<&{from_pipe} 4>&{to_pipe}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(from_pipe, to_pipe),
            stderr=subprocess.DEVNULL,
        )
        os.close(from_pipe)
        os.close(to_pipe)
        self._pipes = (from_browser, to_browser)
        self._received = b""
        self._calls = 0
        self._session = None
        self.problems = []
        self.requests = []
        (tab,) = (
            target["targetId"]
            for target in self.call("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        )
        attached = self.call("Target.attachToTarget", targetId=tab, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(self, path, width=1440, height=900):
        """Load a file into a window of this size; forget what was said before."""
        self.resize(width, height)
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def resize(self, width, height=900):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def prefer(self, **features):
        """Set media features, such as ``prefers_color_scheme="dark"``."""
        named = [{"name": key.replace("_", "-"), "value": value} for key, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=named)

    def run(self, script):
        """The value of an expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key, code, number, text=""):
        """Press and release a key."""
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def wait_for(self, condition):
        end = time.monotonic() + SECONDS
        while not self.run(condition):
            assert time.monotonic() < end, f"never came true: {condition}"
            time.sleep(0.02)

    def call(self, method, **parameters):
        """One command of the protocol; its result."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._calls:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def close(self):
        with contextlib.suppress(AssertionError, OSError):
            self._session = None
            self.call("Browser.close")
        for pipe in self._pipes:
            os.close(pipe)
        self.process.wait(timeout=SECONDS)

    def _write(self, message):
        while message:
            message = message[os.write(self._pipes[1], message) :]

    def _receive(self):
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._pipes[0]], [], [], SECONDS)
            assert ready, "the browser does not answer"
            piece = os.read(self._pipes[0], 1 << 20)
            assert piece, "the browser has ended"
            self._received += piece
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        details = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.problems.append(str(details["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning", "assert"):
                self.problems.append(str(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                self.problems.append(details["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(details["request"]["url"])


@pytest.fixture(scope="session")
def page(tmp_path_factory):
    """A browser of its own, with an empty profile."""
    program = shutil.which("chromium")
    if program is None:
        refuse("no chromium on the PATH: install the package chromium")
        raise AssertionError("unreachable")
    tab = Page(tmp_path_factory.mktemp("profile"), program)
    yield tab
    tab.close()


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, from the folder of its npm package that ``AXE_CORE`` names."""
    path = Path(os.environ.get("AXE_CORE", "")) / "axe.min.js"
    if not path.is_file():
        refuse("no axe.min.js: set AXE_CORE to the unpacked npm package axe-core")
    return path.read_text(encoding="utf-8")
