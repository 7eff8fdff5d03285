# SPDX-License-Identifier: Apache-2.0
"""SCENARIO 59: a server that the network swallows is found by the kernel's probes alone."""
import time

import pytest
from control import wait_until
from fakeapi import service
from netns import CLIENT_IP, SERVER_IP, Cable, missing

FOUND_WITHIN_S = 45


@pytest.fixture
def cable():
    reason = missing()
    if reason:
        pytest.skip(reason)
    with Cable() as laid:
        yield laid


def attempts(d):
    return len(d.log(msg="connection", state="connecting"))


@pytest.mark.slow
def test_s59_a_black_hole_is_found_and_the_watch_goes_on_without_a_list(
        cable, authority, new_api, factory, hook):
    """No stream ends, no bookmark is due, nothing is sent: only keepalive can tell."""
    with cable.inside(cable.server):
        api = new_api(tls=authority.server(ips=(SERVER_IP,)), host=SERVER_IP)
    api.apply(service("n/a"))
    with cable.inside(cable.client):
        d = factory.daemon(api, hooks={"h": hook})
    hook.wait(1)
    api.wait_watching("services")
    api.apply(service("n/b"))
    hook.wait(2)
    d.caught_up(api)
    rv = api.rv
    assert api.of("services")[0].conn.transport.get_extra_info("peername")[0] == CLIENT_IP
    before = attempts(d)
    cable.cut()
    begin = time.monotonic()
    api.apply(service("n/c"))
    wait_until(lambda: attempts(d) > before, FOUND_WITHIN_S, "another connection is tried", 0.1)
    print(f"found after {time.monotonic() - begin:.1f} s")
    lost = d.control.wait_watch("services", state="backoff")
    assert lost["synced"] and "no answer" in lost["last_error"] and len(hook.runs()) == 2
    d.wait_problem("no answer", SERVER_IP, watch="services")
    cable.mend()
    hook.wait_what("ADDED", "n/c", timeout=60)
    d.control.wait_watch("services", state="watching", last_error=None)
    sequence = api.sequence("services")
    assert sequence[:2] == ["L(0)", "W(2)"] and set(sequence[2:]) == {f"W({rv})"}
    assert len(hook.runs()) == 3
