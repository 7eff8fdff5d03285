# SPDX-License-Identifier: Apache-2.0
"""config/conf.d/dnsmasq.conf.example with the real dnsmasq: Services of two clusters by name."""
import dns_ask
import pytest
from control import wait_until
from dns_ask import NOERROR, NXDOMAIN
from fakeapi import endpointslice, service

LABEL = {"informerd/dns": ""}
HEADLESS = {**LABEL, "service.kubernetes.io/headless": ""}
GONE = (NXDOMAIN, [])


@pytest.fixture
def hosts(tmp_path):
    made = tmp_path / "hosts"
    made.mkdir(mode=0o755)
    return made


@pytest.fixture
def dnsmasq(real, hosts):
    """The real dnsmasq, with the configuration that the example tells people to write."""
    return real.start("dnsmasq", "-k", "-C", "/dev/null", "-u", "root", "--pid-file=", "--no-hosts",
                      "--no-resolv", "--listen-address=127.0.0.1", "--bind-interfaces",
                      "--log-facility=-", f"--hostsdir={hosts}",
                      "--local=/east.example/west.example/",
                      ready=lambda: dns_ask.ask("none.east.example") == GONE)


@pytest.fixture
def west(new_api):
    return new_api()


@pytest.fixture
def clusters(api, west, factory):
    return {"east": factory.cluster(api), "west": factory.cluster(west)}


@pytest.fixture
def follow(api, west, clusters, example, hosts, dnsmasq):
    """Starts informerd, and waits until it has handled all objects."""
    def make():
        made = example("dnsmasq", {"/etc/dnsmasq.hosts": hosts}, clusters=clusters)
        made.synced()
        settled(made, api, west)
        return made
    return make


def settled(d, api, west):
    """Waits until informerd has handled all objects of both clusters."""
    d.caught_up(api, "dns_services_east", "dns_slices_east")
    d.caught_up(west, "dns_services_west", "dns_slices_west")


def wait_name(name, *addresses, kind="A"):
    """Waits until dnsmasq answers with these addresses; without any: that there is no such name."""
    want = (NOERROR, sorted(addresses)) if addresses else GONE
    wait_until(lambda: dns_ask.ask(name, kind) == want,
               what=lambda: f"{name}: {dns_ask.ask(name, kind)}, wanted {want}")


def balanced(key, *ips, **more):
    """A Service of type LoadBalancer with these addresses."""
    made = service(key, **{"labels": LABEL, "type": "LoadBalancer", **more})
    made["status"] = {"loadBalancer": {"ingress": [{"ip": ip} for ip in ips]}}
    return made


def headless(key, **more):
    return service(key, ip="None", labels=LABEL, **more)


def slice_of(key, *addresses, number=1, labels=None, **more):
    made = endpointslice(f"{key}-{number}", key.partition("/")[2], list(addresses),
                         labels=HEADLESS if labels is None else labels, **more)
    made["ports"][0]["name"] = "p80"
    return made


def test_names_come_and_go_in_each_cluster(api, west, follow):
    api.apply(balanced("shop/web", "192.0.2.1"))
    west.apply(balanced("shop/web", "192.0.2.2"))
    follow()
    wait_name("web.shop.east.example", "192.0.2.1")
    wait_name("web.shop.west.example", "192.0.2.2")
    api.apply(balanced("shop/new", "192.0.2.3"))
    wait_name("new.shop.east.example", "192.0.2.3")
    wait_name("new.shop.west.example")
    west.delete("services", "shop/web")
    wait_name("web.shop.west.example")
    wait_name("web.shop.east.example", "192.0.2.1")
    api.delete("services", "shop/web")
    wait_name("web.shop.east.example")
    wait_name("new.shop.east.example", "192.0.2.3")


def test_addresses_of_a_name_follow(api, west, follow):
    both = {"externalIPs": ["192.0.2.9", "2001:db8::9"]}
    once_headless = slice_of("shop/web", "10.1.0.1")
    api.apply(balanced("shop/web", "192.0.2.1", "2001:db8::1", **both), once_headless)
    follow()
    wait_name("web.shop.east.example", "192.0.2.1", "192.0.2.9")
    wait_name("web.shop.east.example", "2001:db8::1", "2001:db8::9", kind="AAAA")
    api.apply(balanced("shop/web", "192.0.2.2", **both))
    wait_name("web.shop.east.example", "192.0.2.2", "192.0.2.9")
    api.apply(balanced("shop/web"))
    wait_name("web.shop.east.example")


