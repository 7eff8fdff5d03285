# SPDX-License-Identifier: Apache-2.0
"""Several servers per cluster (docs/design.md "Several servers"): the daemon goes on with another one,
without a pause, without a LIST, and hooks see every change once.

The pauses of the harness' backoff are an hour here, so that a test that waits for one hangs."""
import pathlib
import time

import pytest
from control import at_least, wait_until
from fakeapi import Several, service
from harness import NOW, hook_settings
from test_renew import Identity

HOLD_S = 10     # how long a server that failed is left alone
NO_PAUSE = {"backoff": {"initial": "1h", "max": "1h", "jitter": 0.0}}
SOME_PAUSE = {"backoff": {"initial": "20ms", "max": "40ms", "jitter": 0.0}}


@pytest.fixture
def trio(new_api):
    """Three servers of one cluster."""
    first = new_api()
    return Several([first, new_api(store=first.store), new_api(store=first.store)])


@pytest.fixture
def of_trio(factory, hook, trio):
    """of_trio(tuning=..., own=..., **settings): a daemon whose cluster has the three servers, with a
    hook of mode object."""
    def make(tuning=None, own=None, **settings):
        return factory.daemon(
            clusters={"prod": factory.cluster_of(trio, tuning or NO_PAUSE, own)},
            hooks={"h": hook_settings(hook, **NOW)}, **settings)
    return make


@pytest.fixture
def following(of_trio, trio, hook):
    """The same daemon, once its hook has handled Service n/first, and n/second, which came as an
    event: a watch that ends within a second and without one means something else. Only later runs
    and requests count."""
    def make(**more):
        trio.apply(service("n/first"))
        d = of_trio(**more)
        d.settled(trio)
        wait_until(lambda: in_use(d, trio), what="a server is in use")
        apply_and_see(trio, hook, "n/second")
        d.control.wait_idle()
        hook.forget()
        trio.forget()
        return d
    return make


def servers(d):
    return {server["url"]: server for server in d.control.status()["clusters"]["prod"]["servers"]}


def states(d, apis):
    return [servers(d)[api.url]["state"] for api in apis]


def in_use(d, trio):
    """The server in use; None before the first answer."""
    used = [url for url, server in servers(d).items() if server["in_use"]]
    return trio.at(used[0]) if used else None


def changed(d):
    return d.log(msg="API server changed")


def told(hook):
    """[(type, key), ...] of all runs, which have one event each."""
    return [run.what for run in hook.runs()]


def trio_ca(d):
    """The CA that all servers have in common."""
    return pathlib.Path(d.settings["clusters"]["prod"]["ca_file"]).read_bytes()


def apply_and_see(trio, hook, *keys):
    """Changes objects, and waits until the hook has run once for each."""
    before = len(hook.runs())
    trio.apply(*[service(key) for key in keys])
    hook.wait(before + len(keys))


def assert_no_list(trio):
    assert trio.lists() == []


def watched_elsewhere(trio, left):
    """Waits until another server than this one is watched, and returns it."""
    def watched():
        return [api for api in trio.others(left) if api.watching("services")]
    return wait_until(watched, what="another server is watched")[0]


def test_the_choice_is_sticky(following, trio, hook):
    d = following()
    used = in_use(d, trio)
    for n in range(5):
        used.end_watches("services")
        used.wait_for_request(lambda r: r.kind == "W", count=n + 1)
        apply_and_see(trio, hook, f"n/x{n}")
    assert not any(other.requests for other in trio.others(used))
    assert sorted(states(d, trio)) == ["good", "untried", "untried"]
    assert changed(d) == []


