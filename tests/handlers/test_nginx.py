# SPDX-License-Identifier: Apache-2.0
"""config/conf.d/nginx.conf.example with the real nginx: its upstreams follow Services."""
import http_end
import nginx_end
import programs
import pytest
from control import wait_until
from fakeapi import endpointslice, service

LABEL = {"informerd/nginx": ""}
HOOK = "nginx_upstreams"
SITE = """
include {folder}/upstreams.d/*.conf;
server {{
    listen 127.0.0.1:80;
    location ~ ^/(?<name>[^/]+) {{ set $upstream shop_$name; proxy_pass http://$upstream; }}
}}
"""


class Nginx(nginx_end.Nginx):
    """An nginx with a site as the example tells people to write it."""

    def __init__(self, real, systemctl, folder):
        super().__init__(real, systemctl, folder)
        (folder / "upstreams.d").mkdir(mode=0o755)
        self.write_site("web", SITE.format(folder=folder))

    @staticmethod
    def get(name):
        """Sends a request to upstream shop_NAME."""
        return http_end.get("127.0.0.1", 80, f"/{name}")

    def wait_from(self, name, *bodies):
        """Waits until upstream shop_NAME has answered from each of these servers."""
        missing = set(bodies)

        def all_seen():
            status, body = self.get(name)
            if status == 200:
                missing.discard(body)
            return not missing
        wait_until(all_seen, what=f"answers from {bodies}")

    def wait_status(self, name, status):
        wait_until(lambda: self.get(name)[0] == status, what=f"{name} answers {status}")

    def files(self):
        """{name: text} of the upstreams; None while the temporary file of a run lies beside
        them."""
        paths = list((self.folder / "upstreams.d").iterdir())
        if any(path.name.startswith(".") for path in paths):
            return None
        return {path.name: path.read_text() for path in paths}


@pytest.fixture
def nginx(real, systemctl, tmp_path):
    made = Nginx(real, systemctl, tmp_path / "nginx")
    made.start(lambda: made.get("none")[0] == 502)
    return made


def web(key="shop/web", **more):
    made = service(key, **{"ports": [80], "labels": LABEL, **more})
    made["spec"]["ports"][0]["name"] = "http"
    return made


def slice_of(key, *addresses, number=1, **more):
    """A slice of Service `key`, with the labels of the Service."""
    return endpointslice(f"{key}-{number}", key.partition("/")[2], list(addresses),
                         **{"labels": LABEL, **more})


@pytest.fixture
def follow(example, nginx, api):
    """follow({old text: new text}) starts informerd, and waits until nginx knows all Services."""
    def make(replace=None):
        workers = nginx.workers()
        made = example("nginx", {**nginx.places(), **(replace or {})})
        made.synced()
        made.caught_up(api)
        nginx.wait_without(workers)
        return made
    return make


def test_requests_follow_the_endpoints_of_a_service(api, follow, nginx, park):
    one, two = park.start("10.1.0.1"), park.start("10.1.0.2")
    api.apply(web(), slice_of("shop/web", one.address))
    follow()
    nginx.wait_from("web_http", "10.1.0.1")
    api.apply(slice_of("shop/web", two.address, number=2))
    nginx.wait_from("web_http", "10.1.0.1", "10.1.0.2")
    api.delete("endpointslices", "shop/web-1")
    three = park.start("fd00::3")
    six = slice_of("shop/web", three.address, number=3)
    six["addressType"] = "IPv6"
    api.apply(six)
    nginx.wait_from("web_http", "fd00::3")


def test_a_rolling_update_fails_no_request_and_asks_no_dead_endpoint(api, follow, nginx, park,
                                                                    systemctl):
    servers = [park.start(f"10.1.0.{n}") for n in (1, 2)]
    api.apply(web(), slice_of("shop/web", *[s.address for s in servers]))
    d = follow()
    nginx.wait_from("web_http", "10.1.0.1", "10.1.0.2")
    with http_end.Client("127.0.0.1", 80, "/web_http") as client:
        for n in (3, 4, 5):
            old, servers = servers[0], [*servers[1:], park.start(f"10.1.0.{n}")]
            workers = nginx.workers()
            api.apply(slice_of("shop/web", *[s.address for s in servers]))
            d.caught_up(api)
            nginx.wait_without(workers)
            removed = programs.now()
            old.kill()
            nginx.wait_from("web_http", f"10.1.0.{n}")
            wait_until(lambda: len(client.since(removed)) > 20)
            assert old.count(since=removed) == 0
    assert client.bad() == []
    assert len(systemctl.calls()) == 4


