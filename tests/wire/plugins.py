# SPDX-License-Identifier: Apache-2.0
"""A stand-in for an exec plugin: it records how it was started, and says what the test wants."""
import json
import os
import pathlib
import shutil
import tempfile
from datetime import datetime, timedelta, timezone

from control import wait_until

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

SCRIPT = """#!/bin/sh
d={folder}
f="$d/runs/$INFORMERD_RUN.$$"
{{ cat /proc/$$/environ; printf '%s\\0' -- "$(id -u)" "$(id -G)" "$PWD" "$(wc -c)" "$@"; }} >"$f.tmp"
[ -e "$d/first" ] && . "$d/first"
mv "$f.tmp" "$f.run"
while [ -e "$d/block" ]; do sleep 0.02; done
said="$d/stdout.${{INFORMERD_RUN##*-}}"
[ -e "$said" ] || said="$d/stdout"
[ -e "$said" ] && cat "$said"
[ -e "$d/stderr" ] && cat "$d/stderr" >&2
[ -e "$d/signal" ] && kill -"$(cat "$d/signal")" $$
[ -e "$d/exit" ] && exit "$(cat "$d/exit")"
exit 0
"""


class Run:
    """One run of the plugin: its process, environment, user, groups, folder, bytes of stdin,
    arguments."""

    def __init__(self, path):
        self.pid = int(path.name.split(".")[-2])
        words = path.read_bytes().decode().split("\0")
        at = words.index("--")
        self.env = dict(word.split("=", 1) for word in words[:at])
        self.uid, groups, self.folder, stdin = words[at + 1:at + 5]
        self.groups, self.stdin = groups.split(), int(stdin)
        self.args = words[at + 5:-1]
        self.info = json.loads(self.env["KUBERNETES_EXEC_INFO"])


class Plugin:
    """The program is `path`. Its folder is open to every user, as the plugin may run as nobody."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ifx-"))
        self.path = self.folder / "plugin"
        self.path.write_text(SCRIPT.format(folder=self.folder))
        self.path.chmod(0o755)
        self.folder.chmod(0o755)
        (self.folder / "runs").mkdir()
        (self.folder / "runs").chmod(0o777)

    def put(self, name, data):
        """Replaces the file that the program reads in one step; None takes it away."""
        path, new = self.folder / name, self.folder / f".{name}"
        if data is None:
            path.unlink(missing_ok=True)
            return
        new.write_bytes(data if isinstance(data, bytes) else str(data).encode())
        new.chmod(0o644)
        new.rename(path)

    def says(self, token=None, leaf=None, expires_in=None, api_version=V1, run=None, **status):
        """From now on the plugin prints this credential; leaf: with a certificate and its key;
        expires_in: seconds; status: further fields of it; run: the number of the only run, from 1,
        that prints it."""
        if token:
            status["token"] = token
        if leaf:
            status["clientCertificateData"] = leaf.cert.decode()
            status["clientKeyData"] = leaf.key.decode()
        if expires_in is not None:
            at = datetime.now(timezone.utc) + timedelta(seconds=expires_in)
            status["expirationTimestamp"] = at.isoformat()
        self.put("stdout" if run is None else f"stdout.{run}", json.dumps(
            {"kind": "ExecCredential", "apiVersion": api_version, "status": status}))
        return self

    def prints(self, stdout=None, stderr=None, code=None, signal=None):
        """From now on the plugin prints this and ends so. A secret in stderr is masked if it is in
        stdout, too, so no run may find the one without the other."""
        self.put("stderr", None)
        for name, value in (("stdout", stdout), ("exit", code), ("signal", signal),
                            ("stderr", stderr)):
            self.put(name, value)
        return self

    def leaves_child(self):
        """From now on each run starts a process in a session of its own, and does not wait for
        it."""
        self.put("first", 'setsid sleep 1000 & echo $! >"$d/runs/child"\n')

    def child(self):
        """The process that the last run has started."""
        return int((self.folder / "runs" / "child").read_text())

    def block(self):
        """Runs that begin from now on do not end before release()."""
        self.put("block", "")

    def release(self):
        self.put("block", None)

    def runs(self):
        """The runs so far, oldest first."""
        paths = sorted((self.folder / "runs").glob("*.run"), key=lambda path: path.stat().st_mtime_ns)
        return [Run(path) for path in paths]

    def wait(self, count):
        return wait_until(lambda: len(self.runs()) >= count and self.runs(),
                          what=f"{count} runs of the plugin")

    def exec(self, **more):
        """The exec section of a kubeconfig."""
        return {"apiVersion": V1, "command": str(self.path), "interactiveMode": "Never", **more}

    def finish(self):
        shutil.rmtree(self.folder)


def user_settings():
    """Settings of a daemon with a plugin, which never runs as root."""
    return {"user": "nobody", "state_dir": "none"} if os.geteuid() == 0 else {}