def test_the_server_in_use_dies(following, trio, hook):
    d = following()
    used = in_use(d, trio)
    rv = str(trio.rv)
    used.kill()
    apply_and_see(trio, hook, "n/a", "n/b")
    assert told(hook) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert trio.sequence("services") == [f"W({rv})"]
    assert_no_list(trio)
    assert used.requests == []
    now = in_use(d, trio)
    assert now is not used
    line, = changed(d)
    assert (line["from"], line["to"], line["cluster"]) == (used.url, now.url, "prod")
    assert str(used.port) in line["because"]
    left = servers(d)[used.url]
    assert left["state"] == "failed" and not left["in_use"] and str(used.port) in left["error"]
    assert d.control.status()["clusters"]["prod"]["server"] == now.url
    assert f"{used.url}  no    failed" in d.ctl("status").stdout
    assert d.problems(msg="watch failed") == []


def test_many_watches_leave_a_server_that_dies_together(following, trio, hook):
    watches = {f"w{n}": {"resource": "services", "namespaces": [f"ns{n}"]} for n in range(40)}
    d = following(watches={"services": {"resource": "services", "namespaces": ["*"]}, **watches})
    used = in_use(d, trio)
    wait_until(lambda: used.watching("services") == 41, what="all watches are open")
    trio.forget()
    used.kill()
    wait_until(lambda: trio.watching("services") == 41, what="all watches are open again")
    apply_and_see(trio, hook, "ns7/a")
    assert_no_list(trio)
    assert len(trio.identity_requests) <= 2     # one answer serves all that were lost before it
    assert len(changed(d)) == 1
    now = in_use(d, trio)
    assert now.handshakes - now.resumptions == 1


def test_servers_that_refuse_connections_are_passed_over_at_the_start(of_trio, trio):
    for api in trio.apis[:2]:
        api.stop_listening()
    trio.apply(service("n/a"))
    d = of_trio().synced()
    assert in_use(d, trio) is trio.apis[2]
    assert d.problems(msg="watch failed") == []


def test_a_server_that_does_not_answer_a_connect_is_passed_over(of_trio, trio):
    """A SYN to it is never answered. Each server has a third of connect_timeout, two seconds at
    least."""
    for api in trio.apis[:2]:
        api.black_hole()
    trio.apply(service("n/a"))
    d = of_trio(tuning={**NO_PAUSE, "connect_timeout": "1s"}).synced()
    assert in_use(d, trio) is trio.apis[2]
    assert d.problems(msg="watch failed") == []


def test_s125_a_server_that_never_ends_the_tls_handshake_is_passed_over(of_trio, trio):
    """Fifty watches: one connection to such a server, not one for each of them. tls_timeout is long, as
    the fifty handshakes with the good server must end within it on a slow machine, too."""
    for api in trio.apis[:2]:
        api.stall_handshake = True
    watches = {f"w{n}": {"resource": "services", "namespaces": [f"ns{n}"]} for n in range(49)}
    d = of_trio(tuning={**NO_PAUSE, "tls_timeout": "10s"},
                watches={"services": {"resource": "services", "namespaces": ["*"]}, **watches})
    d.synced()
    assert in_use(d, trio) is trio.apis[2]
    assert all(api.accepted <= 2 for api in trio.apis[:2])
    assert d.problems(msg="watch failed") == []


def test_a_server_whose_certificate_is_not_good_is_passed_over(of_trio, trio, authority):
    for api in trio.apis[:2]:
        api.set_tls(authority.server(dns=["other.example"], ips=[]))
    trio.apply(service("n/a"))
    d = of_trio().synced()
    assert in_use(d, trio) is trio.apis[2]
    assert "other.example" in " ".join(server["error"] or "" for server in servers(d).values()) \
        or states(d, trio.apis[:2]) == ["untried", "untried"]
    assert d.problems(msg="watch failed") == []


def test_a_server_that_answers_503_is_left(following, trio, hook):
    d = following()
    used = in_use(d, trio)
    used.on(times=None).fail(503)
    used.identity = 503
    used.end_watches("services")
    now = watched_elsewhere(trio, used)
    apply_and_see(trio, hook, "n/a")
    assert_no_list(trio)
    assert in_use(d, trio) is now
    assert servers(d)[used.url]["state"] in ("failed", "lags")
    assert d.problems(msg="watch failed") == []


