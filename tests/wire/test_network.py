# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 57 and 59: a network that rejects packets, loses those of one direction or of full
size, goes up and down, or resets connections anywhere. tests/soak/network.py measures how long each
fault lasts unseen, with the default settings."""
import random

import campaign
import pytest
from control import wait_until
from far import attempts, check_went_on, page_row, shortened
from fakeapi import Authority, service
from netns import SERVER_IP
from relays import Relay

SEED = 18
OVERDUE = "watch overdue: no bookmark came, the watch is restarted from its last resourceVersion"


class Changes:
    """Changes Services one by one; `told` has the changes in their order."""

    def __init__(self, api, seed=SEED, keys=6):
        self.api, self.rng, self.told = api, random.Random(seed), []
        self.keys, self.there = [f"m/s{number}" for number in range(keys)], set()

    def make(self, count=1):
        for _ in range(count):
            key = self.rng.choice(self.keys)
            if key in self.there and self.rng.random() < 0.2:
                self.there.discard(key)
                stored, kind = self.api.delete("services", key), "DELETED"
            else:
                kind = "MODIFIED" if key in self.there else "ADDED"
                self.there.add(key)
                pad = {"pad": "x" * self.rng.randrange(3000)}
                stored = self.api.apply(service(key, ports=[len(self.told) + 1], annotations=pad))
            self.told.append((kind, key, stored["metadata"]["resourceVersion"]))

    def check_told(self, follower):
        """Each change was told once, in its order, and nothing else after the first SYNCED."""
        def heard():
            synced = [line["type"] for line in follower.lines].index("SYNCED")
            return [(line["type"], f"{line['namespace']}/{line['name']}", line["resource_version"])
                    for line in list(follower.lines)[synced + 1:]]
        wait_until(lambda: len(heard()) >= len(self.told), what="all changes are told")
        assert heard() == self.told


def lists(api):
    return [r for r in api.requests if r.kind in "LS"]


def follow(d):
    return d.follow("stream", "services")


def equal(api, d):
    """The cache has the objects of the server."""
    d.caught_up(api)
    versions = {key: obj["metadata"]["resourceVersion"]
                for key, obj in api.store.table("services").objects.items()}
    assert {f"{obj['metadata']['namespace']}/{obj['metadata']['name']}":
            obj["metadata"]["resourceVersion"]
            for obj in d.control.objects("services")} == versions


@pytest.mark.parametrize("fault,reason", [("reset", "refused"), ("unreachable", "no contact"),
                                          ("answers lost", "no contact")])
def test_s59_a_network_that_rejects_packets_is_told_and_the_watch_goes_on(far, cable, hook, fault,
                                                                          reason):
    """A probe of the idle watch meets it, or has no answer; then connections fail."""
    api, d = far
    rv, before = api.rv, attempts(d)
    with shortened(api, d):
        cable.begin(fault, SERVER_IP)
    wait_until(lambda: attempts(d) > before + 1, what="another connection has failed")
    api.apply(service("n/c"))
    wait_until(lambda: reason in (page_row(d)["error"] or ""), what="the page says why")
    assert d.control.watch("services")["synced"] and len(hook.runs()) == 2
    cable.end(fault, SERVER_IP)
    check_went_on(api, hook, rv)
    equal(api, d)


def test_s59_an_event_that_came_while_requests_were_lost_is_not_delivered_again(far, cable, hook):
    """The server's packets arrive, so the event does; the server hears of that never."""
    api, d = far
    before, changes = attempts(d), Changes(api)
    with shortened(api, d):
        cable.begin("requests lost", SERVER_IP)
        changes.make()
        hook.wait(3)
    with follow(d) as f:
        f.wait_for(lambda line: line["type"] == "SYNCED")
        wait_until(lambda: attempts(d) > before, what="the connection was given up")
        cable.end("requests lost", SERVER_IP)
        changes.told.clear()
        changes.make()
        changes.check_told(f)
    hook.wait(4)
    equal(api, d)
    assert len(lists(api)) == 1 and len(hook.runs()) == 4


def test_s59_a_server_that_comes_back_without_its_past_is_listed_once(far, cable, hook):
    """Its watch cache begins anew, so it refuses the version. Known objects run no hook."""
    api, d = far
    with shortened(api, d):
        cable.remove_address(cable.server, f"{SERVER_IP}/24")
        api.apply(service("n/c"))
        api.delete("services", "n/a")
        with cable.inside(cable.server):
            api.restart(before=lambda: cable.add_address(cable.server, f"{SERVER_IP}/24"))
    hook.wait_what("ADDED", "n/c")
    hook.wait_what("DELETED", "n/a")
    equal(api, d)
    assert len(lists(api)) == 2 and len(hook.runs()) == 4


