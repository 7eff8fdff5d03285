# SPDX-License-Identifier: Apache-2.0
"""output, check and apply: the output of a hook becomes a file, and apply runs for the file."""
import concurrent.futures
import json

import pytest
from control import wait_until
from fakeapi import service
from harness import RETRY
from outputs import PORTS, each, ends_late, identity, port, starts, whole

BURST = 120


# ---- Writing

def test_stdout_becomes_the_file_and_is_applied(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path, "reload"],
                                      output_mode="0640")})
    d.caught_up(api)
    assert place.files() == {"all.cfg": '"port":81\n"port":82\n'}
    assert (place / "all.cfg").stat().st_mode & 0o7777 == 0o640
    run = applier.wait(1)[0]
    assert run.reason == "existing" and run.attempt == 1
    assert not {"event", "events", "changes", "snapshot"} & set(run.input)
    assert run.input["sources"]["services"]["synced"] is True
    assert run.env["INFORMERD_HOOK"] == "h" and "INFORMERD_EVENT" not in run.env
    api.apply(service("n/b", ports=[83]))
    applier.wait(2)
    d.caught_up(api)
    assert place.files() == {"all.cfg": '"port":81\n"port":83\n'}
    assert [r.reason for r in applier.runs()] == ["existing", "change"]


def test_equal_output_writes_and_applies_nothing(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])}).caught_up(api)
    before = identity(place / "all.cfg")
    api.apply(service("n/a", ports=[81], labels={"x": "y"}))
    d.caught_up(api)
    assert d.control.hook("h")["runs_ok"] == 2 and starts(applier) == 1
    assert identity(place / "all.cfg") == before
    run = d.ctl_json("runs", "h")[-1]
    assert (run["program"], run["became"], run["file"]) == ("command", "same",
                                                            str(place / "all.cfg"))


def test_a_file_that_somebody_changed_is_restored_and_applied(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])}).caught_up(api)
    (place / "all.cfg").write_text("by hand\n")
    assert d.ctl("run", "h", "--wait").returncode == 0
    assert place.files() == {"all.cfg": '"port":81\n'} and starts(applier) == 2


def test_after_a_restart_without_memory_an_equal_file_is_applied_once(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": whole(place, apply=[applier.path])},
               state_dir="none").caught_up(api)
    before = identity(place / "all.cfg")
    d.stop()
    d.start().caught_up(api)
    assert starts(applier) == 2 and identity(place / "all.cfg") == before


def test_a_file_for_each_object(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]), service("m/a", ports=[83]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    assert place.files() == {"m/a.conf": port(83), "n/a.conf": port(81), "n/b.conf": port(82)}
    assert starts(applier) == 1
    api.apply(service("n/b", ports=[92]))
    d.caught_up(api)
    assert place.files()["n/b.conf"] == port(92) and starts(applier) == 2
    api.delete("services", "n/b")
    d.caught_up(api)
    assert place.files() == {"m/a.conf": port(83), "n/a.conf": port(81)} and starts(applier) == 3
    api.delete("services", "m/a")
    d.caught_up(api)
    assert place.files() == {"n/a.conf": port(81)} and place.folders() == ["n"]
    assert starts(applier) == 4
    last = [r for r in d.ctl_json("runs", "h") if r["program"] == "remove"][-1]
    assert last["became"] == "removed" and last["event"] == "DELETED" and last["key"] == "m/a"


def test_an_object_that_left_has_no_file(api, daemon, place, applier):
    watches = {"services": {"resource": "services", "namespaces": ["*"],
                            "match": ["spec.externalTrafficPolicy=Local"]}}
    local = {"externalTrafficPolicy": "Local"}
    api.apply(service("n/a", ports=[81], **local), service("n/b", ports=[82], **local))
    d = daemon(api, watches=watches, hooks={"h": each(place, apply=[applier.path])})
    d.caught_up(api)
    assert sorted(place.files()) == ["n/a.conf", "n/b.conf"]
    api.apply(service("n/a", ports=[81], externalTrafficPolicy="Cluster"))
    d.caught_up(api)
    assert place.files() == {"n/b.conf": port(82)} and starts(applier) == 2
    assert [r["event"] for r in d.ctl_json("runs", "h") if r["program"] == "remove"] == ["LEFT"]


def test_delete_and_create_end_with_the_new_file(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    api.delete("services", "n/a")
    api.apply(service("n/a", ports=[91]))
    d.caught_up(api)
    assert place.files() == {"n/a.conf": port(91)}


@pytest.mark.parametrize("mode", ["batch", "snapshot"])
def test_all_keys_together_have_one_file(api, daemon, place, applier, mode):
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": whole(place, mode=mode, shell="grep -o 'DELETED\\|ADDED'",
                                      apply=[applier.path, "${file}"])}).caught_up(api)
    assert place.files() == {"all.cfg": "ADDED\nADDED\n"}
    api.delete("services", "n/a")
    d.caught_up(api)
    assert place.files() == {"all.cfg": "DELETED\n"} and starts(applier) == 2


