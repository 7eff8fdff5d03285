#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small story on a fake API server, and informerd following it. See ./dev demo.

    demo.py --build DIR [--seconds N]

The server (tests/fakeapi: TLS, list, watch) plays the story. informerd runs with the files of
tests/demo/config, as a user would write them. The output of its hooks is shown as it comes. Ends
with Ctrl-C or after N seconds, and leaves nothing behind.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from fakeapi import Authority, FakeApi, endpointslice, service  # noqa: E402

PACE = 1.6  # seconds between two scenes
START = time.monotonic()


class Stop(Exception):
    """The demo is over."""


def say(who, text):
    print(f"{time.monotonic() - START:6.2f}s  {who:<12} {text}", flush=True)


def write_config(folder, ca, api):
    shutil.copytree(ROOT / "tests" / "demo" / "config", folder, dirs_exist_ok=True)
    for path in folder.rglob("*.conf"):
        path.write_text(path.read_text().replace("@DIR@", str(folder)))
    if os.geteuid() == 0:
        main_file = folder / "informerd.conf"
        main_file.write_text(main_file.read_text() + 'user = "root";  # started by root\n')
    api.kubeconfig(folder / "kubeconfig", ca=ca)


def show_log(stream, counts):
    """Prints the output of the hooks, and informerd's own log lines."""
    for line in stream:
        try:
            entry = json.loads(line)
        except ValueError:
            say("informerd", line.rstrip())
            continue
        if entry["msg"] == "hook output":
            say(f"[{entry['hook']}]", entry["line"])
        elif entry["msg"] in ("hook done", "hook works again"):
            counts[entry["hook"]] = counts.get(entry["hook"], 0) + 1
        elif entry["level"] in ("info", "warn", "error"):
            rest = " ".join(f"{key}={value}" for key, value in entry.items()
                            if key not in ("time", "level", "msg"))
            say("informerd", f"{entry['msg']} {rest}")


def slices(name, *hosts):
    return endpointslice(f"shop/{name}-1", name, [f"10.1.0.{host}" for host in hosts])


def restart_server(api):
    """The API server goes away until the caller asks for the next value; one endpoint changes while
    it is away."""
    api.stop_listening()
    api.drop("rst")
    yield
    api.apply(slices("web", 11, 13, 14))
    api.listen()
    for plural in ("services", "endpointslices"):
        api.wait_watching(plural, timeout=60)


def story(api):
    """The scenes: yields the text of a scene, then plays it on the server."""
    yield "Service shop/web appears, with two endpoints"
    api.apply(service("shop/web"), slices("web", 11, 12))
    yield "shop/web scales up to four"
    api.apply(slices("web", 11, 12, 13, 14))
    yield "a rolling update in a burst: four changes, one run"
    for hosts in ((11, 12, 13, 21), (11, 12, 21, 22), (11, 21, 22, 23), (21, 22, 23, 24)):
        api.apply(slices("web", *hosts))
    yield "Service shop/cart appears"
    api.apply(service("shop/cart"), slices("cart", 31))
    yield "the API server goes away; what was known stays"
    restart = restart_server(api)
    next(restart)
    yield "it is back, and shop/web had moved meanwhile: no relist, only the change runs hooks"
    next(restart, None)
    yield "shop/cart scales to zero"
    api.apply(slices("cart"))
    yield "shop/cart vanishes"
    api.delete("services", "shop/cart")
    api.delete("endpointslices", "shop/cart-1")
    yield "shop/web vanishes"
    api.delete("services", "shop/web")
    api.delete("endpointslices", "shop/web-1")


def tell(api, pause):
    while True:
        for scene in story(api):
            pause()
            print(flush=True)
            say("API server", scene)
        pause()


def pauser(seconds, daemon):
    """Sleeps from scene to scene; raises Stop when the time is up or the daemon has ended."""
    def pause():
        end = time.monotonic() + PACE
        while time.monotonic() < end:
            if daemon.poll() is not None:
                say("demo", f"informerd ended with code {daemon.returncode}")
                raise Stop
            if seconds and time.monotonic() - START > seconds:
                raise Stop
            time.sleep(0.05)
    return pause


def run(args, folder):
    ca = Authority(folder)
    counts = {}
    with FakeApi(tls=ca.server()) as api:
        write_config(folder, ca, api)
        say("demo", f"an API server at {api.url}, informerd with the files of tests/demo/config")
        api.apply(service("default/kubernetes"))
        daemon = subprocess.Popen(
            [args.build / "informerd", "-c", folder / "informerd.conf", "--log-format", "json",
             "--log-level", "debug"], stderr=subprocess.PIPE, text=True, start_new_session=True)
        reader = threading.Thread(target=show_log, args=(daemon.stderr, counts))
        reader.start()
        try:
            tell(api, pauser(args.seconds, daemon))
        except (Stop, KeyboardInterrupt):
            print(flush=True)
        finally:
            daemon.terminate()
            code = daemon.wait()
            reader.join()
    ran = ", ".join(f"{hook} {count} times" for hook, count in sorted(counts.items()))
    say("demo", f"over. Hooks ran: {ran or 'never'}. informerd exit code: {code}")
    return 0 if code == 0 and counts else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=0, help="0 = until Ctrl-C")
    args = parser.parse_args()
    args.build = args.build.resolve()
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="informerd-demo-"))
    try:
        return run(args, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
