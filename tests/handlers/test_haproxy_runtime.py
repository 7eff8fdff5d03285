# SPDX-License-Identifier: Apache-2.0
"""haproxy-runtime: a real HAProxy follows Services over its admin socket and never reloads."""
import json
import threading

import balancer
import http_end
import programs
import pytest
from balancer import ends, web
from control import wait_until

LABEL = {"informerd/haproxy": ""}
BACKEND = """
frontend web
    bind 127.0.0.1:80
    default_backend shop_web_http
backend shop_web_http
    balance roundrobin
    server sorry 127.0.0.1:81 backup disabled
"""
REPLACE = {"# environment": "environment", 'group = "haproxy";': "", "10s": "1h"}


@pytest.fixture
def haproxy(real, tmp_path):
    made = balancer.Balancer(real, tmp_path, BACKEND)
    yield made
    made.finish()


@pytest.fixture
def following(haproxy, api, example):
    """informerd with the example, and a HAProxy with the servers of this Service."""
    def make(*addresses, up=True, **replace):
        api.apply(*web(addresses, labels=LABEL))
        if up:
            haproxy.start()
        d = example("haproxy-runtime", {**REPLACE, "/run/haproxy/admin.sock": haproxy.admin,
                                        **replace})
        if up:
            d.caught_up(api)
            haproxy.wait_servers("shop_web_http", *(f"{ip}:8080" for ip in addresses))
        return d
    return make


def put(api, *addresses, **more):
    api.apply(ends(addresses, labels=LABEL, **more))


def answers(count=12):
    return {http_end.get("127.0.0.1", 80)[1] for _ in range(count)}


def test_scaled_up_and_down(api, following, haproxy, park):
    for last in (1, 2, 3):
        park.start(f"10.1.0.{last}")
    d = following("10.1.0.1")
    assert answers() == {"10.1.0.1"}
    put(api, "10.1.0.1", "10.1.0.2", "10.1.0.3")
    d.caught_up(api)
    assert answers() == {"10.1.0.1", "10.1.0.2", "10.1.0.3"}
    put(api, "10.1.0.3")
    d.caught_up(api)
    assert answers() == {"10.1.0.3"}
    haproxy.wait_deleted(d, "shop_web_http", "10.1.0.3:8080", "sorry")
    assert haproxy.reloads() == 1


def test_a_rolling_update_loses_no_request_and_asks_no_removed_server(api, following, park):
    old = [f"10.1.0.{n}" for n in (1, 2, 3)]
    new = [f"10.1.1.{n}" for n in (1, 2, 3)]
    for address in old + new:
        park.start(address)
    d = following(*old)
    with http_end.Crowd("127.0.0.1", 80) as crowd:
        for n in range(3):
            put(api, *old[n:], *new[:n + 1])
            d.caught_up(api)
            put(api, *old[n + 1:], *new[:n + 1])
            d.caught_up(api)
            crowd.wait_answers()
            asked = park.servers[old[n]].count()
            crowd.wait_answers(20)
            assert park.servers[old[n]].count() == asked
            park.servers[old[n]].kill()
        crowd.wait_answers(20)
    assert crowd.bad() == []
    assert answers() == set(new)


def test_a_removed_server_ends_its_requests_before_it_is_deleted(api, following, haproxy, park):
    one = park.start("10.1.0.1")
    park.start("10.1.0.2")
    d = following("10.1.0.1")
    result = []
    held = threading.Thread(target=lambda: result.append(http_end.get("127.0.0.1", 80, "/hold")))
    held.start()
    wait_until(lambda: one.count(path="/hold") == 1)
    put(api, "10.1.0.2")
    d.caught_up(api)
    assert haproxy.servers("shop_web_http") == {"10.1.0.1:8080": False, "10.1.0.2:8080": True,
                                                "sorry": False}
    assert answers() == {"10.1.0.2"}
    one.release()
    held.join()
    assert result == [(200, "10.1.0.1")]
    haproxy.wait_deleted(d, "shop_web_http", "10.1.0.2:8080", "sorry")


def test_a_removed_server_that_comes_back_while_it_drains_is_used_again(api, following, haproxy,
                                                                        park):
    one = park.start("10.1.0.1")
    d = following("10.1.0.1")
    held = threading.Thread(target=http_end.get, args=("127.0.0.1", 80, "/hold"))
    held.start()
    wait_until(lambda: one.count(path="/hold") == 1)
    put(api, "10.1.0.2")
    d.caught_up(api)
    put(api, "10.1.0.1")
    d.caught_up(api)
    haproxy.wait_servers("shop_web_http", "10.1.0.1:8080")
    one.release()
    held.join()
    assert answers() == {"10.1.0.1"}


def test_scaled_to_zero_the_last_servers_stay_for_hold_empty(api, following, haproxy, park):
    park.start("10.1.0.1")
    d = following("10.1.0.1")
    put(api)
    d.caught_up(api)
    assert answers() == {"10.1.0.1"}


def test_scaled_to_zero_for_longer_than_hold_empty_there_is_no_server(api, following, haproxy,
                                                                     park):
    park.start("10.1.0.1")
    d = following("10.1.0.1", **{"10s": "300ms"})
    put(api)
    haproxy.wait_servers("shop_web_http")
    assert http_end.get("127.0.0.1", 80)[0] == 503
    put(api, "10.1.0.1")
    d.caught_up(api)
    assert answers() == {"10.1.0.1"}