def test_a_service_without_endpoints_answers_502_at_once(api, follow, nginx, park):
    one = park.start("10.1.0.1")
    api.apply(web(), slice_of("shop/web", one.address))
    follow({'hold_empty = "10s"': 'hold_empty = "10ms"'})
    nginx.wait_from("web_http", "10.1.0.1")
    workers = nginx.workers()
    api.apply(slice_of("shop/web"))
    nginx.wait_status("web_http", 502)
    nginx.wait_without(workers)
    began = programs.now()
    assert nginx.get("web_http")[0] == 502, "and not 504: nobody waits for a connection"
    two = park.start("10.1.0.2")
    api.apply(slice_of("shop/web", two.address))
    nginx.wait_from("web_http", "10.1.0.2")
    assert one.count(since=began) == 0


def test_hold_empty_keeps_a_service_that_loses_all_at_once(api, follow, nginx, park, systemctl):
    one = park.start("10.1.0.1")
    api.apply(web(), slice_of("shop/web", one.address))
    d = follow({'hold_empty = "10s"': 'hold_empty = "1h"'})
    nginx.wait_from("web_http", "10.1.0.1")
    before, runs = nginx.files(), d.starts(HOOK)
    api.apply(slice_of("shop/web"))
    d.caught_up(api)
    assert d.control.objects("nginx_backends", "shop/web")["held"]
    assert nginx.get("web_http") == (200, "10.1.0.1")
    assert nginx.files() == before and d.starts(HOOK) == runs and len(systemctl.calls()) == 1
    park.start("10.1.0.2")
    api.apply(slice_of("shop/web", "10.1.0.2"))
    nginx.wait_from("web_http", "10.1.0.2")


def test_draining_endpoints_serve_while_no_endpoint_is_ready(api, follow, nginx, park):
    one = park.start("10.1.0.1")
    draining = slice_of("shop/web", one.address)
    draining["endpoints"][0]["conditions"] = {"ready": False, "serving": True, "terminating": True}
    api.apply(web(), draining)
    follow()
    nginx.wait_from("web_http", "10.1.0.1")


def test_a_deleted_or_unlabelled_service_is_removed_and_the_others_go_on(api, follow, nginx, park):
    one = park.start("10.1.0.1")
    keys = ["shop/web", "shop/left", "shop/gone"]
    for key in keys:
        api.apply(web(key), slice_of(key, one.address))
    d = follow()
    for name in ("web", "left", "gone"):
        nginx.wait_from(f"{name}_http", "10.1.0.1")
    assert sorted(nginx.files()) == ["shop_gone.conf", "shop_left.conf", "shop_web.conf"]
    api.delete("services", "shop/gone")
    api.apply(web("shop/left", labels={}))
    d.caught_up(api)
    assert sorted(nginx.files()) == ["shop_web.conf"]
    nginx.wait_status("gone_http", 502)
    nginx.wait_status("left_http", 502)
    nginx.wait_from("web_http", "10.1.0.1")


def test_a_port_without_a_name_goes_by_its_number_and_udp_is_left_out(api, follow, nginx, park):
    one = park.start("10.1.0.1", 8080)
    unnamed = web("shop/one", ports=[8000])
    del unnamed["spec"]["ports"][0]["name"]
    its_slice = slice_of("shop/one", one.address)
    its_slice["ports"][0]["name"] = ""
    dns = web("shop/dns")
    dns["spec"]["ports"].append({"name": "dns", "protocol": "UDP", "port": 53})
    api.apply(unnamed, its_slice, dns, slice_of("shop/dns", one.address))
    follow()
    nginx.wait_from("one_8000", "10.1.0.1")
    nginx.wait_from("dns_http", "10.1.0.1")
    assert nginx.files()["shop_dns.conf"].count("upstream") == 1


def test_many_services_at_the_start_are_one_reload(api, follow, nginx, systemctl):
    for n in range(40):
        api.apply(web(f"shop/s{n}"), slice_of(f"shop/s{n}", f"10.2.0.{n + 1}"))
    follow()
    assert len(nginx.files()) == 40
    assert len(systemctl.calls()) == 1