def test_a_burst_is_applied_once_behind_its_last_write(api, daemon, place, applier):
    d = daemon(api, hooks={"h": each(place, concurrency=4, apply=[applier.path])}).caught_up(api)
    api.wait_watching("services")
    assert not applier.runs()
    api.apply(*(service(f"n/s{i}", ports=[1000 + i]) for i in range(BURST)))
    d.caught_up(api)
    files = place.files()
    assert files == {f"n/s{i}.conf": port(1000 + i) for i in range(BURST)}
    times = sorted((place / name).stat().st_mtime for name in files)
    pauses = sum(late - early > 0.15 for early, late in zip(times, times[1:]))
    applies = applier.runs()
    assert applies[-1].began >= times[-1]
    spent = times[-1] - times[0]
    assert len(applies) <= 1 + pauses or spent > 9, f"{len(applies)} applies in {spent} s, {pauses}"


def test_first_runs_are_ready_when_they_are_applied(api, daemon, place, applier):
    applier.block()
    api.apply(service("n/a"), service("n/b"))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])})
    applier.wait(1)
    status, _headers, body = d.control.ask("/readyz")
    assert status == 503 and b"not applied" in body
    applier.release()
    wait_until(lambda: d.control.ask("/readyz")[0] == 200)


# ---- Names

def test_two_keys_with_one_file(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, output=place / "${name}.conf",
                                     apply=[applier.path])}).caught_up(api)
    api.apply(service("m/a", ports=[82]))
    entry = d.wait_problem("n/a of source services already", "${namespace}", key="m/a")
    assert "parked" in entry["msg"] and place.files() == {"a.conf": port(81)}
    api.apply(service("n/a", ports=[91]))
    d.caught_up(api)
    assert place.files() == {"a.conf": port(91)} and d.control.hook("h")["parked"] == 1
    api.delete("services", "n/a")
    wait_until(lambda: place.files() == {"a.conf": port(82)})
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0
    api.apply(service("n/a", ports=[81]))
    d.wait_problem("m/a of source services already", key="n/a")
    api.delete("services", "n/a")
    d.caught_up(api)
    assert place.files() == {"a.conf": port(82)}


@pytest.mark.parametrize("name", ["..", ".", "../x", "..%2fx", "a" * 300, "", "x\0y", "\n",
                                  ".informerd-x"])
def test_no_name_of_an_object_leads_out_of_the_folder(api, daemon, place, tmp_path, name):
    """A real API server refuses such names."""
    bad = service("n/a", ports=[81])
    bad["metadata"]["name"] = name
    outside = {path for path in tmp_path.rglob("*") if path.is_file()}
    api.apply(service("n/good", ports=[80]))
    d = daemon(api, hooks={"h": each(place, apply=["/bin/true"])}).caught_up(api)
    api.apply(bad)
    api.apply(service("n/later", ports=[82]))
    wait_until(lambda: "n/later.conf" in place.files())
    files = place.files()
    assert files.pop("n/good.conf") == port(80) and files.pop("n/later.conf") == port(82)
    assert not files or name in ("..%2fx", "\n"), files
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("x")]
    new = {path for path in tmp_path.rglob("*") if path.is_file()} - outside
    assert all(str(path).startswith((str(place.folder), str(d.folder))) or "kubeconfig" in str(path)
               for path in new), new


