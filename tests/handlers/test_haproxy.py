# SPDX-License-Identifier: Apache-2.0
"""haproxy: a real HAProxy reads the file of exposed Services, and is reloaded when it changes."""
import time

import balancer
import http_end
import pytest
from balancer import ends, web
from control import wait_until

NODE_PORT = 30080


@pytest.fixture
def haproxy(real, tmp_path):
    (tmp_path / "etc").mkdir()
    made = balancer.Balancer(real, tmp_path / "etc", "", tmp_path / "etc" / "services.cfg")
    yield made
    made.finish()


@pytest.fixture
def following(haproxy, api, example, systemctl):
    """informerd with the example, and a HAProxy that serves this Service."""
    def make(*addresses, **replace):
        api.apply(*web(addresses))
        d = example("haproxy", {"/etc/haproxy": haproxy.config.parent, **replace})
        d.caught_up(api)
        haproxy.start()
        systemctl.does("kill", "-USR2", haproxy.program.pid)
        return d
    return make


@pytest.fixture
def seen(api, haproxy):
    """Waits until informerd has handled all objects, and HAProxy's old worker has ended. From then
    on, HAProxy sends requests only to servers that are in the file."""
    def wait(d, *addresses):
        d.caught_up(api)
        haproxy.wait_servers("shop_web_http", *(f"{ip}:8080" for ip in addresses))
        wait_until(lambda: len(haproxy.workers()) == 1, what="the old worker has ended")
    return wait


def commands(d):
    """The ids of the hook's runs, without the runs of apply."""
    return [run["run"] for run in d.ctl_json("runs", "haproxy") if run["program"] == "command"]


def answers(count=12, address="127.0.0.1", port=NODE_PORT):
    return {http_end.get(address, port)[1] for _ in range(count)}


def test_scaled_up_and_down(api, following, seen, park):
    for last in (1, 2, 3):
        park.start(f"10.1.0.{last}")
    d = following("10.1.0.1")
    assert answers() == {"10.1.0.1"}
    assert answers(address="::1") == {"10.1.0.1"}
    api.apply(ends(["10.1.0.1", "10.1.0.2", "10.1.0.3"]))
    seen(d, "10.1.0.1", "10.1.0.2", "10.1.0.3")
    assert answers() == {"10.1.0.1", "10.1.0.2", "10.1.0.3"}
    api.apply(ends(["10.1.0.3"]))
    seen(d, "10.1.0.3")
    assert answers() == {"10.1.0.3"}


def test_a_rolling_update_loses_no_request_and_asks_no_removed_server(api, following, seen, park):
    old = [f"10.1.0.{n}" for n in (1, 2, 3)]
    new = [f"10.1.1.{n}" for n in (1, 2, 3)]
    for address in old + new:
        park.start(address)
    d = following(*old, **{'min_interval = "1s"': 'min_interval = "0s"'})
    with http_end.Crowd("127.0.0.1", NODE_PORT) as crowd:
        for n in range(3):
            left = [*old[n + 1:], *new[:n + 1]]
            api.apply(ends([*old[n:], *new[:n + 1]]))
            seen(d, *old[n:], *new[:n + 1])
            api.apply(ends(left))
            seen(d, *left)
            asked = park.servers[old[n]].count()
            crowd.wait_answers(20)
            assert park.servers[old[n]].count() == asked
            park.servers[old[n]].kill()
        crowd.wait_answers(20)
    assert crowd.bad() == []
    assert answers() == set(new)


def test_scaled_to_zero_the_last_servers_stay_for_hold_empty(api, following, seen, haproxy, park):
    park.start("10.1.0.1")
    d = following("10.1.0.1", **{'hold_empty = "10s"': 'hold_empty = "1h"'})
    api.apply(ends([]))
    d.caught_up(api)
    assert d.control.objects("haproxy_backends", "shop/web")["held"]
    assert answers() == {"10.1.0.1"}


def test_scaled_to_zero_for_longer_than_hold_empty_there_is_no_server(api, following, seen, haproxy,
                                                                     park):
    park.start("10.1.0.1")
    d = following("10.1.0.1", **{'hold_empty = "10s"': 'hold_empty = "300ms"'})
    api.apply(ends([]))
    seen(d)
    assert http_end.get("127.0.0.1", NODE_PORT)[0] == 503
    api.apply(ends(["10.1.0.1"]))
    seen(d, "10.1.0.1")
    assert answers() == {"10.1.0.1"}


