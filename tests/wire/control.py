# SPDX-License-Identifier: Apache-2.0
"""Sends requests to the control socket: HTTP/1.1 over a unix socket."""
import http.client
import json
import socket
import subprocess
import threading
import time
import urllib.parse

from patience import PATIENCE


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=PATIENCE):
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


SHORTEST_S, LONGEST_S = 0.002, 0.05     # the pauses of wait_until


def wait_until(condition, timeout=PATIENCE, what="condition", interval=None):
    """Polls until condition() is true, and returns its value. what: words for the failure, or a
    function that returns them. interval: seconds between two polls; by default the pauses grow with
    the time that has passed, so that a test that waits for long leaves the processor to the
    daemon."""
    begin = time.monotonic()
    while True:
        result = condition()
        if result:
            return result
        waited = time.monotonic() - begin
        if waited > timeout:
            words = what() if callable(what) else what
            raise AssertionError(f"{words}: not true within {timeout} s")
        time.sleep(interval or min(max(SHORTEST_S, waited / 8), LONGEST_S))


def at_least(seconds, measured):
    """Whether a pause was kept; timers of whole milliseconds may end one millisecond early."""
    return measured >= seconds - 0.005


class Follower:
    """A program that prints a line of JSON for each event: with d.follow(...) as f."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.lines = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(json.loads(line))

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.process.kill()
        self.process.wait()
        self._thread.join(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()

    def wait(self, count, timeout=PATIENCE):
        wait_until(lambda: len(self.lines) >= count, timeout, f"{count} lines")
        return self.lines

    def wait_for(self, predicate, timeout=PATIENCE):
        """Waits for the first line that fits, and returns it."""
        return wait_until(lambda: [line for line in list(self.lines) if predicate(line)][:1],
                          timeout, "a line")[0]

    def wait_end(self, timeout=PATIENCE):
        """(exit code, text on stderr), once the program has ended by itself."""
        code = self.process.wait(timeout)
        self._thread.join(PATIENCE)
        return code, self.process.stderr.read()


class Control:
    """The HTTP API (/v1) of one daemon."""

    def __init__(self, path):
        self.path = path

    def ask(self, target, method="GET", body=None):
        """(status, headers, body bytes) of a request."""
        conn = UnixConnection(self.path)
        try:
            conn.request(method, target, body=body)
            response = conn.getresponse()
            return response.status, response.headers, response.read()
        finally:
            conn.close()

    def get(self, target):
        status, _headers, body = self.ask(target)
        assert status == 200, f"GET {target}: {status} {body[:300]!r}"
        return json.loads(body)

    def post(self, target, status=202):
        got, _headers, body = self.ask(target, "POST")
        assert got == status, f"POST {target}: {got} {body[:300]!r}"
        return json.loads(body)

    def verify(self, name, timeout=PATIENCE):
        """Starts a comparison of this watch with the server, and returns its result."""
        target = f"/v1/watches/{name}/verify"
        number = self.post(target)["number"]

        def done():
            result = self.get(target)
            return result if result["number"] >= number else None
        return wait_until(done, timeout, f"result {number} of {target}")

    def status(self):
        return self.get("/v1/status")

    def watch(self, name):
        return self.status()["watches"][name]

    def hook(self, name):
        return self.status()["hooks"][name]

    def objects(self, name, key=None):
        """The cached objects, or the object of a key; None when there is no such key."""
        target = f"/v1/sources/{name}/objects"
        if key is None:
            return self.get(target)
        status, _headers, body = self.ask(f"{target}/{urllib.parse.quote(key)}")
        assert status in (200, 404), body
        return json.loads(body) if status == 200 else None

    def keys(self, name):
        return [key_of(obj) for obj in self.objects(name)]

    def alive(self):
        try:
            self.ask("/v1/status")
            return True
        except (OSError, http.client.HTTPException):
            return False

    def wait_watch(self, name, timeout=PATIENCE, **wanted):
        """Waits until the watch shows these values: wait_watch("w", state="watching")."""
        def fits():
            now = self.watch(name)
            return now if all(now.get(k) == v for k, v in wanted.items()) else None
        try:
            return wait_until(fits, timeout)
        except AssertionError:
            raise AssertionError(f"watch {name}: {self.watch(name)}, wanted {wanted}") from None

    def wait_synced(self, *names, timeout=PATIENCE):
        def all_synced():
            watches = self.status()["watches"]
            return all(watches[n]["synced"] for n in names or watches)
        try:
            wait_until(all_synced, timeout)
        except AssertionError:
            raise AssertionError(f"not synced: {self.status()['watches']}") from None

    def _waits(self, hook):
        return self.get(f"/v1/hooks/{hook}/why")["units"][0]["reason"] != "handled"

    def wait_idle(self, timeout=PATIENCE):
        """Waits until no hook runs and no key is pending. Hooks begin only when the daemon has read
        their programs, and before that nothing counts as pending. So until the daemon is ready,
        idle means in addition that some hook says what it waits for."""
        def busy(now):
            return any(h["pending"] > 0 or h["running"] > 0 for h in now["hooks"].values())

        def idle():
            now = self.status()
            if busy(now) or now["ready"]:
                return not busy(now)
            if not any(self._waits(name) for name in now["hooks"]):
                return False
            return not busy(self.status())  # hooks may have begun between the two answers
        try:
            wait_until(idle, timeout)
        except AssertionError:
            raise AssertionError(f"not idle: {self.status()['hooks']}") from None


def key_of(obj):
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]
