# SPDX-License-Identifier: Apache-2.0
"""Size: 64 watches on 64 connections, many objects, many runs, and no growth."""
import campaign
import pytest
from control import wait_until
from fakeapi import service, simple
from harness import hook_settings, is_sanitized
from proctree import fds, memory_kb

COUNT = 64


def many_watches():
    return {f"w{i}": {"resource": "configmaps", "namespaces": [f"ns{i}"]} for i in range(COUNT)}


def test_64_watches_on_64_connections(api, daemon, hook):
    for number in range(COUNT):
        api.apply(simple("ConfigMap", f"ns{number}/c", data={"v": "0"}))
    d = daemon(api, watches=many_watches(), log={"level": "info"},
               hooks={"h": hook_settings(hook, sources=list(many_watches()), mode="snapshot",
                                         settle=["50ms", "1s"])})
    api.wait_watching("configmaps", COUNT)
    first = hook.wait(1)[0]
    assert {len(objects) for objects in first.snapshot.values()} == {1}
    assert len(first.snapshot) == COUNT
    watches = api.of("configmaps", "W")
    assert len(watches) == COUNT and len({r.conn_id for r in watches}) == COUNT
    for number in range(COUNT):
        api.apply(simple("ConfigMap", f"ns{number}/c", data={"v": "1"}))
    hook.wait_for(lambda r: all(s[0]["data"]["v"] == "1" for s in r.snapshot.values()))
    api.drop("rst")
    api.wait(lambda: len(api.of("configmaps", "W")) >= 2 * COUNT)
    api.wait_watching("configmaps", COUNT)
    api.apply(simple("ConfigMap", "ns63/c", data={"v": "2"}))
    hook.wait_for(lambda r: r.snapshot["w63"][0]["data"]["v"] == "2")
    assert len(api.of("configmaps", "L")) == COUNT
    assert all(w["state"] == "watching" for w in d.control.status()["watches"].values())


def test_files_and_memory_do_not_grow_over_many_runs(api, daemon, hook):
    d = daemon(api, hooks={"h": hook_settings(hook, concurrency=4)}, log={"level": "warn"})
    api.wait_watching("services")

    def fifty(round_):
        for number in range(50):
            api.apply(service(f"n/s{number}", ports=[round_ + 1]))
        d.caught_up(api)
    fifty(0)
    wait_until(lambda: hook.ended() == 50)
    main, helper = len(fds(d.pid)), len(fds(d.helper))
    memory = memory_kb(d.helper, "VmRSS")
    rounds = campaign.size(2, 4)
    for round_ in range(1, 1 + rounds):
        fifty(round_)
    assert len(hook.runs()) == 50 * (1 + rounds)
    wait_until(lambda: len(fds(d.pid)) <= main and len(fds(d.helper)) <= helper)
    if not is_sanitized():
        assert memory_kb(d.helper, "VmRSS") <= memory + 512


def test_connections_do_not_leak_over_reconnects(api, daemon):
    d = daemon(api, log={"level": "error"},
               tuning={"backoff": {"initial": "5ms", "max": "10ms"}})
    api.wait_watching("services")
    before = len(fds(d.pid))
    for count in range(2, 42):
        api.end_watches(how=("rst", "eof", "close")[count % 3])
        api.wait_for_request(lambda r: r.kind == "W", count=count)
        api.wait_watching("services")
    wait_until(lambda: len(fds(d.pid)) <= before + 1)
    wait_until(lambda: api.open_conns() <= 3)


@pytest.mark.parametrize("paged", [False, True])
def test_thousands_of_objects_sync_and_relist(api, daemon, hook, paged):
    count = campaign.size(4000, 10000)
    for number in range(count):
        api.apply(simple("ConfigMap", f"n/c{number:05}", data={"v": str(number)}))
    api.watch_cache = not paged
    d = daemon(api, watches={"services": {"resource": "configmaps", "namespaces": ["*"]}},
               hooks={"h": hook_settings(hook, existing="skip")}, log={"level": "info"})
    d.control.wait_watch("services", objects=count, synced=True)
    assert len(api.of("configmaps", "L")) == (count // 500 if paged else 1)
    d.caught_up(api)    # what comes before the hook has begun would be skipped as well
    api.delete("configmaps", "n/c00007", silent=True)
    api.end_watches(how={"type": "ERROR", "object": {"kind": "Status", "code": 500}})
    hook.wait_what("DELETED", "n/c00007")
    d.caught_up(api)
    assert len(hook.runs()) == 1
