# SPDX-License-Identifier: Apache-2.0
"""A pretend machine, on which a test types the commands of docs/access.md.

A folder stands for the root of the machine: paths below /etc/informerd, /var/lib/kubelet and the
like lead there. informerd and openssl are the real ones; the other programs are those of
standins.py. The API server is a FakeApi.

Each block ```sh of a section is typed into one shell; a block ```text behind it is its output, in
which `...` stands for any lines. A journal is read again until it shows what the page shows."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import proctree
from authorizer import Roles
from control import PATIENCE, wait_until
from cryptography.hazmat.primitives import serialization
from fakeapi import service
from harness import INFORMERD, INFORMERCTL, ROOT, SANITIZER
from tutorial import Shell, blocks_of, matches, plain

STANDINS = pathlib.Path(__file__).resolve().parent / "standins.py"
BELOW = r"etc/(?:informerd|kubernetes|systemd)|var/lib/(?:informerd|kubelet|rancher)|run/informerd"
MOVED = re.compile(rf"(?<![\w./}}-])/(?=(?:{BELOW})\b)")
SERVER = "https://10.0.0.1:6443"
PROGRAMS = ("kubectl", "kind", "aws", "gcloud", "systemctl", "journalctl")
# informerd with the settings that a test needs, which a reader does not.
RUN = """#!/bin/sh
conf={root}/etc/informerd/informerd.conf
grep -qs '^control : ' "$conf" || cat {root}/facts/settings >>"$conf"
exec {informerd} -c "$conf" "$@"
"""
SETTINGS = """
control : {{ socket = "{root}/run/informerd/control.sock"; }};
state_dir = "none";
{user}
"""
NOT_YET = "is not supported in this release"


class NotYet(Exception):
    """The build cannot do what the page shows. The text says what it is."""


def sections_of(text):
    """{heading: the text below it, up to the next heading}. Numbers of lines stay as they are."""
    out, heading, fenced = {}, "", False
    for number, line in enumerate(text.splitlines()):
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            heading = line.lstrip("# ")
            out[heading] = "\n" * number
        out[heading] = out.get(heading, "") + line + "\n"
    return out


def seen_lines(text):
    """plain(), without the times of informerctl status, and with subjects as each version of
    openssl writes them."""
    text = re.sub(r"\bin \d+[dhm]\w*", "in TIME", text)
    return plain(re.sub(r"^subject=.*", lambda m: m[0].replace(" ", ""), text, flags=re.MULTILINE))


class Machine:
    def __init__(self, api, authority):
        self.api = api
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ifm-"))
        self.root.chmod(0o755)
        for name in ("bin", "facts", "created", "scratch", "etc/informerd/conf.d", "etc/systemd/system",
                     "run/informerd", "var/lib"):
            (self.root / name).mkdir(parents=True)
        self.facts(**{"ca.crt": authority.pem, "ca.key": authority._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption())})
        user = 'user = "nobody";' if os.geteuid() == 0 else ""
        self.facts(settings=SETTINGS.format(root=self.root, user=user))
        installed = ROOT / "config" / "etc"
        for name in ("informerd.conf", "conf.d/10-cluster.conf"):
            self.place(f"/etc/informerd/{name}", (installed / name).read_text())
        self.program("informerd", RUN.format(root=self.root, informerd=INFORMERD))
        self.program("informerctl", f'#!/bin/sh\nexec {INFORMERCTL} --socket '
                                    f'{self.root}/run/informerd/control.sock "$@"\n')
        self.program("sudo", '#!/bin/sh\nexec "$@"\n')
        for name in PROGRAMS:
            self.program(name, f'#!/bin/sh\nexec /usr/bin/python3 {STANDINS} {self.root} {name} '
                               '"$@"\n')
        self.shell = Shell(self.root / "scratch", self.root / "facts")
        self.shell.type(f"PATH={self.root}/bin:$PATH; unset KUBECONFIG JOURNAL_STREAM; umask 022")

    def facts(self, **facts):
        """The facts that the stand-ins shall know: file names and contents."""
        for name, content in facts.items():
            path = self.root / "facts" / name
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def program(self, name, text):
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def place(self, path, content, mode=0o600):
        """Writes a file of the machine; paths in a text are those of the machine."""
        at = self.root / path.lstrip("/")
        at.parent.mkdir(parents=True, exist_ok=True)
        at.touch(mode=mode)
        if isinstance(content, str):
            content = self.moved(content).encode()
        at.write_bytes(content)
        return at

    def moved(self, text):
        """The text with paths of the machine and the address of its API server as they are here."""
        return MOVED.sub(f"{self.root}/", text).replace(SERVER, self.api.url)

    def type(self, text):
        """Types a block; returns (status, its output, as the page would show it)."""
        status, output = self.shell.type(self.moved(text))
        for path in sorted((self.root / "created").iterdir()):
            self.api.apply(service(f"default/{path.name}"))
            path.unlink()
        if NOT_YET in output:
            raise NotYet(output)
        output = output.replace(str(self.root), "").replace(self.api.url, SERVER)
        return status, re.sub(rf"\b{re.escape(self.api.host)}(:{self.api.port})?\b",
                              lambda m: "10.0.0.1:6443" if m[1] else "10.0.0.1", output)

    def granted(self, review):
        """For FakeApi.access: the requests that the applied roles allow."""
        roles = self.root / "scratch" / "informerd-rbac.yaml"
        applied = self.root / "facts" / "applied-clusterrole.yaml"
        return applied.exists() and Roles(roles.read_text()).allow(review)

    def follow(self, page, section, skip=()):
        """Types the section; raises AssertionError if the page is wrong. skip: words of commands
        that are not typed."""
        blocks = blocks_of(sections_of(page.read_text())[section])
        assert blocks, f"{page.name} has no commands in {section}"
        for block, after in zip(blocks, blocks[1:] + [None]):
            if block.lang != "sh" or any(word in block.text for word in skip):
                continue
            shown = after.text if after is not None and after.lang == "text" else None
            try:
                self.do(block, shown)
            except AssertionError as error:
                raise AssertionError(f"{page.name}:{block.number}: {error}") from None

    def do(self, block, shown):
        end = time.monotonic() + PATIENCE
        while True:
            status, output = self.type(block.text)
            good = status == 0 and (shown is None or matches(seen_lines(shown), seen_lines(output)))
            if good or "journalctl" not in block.text or time.monotonic() > end:
                break
        assert good, f"{block.text}showed (status {status}):\n{output}\nnot:\n{shown}"

    def journal(self):
        """The log of the daemon."""
        path = self.root / "journal"
        return path.read_text() if path.exists() else ""

    def close(self):
        """Stops the programs that were started, and looks whether they ended well."""
        self.shell.close()
        pid = self.root / "pid"
        if pid.exists():
            number = int(pid.read_text())
            os.kill(number, signal.SIGTERM)
            wait_until(lambda: not proctree.exists(number), what="the daemon has ended")
            proctree.reap(number)
        said = self.journal()
        shutil.rmtree(self.root)
        assert not [word for word in SANITIZER if word in said], said
        assert not said or "stopped exit_code=0" in said, said


def can(option):
    """Whether this build of informerd has the option."""
    done = subprocess.run([INFORMERD, "--help"], text=True, capture_output=True, timeout=PATIENCE)
    return option in done.stdout + done.stderr
