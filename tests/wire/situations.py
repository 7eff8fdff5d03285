# SPDX-License-Identifier: Apache-2.0
"""The situations of docs/runbook.md and docs/screens, each made for real. SITUATIONS is the table:
one row per situation, whose function takes its screens."""
import os
import signal
import tempfile
from typing import NamedTuple

from control import wait_until
from fakeapi import service
from fakeapi.certs import DAY
from harness import hook_settings
from hostile import fill, tmpfs

NAMES = ["api", "cart", "mail", "web"]
SERVICES = {"services": {"resource": "services", "namespaces": ["*"]}}
# A request that failed is not made again while its screen is taken.
PATIENT = {"backoff": {"initial": "1h", "factor": 2.0, "max": "1h"}}
OTHER = "9c1a7e40-0000-4000-8000-000000000002"


def shop(*names, **how):
    return [service(f"shop/{name}", **how) for name in names or NAMES]


def running(stage, hook=None, watches=None, cluster=None, objects=None, credentials=None, **more):
    """(server, daemon, hook): a daemon that has handled the shop."""
    api, settings = stage.new_api(), more.pop("settings", {})
    hook = hook or stage.factory.hook()
    stage.texts.append((str(hook.path), "/etc/informerd/hooks/haproxy"))
    api.apply(*(objects if objects is not None else shop()))
    where = {**stage.factory.cluster(api, PATIENT, **(credentials or {})), **(cluster or {})}
    d = stage.factory.daemon(
        clusters={"prod": where}, watches=watches or SERVICES,
        hooks={"haproxy": hook_settings(hook, **settings)}, **more)
    return api, d, hook


def well(stage):
    api, d, hook = running(stage)
    hook.wait(len(NAMES))
    d.settled(api)
    stage.shoot("status", d, "status")
    stage.shoot("why", d, "why", "haproxy", "shop/web")
    stage.shoot("hooks", d, "hooks")
    stage.shoot("top", d, "top", until=("services", " 0.0 "))


def stale(stage):
    api, d, hook = running(stage, cluster={"stale_after": "100ms"},
                           settings={"when_stale": "wait"})
    hook.wait(len(NAMES))
    d.settled(api)
    api.stop_listening()
    api.drop("rst")
    wait_until(lambda: d.control.watch("services")["stale"]
               and "refused" in (d.control.watch("services")["last_error"] or ""), what="stale")
    stage.numbers["contact_age_s"] = 390
    stage.shoot("stale-status", d, "status")


def held(stage):
    objects = [service(f"shop/s{number:03}") for number in range(40)]
    guard = {"services": {**SERVICES["services"], "guard": {"hold": "1h"}}}
    api, d, hook = running(stage, objects=objects, watches=guard, settings={"mode": "snapshot"})
    hook.wait(1)
    d.settled(api)
    backup = api.snapshot()
    table = next(key for key in backup[1] if key[2] == "services")
    backup[1][table] = {"shop/s000": backup[1][table]["shop/s000"]}
    api.restore((backup[0] + 5, backup[1]))
    api.compact()
    d.ctl("relist", "services")
    d.control.wait_watch("services", held=True)
    stage.shoot("held-status", d, "status")


def memory(stage):
    """A watch that has grown until its memory was full."""
    def large(*numbers):
        return [service(f"shop/s{number:03}", annotations={"note": "x" * 10000})
                for number in range(*numbers)]

    api, d, hook = running(stage, objects=large(60), settings={"mode": "snapshot"},
                           limits={"memory": "1MiB"})
    hook.wait(1)
    d.settled(api)
    api.apply(*large(60, 120))
    d.control.wait_watch("services", state="incomplete")
    stage.numbers.update(bytes=790000, objects=77, pending=17, runs_ok=42)
    stage.shoot("memory-status", d, "status")
    stage.shoot("memory-why", d, "why", "haproxy")


def parked(stage):
    hook = stage.factory.hook(extra='[ "$INFORMERD_NAME" != web ] || '
                              'echo "web: port http has no number" >&2')
    hook.exit_with(2, "web")
    api, d, hook = running(stage, hook, settings={"park_exit": [2]})
    wait_until(lambda: d.control.hook("haproxy")["parked"] == 1, what="parked")
    d.settled(api)
    stage.shoot("parked-hooks", d, "hooks")
    stage.shoot("parked-why", d, "why", "haproxy", "shop/web")


def paused(stage):
    api, d, hook = running(stage)
    hook.wait(len(NAMES))
    d.settled(api)
    d.ctl("pause", "haproxy")
    api.apply(*shop("web", ports=[81]))
    d.seen(api)
    stage.shoot("paused-hooks", d, "hooks")
    stage.shoot("paused-why", d, "why", "haproxy", "shop/web")


def expired(stage):
    client = stage.authority.leaf("system:node:node-1", client=True, begin=-300 * DAY,
                                  end=-DAY)
    api, d, hook = running(stage, credentials={"client": client, "client_files": True})
    wait_until(lambda: d.control.status()["degraded"], what="degraded")
    wait_until(lambda: d.control.watch("services")["state"] == "watching", what="watching")
    hook.wait(len(NAMES))
    d.control.wait_idle()
    stage.texts += [(str(client.cert_file), "/etc/informerd/node.crt")]
    stage.shoot("expired-status", d, "status")


