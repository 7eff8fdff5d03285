# SPDX-License-Identifier: Apache-2.0
"""docs/design.md "Output files", word for word: output, check and apply, and whatever happens at
the same time."""
import os
import random
import re
import stat

import campaign
import pytest
from control import wait_until
from fakeapi import endpointslice, service
from harness import ONCE, RETRY
from outputs import PORTS, each, identity, port, starts, whole
from test_contract_views import VIEWS, WATCHES

SERVICES = {"services": WATCHES["services"]}


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_check_sees_the_file_as_it_will_be(api, daemon, place, new_program):
    check = new_program('cat "$2" >"$d/bytes"; stat -c %a "$2" >"$d/mode"; echo "$2" >"$d/path"; '
                        'echo "$1 $INFORMERD_NAME $INFORMERD_FIELD_PORT $X" >"$d/env"')
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, shell=r"printf 'a\000\377\n\nz'", output_mode="0640",
                                     umask="0077", environment={"X": "x"},
                                     check=[check.path, "at:${file}:${file}", "${file}"])})
    d.caught_up(api)
    path = check.text("path").strip()
    assert re.fullmatch(re.escape(str(place / "n/")) + r"/\.[^/]+\.conf", path)
    assert check.text("env") == f"at:{path}:{path} a 81 x\n" and check.text("mode") == "640\n"
    written = (place / "n/a.conf").read_bytes()
    assert written == (check.folder / "bytes").read_bytes() == b"a\0\xff\n\nz"
    assert os.listdir(place / "n") == ["a.conf"] and mode_of(place / "n/a.conf") == 0o640


@pytest.mark.parametrize("evil", ['rm "$1"', 'rm "$1" && ln -s /etc/passwd "$1"',
                                  'cp "$1" "$1.x" && mv "$1.x" "$1"'])
def test_only_the_checked_file_gets_the_name(api, daemon, place, applier, new_program, evil):
    check = new_program(f'[ ! -e "$d/evil" ] || {{ {evil}; }}')
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, check=[check.path, "${file}"],
                                     apply=[applier.path])}).caught_up(api)
    before = identity(place / "n/a.conf")
    (check.folder / "evil").touch()
    api.apply(service("n/a", ports=[82]))
    d.wait_problem("rename", key="n/a")
    assert identity(place / "n/a.conf") == before and starts(applier) == 1
    (check.folder / "evil").unlink()
    d.caught_up(api)
    place.wait({"n/a.conf": port(82)})
    assert not (place / "n/a.conf").is_symlink() and starts(applier) == 2


def test_a_changed_file_mode_is_corrected_without_a_write_or_apply(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, output_mode="0604",
                                     apply=[applier.path])}).caught_up(api)
    before = identity(place / "n/a.conf")
    (place / "n/a.conf").chmod(0o666)
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 0
    d.caught_up(api)
    assert mode_of(place / "n/a.conf") == 0o604
    assert identity(place / "n/a.conf") == before and starts(applier) == 1


def test_the_last_written_file_is_applied(api, daemon, place, new_hook):
    rnd = random.Random(5)
    applier = new_hook(extra=f'cat {place / "all.cfg"} >"$d/applied"')
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])}).caught_up(api)
    first = starts(applier)
    for i in range(40):
        api.apply(service(f"n/s{rnd.randrange(3)}", ports=[1000 + i]))
        if rnd.random() < .3:
            d.seen(api)
            wait_until(lambda: d.control.hook("h")["running"] == 0)
    d.caught_up(api)
    assert (applier.folder / "applied").read_text() == (place / "all.cfg").read_text()
    assert first < starts(applier) <= first + 40


@pytest.mark.slow
def test_steady_changes_do_not_starve_apply(api, daemon, place, applier):
    """There is a write every 30 ms, so apply never sees 200 ms without a write; it runs after its
    longest wait, 2 s."""
    api.apply(service("n/a", ports=[1000]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    first, ports = starts(applier), iter(range(1001, 30000))

    def write():
        api.apply(service("n/a", ports=[next(ports)]))
        return starts(applier) > first
    wait_until(write, what="an apply", interval=0.03)
    d.caught_up(api)


def test_folders_that_come_and_go_fail_no_run(api, daemon, place):
    rnd, left = random.Random(3), {}
    d = daemon(api, hooks={"h": each(place, concurrency=8,
                                     output=place / "${namespace}/sub/${name}")})
    d.synced()
    api.wait_watching("services")
    for number in range(1, campaign.size(120, 401)):
        key = f"n{rnd.randrange(3)}/s{rnd.randrange(3)}"
        if key in left and rnd.random() < .6:
            api.delete("services", key)
            del left[key]
        else:
            api.apply(service(key, ports=[number]))
            left[key] = number
        if number % 8 == 0:
            d.seen(api)
    d.caught_up(api)
    assert place.files() == {key.replace("/", "/sub/"): port(n) for key, n in left.items()}
    spaces = {key.partition("/")[0] for key in left}
    assert place.folders() == sorted(spaces | {f"{space}/sub" for space in spaces})
    assert d.control.hook("h")["runs_failed"] == 0


@pytest.mark.parametrize("phase", ["command", "check"])
def test_a_delete_while_the_file_is_made_leaves_no_file(api, daemon, place, new_program, phase):
    block = new_program('[ ! -e "$d/block" ] || echo up >"$d/up"; '
                        'while [ -e "$d/block" ]; do sleep 0.02; done; echo done')
    more = {"command": {"command": [block.path], "shell": None, "fields": {}},
            "check": {"check": [block.path, "${file}"]}}[phase]
    api.apply(service("n/a", ports=[81]))
    settings = {k: v for k, v in each(place, **more).items() if v is not None}
    d = daemon(api, hooks={"h": settings}).caught_up(api)
    (block.folder / "block").touch()
    api.apply(service("n/a", ports=[82]))
    block.text("up")
    api.delete("services", "n/a")
    d.seen(api)
    (block.folder / "block").unlink()
    d.caught_up(api)
    assert place.files() == {} and place.folders() == []


def test_a_delete_ends_failing_runs(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, check=["/bin/sh", "-c", f"! test -e {tmp_path}/bad"],
                                     apply=[applier.path], retry=ONCE)}).caught_up(api)
    (tmp_path / "bad").touch()
    api.apply(service("n/a", ports=[82]))
    d.wait_problem("check", key="n/a")
    assert place.files() == {"n/a.conf": port(81)}
    api.delete("services", "n/a")
    d.caught_up(api)
    assert place.files() == {} and starts(applier) == 2


