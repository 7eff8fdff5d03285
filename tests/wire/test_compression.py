# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 74, 122; docs/kubernetes-protocol.md "Compression": lists come compressed if the
configuration allows it, and nothing else does."""
import pytest
from fakeapi import LIVE, gzip_member, service, status_object

GZIP = {"compression": "gzip"}
STREAMS = {"watch_list": "on"}
WIDGETS = {"services": {"resource": "widgets", "namespaces": ["*"]}}


def fill(api, count=300):
    """So many Services of about a kilobyte: a list above 128 KiB."""
    api.apply(*(service(f"n/s{number}", annotations={"text": "x" * 1000})
                for number in range(count)))


def answers_are_compressed(api):
    """Whether the lists were much smaller than their objects."""
    return all(0 < r.answered < 100_000 for r in api.of("services", "L"))


def test_s122_without_the_setting_nothing_is_asked_for_compressed(api, daemon):
    fill(api)
    d = daemon(api).caught_up(api)
    d.control.verify("services")
    assert {r.header("accept-encoding") for r in api.requests + api.identity_requests} == {""}
    assert not answers_are_compressed(api)


def test_s122_lists_are_asked_for_compressed_and_nothing_else(api, daemon, hook):
    fill(api)
    d = daemon(api, tuning=GZIP, hooks={"h": hook}).synced()
    d.caught_up(api)
    api.apply(service("n/later"))
    hook.wait_what("ADDED", "n/later")
    d.control.verify("services")
    d.caught_up(api)
    assert len(d.control.keys("services")) == 301
    assert len(api.of("services", "L")) == 2, "the list and the audit"
    assert all(r.header("accept-encoding") == "gzip" for r in api.of("services", "L"))
    assert answers_are_compressed(api)
    assert {r.header("accept-encoding") for r in api.of("services", "W")} == {""}
    api.wait(lambda: api.identity_requests, what="a request for the identity")
    assert {r.header("accept-encoding") for r in api.identity_requests} == {""}


def test_s122_all_pages_come_compressed_over_one_connection(api, daemon):
    api.watch_cache = False
    api.gzip_above = 1000
    fill(api)
    d = daemon(api, tuning={**GZIP, "page_size": 100}).synced()
    assert len(d.control.keys("services")) == 300
    lists = api.of("services", "L")
    assert len(lists) == 3 and answers_are_compressed(api)
    assert len({r.conn_id for r in lists}) == 1


def test_s122_a_list_that_the_server_leaves_as_it_is_will_do(api, daemon):
    api.apply(service("n/a"))
    api.on_list("services").list([service("n/b")], rv=api.rv, headers={
        "Content-Encoding": "identity"})
    d = daemon(api, tuning=GZIP).synced()
    assert d.control.keys("services") == ["n/b"]


def test_s122_a_kubeconfig_with_disable_compression_forbids_it(api, daemon):
    fill(api)
    daemon(api, tuning=GZIP, credentials={"cluster": {"disable-compression": True}}).synced()
    assert {r.header("accept-encoding") for r in api.of("services")} == {""}


def test_s122_discovery_comes_compressed_too(api, daemon):
    api.define("widgets.v1.example.com", kind="Widget")
    d = daemon(api, WIDGETS, tuning=GZIP).synced()
    asked = {r.path: r.header("accept-encoding") for r in api.requests if r.kind == "-"}
    assert asked and set(asked.values()) == {"gzip"}, asked
    assert d.control.keys("services") == []


def test_s122_a_compressed_refusal_is_understood(api, daemon):
    status = status_object(403, message="services is forbidden: " + "y" * 200)
    rule = api.on_list("services", times=None).reply(403, body=status, gzip=1)
    d = daemon(api, tuning=GZIP)
    line = d.wait_problem("services is forbidden")
    assert line["kind"] == "forbidden" and "403" in line["err"]
    rule.cancel()
    d.synced()


def test_s74_a_list_of_many_members_is_the_same_list(api, daemon):
    """As from a server or proxy that ends a member at each flush."""
    api.gzip_members = 200
    fill(api)
    d = daemon(api, tuning=GZIP).synced()
    assert d.control.keys("services") == sorted(f"n/s{number}" for number in range(300))
    assert answers_are_compressed(api)


@pytest.mark.parametrize("members", [1, 3])
def test_s74_a_compressed_list_cut_at_every_byte_gives_the_same_objects(api, daemon, members):
    api.on_list("services").list([service("n/a"), service("n/b")], rv=api.rv, gzip=members,
                                 chunks=range(1, 2000), cut="every")
    d = daemon(api, tuning=GZIP).synced()
    assert d.control.keys("services") == ["n/a", "n/b"]


def test_s74_events_are_never_asked_for_compressed(api, daemon, hook):
    """Neither the initial events of a streaming list nor those of a watch: a server that
    compresses could hold them back."""
    api.watch_list = True
    fill(api)
    d = daemon(api, tuning={**GZIP, **STREAMS}, hooks={"h": hook}).synced()
    d.caught_up(api)
    api.apply(service("n/later"))
    hook.wait_what("ADDED", "n/later")
    api.end_watches()
    api.wait_for_request(lambda r: r.kind == "W")
    assert {r.header("accept-encoding") for r in api.of("services")} == {""}


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_s74_a_compressed_watch_that_nobody_asked_for_is_named(api, daemon, hook, coding):
    api.apply(service("n/a"))
    api.on_watch("services", times=2).stream(
        gzip_member(b'{"type":"ADDED","object":{}}'), LIVE,
        headers={"Content-Encoding": coding})
    d = daemon(api, tuning=GZIP, hooks={"h": hook})
    line = d.wait_problem(f"Content-Encoding {coding}", "not asked for")
    assert line["kind"] == "protocol"
    api.apply(service("n/later"))
    hook.wait_what("ADDED", "n/later")
    assert [text for text in hook.what() if text[0] == "DELETED"] == []


def test_s74_a_compressed_list_that_nobody_asked_for_is_named(api, daemon):
    api.on_list("services", times=3).list([service("n/b")], rv=9, gzip=1)
    d = daemon(api)
    d.wait_problem("Content-Encoding gzip", "not asked for", "200")
    d.synced()
    assert d.control.keys("services") == []