def test_a_deleted_service_leaves_no_server_but_foreign_ones(api, following, haproxy):
    d = following("10.1.0.1", "10.1.0.2")
    api.delete("services", "shop/web")
    d.caught_up(api)
    assert haproxy.servers("shop_web_http") == {"sorry": False}


def test_a_haproxy_that_is_away_is_tried_again(api, following, haproxy, park):
    park.start("10.1.0.1")
    d = following("10.1.0.1", up=False)
    d.wait_problem("hook failed", hook="haproxy_runtime")
    haproxy.start()
    haproxy.wait_servers("shop_web_http", "10.1.0.1:8080")
    assert answers() == {"10.1.0.1"}
    d.caught_up(api)
    haproxy.stop()
    haproxy.start()
    assert d.ctl("run", "haproxy_runtime", "--wait").returncode == 0
    assert answers() == {"10.1.0.1"}


def test_a_command_that_haproxy_refuses_fails_the_run(api, example, real, tmp_path):
    made = balancer.Balancer(real, tmp_path, BACKEND.replace("roundrobin", "static-rr"))
    try:
        haproxy = made.start()
        api.apply(*web(["10.1.0.1"], labels=LABEL))
        d = example("haproxy-runtime", {**REPLACE, "/run/haproxy/admin.sock": haproxy.admin})
        d.wait_problem("hook failed", hook="haproxy_runtime")
        said = [entry["line"] for entry in d.log(msg="hook output", hook="haproxy_runtime")]
        assert any("dynamic load balancing" in line for line in said), said
        assert any(line.startswith("not done: add server") for line in said), said
    finally:
        made.finish()


def test_dual_stack_and_ports_by_name(api, example, real, tmp_path, park):
    made = balancer.Balancer(real, tmp_path, BACKEND + "backend shop_web_admin\n")
    try:
        haproxy = made.start()
        service, four = web(["10.1.0.1"], labels=LABEL)
        service["spec"]["ports"].append({"name": "admin", "protocol": "TCP", "port": 81})
        service["spec"]["ports"].append({"name": "unknown", "protocol": "TCP", "port": 82})
        six = ends(["fd00::1"], labels=LABEL, suffix="6")
        for made_slice in (four, six):
            made_slice["ports"] += [{"name": "admin", "protocol": "TCP", "port": 9090},
                                    {"name": "unknown", "protocol": "TCP", "port": 9091}]
        api.apply(service, four, six)
        park.start("fd00::1")
        d = example("haproxy-runtime", {**REPLACE, "/run/haproxy/admin.sock": haproxy.admin})
        d.caught_up(api)
        haproxy.wait_servers("shop_web_http", "10.1.0.1:8080", "fd00::1:8080")
        haproxy.wait_servers("shop_web_admin", "10.1.0.1:9090", "fd00::1:9090")
        wait_until(lambda: "fd00::1" in answers(4))
        assert d.log(msg="hook output", line="HAProxy has no backend shop_web_unknown")
    finally:
        made.finish()


@pytest.mark.parametrize("name", ["web; disable frontend web", "web\ndisable frontend web", "$(x)"])
def test_a_name_is_no_command(haproxy, real, name):
    haproxy.start()
    event = {"type": "ADDED", "object": {"namespace": "shop", "name": name, "ports": [
        {"name": "http", "protocol": "TCP", "port": 80, "use": [
            {"address": "10.1.0.1", "family": "IPv4", "port": 8080, "state": "ready"}]}]}}
    script = balancer.CONFIG / "hooks" / "haproxy-runtime"
    done = programs.run("env", f"HAPROXY_SOCKET={haproxy.admin}", script, code=None,
                        stdin=json.dumps({"event": event}))
    assert done.returncode != 0 and "not a name" in done.stderr
    assert "OPEN" in haproxy.ask("show stat web 1 -1")
    assert haproxy.servers("shop_web_http") == {"sorry": False}


def test_changes_while_informerd_was_down_are_made_up_for(api, following, haproxy, park):
    """First HAProxy is restarted, then a Service is deleted."""
    park.start("10.1.0.1")
    d = following("10.1.0.1")
    d.stop()
    haproxy.stop()
    haproxy.start()
    d.again(api)
    haproxy.wait_servers("shop_web_http", "10.1.0.1:8080")
    assert answers() == {"10.1.0.1"}
    d.stop()
    api.delete("services", "shop/web")
    d.again(api)
    assert haproxy.servers("shop_web_http") == {"sorry": False}
    assert not d.problems()


def test_a_haproxy_is_filled_while_no_api_server_answers(api, following, haproxy, park):
    park.start("10.1.0.1")
    d = following("10.1.0.1")
    d.stop()
    haproxy.stop()
    haproxy.start()
    api.stop_listening()
    d.settings["start_stale"] = {"after": "100ms"}
    d.write_config()
    d.start()
    haproxy.wait_servers("shop_web_http", "10.1.0.1:8080")
    assert answers() == {"10.1.0.1"}