def full(stage):
    folder = stage.factory.new_folder("disk")
    with tmpfs(folder) as disk:
        api, d, hook = running(stage, start=False, state_dir=disk / "state")
        d.state = disk / "state"
        d.start()
        hook.wait(len(NAMES))
        d.settled(api)
        fill(disk)
        for port in range(81, 200):
            api.apply(*shop("web", ports=[port]))
            d.caught_up(api)
            if d.control.status()["degraded"]:
                break
        wait_until(lambda: d.control.status()["degraded"], what="degraded")
        stage.numbers.update(waiting=2, runs_ok=42)
        stage.shoot("full-status", d, "status")
        d.stop()


def rbac(stage):
    api, d, hook = running(stage)
    hook.wait(len(NAMES))
    d.settled(api)
    said = ('services is forbidden: User "informerd" cannot {} resource "services" in API group '
            '"" at the cluster scope')
    api.on_list("services", times=None).fail(403, "Forbidden", said.format("list"))
    api.on_watch("services", times=None).fail(403, "Forbidden", said.format("watch"))
    api.end_watches()
    d.control.wait_watch("services", state="forbidden")
    stage.shoot("rbac-status", d, "status")


def selector(stage):
    watches = {"services": {**SERVICES["services"], "label_selector": "exposed=yes"}}
    api, d, hook = running(stage, watches=watches,
                           objects=shop(labels={"exposed": "true"}))
    d.settled(api)
    stage.shoot("selector-watches", d, "watches")
    stage.shoot("selector-why", d, "why", "haproxy", "shop/web")


def loop(stage):
    api, d, hook = running(stage, objects=shop("web"))
    for number in range(1, 6):
        hook.wait(number)
        d.control.wait_idle()
        if number < 5:      # the program writes to the object that it was told of
            api.apply(*shop("web", annotations={"haproxy/seen": str(number)}))
    d.settled(api)
    wait_until(lambda: len(d.ctl_json("runs", "haproxy")) == 5, what="five runs")
    stage.shoot("loop-runs", d, "runs", "haproxy")


def helper(stage):
    api, d, hook = running(stage)
    hook.wait(len(NAMES))
    d.settled(api)
    os.kill(d.helper, signal.SIGKILL)
    d.expected_exit = d.wait_exit()
    stage.shoot_direct("helper-status", d, "status")
    stage.shoot_log("helper-log", d, "helper process has ended")


def cluster(stage):
    api, d, hook = running(stage)
    hook.wait(len(NAMES))
    d.settled(api)
    d.stop()
    api.restore((1, {}))
    api.identity = OTHER
    api.apply(service("lab/web"))
    d.start()
    d.wait_problem("another cluster")
    d.settled(api)
    message = next(entry["msg"] for entry in d.problems() if "another cluster" in str(entry))
    stage.shoot_log("cluster-log", d, message)
    stage.shoot("cluster-get", d, "get", "services")


class Situation(NamedTuple):
    name: str
    play: callable
    has_files: bool = False     # its screens are files in docs/screens; else they are in the runbook


def bad_reload(stage):
    api, d, hook = running(stage)
    hook.wait(len(NAMES))
    d.settled(api)
    d.config.write_text(d.config.read_text() + "hoks: { };\n")
    stage.shoot_direct("reload-order", d, "reload")
    stage.shoot("reload-status", d, "status")


def doctor(stage):
    """A parked key, a program that is not executable, and files of a hook that is gone. The state is
    not in memory, wherever the test runs."""
    hook = stage.factory.hook()
    hook.exit_with(2, "web")
    files = stage.factory.new_folder("out")
    stage.texts.append((r"/etc/informerd/out\d+", "/etc/app"))
    program = stage.factory.program("")
    program.path.chmod(0o644)
    stage.texts.append((r"/etc/informerd/program\d+/program", "/etc/informerd/hooks/dns"))
    with tempfile.TemporaryDirectory(prefix="ifd-state-", dir="/var/tmp") as state:
        stage.texts.append((state, "/var/lib"))
        api, d, hook = running(stage, hook, settings={"park_exit": [2]}, state_dir=f"{state}/informerd")
        d.settings["hooks"]["app"] = {"sources": ["services"], "shell": "echo $INFORMERD_NAME",
                                      "output": f"{files}/${{name}}"}
        d.write_config()
        d.ctl("reload")
        wait_until(lambda: len(list(files.iterdir())) == len(NAMES), what="the files are written")
        del d.settings["hooks"]["app"]
        d.settings["hooks"]["dns"] = {"sources": ["services"], "command": [program.path],
                                      "events": ["deleted"]}
        d.write_config()
        d.ctl("reload")
        wait_until(lambda: d.control.hook("haproxy")["parked"] == 1, what="parked")
        d.settled(api)
        stage.shoot("doctor", d, "doctor")
        d.stop()


SITUATIONS = [
    Situation("well", well, has_files=True),
    Situation("doctor", doctor, has_files=True),
    Situation("stale", stale),
    Situation("held", held),
    Situation("memory", memory),
    Situation("parked", parked),
    Situation("paused", paused),
    Situation("expired", expired),
    Situation("full", full),
    Situation("rbac", rbac),
    Situation("selector", selector),
    Situation("loop", loop),
    Situation("helper", helper),
    Situation("reload", bad_reload),
    Situation("cluster", cluster),
]
