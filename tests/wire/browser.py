# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by its DevTools protocol over two pipes: JSON objects with a 0 behind
each. Chromium is told to resolve no name, so that it reaches this machine only."""
import base64
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading

import png
from control import PATIENCE, wait_until

FLAGS = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


def program():
    return shutil.which("chromium")


class Browser:
    """One Chromium with one page. Its events are kept: requests, complaints."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ifd-browser-")
        down, self._out = os.pipe()
        self._in, up = os.pipe()
        # Chromium reads from 3 and writes to 4; above 9 no descriptor is in the way.
        down, up = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (down, up)]
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec "$@" 3<&{down} 4>&{up}', "bash", program(), *FLAGS,
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(down, up), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": self.folder, "TZ": "UTC"})
        os.close(down)
        os.close(up)
        self._numbers = itertools.count(1)
        self._answers = {}
        self._changed = threading.Condition()
        self._ended = False
        self.events = []
        threading.Thread(target=self._read, daemon=True).start()
        target = self._send("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self._send("Target.attachToTarget",
                                  {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def _read(self):
        rest = b""
        while data := os.read(self._in, 1 << 20):
            *texts, rest = (rest + data).split(b"\0")
            with self._changed:
                for text in texts:
                    message = json.loads(text)
                    if "id" in message:
                        self._answers[message["id"]] = message
                    else:
                        self.events.append(message)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _send(self, method, params, **more):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params, **more}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        with self._changed:
            assert self._changed.wait_for(lambda: number in self._answers or self._ended, PATIENCE), method
        answer = self._answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def call(self, method, **params):
        return self._send(method, params, sessionId=self.session)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._out)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The page

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'", f"{url} is loaded")

    def js(self, expression):
        """The value of an expression, which may be a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, expression, what=None, **more):
        wait_until(lambda: self.js(expression), what=what or expression, **more)

    def text(self, selector):
        """The text of the first such element that a person sees; None = there is none."""
        return self.js(f"document.querySelector({json.dumps(selector)})?.innerText")

    def look(self, width=1280, height=900, dark=False, mobile=False):
        """The size of the window, and the colours that the person prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def key(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "")

    def shoot(self, path):
        """A PNG of the window."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(png.small(data))

    # Its events

    def requests(self):
        """The URLs of all requests so far."""
        return [event["params"]["request"]["url"] for event in list(self.events)
                if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """The lines in the console: warnings, errors, exceptions, and requests that the policy has blocked."""
        found = []
        for event in list(self.events):
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(str([arg.get("value") for arg in params["args"]]))
            elif event["method"] == "Log.entryAdded":
                found.append(params["entry"]["text"])
        return found
