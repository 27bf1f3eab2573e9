"""A headless Chromium, controlled through its driver with the WebDriver protocol, to test goodputd's page."""

import atexit
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...cluster.ports import reserve

WAIT_S = 60.0


def needs_chromium() -> None:
    """Skips a test if there is no browser: Ubuntu's package fetches a snap, which fails on a host without snapd."""
    path = shutil.which("chromedriver")
    if path is None:
        raise unittest.SkipTest("no chromedriver here (tools/deps test)")
    with open(path, "rb") as file:
        start = file.read(4096)
    if start.startswith(b"#!") and b"snap" in start and not os.path.exists("/snap/bin/chromium"):
        raise unittest.SkipTest("chromium is a snap here, and not installed (snap install chromium)")


class Browser:
    """dark: the user prefers dark colors. errors: all errors of the page's own script."""

    _running: Dict[Tuple[int, bool], "Browser"] = {}

    @classmethod
    def blank(cls, width: int, dark: bool = False) -> "Browser":
        """One that shows nothing, and that earlier tests of this process may have used, because a start takes seconds."""
        browser = cls._running.get((width, dark))
        if browser is None:
            browser = cls._running[(width, dark)] = cls(width, 900, dark)
            atexit.register(browser.close)
        browser.open("about:blank")
        browser.errors()
        return browser

    def __init__(self, width: int, height: int, dark: bool = False) -> None:
        needs_chromium()
        self.folder = tempfile.mkdtemp(prefix="goodput-browser-")
        (port,), lock = reserve(1)
        self.driver = subprocess.Popen(["chromedriver", "--port=%d" % port, "--log-path=%s" % os.path.join(self.folder, "log")],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True, env=dict(os.environ, HOME=self.folder))
        self.url = "http://127.0.0.1:%d" % port
        self.session = ""
        try:
            self.start(width, height, dark)
        except BaseException:
            self.close()
            raise
        finally:
            lock.close()

    def start(self, width: int, height: int, dark: bool) -> None:
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
                "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                "--user-data-dir=" + os.path.join(self.folder, "profile"), "--window-size=%d,%d" % (width, height)]
        capabilities = {"alwaysMatch": {"goog:chromeOptions": {"args": args, "binary": shutil.which("chromium") or "chromium"},
                                        "goog:loggingPrefs": {"browser": "ALL"}}}
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                answer = self.call("POST", "/session", {"capabilities": capabilities})
                break
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        self.session = "/session/" + answer["sessionId"]
        # A window is at least 500 pixels wide; the page's viewport may be narrower.
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def call(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:2000]) from error

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url: str) -> None:
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script: str, *args: Any) -> Any:
        """The result of the function body `script` in the page."""
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def wait(self, script: str, what: str = "", good: Callable[[Any], bool] = bool) -> Any:
        """Waits until `script` returns a true value."""
        deadline = time.monotonic() + WAIT_S
        while True:
            value = self.run(script)
            if good(value):
                return value
            if time.monotonic() > deadline:
                raise AssertionError("%s: %r\n%s\n%s" % (what or script, value, self.text(), self.errors()))
            time.sleep(0.1)

    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def keys(self, *keys: str) -> None:
        """Presses each key, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def errors(self) -> List[str]:
        return [entry["message"] for entry in self.call("POST", self.session + "/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE"]

    def picture(self, path: str) -> None:
        """The whole page, at its full height."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return document.documentElement.clientWidth")
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True,
                             clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def close(self) -> None:
        if self.session:
            try:
                self.call("DELETE", self.session)
            except (OSError, RuntimeError):
                pass
        try:
            os.killpg(self.driver.pid, 9)
        except ProcessLookupError:
            pass
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