def test_changes_of_values_that_nginx_does_not_use_start_no_run(api, follow, nginx, systemctl):
    api.apply(web(), slice_of("shop/web", "10.1.0.1"), service("shop/other"))
    d = follow()
    before, runs = nginx.files(), d.starts(HOOK)
    assert [key for _when, key in runs if key] == ["shop/web"]
    evil = web(annotations={"nginx/x": '"; } server { listen 81; } #\n}'}, sessionAffinity="x")
    evil["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    again = slice_of("shop/web", "10.1.0.1", node="node-7")
    again["metadata"]["annotations"] = {"x": "y;"}
    api.apply(evil, again, service("shop/other", ports=[81]))
    d.caught_up(api)
    assert nginx.files() == before and d.starts(HOOK) == runs
    assert len(systemctl.calls()) == 1


def test_a_bad_port_name_stops_only_its_own_service(api, follow, nginx, park):
    """An API server refuses such a port name, but a broken one may not."""
    one = park.start("10.1.0.1")
    api.apply(web(), slice_of("shop/web", one.address))
    d = follow()
    evil = web("shop/evil")
    evil["spec"]["ports"][0]["name"] = "x { server 127.0.0.1; } upstream y"
    api.apply(evil)
    d.wait_problem("hook failed", hook=HOOK, key="shop/evil")
    assert list(nginx.files()) == ["shop_web.conf"]
    api.apply(slice_of("shop/web", park.start("10.1.0.2").address))
    nginx.wait_from("web_http", "10.1.0.2")


def test_a_file_that_nginx_does_not_take_never_becomes_live(api, follow, nginx, park, example):
    """There is a mistake in the script: for some Services it writes an invalid configuration."""
    one = park.start("10.1.0.1")
    example.copy_hooks()
    script = example.hooks / "nginx-upstreams.jq"
    script.write_text(script.read_text()
                      + ', if any(.ports[]; .port == 81) then "server {" else empty end\n')
    api.apply(web(), slice_of("shop/web", one.address), web("shop/b"),
              slice_of("shop/b", one.address))
    d = follow()
    before = nginx.files()
    api.apply(web("shop/b", ports=[81]), web("shop/c", ports=[81]))
    d.wait_problem("check", hook=HOOK, key="shop/b")
    d.wait_problem("check", hook=HOOK, key="shop/c")
    assert wait_until(nginx.files) == before
    api.apply(slice_of("shop/web", park.start("10.1.0.2").address))
    nginx.wait_from("web_http", "10.1.0.2")
    nginx.wait_from("b_http", "10.1.0.1")
    api.apply(web("shop/b"), web("shop/c"))
    d.caught_up(api)
    assert sorted(nginx.files()) == ["shop_b.conf", "shop_c.conf", "shop_web.conf"]


def test_while_the_rest_of_the_configuration_is_bad_the_reload_waits(api, follow, nginx, park,
                                                                    systemctl):
    one = park.start("10.1.0.1")
    api.apply(web(), slice_of("shop/web", one.address))
    d = follow()
    nginx.wait_from("web_http", "10.1.0.1")
    nginx.write_site("slip", "server {\n")
    api.apply(slice_of("shop/web", park.start("10.1.0.2").address))
    d.wait_problem("failed", hook=HOOK)
    assert "10.1.0.2" in nginx.files()["shop_web.conf"] and len(systemctl.calls()) == 1
    runs = len([key for _when, key in d.starts(HOOK) if key == "shop/web"])
    nginx.remove_site("slip")
    nginx.wait_from("web_http", "10.1.0.2")
    d.caught_up(api)
    assert len([key for _when, key in d.starts(HOOK) if key == "shop/web"]) == runs


@pytest.mark.parametrize("text, code", [
    ("upstream a { server 10.0.0.1:80; }\n", 0),
    ("upstream a { server 127.0.0.1:9 down; }\n", 0),
    ("", 0),
    ("upstream a { }\n", 1),
    ("upstream a { server 10.0.0.1:80; }\nupstream a { server 10.0.0.2:80; }\n", 1),
    ("upstream a { server 10.0.0.1:99999; }\n", 1),
    ("upstream a { server 10.0.0.1:80;\n", 1),
    ("} events { }\n", 1)])
def test_the_check_asks_nginx(example, tmp_path, text, code):
    file = tmp_path / "with a space.conf"
    file.write_text(text)
    assert bool(nginx_end.check(example, "upstreams", file, code=code)) == bool(code)
