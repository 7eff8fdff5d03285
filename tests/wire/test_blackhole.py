# SPDX-License-Identifier: Apache-2.0
"""SCENARIOS.md 59: the network drops all packets to a server, or its machine loses power. The
kernel's probes alone find it; tests/soak/blackhole.py measures how long that takes."""
import json

import pytest
from control import wait_until
from far import attempts, check_went_on, page_row, shortened
from fakeapi import service
from netns import SERVER_IP


def metrics(d):
    return d.control.ask("/metrics")[2].decode()


def reasons(d):
    """(status, the words of the reasons) of /healthz."""
    status, _headers, body = d.control.ask("/healthz?format=json")
    return status, [reason["reason"] for reason in json.loads(body)["reasons"]]


def wait_status(sock, text):
    """Waits until systemctl status would show this text."""
    while f"STATUS={text}".encode() not in sock.recv(4096):
        pass


def test_s59_a_black_hole_is_found_and_the_watch_goes_on_without_a_list(far, cable, hook, systemd):
    """No stream ends, no bookmark is due, and neither side sends anything: only keepalive can find
    it. It takes 40 s by the socket's options. Then status, log, metrics, page and systemctl status say so."""
    api, d = far
    rv, before = api.rv, attempts(d)
    with shortened(api, d):
        cable.cut()
    api.apply(service("n/c"))
    wait_until(lambda: attempts(d) > before, what="another connection is tried")
    lost = d.control.wait_watch("services", state="backoff")
    assert lost["synced"] and "no answer" in lost["last_error"] and len(hook.runs()) == 2
    d.wait_problem("no answer", SERVER_IP, watch="services")
    wait_status(systemd, "no contact: watch services: ")
    wait_until(lambda: 'informerd_watch_state{cluster="prod",watch="services"} 3' in metrics(d))
    assert 'informerd_watch_errors_total{cluster="prod",watch="services",reason="timeout"}' in metrics(d)
    row = page_row(d)
    assert row["word"] == "backoff" and row["level"] == "look" and row["error"].startswith("no contact: ")
    cable.mend()
    check_went_on(api, hook, rv)
    wait_status(systemd, "1 of 1 watches synced, 1 hook")
    d.control.wait_watch("services", state="watching", last_error=None)


@pytest.mark.parametrize("far", [{"stale_after": "1s"}], indirect=True)
def test_s59_a_black_hole_makes_healthz_503_after_stale_after(far, cable, hook):
    """The page then shows the watch as a fault; both are well again when the network is."""
    api, d = far
    rv = api.rv
    with shortened(api, d):
        cable.cut()
    api.apply(service("n/c"))
    wait_until(lambda: reasons(d) == (503, ["stale"]), what="not healthy")
    wait_until(lambda: (page_row(d)["error"] or "").startswith("no contact: "), what="the page says why")
    row = page_row(d)
    assert row["word"] == "stale" and row["level"] == "bad"
    cable.mend()
    check_went_on(api, hook, rv)
    wait_until(lambda: (api.bookmark(), reasons(d) == (200, []))[1], what="healthy")
    row = page_row(d)
    assert row["word"] == "watching" and row["level"] == "good" and not row["error"]


def test_s59_a_machine_that_lost_power_is_found_when_it_is_back(far, cable, hook):
    """It knows nothing of the earlier connections, and says so when a probe comes."""
    api, d = far
    rv, before = api.rv, attempts(d)
    with shortened(api, d):
        cable.remove_address(cable.server, f"{SERVER_IP}/24")
        api.drop("rst")     # nobody hears that
        api.wait(lambda: not api.conns, what="no connections")
        cable.add_address(cable.server, f"{SERVER_IP}/24")
    api.apply(service("n/c"))
    check_went_on(api, hook, rv)
    assert attempts(d) > before
