# SPDX-License-Identifier: Apache-2.0
"""haproxy.jq alone: the file that it makes of a view, and that HAProxy accepts the file."""
import json

import balancer
import programs
import pytest

FILTER = balancer.CONFIG / "hooks" / "haproxy.jq"
FOUR = {"address": "10.1.0.5", "family": "IPv4", "port": 8080, "node": None, "zone": None,
        "pod": "a\nb", "hints": [], "state": "ready"}
SIX = {**FOUR, "address": "fd00::5", "family": "IPv6", "state": "draining"}


def port(*uses, **more):
    return {"name": "http", "protocol": "TCP", "port": 80, "node_port": 30080,
            "app_protocol": None, "use": list(uses), **more}


def shop(name, *ports):
    return {"namespace": "shop", "name": name, "ports": list(ports)}


def render(*objects, **environ):
    """(lines of the file, text on stderr)."""
    done = programs.run("env", *(f"{name}={item}" for name, item in environ.items()),
                        programs.find("jq"), "-rf", FILTER,
                        stdin=json.dumps({"snapshot": {"backends": list(objects)}}))
    return [line.strip() for line in done.stdout.splitlines()], done.stderr


def is_taken(lines, folder):
    """Whether HAProxy accepts the file, after a haproxy.cfg like Debian's."""
    (folder / "haproxy.cfg").write_text("global\n log /dev/log local0\n" + balancer.BASE.format(
        admin="/run/x.sock").partition("\n")[2] + "    log global\n    option httplog\n")
    (folder / "services.cfg").write_text("\n".join(lines) + "\n")
    done = programs.run(programs.find("haproxy"), "-c", "-f", folder / "haproxy.cfg",
                        "-f", folder / "services.cfg", code=None)
    return done.returncode == 0 and "WARNING" not in done.stdout + done.stderr


def test_a_section_for_each_exposed_tcp_port(tmp_path):
    lines, said = render(
        shop("web", port(FOUR, SIX, app_protocol="http"),
             port(FOUR, name=None, port=443, node_port=30443),
             port(FOUR, protocol="UDP", name="dns", node_port=30053),
             port(FOUR, name="inner", node_port=None)),
        shop("void", port(node_port=30081)))
    assert lines == [
        "# Written by informerd, which overwrites every change that you make here.", "",
        "listen shop_web_http", "bind :::30080 v4v6", "mode http",
        "server 10.1.0.5:8080 10.1.0.5:8080 check",
        "server fd00::5:8080 [fd00::5]:8080 check", "",
        "listen shop_web_443", "bind :::30443 v4v6", "mode tcp", "option tcplog",
        "server 10.1.0.5:8080 10.1.0.5:8080 check", "",
        "listen shop_void_http", "bind :::30081 v4v6", "mode tcp", "option tcplog"]
    assert said == ""
    assert is_taken(lines, tmp_path)


def test_no_service_at_all_is_a_file_too(tmp_path):
    lines, _said = render()
    assert len(lines) == 1 and is_taken(lines, tmp_path)


def test_addresses_to_listen_on(tmp_path):
    lines, _said = render(shop("web", port(FOUR)), HAPROXY_BIND="192.0.2.10 2001:db8::10")
    assert lines[3:5] == ["bind 192.0.2.10:30080 v4v6", "bind 2001:db8::10:30080 v4v6"]
    assert is_taken(lines, tmp_path)


@pytest.mark.parametrize("evil", ["web\n  bind :22", "web bind", "a\tb", "a\\nb", "a#b", '"', "$x",
                                  "", "a\n"])
@pytest.mark.parametrize("where", ["namespace", "name", "port"])
def test_a_value_that_is_not_a_name_is_left_out_and_reported(evil, where):
    bad = shop("bad", port(FOUR, name=evil if where == "port" else "http"))
    if where != "port":
        bad[where] = evil
    lines, said = render(bad, shop("good", port(FOUR)))
    assert lines == render(shop("good", port(FOUR)))[0]
    assert "not a name" in said
