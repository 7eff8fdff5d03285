# SPDX-License-Identifier: Apache-2.0
"""Runs the container of packaging/container/informerd.yaml as a kubelet would, in namespaces: as process 1, with
a read-only root and read-only cgroups, the volumes and the capabilities of the manifest, and the service account
of a fake API server."""
import json
import os
import pathlib
import signal
import subprocess

import yaml

from control import PATIENCE, wait_until
from proctree import children

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging" / "container"
# Not below /var/run: that link would lead out of the root.
ACCOUNT = "run/secrets/kubernetes.io/serviceaccount"
# Arguments: the root, a folder with the volumes and a file with their paths inside; then the program.
ENTER = """
set -e
root=$1 volumes=$2
shift 2
mount -t overlay -o "lowerdir=$root,upperdir=$volumes/upper,workdir=$volumes/work" none "$volumes/root"
cd "$volumes/root"
while read -r name path; do
    if [ -d "$volumes/$name" ]; then mkdir -p ".$path"; else mkdir -p ".${path%/*}"; : >".$path"; fi
    mount --bind "$volumes/$name" ".$path"
done <"$volumes/paths"
mount -t proc proc proc
mount --rbind /dev dev
mount -t sysfs -o ro sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
findmnt --submounts --list --noheadings --output TARGET "$PWD/sys/fs/cgroup" | while read -r path; do
    mount -o remount,bind,ro "$path"
done
mount -o remount,bind,ro .
exec "$@"
"""


def documents():
    """The manifest, by kind."""
    return {one["kind"]: one for one in yaml.safe_load_all((FOLDER / "informerd.yaml").read_text())}


def container():
    return documents()["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]


class Pod:
    def __init__(self, image, api, authority, folder):
        self.image, self.api, self.folder = image, api, folder
        self.oci = json.loads((image / "config.json").read_text())["process"]
        self.process = None
        self.environment = {}       # besides that of the image and the kubelet
        for name in ("upper", "work", "root", "account"):
            (folder / name).mkdir(parents=True)
        (folder / "account" / "token").write_text("e30.e30.c2ln")
        (folder / "account" / "ca.crt").write_bytes(authority.pem)
        self.config = folder / "config"
        self.configure(documents()["ConfigMap"]["data"]["informerd.conf"])
        paths = [("account", f"/{ACCOUNT}")]
        for mount in container()["volumeMounts"]:
            if mount["name"] != "config":
                (folder / mount["name"]).mkdir()
            paths.append((mount["name"], mount["mountPath"]))
        (folder / "paths").write_text("".join(f"{name} {path}\n" for name, path in paths))

    def configure(self, text):
        self.config.write_text(text)

    def command(self, *program):
        """unshare ... program, in the pod."""
        added = ",".join(f"+{name.lower()}" for name in container()["securityContext"]["capabilities"]["add"])
        url = self.api.url.removeprefix("https://")
        return ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--",
                "sh", "-c", ENTER, "enter", self.image / "rootfs", self.folder,
                "chroot", ".", "/usr/bin/setpriv", "--no-new-privs", "--bounding-set", f"-all,{added}",
                "--inh-caps", "-all", "/usr/bin/env", "-i", *self.oci["env"],
                f"KUBERNETES_SERVICE_HOST={url.rpartition(':')[0]}",
                f"KUBERNETES_SERVICE_PORT={url.rpartition(':')[2]}",
                *(f"{name}={value}" for name, value in self.environment.items()), *program]

    def start(self):
        with open(self.folder / "stdout", "wb") as out, open(self.folder / "log", "wb") as err:
            self.process = subprocess.Popen(self.command(*self.oci["args"]), stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=err)
        return self

    def run(self, *program):
        """Another container of the same pod, until it ends."""
        return subprocess.run(self.command(*program), text=True, capture_output=True, timeout=PATIENCE)

    def exec(self, *program):
        """As kubectl exec."""
        return subprocess.run(["nsenter", "-t", str(self.pid), "-m", "-p", "-r", "-w", *program],
                              text=True, capture_output=True, timeout=PATIENCE)

    @property
    def pid(self):
        """Process 1, as the tests see it."""
        return next(iter(wait_until(lambda: children(self.process.pid), what=self.log)))

    def log(self):
        """Its stderr."""
        return (self.folder / "log").read_text()

    def stdout(self):
        return (self.folder / "stdout").read_text()

    def wait_idle(self):
        """Until every change is handled."""
        self.wait_log("started")
        done = self.exec("informerctl", "wait", "--for", "idle")
        assert done.returncode == 0, done.stderr

    def wait_log(self, words):
        wait_until(lambda: words in self.log(), what=self.log)

    def stop(self):
        """As a kubelet: SIGTERM to process 1. Returns its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def finish(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
