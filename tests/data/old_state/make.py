#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes state/: see README.md. Usage: make.py TREE BUILD, as root."""
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path("/var/tmp/informerd-old")
TREE, BUILD = (pathlib.Path(arg).resolve() for arg in sys.argv[1:])
sys.path.insert(0, str(TREE / "tests"))
sys.path.insert(0, str(TREE / "tests/wire"))
from control import Control, wait_until  # noqa: E402
from fakeapi import FakeApi, endpointslice, service  # noqa: E402


def app(key, **more):
    return service(key, labels={"app": key}, **more)


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "out").mkdir(parents=True)
    control = Control(WORK / "control.sock")

    def idle():
        state = control.status()["state"]
        return state["waiting"] == 0 and state["commits"] > 0

    with FakeApi() as api:
        api.identity = "11111111-2222-4333-8444-555555555555"
        api.kubeconfig(WORK / "kubeconfig")
        api.apply(app("shop/web"), app("shop/api", ports=[81]), app("shop/old"))
        api.apply(endpointslice("shop/web-1", "web", ["10.1.0.5"]),
                  endpointslice("shop/api-1", "api", ["10.1.0.6", "10.1.0.7"]))
        daemon = subprocess.Popen([BUILD / "informerd", "-c", HERE / "informerd.conf"],
                                  start_new_session=True)
        wait_until(lambda: (WORK / "control.sock").exists() and control.status()["ready"], what="ready")
        subprocess.run([BUILD / "informerctl", "--socket", WORK / "control.sock", "pause", "still"], check=True)
        api.delete("services", "shop/old")
        api.apply(app("shop/api", ports=[82]))
        wait_until(lambda: control.hook("ends")["runs_failed"] == 1 and
                   control.hook("cut")["runs_ok"] == 4, what="the end fails")
        api.apply(endpointslice("shop/web-1", "web", ["10.1.0.8"]))
        wait_until(lambda: control.hook("all")["runs_ok"] >= 2 and
                   control.hook("some")["runs_ok"] >= 2, what="the hooks have run")
        wait_until(idle, what="all is on disk")
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
    # SQLite moves its log, which is large, into the file, which gets small.
    db = sqlite3.connect(WORK / "state/state.db")
    db.execute("VACUUM")
    db.close()
    shutil.rmtree(HERE / "state", ignore_errors=True)
    shutil.copytree(WORK / "state", HERE / "state", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
    shutil.rmtree(WORK)
    for path in sorted((HERE / "state").iterdir()):
        print(path.name, path.stat().st_size)


main()