def test_s59_short_gaps_at_random_cost_no_connection_and_no_event(far, cable):
    """TCP sends the lost packets again."""
    api, d = far
    changes, before = Changes(api), attempts(d)
    with follow(d) as f:
        f.wait_for(lambda line: line["type"] == "SYNCED")
        for _ in range(campaign.size(12, 500)):
            fault = changes.rng.choice(["drop", "requests lost", "answers lost"])
            cable.begin(fault, SERVER_IP)
            changes.make(changes.rng.randrange(4))
            cable.end(fault, SERVER_IP)
            changes.make(changes.rng.randrange(3))
        changes.check_told(f)
    equal(api, d)
    assert api.sequence("services") == ["L(0)", "W(2)"] and attempts(d) == before


@pytest.mark.parametrize("size", [576, 1280])
def test_s59_small_packets_carry_lists_and_watches(far, cable, size):
    api, d = far
    changes = Changes(api)
    with follow(d) as f:
        f.wait_for(lambda line: line["type"] == "SYNCED")
        changes.make(3)
        cable.set_mtu(size)         # in the middle of a connection
        changes.make(10)
        changes.check_told(f)
        assert api.sequence("services") == ["L(0)", "W(2)"]
        with cable.inside(cable.server):
            api.restart()           # everything anew, by small packets alone
        changes.make(3)
        changes.check_told(f)
    equal(api, d)


@pytest.mark.parametrize("far", [{"tuning": {"bookmark_timeout": "3s", "tls_timeout": "1s"}}],
                         indirect=True)
def test_s59_a_path_that_loses_full_packets_is_found_by_the_silence(far, cable, hook):
    """Probes are small and are answered, so the kernel finds nothing. Whether the next stream opens
    depends on the size of its handshake."""
    api, d = far
    cable.begin("narrow", SERVER_IP)
    api.rv += 1
    rv = api.rv
    wait_until(lambda: (api.bookmark(), d.control.watch("services")["resource_version"])[1] == str(rv),
               what="the watch had a bookmark", interval=0.05)
    api.apply(service("n/c", annotations={"pad": "x" * 4000}))
    wait_until(lambda: d.log(msg=OVERDUE), what="the silence is told")
    assert len(hook.runs()) == 2
    cable.end("narrow", SERVER_IP)
    api.drop("rst")
    hook.wait_what("ADDED", "n/c")
    equal(api, d)
    assert len(lists(api)) == 1 and len(hook.runs()) == 3 and f"W({rv})" in api.sequence("services")


def test_s59_another_certificate_in_mid_life_is_refused_and_told(far, authority, tmp_path, hook):
    """The open watch is of the former certificate, and goes on."""
    api, d = far
    api.set_tls(Authority(tmp_path / "other").server(ips=(SERVER_IP,)))
    api.apply(service("n/c"))
    hook.wait(3)
    rv = api.rv
    api.drop("rst")
    api.apply(service("n/d"))
    d.wait_problem("certificate", watch="services")
    wait_until(lambda: "certificate" in (page_row(d)["error"] or ""), what="the page says why")
    assert len(hook.runs()) == 3 and api.sequence("services") == ["L(0)", "W(2)"]
    api.set_tls(authority.server(ips=(SERVER_IP,)))
    hook.wait_what("ADDED", "n/d")
    equal(api, d)
    assert api.sequence("services") == ["L(0)", "W(2)", f"W({rv})"] and len(hook.runs()) == 4


def test_s57_resets_at_random_bytes_cost_no_event_and_no_list(api, factory):
    """Of the handshake, of a request, of the head of an answer, of an event, and between them."""
    rng, changes = random.Random(SEED), Changes(api)
    limits = []

    def budget():
        return limits.pop() if limits else (None, None)
    cuts = campaign.size(40, 2000)
    with Relay(api.port, budget) as relay:
        cluster = factory.cluster_of([api], {"backoff": {"initial": "5ms", "max": "20ms"}})
        d = factory.daemon(clusters={"prod": {**cluster, "servers": [relay.url]}})
        d.synced()
        with follow(d) as f:
            f.wait_for(lambda line: line["type"] == "SYNCED")
            for _ in range(cuts // 2):
                limits.append((None, rng.randrange(15000, 20000)))      # some events, and a part
                limits.append((rng.choice([rng.randrange(1, 1000), None]), rng.randrange(1, 6000)))
            api.drop("rst")

            def all_cut():
                changes.make(3)
                return relay.cuts == cuts
            wait_until(all_cut, what="all cuts", interval=0.01)
            changes.check_told(f)
        equal(api, d)
        assert len(lists(api)) == 1
