# SPDX-License-Identifier: Apache-2.0
"""Makes the screens of the documents: the real daemon is brought into a situation, and the real
informerctl shows it in a terminal of 80 columns. `screens.py --write` puts the screens into
docs/screens and docs/runbook.md; test_screens.py makes them anew and compares.

Ages, times, ports, process numbers and folders differ from run to run. Fixed is the one place that
gives them a fixed value, between the daemon and informerctl, so that the tables fit their text."""
import contextlib
import fcntl
import html
import json
import os
import pathlib
import pty
import re
import socketserver
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from datetime import datetime, timedelta, timezone

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from control import PATIENCE, Control  # noqa: E402
from harness import INFORMERCTL, ROOT  # noqa: E402

ROWS, COLUMNS = 24, 80
FOLDER = ROOT / "docs" / "screens"
RUNBOOK = ROOT / "docs" / "runbook.md"
BLOCK = re.compile(r"<!-- screen: (\S+) -->\n```text\n.*?```\n<!-- end -->\n", re.S)


# ---- Values that differ from run to run

class Fixed:
    """Fixed values for all that differs from run to run, in answers and in texts."""

    # Members of answers. A time is so many seconds from now; its table shows whole minutes or hours.
    NUMBERS = {"pid": 811, "contact_age_s": 2, "last_event_age_s": 40, "last_bookmark_age_s": 20,
               "state_age_s": 9000, "failed_age_s": 40, "oldest_pending_s": 390,
               "latency_p50_s": 0.021, "latency_p99_s": 0.048, "took_s": 0.021, "cpu_s": 0.004,
               "resource_version": "48213", "run": 31}
    TIMES = {"started": -3.5 * 3600, "last_success": -210, "ended": -210, "received": -210,
             "since": -390, "until": 3.5 * 3600, "creationTimestamp": -9000,
             "credential_expires": 300.5 * 86400}

    def __init__(self, folders, numbers=None, texts=()):
        self.folders = folders      # {a path of this run: the path in the documents}
        self.numbers = {**self.NUMBERS, **(numbers or {})}
        self.texts = [
            (r"https://(127\.0\.0\.1|localhost):\d+", "https://10.0.0.1:6443"),
            (r"(127\.0\.0\.1|localhost):\d+", "10.0.0.1:6443"),
            (r"/tmp/ifd-\w+/control\.sock", "/run/informerd/control.sock"),
            (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "6f0c2d1e-58a7-4b39-9f5d-1c2e3a4b5d6f"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-11-24T03:02:01Z"),
            (r"serial [0-9A-F]{38,40}", "serial 1DEFFF3D4C14D658437BD68F54C5DBA2F8F65111"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "2026-11-24 01:00:00 UTC"),
            (r"\b(pid=|pid )\d+", r"\g<1>811"),
            *texts]

    def text(self, text):
        for path, name in sorted(self.folders.items(), key=lambda row: -len(row[0])):
            text = text.replace(path, name)
        for pattern, name in self.texts:
            text = re.sub(pattern, name, text)
        return text

    def _member(self, name, value):
        if isinstance(value, (dict, list)):
            return self.value(value)
        if name in self.TIMES and value:
            return self._time(name, value)
        if name in self.numbers and value is not None:
            return self.numbers[name]
        return self.value(value)

    def _time(self, name, value):
        """A time that is as far away as the table says; a credential that has expired stays so."""
        now, form = datetime.now(timezone.utc), "%Y-%m-%dT%H:%M:%SZ"
        if name == "credential_expires" and value < now.strftime(form):
            return value
        return (now + timedelta(seconds=self.TIMES[name])).strftime(form)

    def value(self, value):
        if isinstance(value, dict):
            return {name: self._member(name, item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def answer(self, body):
        try:
            return json.dumps(self.value(json.loads(body))).encode()
        except ValueError:
            return self.text(body.decode()).encode()


class Between(socketserver.ThreadingUnixStreamServer):
    """A control socket that hands requests on to the daemon, and its answers back with fixed
    values."""
    daemon_threads = True

    def __init__(self, path, daemon_path, fixed):
        self.daemon_path, self.fixed = daemon_path, fixed
        super().__init__(str(path), Handed)


class Handed(socketserver.StreamRequestHandler):
    def handle(self):
        method, target = self.rfile.readline().decode().split()[:2]
        while self.rfile.readline().strip():
            pass
        status, _headers, body = Control(self.server.daemon_path).ask(target, method)
        body = self.server.fixed.answer(body)
        self.wfile.write(b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\nConnection: close\r\n\r\n%b"
                         % (status, len(body), body))


# ---- A terminal

class Terminal:
    """informerctl on a terminal; its output as bytes."""

    def __init__(self, *command, environ=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        known = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True,
                                        env={**known, "TERM": "xterm", **(environ or {})})
        os.close(slave)
        self.seen = b""

    def read(self):
        """Reads more of the output; False: that was all."""
        try:
            more = os.read(self.master, 65536)
        except OSError:         # EIO: the other end is closed
            return False
        self.seen += more
        return bool(more)

    def all(self):
        """The whole output of a command that ends by itself, and its exit code."""
        while self.read():
            pass
        return self.seen.decode().replace("\r\n", "\n"), self.end()

    def last_screen(self, *words):
        """The screen that `top` shows once it has these words."""
        while True:
            whole = [s for s in self.seen.split(b"\x1b[H")[1:] if b"\x1b[J" in s]
            text = whole[-1].split(b"\x1b[J")[0].decode().replace("\r\n", "\n") if whole else ""
            if whole and all(word in text for word in words):
                os.write(self.master, b"q")
                while self.read():
                    pass
                self.end()
                return re.sub(r"\x1b\[[0-9;]*K", "", text) + "\n"
            assert self.read(), f"no screen with {words}: {self.seen}"

    def end(self):
        code = self.process.wait(PATIENCE)
        os.close(self.master)
        return code


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def cells(text):
    """The lines of a screen, each a list of (character, SGR code); longer lines go on in the next
    one, as in a terminal."""
    lines = []
    for raw in text.splitlines():
        code, line = "0", []
        for piece in re.split(r"(\x1b\[[0-9;]*m)", raw):
            if piece.startswith("\x1b"):
                code = piece[2:-1]
            else:
                line += [(char, code) for char in piece]
        lines += [line[n:n + COLUMNS] for n in range(0, max(1, len(line)), COLUMNS)]
    return lines


def as_text(text):
    """The screen as plain text."""
    return "".join("".join(char for char, _ in line).rstrip() + "\n" for line in cells(text))


STYLES = {"0": "", "1": ' font-weight="bold"', "31": ' fill="#ff7b72"', "33": ' fill="#e3b341"'}


def as_svg(text):
    """The screen as a picture; each character has its place, whatever the font is."""
    wide, high, lines = 8, 18, cells(text)
    width, height = COLUMNS * wide + 24, len(lines) * high + 24
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}">',
           '<rect width="100%" height="100%" rx="6" fill="#0d1117"/>',
           '<g font-family="monospace" font-size="13" fill="#e6edf3" xml:space="preserve">']
    for row, line in enumerate(lines):
        for word in re.finditer(r"\S+(?: \S+)*", "".join(char for char, _ in line)):
            at = word.start()
            while at < word.end():
                code, begin = line[at][1], at
                while at < word.end() and line[at][1] == code:
                    at += 1
                piece = word[0][begin - word.start():at - word.start()]
                out.append(f'<text x="{12 + begin * wide}" y="{26 + row * high}" '
                           f'textLength="{len(piece) * wide}"{STYLES[code]}>'
                           f'{html.escape(piece)}</text>')
    return "\n".join(out) + "\n</g>\n</svg>\n"


# ---- The stage on which a situation is played

class Stage:
    """Takes the screens of a daemon: {name: text with colours}."""

    def __init__(self, factory, new_api, authority):
        self.factory, self.new_api, self.authority = factory, new_api, authority
        self.screens = {}
        self.numbers, self.texts = {}, []

    def fixed(self, d):
        folders = {str(d.state): "/var/lib/informerd", str(d.folder): "/etc/informerd",
                   str(d.control.path): "/run/informerd/control.sock",
                   str(self.factory.folder): "/etc/informerd"}
        return Fixed(folders, self.numbers, self.texts)

    @contextlib.contextmanager
    def _socket(self, d):
        with tempfile.TemporaryDirectory(prefix="ifs-") as folder:
            path = pathlib.Path(folder) / "s"
            server = Between(path, d.control.path, self.fixed(d))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()
                server.server_close()

    def shoot(self, name, d, *words, until=()):
        """Takes a screen of `informerctl WORDS`; of top, once it shows the words `until`."""
        with self._socket(d) as path:
            t = Terminal(INFORMERCTL, "--socket", path, *words)
            text = t.last_screen(*until) if words[0] == "top" else t.all()[0]
        self.screens[name] = f"# informerctl {' '.join(words)}\n{text}"

    def shoot_direct(self, name, d, *words):
        """The same for a daemon that does not run, or whose answer is no table of ages."""
        text, _code = Terminal(INFORMERCTL, "--socket", d.control.path, *words).all()
        self.screens[name] = f"# informerctl {' '.join(words)}\n{self.fixed(d).text(text)}"

    def shoot_log(self, name, d, *messages):
        """The warnings and errors with these messages, as the journal shows them."""
        fixed, lines = self.fixed(d), []
        for message in messages:
            entry = d.wait_problem(message)
            fields = " ".join(f"{key}={json.dumps(value, ensure_ascii=False)}"
                              for key, value in entry.items()
                              if key not in ("time", "level", "msg") and not key.endswith("_ms"))
            lines.append(fixed.text(f"{entry['msg']} {fields}".rstrip()))
        self.screens[name] = "# journalctl -u informerd -p warning -o cat\n" + "\n".join(lines) + "\n"


# ---- The documents

def files_of(name, text):
    """{path: content} of a screen that has files of its own."""
    return {FOLDER / f"{name}.txt": as_text(text), FOLDER / f"{name}.svg": as_svg(text)}


def embedded(text):
    """{name: screen} of a document."""
    return {match[1]: match[0].split("```text\n", 1)[1].rsplit("```", 1)[0]
            for match in BLOCK.finditer(text)}


def put_into(document, screens):
    """The document with these screens in it."""
    def replace(match):
        if match[1] not in screens:
            return match[0]
        return (f"<!-- screen: {match[1]} -->\n```text\n{as_text(screens[match[1]])}```\n"
                "<!-- end -->\n")
    return BLOCK.sub(replace, document)


def take(situation, factory, new_api, authority):
    """Plays the situation; returns its screens."""
    stage = Stage(factory, new_api, authority)
    situation.play(stage)
    return stage.screens


def write(names):
    """Makes the screens of these situations anew (of all, without names) and writes them."""
    from fakeapi import Authority, servers
    from shared_fixtures import checked_factory
    from situations import SITUATIONS

    FOLDER.mkdir(exist_ok=True)
    for situation in SITUATIONS:
        if names and situation.name not in names:
            continue
        with tempfile.TemporaryDirectory(prefix="screens-") as folder:
            folder = pathlib.Path(folder)
            folder.chmod(0o755)
            (folder / "ca").mkdir()
            (folder / "made").mkdir()
            authority = Authority(folder / "ca")
            with servers(authority.server()) as new_api, \
                    contextlib.redirect_stdout(sys.stderr if os.environ.get("VERBOSE") else None), \
                    checked_factory(folder / "made", authority) as factory:
                screens = take(situation, factory, new_api, authority)
        RUNBOOK.write_text(put_into(RUNBOOK.read_text(), screens))
        for name, text in screens.items():
            if situation.has_files:
                for path, content in files_of(name, text).items():
                    path.write_text(content)
            print(f"{situation.name}: {name}")


if __name__ == "__main__":
    if "--write" not in sys.argv:
        sys.exit("usage: screens.py --write [SITUATION...]")
    write([word for word in sys.argv[1:] if word != "--write"])
