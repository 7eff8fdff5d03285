# SPDX-License-Identifier: Apache-2.0
"""config/hooks/bird.jq with the real BIRD: routes that follow what a node can serve."""
import pathlib
import shutil
import tempfile

import programs
import pytest
from control import PATIENCE, at_least, wait_until
from fakeapi import endpointslice, service

CONFIG = """
router id 192.0.2.254;
log stderr all;
protocol device {{}}
{more}
include "{folder}/informerd[.]conf";
"""


def balanced(key, *ingress, policy="Local", **more):
    """A Service of type LoadBalancer with these addresses."""
    made = service(key, type="LoadBalancer", externalTrafficPolicy=policy, **more)
    made["status"]["loadBalancer"]["ingress"] = [
        entry if isinstance(entry, dict) else {"ip": entry} for entry in ingress]
    return made


def endpoints(key, *addresses, node="here", **more):
    """The slice of a Service, with all its endpoints on one node."""
    namespace, _, name = key.partition("/")
    made = endpointslice(f"{key}-{node}", name, list(addresses), node=node, **more)
    made["ports"][0]["name"] = "p80"
    assert made["metadata"]["namespace"] == namespace
    return made


class Bird:
    """A BIRD for one test, with users and folders as Debian has them; it includes the hook's
    file."""

    def __init__(self, folder, real):
        self.folder, self.real = folder / "etc", real
        self.socket = folder / "bird.ctl"
        self.config, self.file = self.folder / "bird.conf", self.folder / "informerd.conf"
        self.process = None
        self.folder.mkdir(mode=0o750)
        shutil.chown(self.folder, "bird", "bird")
        self.configure()

    def configure(self, more=""):
        self.config.write_text(CONFIG.format(folder=self.folder, more=more))

    def start(self):
        self.process = self.real.start(
            "bird", "-f", "-c", self.config, "-s", self.socket, "-u", "bird", "-g", "bird",
            ready=lambda: self.ask("show", "status", code=None).returncode == 0)
        return self

    def ask(self, *words, code=0):
        return programs.run("birdc", "-s", self.socket, *words, code=code)

    def routes(self):
        """["192.0.2.1/32", ...]: BIRD's routes."""
        return sorted(line.split()[0] for line in self.table() if "blackhole" in line)

    def table(self):
        """The lines of BIRD's answer. While BIRD takes a new configuration it may answer nothing or
        break off: then this asks again."""
        def told():
            answer = self.ask("show", "route", code=None)
            whole = answer.returncode == 0 and "Stopped" not in answer.stdout
            return answer.stdout.splitlines() if whole else None
        return wait_until(told, what="birdc shows the routes")

    def wait(self, *routes, timeout=PATIENCE):
        wait_until(lambda: self.routes() == sorted(routes), timeout, interval=0.02,
                   what=lambda: f"{self.routes()}, wanted {routes}")