def test_a_headless_service_has_its_ready_endpoints(api, follow, hosts):
    two_ports = slice_of("db/pg", "10.1.0.1")
    two_ports["ports"].append({"name": "p81", "protocol": "TCP", "port": 8081})
    api.apply(headless("db/pg", ports=[80, 81]), two_ports,
              slice_of("db/pg", "10.1.0.2", number=2, ready=False))
    follow()
    wait_name("pg.db.east.example", "10.1.0.1")
    assert (hosts / "east").read_text().count("10.1.0.1 ") == 1
    api.apply(slice_of("db/pg", "10.1.0.2", number=2))
    wait_name("pg.db.east.example", "10.1.0.1", "10.1.0.2")
    api.apply(slice_of("db/pg", "10.1.0.1", "10.1.0.3"))
    wait_name("pg.db.east.example", "10.1.0.1", "10.1.0.2", "10.1.0.3")
    api.delete("endpointslices", "db/pg-1")
    api.delete("endpointslices", "db/pg-2")
    wait_name("pg.db.east.example")


def test_a_cluster_that_cannot_be_reached_keeps_its_names(api, west, follow, hosts):
    api.apply(balanced("shop/web", "192.0.2.1"))
    west.apply(balanced("shop/web", "192.0.2.2"), balanced("shop/old", "192.0.2.3"))
    d = follow()
    wait_name("web.shop.west.example", "192.0.2.2")
    west.stop_listening()
    west.drop("rst")
    d.control.wait_watch("dns_services_west", state="backoff")
    api.apply(balanced("shop/more", "192.0.2.4"))
    wait_name("more.shop.east.example", "192.0.2.4")
    assert dns_ask.ask("web.shop.west.example") == (NOERROR, ["192.0.2.2"])
    west.delete("services", "shop/old")
    west.listen()
    wait_name("old.shop.west.example")
    wait_name("web.shop.west.example", "192.0.2.2")


def test_a_cluster_that_cannot_be_reached_keeps_its_names_over_a_restart(api, west, follow, hosts,
                                                                         example, clusters):
    api.apply(balanced("shop/web", "192.0.2.1"))
    west.apply(balanced("shop/web", "192.0.2.2"), balanced("shop/old", "192.0.2.3"))
    d = follow()
    wait_name("old.shop.west.example", "192.0.2.3")
    d.stop()
    west.stop_listening()
    west.drop("rst")
    west.delete("services", "shop/old")
    api.apply(balanced("shop/more", "192.0.2.4"))
    api.delete("services", "shop/web")
    again = example("dnsmasq", {"/etc/dnsmasq.hosts": hosts}, clusters=clusters)
    wait_name("more.shop.east.example", "192.0.2.4")
    wait_name("web.shop.east.example")
    again.control.wait_watch("dns_services_west", state="backoff")
    assert dns_ask.ask("old.shop.west.example") == (NOERROR, ["192.0.2.3"])
    assert dns_ask.ask("web.shop.west.example") == (NOERROR, ["192.0.2.2"])
    west.listen()
    wait_name("old.shop.west.example")
    wait_name("web.shop.west.example", "192.0.2.2")


def test_a_value_that_is_not_an_address_makes_no_line(api, west, follow, hosts):
    """An API server refuses such a status, but a broken one may not; annotations may have any
    text."""
    evil = balanced("shop/evil", "192.0.2.5", "192.0.2.6 web.shop.west.example\n192.0.2.7 b.e",
                    annotations={"dns": "x\n192.0.2.8 bank.example"})
    evil["status"]["loadBalancer"]["ingress"].append({"hostname": "x.example\n192.0.2.8 b.example"})
    api.apply(evil, balanced("shop/web", "192.0.2.1"))
    d = follow()
    wait_name("evil.shop.east.example", "192.0.2.5")
    wait_name("web.shop.east.example", "192.0.2.1")
    assert (hosts / "east").read_text().splitlines()[1:] == [
        "192.0.2.5 evil.shop.east.example", "192.0.2.1 web.shop.east.example"]
    assert "not an address" in d.stderr()


def test_changes_of_unpublished_objects_start_no_run(api, west, follow, hosts):
    api.apply(balanced("shop/web", "192.0.2.1"))
    d = follow()
    runs, before = [len(d.starts(f"dnsmasq_{name}")) for name in ("east", "west")], hosts / "east"
    before = before.stat()
    api.apply(service("shop/other"), slice_of("shop/other", "10.1.0.1", labels={}),
              slice_of("shop/web", "10.1.0.2", labels=LABEL),
              balanced("shop/web", "192.0.2.1", annotations={"a": "b"}))
    settled(d, api, west)
    assert [len(d.starts(f"dnsmasq_{name}")) for name in ("east", "west")] == runs
    assert (hosts / "east").stat().st_ino == before.st_ino


def test_the_last_name_goes_too(api, west, follow, hosts):
    api.apply(balanced("shop/web", "192.0.2.1"))
    follow()
    wait_name("web.shop.east.example", "192.0.2.1")
    api.delete("services", "shop/web")
    wait_name("web.shop.east.example")
    assert sorted(path.name for path in hosts.iterdir()) == ["east", "west"]