def test_services_come_and_go_and_only_exposed_ones_count(api, following, seen, haproxy, park,
                                                          systemctl):
    park.start("10.1.0.1")
    park.start("10.1.0.2")
    d = following("10.1.0.1")
    service, slice_ = web(["10.1.0.2"], key="shop/late")
    service["spec"]["ports"][0].update(nodePort=30081)
    api.apply(service, slice_)
    haproxy.wait_servers("shop_late_http", "10.1.0.2:8080")
    seen(d, "10.1.0.1")
    assert answers(port=30081) == {"10.1.0.2"}
    reloads = len(systemctl.calls())
    inner, slice_ = web(["10.1.0.3"], key="shop/inner")
    inner["spec"].update(type="ClusterIP")
    del inner["spec"]["ports"][0]["nodePort"]
    api.apply(inner, slice_)
    d.caught_up(api)
    assert len(systemctl.calls()) == reloads
    assert len(d.ctl_json("get", "haproxy_backends")) == 2
    api.delete("services", "shop/late")
    haproxy.wait_servers("shop_late_http")
    seen(d, "10.1.0.1")
    with pytest.raises(OSError):
        http_end.get("127.0.0.1", 30081)


def test_a_bad_file_does_not_replace_the_good_one(api, following, seen, haproxy, park, example,
                                                  systemctl):
    example.copy_hooks()
    program = example.hooks / "haproxy.jq"
    program.write_text(program.read_text()
                       + ', (.snapshot[][] | select(.name == "bad") | "    bogus on")\n')
    park.start("10.1.0.1")
    d = following("10.1.0.1")
    before, calls = haproxy.files[0].read_bytes(), len(systemctl.calls())
    bad, slice_ = web(["10.1.0.2"], key="shop/bad")
    bad["spec"]["ports"][0].update(nodePort=30081)
    api.apply(bad, slice_)
    d.wait_problem("check", "hook failed", hook="haproxy")
    assert d.log(msg="hook output", hook="haproxy", stream="stderr")
    assert haproxy.files[0].read_bytes() == before
    assert answers() == {"10.1.0.1"}
    haproxy.stop()
    haproxy.start()
    systemctl.does("kill", "-USR2", haproxy.program.pid)
    assert answers() == {"10.1.0.1"}
    assert len(systemctl.calls()) == calls
    folder = haproxy.config.parent
    wait_until(lambda: not [path for path in folder.iterdir() if path.name.startswith(".")],
               what="no new file lies beside the old one")
    api.delete("services", "shop/bad")
    api.apply(ends(["10.1.0.1", "10.1.0.9"]))
    seen(d, "10.1.0.1", "10.1.0.9")


def test_a_burst_of_changes_is_a_few_reloads(api, following, seen, haproxy, systemctl):
    d = following("10.1.0.1")
    calls, began = len(systemctl.calls()), time.monotonic()
    for n in range(1, 201):
        api.apply(ends([f"10.1.1.{n}"]))
    d.caught_up(api)
    took = time.monotonic() - began
    seen(d, "10.1.1.200")
    reloads = len(systemctl.calls()) - calls
    assert 1 <= reloads <= 2 + took, f"{reloads} reloads, 200 changes in {took:.1f} s"
    assert 1 <= haproxy.reloads() - 1 <= reloads


def test_a_reload_that_fails_is_tried_again(api, following, seen, haproxy, park, systemctl):
    park.start("10.1.0.1")
    park.start("10.1.0.2")
    d = following("10.1.0.1")
    systemctl.does("false")
    calls = len(systemctl.calls())
    api.apply(ends(["10.1.0.2"]))
    systemctl.wait(calls + 2)
    assert "10.1.0.2" in haproxy.files[0].read_text()
    assert answers() == {"10.1.0.1"}
    runs = commands(d)
    systemctl.does("kill", "-USR2", haproxy.program.pid)
    seen(d, "10.1.0.2")
    assert answers() == {"10.1.0.2"}
    assert commands(d) == runs, "the file is as it was"


def test_both_handlers_share_a_haproxy(haproxy, api, example, park):
    label = {"informerd/haproxy": ""}
    for last in (1, 2):
        park.start(f"10.1.0.{last}")
    api.apply(*web(["10.1.0.1"], labels=label))
    d = example("haproxy", {"/etc/haproxy": haproxy.config.parent,
                            'apply = [ "/usr/bin/systemctl", "try-reload-or-restart", "haproxy" ];': ""},
                start=False)
    (d.folder / "conf.d" / "runtime.conf").write_text(example.text("haproxy-runtime", {
        "# environment": "environment", "/run/haproxy/admin.sock": haproxy.admin,
        'group = "haproxy";': ""}))
    d.start()
    wait_until(haproxy.files[0].exists)
    haproxy.start()
    assert answers() == {"10.1.0.1"}
    api.apply(ends(["10.1.0.2"], labels=label))
    d.caught_up(api)
    haproxy.wait_servers("shop_web_http", "10.1.0.2:8080")
    assert answers() == {"10.1.0.2"}
    haproxy.wait_deleted(d, "shop_web_http", "10.1.0.2:8080")
    assert haproxy.reloads() == 1
    haproxy.stop()
    haproxy.start()
    assert answers() == {"10.1.0.2"}