@pytest.fixture
def place():
    """A folder with a short name that everybody may enter; tmp_path is neither short nor open."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="ifd-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def bird(real, place):
    programs.find("birdc")
    return Bird(place, real)


@pytest.fixture
def follow(api, example, bird):
    """follow(object, ...): starts BIRD and a daemon with the example; waits until BIRD has the
    routes of these objects."""
    programs.find("jq")

    def make(*objects, replace=None, start=True):
        api.apply(*objects)
        if start:
            bird.start()
        d = example("bird", {
            "/etc/bird/informerd.conf": bird.file,
            '"/usr/sbin/birdc", "configure"':
                f'"/usr/sbin/birdc", "-s", "{bird.socket}", "configure"',
            "    output =": '    retry : { initial = "100ms"; max = "1s"; };\n    output =',
            **(replace or {})}, node_name="here")
        for plural in ("services", "endpointslices"):
            api.wait_watching(plural)
        return d.caught_up(api) if start else d
    return make


def count(bird):
    """The number of times that BIRD was told to read its configuration."""
    return bird.process.log().count("Reconfiguring")


def test_a_route_comes_and_goes_with_the_local_endpoints(api, bird, follow):
    d = follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1", "10.0.0.2"))
    assert bird.routes() == ["192.0.2.1/32"]
    api.apply(endpoints("n/a"))
    bird.wait()
    api.apply(endpoints("n/a", "10.0.0.3"))
    bird.wait("192.0.2.1/32")
    api.apply(endpoints("n/a", "10.0.0.3", ready=False))
    bird.wait()
    api.apply(endpoints("n/a", "10.0.0.3"), balanced("n/b", "192.0.2.2"),
              endpoints("n/b", "10.0.0.9"))
    bird.wait("192.0.2.1/32", "192.0.2.2/32")
    api.delete("services", "n/a")
    bird.wait("192.0.2.2/32")
    api.apply(balanced("n/b", "192.0.2.3"))
    bird.wait("192.0.2.3/32")
    d.caught_up(api)
    assert not d.problems()


def test_local_needs_an_endpoint_here_cluster_needs_any(api, bird, follow):
    follow(balanced("n/local", "192.0.2.1"), endpoints("n/local", "10.0.0.1", node="there"),
           balanced("n/any", "192.0.2.2", policy="Cluster"),
           endpoints("n/any", "10.0.0.2", node="there"))
    assert bird.routes() == ["192.0.2.2/32"]
    api.apply(endpoints("n/local", "10.0.0.3"))
    bird.wait("192.0.2.1/32", "192.0.2.2/32")
    api.apply(endpoints("n/local"))
    bird.wait("192.0.2.2/32")
    api.apply(balanced("n/local", "192.0.2.1", policy="Cluster"))
    bird.wait("192.0.2.1/32", "192.0.2.2/32")
    api.apply(endpoints("n/any", node="there"))
    bird.wait("192.0.2.1/32")


def test_draining_endpoints_do_not_attract_traffic(api, bird, follow):
    follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"))
    draining = endpoints("n/a", "10.0.0.1")
    draining["endpoints"][0]["conditions"] = {"ready": False, "serving": True, "terminating": True}
    api.apply(draining)
    bird.wait()


@pytest.mark.parametrize("policy", ["Local", "Cluster"])
def test_with_hold_empty_the_route_stays(api, bird, follow, policy):
    d = follow(balanced("n/a", "192.0.2.1", policy=policy), endpoints("n/a", "10.0.0.1"),
               replace={'hold_empty = "0s"': 'hold_empty = "1h"'})
    api.apply(endpoints("n/a"))
    d.caught_up(api)
    assert d.control.objects("bird_backends", "n/a")["held"]
    assert bird.routes() == ["192.0.2.1/32"]


@pytest.mark.parametrize("policy", ["Local", "Cluster"])
def test_the_route_goes_when_hold_empty_has_passed(api, bird, follow, policy):
    d = follow(balanced("n/a", "192.0.2.1", policy=policy), endpoints("n/a", "10.0.0.1"),
               replace={'hold_empty = "0s"': 'hold_empty = "500ms"'})
    began = programs.now()
    api.apply(endpoints("n/a"))
    bird.wait()
    assert at_least(0.5, programs.now() - began)
    assert not d.control.objects("bird_backends", "n/a")["held"]


def test_a_change_of_another_service_withdraws_no_held_route(api, bird, follow):
    d = follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"),
               replace={'hold_empty = "0s"': 'hold_empty = "1h"'})
    api.apply(endpoints("n/a"), balanced("n/b", "192.0.2.2"), endpoints("n/b", "10.0.0.2"))
    bird.wait("192.0.2.1/32", "192.0.2.2/32")
    api.delete("services", "n/a")
    bird.wait("192.0.2.2/32")
    d.caught_up(api)


def test_routes_of_both_families_and_none_for_names_and_proxies(api, bird, follow):
    follow(balanced("n/a", "192.0.2.1", "2001:db8::1", {"hostname": "lb.example.com"}),
           endpoints("n/a", "10.0.0.1"),
           balanced("n/proxied", {"ip": "192.0.2.2", "ipMode": "Proxy"}),
           endpoints("n/proxied", "10.0.0.2"),
           balanced("n/shared", {"ip": "192.0.2.1", "ipMode": "VIP"}),
           endpoints("n/shared", "10.0.0.3"),
           balanced("n/name", {"hostname": "lb.example.com"}), endpoints("n/name", "10.0.0.4"),
           service("n/inside"), endpoints("n/inside", "10.0.0.5"))
    assert bird.routes() == ["192.0.2.1/32", "2001:db8::1/128"]
    api.delete("services", "n/a")
    bird.wait("192.0.2.1/32")


def test_values_of_objects_are_not_interpreted(api, bird, follow, tmp_path):
    bad = ["0.0.0.0/0", "192.0.2.9/32 blackhole; } include \"/etc/passwd\"; protocol static {",
           "192.0.2.9\n}", "${file}", "2001:db8::/32", "192.0.2.256", "", "#"]
    note = {"example.com/x": '"; } protocol static { ipv4; route 0.0.0.0/0 blackhole; }',
            "evil": f"$(touch {tmp_path}/evil)"}
    d = follow(balanced("n/a", "192.0.2.1", *bad, annotations=note, labels=dict(note)),
               endpoints("n/a", "10.0.0.1"))
    assert bird.routes() == ["192.0.2.1/32"]
    assert "evil" not in bird.file.read_text() and not (tmp_path / "evil").exists()
    told = [entry["line"] for entry in d.log(msg="hook output", stream="stderr")]
    assert len([line for line in told if "not an address" in line]) == len(bad)
    assert not d.problems()


def test_changes_that_change_no_route_do_not_touch_bird(api, bird, follow):
    d = follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"))
    runs, was = len(d.starts("bird")), bird.file.stat()
    told = count(bird)
    api.apply(endpoints("n/a", "10.0.0.2"))
    api.apply(balanced("n/a", "192.0.2.1", labels={"x": "y"}))
    d.caught_up(api)
    assert len(d.starts("bird")) == runs, "an endpoint for another, and a label"
    api.apply(endpoints("n/a", "10.0.0.2", "10.0.0.3"))
    d.caught_up(api)
    assert bird.file.stat().st_ino == was.st_ino and bird.routes() == ["192.0.2.1/32"]
    assert count(bird) == told


def test_the_file_is_the_same_in_any_order(api, bird, follow):
    keys = [f"n/s{number}" for number in range(12)]
    objects = [(balanced(key, f"192.0.2.{number}"), endpoints(key, f"10.0.0.{number}"))
               for number, key in enumerate(keys)]
    follow(*[obj for pair in reversed(objects) for obj in pair])
    text = bird.file.read_text()
    routes = [line.split()[1] for line in text.splitlines() if "route" in line]
    assert routes == sorted(f"192.0.2.{number}/32" for number in range(12))
    for key in keys[:6]:
        api.delete("services", key)
    bird.wait(*(f"192.0.2.{number}/32" for number in range(6, 12)))
    api.apply(*[pair[0] for pair in objects[:6]])
    bird.wait(*routes)
    assert bird.file.read_text() == text


def test_a_list_that_lacks_the_services_is_held_and_the_routes_stay(api, bird, follow):
    routes = [f"192.0.2.{number}/32" for number in range(12)]
    d = follow(*[balanced(f"n/s{number}", f"192.0.2.{number}", policy="Cluster")
                 for number in range(12)],
               *[endpoints(f"n/s{number}", f"10.0.0.{number}") for number in range(12)])
    for number in range(12):
        api.delete("services", f"n/s{number}", silent=True)
    assert d.ctl("relist", "bird_services").returncode == 0
    d.control.wait_watch("bird_services", held=True, objects=12)
    assert bird.routes() == sorted(routes)
    assert d.ctl("guard", "accept", "bird_services").returncode == 0
    bird.wait()


def test_a_file_that_bird_cannot_read_does_not_replace_the_good_one(api, bird, follow, example):
    d = follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"))
    was, told = bird.file.read_bytes(), count(bird)
    program = example.hooks / "bird.jq"
    good = program.read_text()
    program.write_text(good.replace("blackhole;", "black hole;"))
    api.apply(balanced("n/b", "192.0.2.2"), endpoints("n/b", "10.0.0.2"))
    d.wait_problem("check", hook="bird")
    assert bird.file.read_bytes() == was and count(bird) == told
    assert bird.routes() == ["192.0.2.1/32"]
    wait_until(lambda: not [path for path in bird.folder.iterdir() if path.name.startswith(".")],
               what="no new file lies beside the old one")
    program.write_text(good)
    bird.wait("192.0.2.1/32", "192.0.2.2/32")


def test_the_configure_command_is_repeated_until_bird_takes_the_file(api, bird, follow):
    d = follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"))
    # The name of the protocol is taken now, so BIRD refuses the file; the hook's check cannot know.
    bird.configure("protocol static informerd4 { ipv4; }")
    api.apply(balanced("n/b", "192.0.2.2"), endpoints("n/b", "10.0.0.2"))
    d.wait_problem("apply", hook="bird")
    assert "192.0.2.2/32" in bird.file.read_text() and bird.routes() == ["192.0.2.1/32"]
    bird.configure()
    bird.wait("192.0.2.1/32", "192.0.2.2/32")
    d.caught_up(api)


def test_an_ordinary_user_needs_only_the_group(api, bird, follow, example, place):
    example.hooks = place / "hooks"
    d = follow(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"),
               replace={'group = "bird"': 'user = "nobody"; group = "bird"'})
    assert bird.routes() == ["192.0.2.1/32"] and not d.problems()


def test_bird_may_start_later(api, bird, follow):
    d = follow(start=False)
    d.wait_problem("apply", hook="bird")
    api.apply(balanced("n/a", "192.0.2.1"), endpoints("n/a", "10.0.0.1"))
    wait_until(lambda: "192.0.2.1" in bird.file.read_text())
    bird.start()
    assert bird.routes() == ["192.0.2.1/32"]
    d.caught_up(api)
