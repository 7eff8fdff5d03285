# SPDX-License-Identifier: Apache-2.0
"""limits.memory: a watch that would make the caches too large is stopped and marked incomplete, starts no
hook, and lists again when there is room (docs/design.md "Memory")."""
import itertools

import pytest
from control import wait_until
from fakeapi import service
from fakeapi.objects import compact, simple
from harness import hook_settings, is_sanitized
from proctree import memory_kb

QUICK = {"backoff": {"initial": "10ms", "max": "50ms"}, "relist_jitter": "0s"}
LIMIT = {"memory": "16MiB"}
LIMIT_KB = 16 * 1024
# An idle daemon has 8 MB; what the caches hold takes up to 1.5 times of what is counted.
MOST_KB = 10 * 1024 + LIMIT_KB * 3 // 2
FIELD = "x" * 100000


def big(key, **more):
    """A Service of 100 KB."""
    obj = service(key, **more)
    obj["metadata"]["annotations"] = {"blob": FIELD}
    return obj


def big_config(i):
    return simple("ConfigMap", f"n/c{i}", data={"blob": FIELD})


def versioned(obj, rv):
    obj["metadata"]["resourceVersion"] = str(rv)
    return obj


def many(n, start=0):
    return [big(f"n/big{i:05}") for i in range(start, start + n)]


def rss_is_bounded(d):
    if not is_sanitized():
        assert memory_kb(d.pid) < MOST_KB, memory_kb(d.pid)


def incomplete(d, name="services", is_so=True):
    return d.control.wait_watch(name, incomplete=is_so)


def endless_list(make=big):
    """A list that never ends."""
    async def handler(exchange):
        await exchange.conn.send(exchange.head(200, {"Content-Type": "application/json",
                                                     "Transfer-Encoding": "chunked"}))
        await exchange.conn.send(exchange.chunk(
            b'{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":['))
        for i in itertools.count():
            item = compact(make(f"n/endless{i}", uid=f"e{i}")) + b","
            await exchange.conn.send(exchange.chunk(item))
    return handler


def test_a_list_without_an_end_is_dropped_at_the_limit_and_starts_no_hook(api, daemon, hook):
    api.on_list("services", times=3).run(endless_list())
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, limits=LIMIT, tuning=QUICK)
    d.wait_problem("limits.memory is reached", watch="services")
    hook.wait(1)
    d.caught_up(api)
    assert hook.what() == [("ADDED", "n/a")]
    assert [r.kind for r in api.of("services")] == ["L", "L", "L", "L", "W"]
    rss_is_bounded(d)


def test_a_list_that_is_too_large_is_told_everywhere_until_objects_are_deleted(
        api, daemon, hook):
    api.apply(*many(250))
    d = daemon(api, hooks={"h": hook}, limits=LIMIT, tuning=QUICK)
    row = incomplete(d)
    assert row["state"] == "incomplete" and not row["synced"] and row["objects"] == 0
    assert d.control.status()["memory"]["limit"] == 16 * 1024 * 1024
    [fault] = d.control.status()["degraded"]
    assert fault.startswith("watch services: incomplete, as limits.memory is reached")
    status = d.ctl("status")
    assert status.returncode == 1 and "limits.memory 16.0MiB" in status.stdout
    assert " incomplete " in d.ctl("watches").stdout
    [finding] = [f for f in d.ctl_json("doctor", code=1)["findings"] if f["id"] == "memory"]
    assert "raise limits.memory" in finding["advice"]
    unit = d.ctl_json("why", "h")["units"][0]
    assert unit["reason"] == "incomplete" and unit["text"] == "source services incomplete"
    rss_is_bounded(d)
    for i in range(5, 250):
        api.delete("services", f"n/big{i:05}", silent=True)
    hook.wait(5)
    incomplete(d, is_so=False)
    d.caught_up(api)
    assert d.control.status()["degraded"] == [] and len(hook.runs()) == 5
    rss_is_bounded(d)


@pytest.fixture
def filled(api, daemon, hook):
    """filled(...): a daemon that has handled five objects, and then got more than there is room for."""
    def make(**settings):
        api.apply(*many(5))
        d = daemon(api, hooks={"h": hook}, limits=LIMIT, tuning=QUICK, **settings)
        hook.wait(5)
        d.caught_up(api)
        hook.block()
        api.apply(*many(250, start=5))
        incomplete(d)
        return d
    return make