def test_the_temporary_file_of_a_crash_goes_with_the_next_write(api, daemon, place, new_program):
    check = new_program('echo "$1" >"$d/path"')
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, check=[check.path, "${file}"])}).caught_up(api)
    left = check.text("path").strip()
    os.symlink("/etc/passwd", left)
    api.apply(service("n/a", ports=[82]))
    d.caught_up(api)
    assert check.text("path").strip() == left
    assert os.listdir(place / "n") == ["a.conf"] and place.files() == {"n/a.conf": port(82)}


def test_no_link_is_followed_where_a_variable_stands(api, daemon, place, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "a.conf").write_text("precious\n")
    (place / "n").symlink_to(precious)
    api.apply(service("n/a", ports=[81]), service("m/a", ports=[82]))
    d = daemon(api, hooks={"h": each(place)})
    d.wait_problem("link", str(place / "n/a.conf"), key="n/a")
    wait_until((place / "m/a.conf").exists)
    api.delete("services", "n/a")
    d.seen(api)
    (place / "n").unlink()
    d.caught_up(api)
    assert (precious / "a.conf").read_text() == "precious\n"
    assert place.files() == {"m/a.conf": port(82)}


def test_fixed_folders_may_be_links(api, daemon, place):
    (place / "real").mkdir()
    (place / "link").symlink_to(place / "real")
    api.apply(service("n/a", ports=[81]))
    daemon(api, hooks={"h": each(place, output=place / "link/${name}")}).caught_up(api)
    assert (place / "real/a").read_text() == port(81)


def test_each_cluster_and_node_has_files_of_its_own(api, new_api, factory, place):
    west = new_api()
    api.apply(service("n/a", ports=[81]))
    west.apply(service("n/a", ports=[82]))
    watches = {name: {**SERVICES["services"], "cluster": name} for name in ("east", "west")}
    hook = {"sources": list(watches), "retry": RETRY, **PORTS,
            "output": place / "${node_name}/${cluster}-${namespace}-${name}"}
    (place / "node-7").mkdir()
    d = factory.daemon(clusters={"east": factory.cluster(api), "west": factory.cluster(west)},
                       watches=watches, hooks={"h": hook}, node_name="node-7").synced()
    d.control.wait_idle()
    assert place.files() == {"node-7/east-n-a": port(81), "node-7/west-n-a": port(82)}


def test_two_sources_of_one_cluster_need_two_hooks(api, daemon, place):
    watches = {name: SERVICES["services"] for name in ("one", "two")}
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, watches=watches, hooks={"h": each(place, sources=list(watches))})
    entry = d.wait_problem("already", "a hook for each source", key="n/a")
    assert "parked" in entry["msg"] and str(place / "n/a.conf") in entry["result"]
    assert place.files() == {"n/a.conf": port(81)}


def test_a_file_follows_the_endpoints_of_a_service(api, daemon, place, applier):
    """The view and the file together: a change of neither starts no run and no apply."""
    def slice_of(*addresses, **more):
        made = endpointslice("n/a-1", "a", addresses, **more)
        made["ports"][0]["name"] = "p80"
        return made
    views = {"backends": {**VIEWS["backends"], "hold_empty": "1h"}}
    hook = {"sources": ["backends"], "retry": RETRY, "apply": [applier.path],
            "fields": {"TO": "ports[*].use[*].address", "HELD": "held"},
            "output": place / "${name}",
            "shell": 'echo "$INFORMERD_FIELD_TO"; echo "held: $INFORMERD_FIELD_HELD" >&2'}
    api.apply(service("n/a"), slice_of("10.0.0.2", "10.0.0.1"))
    d = daemon(api, watches=WATCHES, views=views, hooks={"h": hook}).synced().caught_up(api)
    assert place.files() == {"a": "10.0.0.1 10.0.0.2\n"} and starts(applier) == 1
    api.apply(slice_of("10.0.0.1", "10.0.0.2", labels={"x": "y"}))
    d.caught_up(api)
    assert d.control.hook("h")["runs_ok"] == 1
    api.delete("endpointslices", "n/a-1")
    d.caught_up(api)
    assert d.control.hook("h")["runs_ok"] == 2 and d.log(msg="hook output", line="held: true")
    assert place.files() == {"a": "10.0.0.1 10.0.0.2\n"} and starts(applier) == 1
    api.apply(slice_of("10.0.0.3"))
    d.caught_up(api)
    assert place.files() == {"a": "10.0.0.3\n"} and starts(applier) == 2
    api.delete("services", "n/a")
    d.caught_up(api)
    assert place.files() == {} and starts(applier) == 3
