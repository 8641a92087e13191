"""A browser without a window, driven through a pipe: opens pages, clicks, evaluates, takes pictures."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120.0  # seconds: software draws the view, and other tests run


def program() -> str | None:
    """Path of a browser, if there is one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """One page of a browser; ``errors`` collects complaints of its console and scripts, ``asked`` what it fetched."""

    def __init__(self, width: int = 1400, height: int = 1000, dark: bool = False):
        found = program()
        assert found is not None
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self._write = os.pipe()
        self._read, other = os.pipe()
        os.set_inheritable(theirs, True)
        os.set_inheritable(other, True)
        command = [found, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-dev-shm-usage"]
        command += ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--hide-scrollbars"]
        command += [f"--user-data-dir={self._home.name}", f"--window-size={width},{height}", "about:blank"]

        def as_three_and_four() -> None:
            first, second = os.dup(theirs), os.dup(other)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=as_three_and_four,
        )  # fmt: skip
        os.close(theirs)
        os.close(other)
        self._rest, self._number, self._session = b"", 0, None
        self.errors: list[str] = []
        self.asked: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        if dark:
            self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._home.cleanup()

    def open(self, address: str | Path) -> None:
        """Open a page and wait until it is drawn."""
        url = address if isinstance(address, str) else address.resolve().as_uri()
        self._call("Page.navigate", url=url)
        self.wait("document.documentElement?.dataset.ready || document.documentElement?.dataset.error")
        assert not self.evaluate("document.documentElement.dataset.error ?? ''"), self.errors

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := self.evaluate(expression):
                return found
            time.sleep(0.05)
        raise AssertionError(f"{expression} has not become true; {self.errors}")

    def evaluate(self, expression: str) -> Any:
        """Value of an expression of JavaScript."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def box(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width and height of an element, scrolled into sight."""
        element = f"const e = document.querySelector('{selector}'); e.scrollIntoViewIfNeeded();"
        return self.evaluate(f"{{ {element} const b = e.getBoundingClientRect(); [b.left, b.top, b.width, b.height] }}")

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the left button at a place, move, and release it."""
        for kind, (x, y), buttons in (("mousePressed", start, 1), ("mouseMoved", end, 1), ("mouseReleased", end, 0)):
            button = {"button": "left", "buttons": buttons, "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def picture(self, path: Path | None = None, whole: bool = False) -> bytes:
        """The page as PNG; all of it, or what a window shows."""
        content = base64.b64decode(
            self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
            if not whole
            else self._whole()
        )
        if path is not None:
            path.write_bytes(content)
        return content

    def _whole(self) -> str:
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        return self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event: dict[str, Any]) -> None:
        of = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(of["exceptionDetails"].get("exception", {}).get("description", of)))
        elif event.get("method") == "Log.entryAdded" and of["entry"]["level"] == "error":
            self.errors.append(of["entry"]["text"])
        elif event.get("method") == "Network.requestWillBeSent":
            self.asked.append(of["request"]["url"])