def test_a_503_of_one_resource_moves_nothing_else(of_trio, trio, hook):
    """As of an aggregated API whose own server is away: every API server says so, and none is worse
    than the others."""
    for api in trio:
        api.on_list("configmaps", times=None).fail(503, message="it is away")
    d = of_trio(tuning=SOME_PAUSE, watches={
        "services": {"resource": "services", "namespaces": ["*"]},
        "maps": {"resource": "configmaps", "namespaces": ["*"]}})
    d.control.wait_synced("services")
    used = in_use(d, trio)
    entry = d.wait_problem("it is away", msg="watch failed", watch="maps")
    for api in trio:
        assert str(api.port) in entry["err"]
    seen = len(trio.requests)
    wait_until(lambda: len(trio.requests) > seen + 9, what="it is tried again")
    assert in_use(d, trio) is used
    assert set(states(d, trio)) <= {"good", "untried"}
    apply_and_see(trio, hook, "n/a")
    assert used.watching("services") == 1
    assert changed(d) == []


def test_a_server_that_lags_is_passed_over(following, trio, hook):
    """The stand-ins know nothing of the last change, and would be silent. A server that has begun
    again knows it, although it failed before."""
    d = following()
    used = in_use(d, trio)
    for api in trio.others(used):
        api.lag()
    apply_and_see(trio, hook, "n/a")
    used.stop_listening()
    used.revive()
    used.drop("rst")
    apply_and_see(trio, hook, "n/b")
    assert told(hook) == [("ADDED", "n/a"), ("ADDED", "n/b")]
    assert_no_list(trio)
    assert used.watching("services") == 1
    for api in trio.others(used):
        assert api.identity_requests and not api.requests


@pytest.mark.parametrize("said", [500, "stall"])
def test_a_server_that_does_not_say_whether_it_lags_is_passed_over(following, trio, hook, said):
    d = following()
    used = in_use(d, trio)
    for api in trio.others(used):
        api.identity = said
    used.stop_listening()
    used.revive()
    used.drop("rst")
    apply_and_see(trio, hook, "n/a")
    assert_no_list(trio)
    assert used.watching("services") == 1
    assert set(states(d, trio.others(used))) == {"lags"}


def test_if_all_servers_lag_the_restored_cluster_is_listed(following, trio, hook):
    """etcd came back from a backup: then there is no better server."""
    d = following()
    backup = trio.store.snapshot()
    apply_and_see(trio, hook, "n/later")
    used = in_use(d, trio)
    for api in trio:
        api.stop_listening()
    trio.store.restore(backup)
    for api in trio:
        api.revive()
    used.drop("rst")
    hook.wait_what("DELETED", "n/later")
    assert d.control.keys("services") == ["n/first", "n/second"]


def test_all_servers_go_and_come_back(following, trio, hook):
    d = following(tuning=SOME_PAUSE)
    rv = trio.rv
    for api in trio:        # a watch that one of them still takes, and then ends, would lead to a list
        api.stop_listening()
    for api in trio:
        api.kill()
    entry = d.wait_problem("3 servers were tried", msg="watch failed")
    for api in trio:
        assert str(api.port) in entry["err"]
    trio.apply(service("n/a"))
    for api in trio:
        api.revive()
    hook.wait_what("ADDED", "n/a")
    assert_no_list(trio)
    assert trio.sequence("services") == [f"W({rv})"]
    wait_until(lambda: in_use(d, trio).watching("services") == 1, what="the watch is open")


def test_servers_that_are_replaced_one_by_one(following, trio, hook):
    """As in an upgrade: a server that was away is used again only when it is needed."""
    d = following()
    expected = []
    for turn in range(6):
        used = in_use(d, trio)
        used.kill()
        apply_and_see(trio, hook, f"n/x{turn}")
        expected.append(("ADDED", f"n/x{turn}"))
        assert in_use(d, trio) is not used
        used.revive()
        apply_and_see(trio, hook, f"n/y{turn}")
        expected.append(("ADDED", f"n/y{turn}"))
        assert used.watching("services") == 0
    assert told(hook) == expected
    assert_no_list(trio)
    assert d.problems(msg="watch failed") == []