def test_a_cluster_scoped_object_has_no_namespace(api, daemon, place):
    api.apply({"apiVersion": "v1", "kind": "Node",
               "metadata": {"name": "node-1"}, "spec": {"podCIDR": "10.0.0.0/24"}})
    d = daemon(api, watches={"nodes": {"resource": "nodes"}},
               hooks={"h": {"sources": ["nodes"], "shell": "echo x", "retry": RETRY,
                            "output": place / "${namespace}/${name}"}})
    entry = d.wait_problem("${namespace}", "cluster-scoped", key="node-1")
    assert "parked" in entry["msg"] and place.files() == {}


# ---- informerd and informerctl

def test_once_ends_when_all_is_applied(api, daemon, place, applier):
    applier.exits(1)
    api.apply(service("n/a", ports=[81]), service("n/b", ports=[82]))
    d = daemon(api, start=False, hooks={"h": each(place, apply=[applier.path])})
    assert d.to_the_end("--once") == 0
    assert applier.ended() == 2 and sorted(place.files()) == ["n/a.conf", "n/b.conf"]


@pytest.mark.parametrize("attempts", [{"attempts": 2}, {}], ids=["parked", "timeout"])
def test_once_is_1_when_apply_fails(api, daemon, place, applier, attempts):
    applier.exit_with(1)
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, state_dir="none",
               hooks={"h": whole(place, apply=[applier.path], retry={**RETRY, **attempts})})
    if attempts:
        assert d.to_the_end("--once", "--timeout", "1h") == 1
    else:
        ends_late(d, 1, applier.runs, early=[69])
    assert place.files() == {"all.cfg": '"port":81\n'}


def test_a_dry_run_says_which_files_it_would_write(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, start=False, hooks={"h": each(place, apply=[applier.path])})
    assert d.to_the_end("--once", "--dry-run") == 0
    entry = d.log(msg="would run hook")[0]
    assert entry["writes"] == str(place / "n/a.conf") and entry["key"] == "n/a"
    assert [e["hook"] for e in d.log(msg="would apply")] == ["h"]
    assert place.files() == {} and place.folders() == [] and not applier.runs()


def test_run_with_wait_waits_for_apply(api, daemon, place, applier):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place, apply=[applier.path])}).caught_up(api)
    (place / "n/a.conf").unlink()
    applier.block()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiter = pool.submit(lambda: (d.ctl("run", "h", "n/a", "--wait").returncode,
                                      applier.ended()))
        assert applier.wait(2)[1].reason == "manual"
        assert not waiter.done()
        applier.release()
        assert waiter.result() == (0, 2)
    (place / "n/a.conf").unlink()
    applier.exit_with(1)
    assert d.ctl("run", "h", "n/a", "--wait").returncode == 1
    applier.exit_with(0)


def test_a_paused_hook_is_not_applied(api, daemon, place, applier, tmp_path):
    api.apply(service("n/a", ports=[81]))
    waits = f'while [ -e {tmp_path}/block ]; do sleep 0.02; done; {PORTS["shell"]}'
    d = daemon(api, hooks={"h": each(place, shell=waits, apply=[applier.path])}).caught_up(api)
    (tmp_path / "block").touch()
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: d.control.hook("h")["running"] == 1)
    assert d.ctl("pause", "h").returncode == 0
    (tmp_path / "block").unlink()
    wait_until(lambda: d.control.hook("h")["runs_ok"] == 2)
    wait_until(lambda: d.control.hook("h")["apply"] == "paused")
    api.apply(service("n/z", ports=[83]))
    d.seen(api)
    assert starts(applier) == 1
    assert d.ctl("resume", "h").returncode == 0
    applier.wait(2)


def test_input_is_refused_for_a_key_whose_file_is_removed(api, daemon, place):
    api.apply(service("n/a", ports=[81]))
    d = daemon(api, hooks={"h": each(place)}).caught_up(api)
    assert json.loads(d.ctl("input", "h", "n/a").stdout)["event"]["name"] == "a"
    assert d.ctl("pause", "h").returncode == 0
    api.delete("services", "n/a")
    d.seen(api)
    refused = d.ctl("input", "h", "n/a")
    assert refused.returncode == 1 and "removed" in refused.stderr, refused
