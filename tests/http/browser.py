# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to in the DevTools protocol over two pipes: no port, no other package."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 60  # a guard against hangs, not a measure


class Browser:
    """One browser with one tab. What its page logs or refuses is in `complaints`."""

    def __init__(self):
        from_us, self._to_browser = os.pipe()
        self._from_browser, to_us = os.pipe()
        self._profile = tempfile.mkdtemp(prefix="herdgate-page-")
        # The shell gives the browser the two descriptors under the numbers it asks for, whatever theirs are here.
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "sh", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", f"--user-data-dir={self._profile}",
             "--remote-debugging-pipe"],
            pass_fds=(from_us, to_us), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_us)
        os.close(to_us)
        self._bytes = b""
        self._number = 0
        self.complaints = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _read(self):
        while b"\0" not in self._bytes:
            if not select.select([self._from_browser], [], [], PATIENCE_S)[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._from_browser, 1 << 16)
            if not more:
                raise EOFError("the browser is gone")
            self._bytes += more
        message, self._bytes = self._bytes.split(b"\0", 1)
        return json.loads(message)

    def _call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._hear(answer)

    def _hear(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(event["params"]["exceptionDetails"]["exception"].get("description", "an exception"))
        elif event.get("method") == "Log.entryAdded":
            self.complaints.append(event["params"]["entry"]["text"])

    def call(self, method, **params):
        return self._call(method, **params)

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def open(self, url):
        self.call("Page.navigate", url=url)

    def until(self, script, what):
        """Waits for an expression to be true."""
        end = time.monotonic() + PATIENCE_S
        while not self.run(script):
            if time.monotonic() > end:
                raise AssertionError(f"{what}: still not so after {PATIENCE_S} s; the page says: {self.run('document.body.innerText')}")
            time.sleep(0.05)

    def size(self, width, height, is_phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)

    def scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, text=""):
        params = {"key": key, "code": key, "windowsVirtualKeyCode": {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}.get(key, 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text or {"Enter": "\r", " ": " "}.get(key, ""), **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def shoot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        try:
            self._session = None
            self._call("Browser.close")
        except (EOFError, BrokenPipeError):
            pass  # it went before it could answer
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to_browser)
        os.close(self._from_browser)
        shutil.rmtree(self._profile, ignore_errors=True)
