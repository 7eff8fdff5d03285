# SPDX-License-Identifier: Apache-2.0
"""informerctl verify: a cache compared with the server's objects."""
import concurrent.futures
import json
import time

import pytest
from control import PATIENCE, wait_until
from fakeapi import Gate, service, simple
from test_ctl import age_of, list_body


@pytest.fixture
def running(api, daemon, hook):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": hook})
    hook.wait(2)
    d.caught_up(api)
    return d


def verified(d, *commands):
    """The results of several calls of informerctl verify at the same time. A comparison that finds
    differences waits for 5 s (AUDIT_GRACE_MS) or for a bookmark, so the calls wait together."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return [done.result() for done in
                [pool.submit(d.ctl, "verify", *command) for command in commands]]


def test_verify_shows_what_differs_and_changes_nothing(api, daemon, hook):
    """And it shows no difference for a cache that is true."""
    began = time.monotonic()
    api.apply(service("n/a"), service("n/b"))
    api.apply(simple("ConfigMap", "n/x"), simple("ConfigMap", "n/y"))
    running = daemon(api, hooks={"h": hook}, watches={
        name: {"resource": name, "namespaces": ["*"]} for name in ("services", "configmaps")})
    hook.wait(2)
    running.caught_up(api)
    before = running.control.objects("services")
    api.delete("services", "n/a", silent=True)
    api.apply(service("n/b", ports=[443]), silent=True)
    api.apply(service("n/c"), silent=True)
    done, as_json, of_maps = verified(running, ["services"], ["services", "-o", "json"],
                                      ["configmaps"])
    assert (of_maps.returncode, of_maps.stdout) == (0, "no differences (2 objects compared)\n")
    assert running.control.watch("configmaps")["audit"] == {
        "state": "idle", "runs": 1, "differences": 0}
    assert done.returncode == as_json.returncode == 1, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["KEY", "WHAT"]
    assert sorted(rows[1:4]) == [["n/a", "extra"], ["n/b", "different"], ["n/c", "missing"]]
    assert rows[-1][:2] == ["3", "differences"]
    assert running.control.objects("services") == before and len(hook.runs()) == 2
    result = json.loads(as_json.stdout)
    assert result["number"] in (1, 2), "2: the first had ended before the second one asked"
    assert result["compared"] == 3 and result["not_compared"] == 0
    assert result["differences"] == 3 and result["applied"] is False
    assert result["error"] is None and 0 <= result["done_age_s"] < age_of(began)
    for name, count in (("services", 3), ("configmaps", 0)):
        watch = running.control.watch(name)
        assert watch["audit"]["differences"] == count and watch["relists"] == 0


def test_verify_fails_when_the_server_refuses_the_list(running, api):
    api.on_list("services", times=None).fail(403)
    done = running.ctl("verify", "services")
    assert done.returncode == 1 and done.stdout == ""
    assert "cannot be compared" in done.stderr and "403" in done.stderr
    assert running.control.watch("services")["audit"] == {
        "state": "idle", "runs": 1, "differences": None}
    assert running.control.watch("services")["state"] == "watching"


def test_two_verifies_at_once_share_one_comparison(running, api):
    gate = Gate()
    lists = len([r for r in api.requests if r.kind == "L"])
    api.on_list("services").reply(hold=gate, body=list_body(api, "n/a", "n/b"))
    first = running.control.post("/v1/watches/services/verify")
    gate.wait_reached()
    assert running.control.post("/v1/watches/services/verify") == first == {
        "started": True, "number": 1}
    assert running.control.watch("services")["audit"]["state"] == "listing"
    short = running.ctl("verify", "services", "--timeout", "200ms")
    assert short.returncode == 1 and "--timeout" in short.stderr
    gate.open()
    wait_until(lambda: running.control.watch("services")["audit"]["state"] != "listing")
    assert len([r for r in api.requests if r.kind == "L"]) == lists + 1


def test_verify_before_the_watch_is_synced_is_refused(api, daemon):
    api.on_list("services", times=None).fail(500)
    d = daemon(api)
    d.control.wait_watch("services", state="backoff")
    done = d.ctl("verify", "services")
    assert done.returncode == 1 and "not synced" in done.stderr


def ends_early(compare):
    """Whether compare() ends before a wait of 5 s (AUDIT_GRACE_MS) could be over. If the machine stood
    still for so long, it is done once more."""
    for _ in range(10):
        began = time.monotonic()
        compare()
        if time.monotonic() - began < 4:
            return True
    return False


def test_verify_ends_when_the_cache_has_passed_the_list(running, api):
    """First nothing differs, so the answer to the list is enough. Then something differs, and a
    bookmark shows that the cache is as new as the list."""
    def without_difference():
        done = running.ctl("verify", "services", "--timeout", f"{PATIENCE:.0f}s")
        assert (done.returncode, done.stdout) == (0, "no differences (2 objects compared)\n")

    def with_a_bookmark():
        number = running.control.post("/v1/watches/services/verify")["number"]
        wait_until(lambda: audit()["state"] == "grace" or audit()["runs"] == number)
        api.bookmark()
        wait_until(lambda: audit()["runs"] == number)
        assert audit()["differences"] == 1

    def audit():
        return running.control.watch("services")["audit"]
    assert ends_early(without_difference)
    api.delete("services", "n/a", silent=True)
    assert ends_early(with_a_bookmark)


def test_only_objects_that_changed_after_the_list_are_left_out_and_counted(running, api):
    gate, bodies = Gate(), []

    async def late(exchange):
        await gate.pass_by()
        await exchange.answer(body=bodies[0])
    api.on_list("services").run(late)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(running.ctl, "verify", "services", "--timeout", f"{PATIENCE:.0f}s")
        gate.wait_reached()
        api.apply(service("n/b", ports=[444]))
        bodies.append(list_body(api, "n/a", "n/b"))
        api.apply(service("n/a", ports=[445]), service("n/c"))
        running.caught_up(api)
        gate.open()
        done = asked.result()
    assert done.returncode == 0 and done.stdout == (
        "no differences (1 objects compared, 2 not: they changed meanwhile, or cannot be used)\n")
    result = running.control.get("/v1/watches/services/verify")
    assert (result["compared"], result["not_compared"], result["differences"]) == (1, 2, 0)