@pytest.mark.slow
def test_streams_go_back_to_a_better_tier_when_its_hold_is_over(following, trio, hook):
    first, *stand_ins = trio.apis
    d = following(own=[{"tier": 1}, {"tier": 2}, {"tier": 2}])
    assert in_use(d, trio) is first
    first.kill()
    killed = time.monotonic()
    used = watched_elsewhere(trio, first)
    first.revive()
    n = 0
    while not first.watching("services"):       # each watch that ends may move
        apply_and_see(trio, hook, f"n/x{n}")
        seen = len(trio.requests)
        used.end_watches("services")
        wait_until(lambda: len(trio.requests) > seen, what="the next watch")
        wait_until(lambda: trio.watching("services") == 1, what="the next watch is open")
        n += 1
        if n > 4:                               # more ends in a row would wait for the backoff
            wait_until(lambda: time.monotonic() > killed + HOLD_S, what="the hold is over")
    assert at_least(HOLD_S, time.monotonic() - killed)
    apply_and_see(trio, hook, "n/last")
    assert in_use(d, trio) is first
    assert_no_list(trio)
    assert told(hook) == [("ADDED", f"n/x{i}") for i in range(n)] + [("ADDED", "n/last")]
    assert changed(d)[-1]["because"] == "a server of a better tier is back"
    assert {server["tier"] for server in servers(d).values()} == {1, 2}


def test_each_server_gets_its_own_credentials(of_trio, trio, hook, tmp_path):
    """A token of one server is shown to no other one."""
    tokens = []
    for n, api in enumerate(trio):
        tokens.append(tmp_path / f"token{n}")
        tokens[-1].write_text(f"t{n}\n")
        tokens[-1].chmod(0o600)
        api.tokens = {f"t{n}"}
    trio.apply(service("n/a"))
    d = of_trio(own=[{"tier": n + 1, "token_file": token} for n, token in enumerate(tokens)])
    d.synced()
    for n, api in enumerate(trio.apis[:2]):
        assert in_use(d, trio) is api
        apply_and_see(trio, hook, f"n/x{n}")
        api.kill()
        watched_elsewhere(trio, api)
    apply_and_see(trio, hook, "n/last")
    for n, api in enumerate(trio):
        assert {r.header("authorization") for r in api.requests + api.identity_requests} == {
            f"Bearer t{n}"}


def test_a_token_is_sent_to_the_servers_with_tls_alone(factory, new_api, hook, tmp_path):
    secure = new_api()
    plain = new_api(tls=None, store=secure.store)
    token = tmp_path / "token"
    token.write_text("t")
    token.chmod(0o600)
    secure.tokens = {"t"}
    d = factory.daemon(clusters={"prod": factory.cluster_of(
        [plain, secure], NO_PAUSE, [{"tier": 1}, {"tier": 2}], token_file=token)},
        hooks={"h": hook_settings(hook, **NOW)}).synced()
    plain.wait_watching("services")
    plain.apply(service("n/a"))
    hook.wait(1)
    plain.kill()
    secure.wait_watching("services")
    for api, sent in ((plain, ""), (secure, "Bearer t")):
        assert {r.header("authorization") for r in api.requests + api.identity_requests} == {sent}
    told = d.log(msg="credentials are not sent to a server without TLS: write https://")
    assert [line["server"] for line in told] == [plain.url]


def test_a_server_without_usable_credentials_holds_up_no_other(of_trio, trio, tmp_path):
    broken = tmp_path / "ca"
    broken.write_text("no certificate\n")
    trio.apply(service("n/a"))
    d = of_trio(own=[{"tier": 1, "ca_file": broken}, {"tier": 2}, {"tier": 2}]).synced()
    assert in_use(d, trio) in trio.apis[1:]
    assert "no usable certificates" in servers(d)[trio.apis[0].url]["error"]
    assert d.problems(msg="watch failed") == []
    broken.write_bytes(trio_ca(d))
    wait_until(lambda: states(d, trio)[0] == "untried", what="the CA of the first server is taken")