def test_a_watch_that_grows_over_the_limit_keeps_what_it_has_and_starts_no_run(api, filled, hook):
    d = filled()
    row = d.control.watch("services")
    assert row["relists_by"]["memory"] == 1 and 50 < row["objects"] < 160
    before = len(hook.runs())
    hook.release()
    # The run that was under way may end; no other one starts.
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    api.wait_for_request(lambda r: r.kind == "L" and r.resource == "services", count=3)
    assert len(hook.runs()) == before
    assert d.control.watch("services")["incomplete"]
    run = d.ctl("run", "h", "n/big00001")
    assert run.returncode != 0 and "incomplete" in run.stderr
    rss_is_bounded(d)


def test_a_reload_that_raises_the_limit_completes_the_watch(api, filled, hook):
    d = filled()
    hook.release()
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    api.delete("services", "n/big00000", silent=True)
    api.delete("services", "n/big00001", silent=True)
    d.settings["limits"]["memory"] = "1GiB"
    d.write_config()
    assert d.ctl("reload").returncode == 0
    incomplete(d, is_so=False)
    d.caught_up(api)
    # Each object once, in order; the real deletions, and no other one.
    assert [key for kind, key in hook.what() if kind == "DELETED"] == ["n/big00000", "n/big00001"]
    assert len({key for kind, key in hook.what() if kind == "ADDED"}) == 255
    assert d.control.status()["degraded"] == []


def test_a_restart_goes_on_where_the_watch_was_stopped(api, filled, hook):
    d = filled()
    hook.release()
    wait_until(lambda: d.control.hook("h")["running"] == 0)
    had = d.control.watch("services")["objects"]
    d.noted(api)
    d.stop()
    api.forget()
    d.start()
    # The same limit: the watch resumes, and is stopped again. Nothing is lost on disk.
    assert incomplete(d)["objects"] == had
    assert api.of("services")[0].kind == "W"
    assert {kind for kind, _ in hook.what()} == {"ADDED"}
    d.stop()
    d.settings["limits"]["memory"] = "1GiB"
    d.write_config()
    api.forget()
    d.start().synced()
    d.caught_up(api)
    assert {r.kind for r in api.of("services")} == {"W"}
    assert {kind for kind, _ in hook.what()} == {"ADDED"}
    assert len({key for _, key in hook.what()}) == 255


def test_a_large_watch_keeps_no_small_one_from_being_complete(api, daemon, hook, new_hook):
    other = new_hook()
    api.apply(*many(250), *(big_config(i) for i in range(3)))
    watches = {"services": {"resource": "services", "namespaces": ["*"]},
               "configs": {"resource": "configmaps", "namespaces": ["*"]}}
    d = daemon(api, watches=watches, limits=LIMIT, tuning=QUICK, hooks={
        "large": hook_settings(hook),
        "small": hook_settings(other, sources=["configs"])})
    incomplete(d)
    other.wait(3)
    assert d.control.watch("configs")["state"] == "watching"
    assert not hook.runs()
    text = d.control.ask("/metrics")[2].decode()
    assert 'informerd_watch_incomplete{cluster="prod",watch="services"} 1' in text
    assert 'informerd_watch_incomplete{cluster="prod",watch="configs"} 0' in text
    assert 'informerd_faults{reason="memory"} 1' in text


def test_a_stream_of_new_objects_ends_at_the_limit(api, daemon, hook):
    """Events that come as fast as the connection takes them, for ever."""
    async def flood(exchange):
        await exchange.start_stream()
        for i in itertools.count():
            await exchange.event({"type": "ADDED", "object": versioned(big(f"n/f{i}"), 1000 + i)})

    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, mode="snapshot", settle=["1h", "1h"])},
               watches={"services": {"resource": "services", "namespaces": ["*"],
                                     "guard": {"relist_deletes": "off"}}},
               limits=LIMIT, tuning=QUICK, start=False)
    api.on_watch("services", times=2).run(flood)
    d.start()
    d.wait_problem("limits.memory is reached", watch="services")
    rss_is_bounded(d)
    # The next list has only what is there, so the watch is complete again; the second flood ends in the
    # same way.
    # (The hook waits for its settle time.)
    wait_until(lambda: d.control.watch("services")["relists_by"].get("memory") == 2)
    wait_until(lambda: d.control.watch("services")["objects"] == 1 and
               d.control.watch("services")["state"] == "watching", what="the watch is complete again")
    rss_is_bounded(d)


def test_a_comparison_with_a_list_without_an_end_fails(api, daemon, hook):
    """informerctl verify keeps the keys of the list: they are memory, too."""
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook}, limits={"memory": "1MiB"}, tuning=QUICK)
    hook.wait(1)
    d.caught_up(api)
    api.on_list("services").run(endless_list(service))
    answer = d.ctl("verify", "services")
    assert answer.returncode == 1 and "limits.memory is reached" in answer.stdout + answer.stderr
    assert d.control.watch("services")["state"] == "watching"
    assert d.control.status()["memory"]["bytes"] < 20000
    rss_is_bounded(d)