def test_a_list_that_breaks_off_is_asked_for_at_another_server(of_trio, trio, hook):
    trio.apply(*[service(f"n/x{n}") for n in range(50)])
    for api in trio.apis[:2]:
        api.on_list("services", times=None).reply(
            body=b'{"kind":"ServiceList","items":[' + b" " * 5000, chunks=(4000,), end="rst",
            only=4500)
    d = of_trio().synced()
    hook.wait(50)
    assert len(d.control.keys("services")) == 50
    assert d.problems(msg="watch failed") == []


def test_a_silent_server_is_left(following, trio, hook):
    """It had bookmarks and then none: its connection may be dead though nobody has closed it."""
    d = following(tuning={**NO_PAUSE, "bookmark_timeout": "2s"})
    used = in_use(d, trio)
    trio.bookmark()     # on a slow machine the watch has moved already; it moves from this one, too
    wait_until(lambda: trio.watching("services") == 1 and in_use(d, trio) is not used,
               what="another server is in use")
    assert servers(d)[used.url]["state"] == "failed"
    assert_no_list(trio)


def test_every_change_is_seen_once_while_servers_die(following, trio, hook):
    d = following(tuning=SOME_PAUSE)
    keys = [f"n/x{n}" for n in range(120)]
    for n, key in enumerate(keys):
        trio.apply(service(key))
        if n % 20 == 10:
            hook.wait(n + 1)    # a watch that dies before its first event may mean something else
            used = in_use(d, trio)
            used.kill()
            watched_elsewhere(trio, used)
            used.revive()
    hook.wait(len(keys))
    d.caught_up(trio)
    assert sorted(told(hook)) == sorted(("ADDED", key) for key in keys)
    assert_no_list(trio)


@pytest.fixture
def strict(new_api, authority, factory, hook, tmp_path):
    """strict(): three servers that ask for client certificates, a daemon that watches one of them,
    and the files of its certificate."""
    options = {"client_ca": authority, "client_required": True}
    first = new_api(tls_options=options)
    trio = Several([first, *(new_api(store=first.store, tls_options=options) for _ in range(2))])
    identity = Identity(authority, tmp_path / "pki")

    def make():
        trio.apply(service("n/first"))
        cluster = factory.cluster_of(trio, SOME_PAUSE, client_cert_file=identity.cert_file,
                                     client_key_file=identity.key_file)
        d = factory.daemon(clusters={"prod": cluster}, hooks={"h": hook_settings(hook, **NOW)})
        d.settled(trio)
        apply_and_see(trio, hook, "n/second")
        hook.forget()
        trio.forget()
        return d, trio, identity
    return make


def watched_as(trio, identity):
    return [w.exchange.conn.client_cn for w in trio.watchers] == [identity.cn]


def test_a_renewed_certificate_is_taken_by_the_server_in_use(strict, hook):
    d, trio, identity = strict()
    used = in_use(d, trio)
    identity.renew()
    wait_until(lambda: watched_as(trio, identity), what="the watch has the new certificate")
    apply_and_see(trio, hook, "n/after")
    assert in_use(d, trio) is used and not any(other.requests for other in trio.others(used))
    assert_no_list(trio)


def test_a_certificate_that_one_server_refuses_is_taken_by_another(strict, authority, hook):
    """The watch moves there without a gap; its old stream has gone on until then."""
    d, trio, identity = strict()
    used = in_use(d, trio)
    used.client_cns = {identity.cn}         # of the certificate that it has now
    identity.renew()
    wait_until(lambda: watched_as(trio, identity), what="the watch has the new certificate")
    apply_and_see(trio, hook, "n/after")
    assert in_use(d, trio) is not used
    assert_no_list(trio)
