# SPDX-License-Identifier: Apache-2.0
"""Hooks whose apply is equal share its runs: nginx upstreams and nginx certificates that change
together are one reload."""
import os

import pytest
from control import wait_until
from fakeapi import service, simple
from harness import RETRY
from outputs import PORTS, SOON, port, starts

WATCHES = {"services": {"resource": "services", "namespaces": ["*"]},
           "configmaps": {"resource": "configmaps", "namespaces": ["*"]},
           "secrets": {"resource": "secrets", "namespaces": ["*"]}}


def upstreams(place, apply, **more):
    """The settings of a hook with a file for each Service."""
    return {"sources": ["services"], "retry": RETRY, **PORTS, **SOON,
            "output": place / "upstreams" / "${name}.conf", "apply": apply, **more}


def certificates(place, apply, source="configmaps", **more):
    """The settings of a hook with a file for each member of a ConfigMap or Secret."""
    return {"sources": [source], "files_from": "data", "retry": RETRY, **SOON,
            "output": place / "certificates" / "${name}.${key}", "apply": apply, **more}


def text(number):
    return simple("ConfigMap", "n/c", data={"crt": f"certificate {number}"})


def written(place, number):
    return place.files() == {"upstreams/a.conf": f"port {number}\n",
                             "certificates/c.crt": f"certificate {number}"}


@pytest.fixture
def change(api):
    """change(number): the objects of both hooks become this."""
    return lambda number: api.apply(service("n/a", ports=[number]), text(number))


@pytest.fixture
def pair(api, daemon, place, change):
    """pair(apply, a settings, b settings, ...): a daemon with both hooks, which have handled their
    objects."""
    for name in ("upstreams", "certificates"):
        (place / name).mkdir()

    def make(apply, a=None, b=None, **more):
        change(81)
        return daemon(api, watches={name: WATCHES[name] for name in ("services", "configmaps")},
                      hooks={"a": upstreams(place, apply, **(a or {})),
                             "b": certificates(place, apply, **(b or {}))}, **more).settled(api)
    return make


def applies(d, hook):
    """[(run, hooks that it was for)] of all runs of apply of this hook."""
    return [(run["run"], run["hooks"] and sorted(run["hooks"]))
            for run in d.ctl_json("runs", hook) if run["program"] == "apply"]


def last_end(check):
    """When the last run of a check ended. Its input is no document, as that of other hooks is."""
    return (check.folder / f"{check.order()[-1][1]}.end").stat().st_mtime


def owe_both(place, applier, change, number):
    """Both files become new while apply runs: it is due for both hooks when release() ends it."""
    applier.block()
    change(number)
    applier.wait(1)
    change(number + 1)
    wait_until(lambda: written(place, number + 1))


def test_files_that_change_together_are_one_apply_after_both_checks(api, place, applier, new_hook,
                                                                    pair, change):
    checks = [new_hook(), new_hook()]
    d = pair([applier.path], {"check": [checks[0].path, "${file}"]},
             {"check": [checks[1].path, "${file}"]})
    applier.forget()
    owe_both(place, applier, change, 82)
    assert starts(applier) == 1          # one at a time
    applier.release()
    d.caught_up(api)
    assert starts(applier) == 2
    last = [applies(d, name)[-1] for name in "ab"]
    assert last[0] == last[1] == (applier.runs()[-1].env["INFORMERD_RUN"], ["a", "b"])
    assert all(last_end(check) <= applier.runs()[-1].began for check in checks)
    assert d.ctl("runs", "a").stdout.splitlines()[-1].endswith(" a b")
    assert d.control.hook("a")["apply_with"] == ["b"]
    assert d.control.hook("b")["apply_with"] == ["a"]
    assert sorted(d.log(msg="hook applied")[-1]["hooks"].split()) == ["a", "b"]


OTHERS = {"environment": {"environment": {"X": "y"}}, "umask": {"umask": "0027"},
          "group": {"group": "nogroup"}, "user": {"user": "nobody"}}


@pytest.mark.parametrize("other", OTHERS)
def test_another_identity_is_another_apply(other, api, pair, change):
    if other in ("user", "group") and os.geteuid() != 0:
        pytest.skip("needs root")
    d = pair(["/bin/true"], {}, OTHERS[other])
    change(82)
    d.caught_up(api)
    runs = [applies(d, name) for name in "ab"]
    assert all(hooks is None for of_hook in runs for _run, hooks in of_hook)
    assert not {run for run, _hooks in runs[0]} & {run for run, _hooks in runs[1]}
    assert d.control.hook("a")["apply_with"] == d.control.hook("b")["apply_with"] == []


def test_the_order_of_variables_is_no_difference(pair):
    d = pair(["/bin/true"], {"environment": {"X": "1", "Y": "2"}},
             {"environment": {"Y": "2", "X": "1"}})
    assert d.control.hook("a")["apply_with"] == ["b"]


def test_a_check_that_fails_does_not_keep_the_other_hook_from_its_apply(api, place, applier,
                                                                        new_hook, pair, change):
    check = new_hook()
    d = pair([applier.path], {}, {"check": [check.path, "${file}"]})
    applier.forget()
    check.exit_with(1)
    change(82)
    applier.wait(1)
    wait_until(lambda: d.control.hook("a")["apply"] == "handled")
    place.wait({"upstreams/a.conf": port(82), "certificates/c.crt": "certificate 81"})
    assert applies(d, "a")[-1][1] is None and applies(d, "b")[-1] != applies(d, "a")[-1]
    check.exit_with(0)
    d.caught_up(api)
    assert written(place, 82) and starts(applier) == 2
    assert applies(d, "b")[-1][0] == applier.runs()[-1].env["INFORMERD_RUN"]


def test_an_apply_that_fails_is_tried_again_once_for_both(api, place, applier, pair, change):
    d = pair([applier.path])
    applier.forget()
    owe_both(place, applier, change, 82)
    applier.exits(0, 1)
    applier.release()
    d.caught_up(api)
    assert [run.attempt for run in applier.runs()] == [1, 1, 2]
    for name in "ab":
        assert d.control.hook(name)["applies_failed"] == 1
        assert [run for run, _hooks in applies(d, name)[-2:]] == \
            [run.env["INFORMERD_RUN"] for run in applier.runs()[-2:]]


def test_what_two_hooks_owe_after_a_kill_is_one_apply(api, place, applier, pair, change):
    d = pair([applier.path])
    applier.forget()
    owe_both(place, applier, change, 82)
    d.kill()
    applier.release()
    d.start().caught_up(api)
    assert written(place, 83)
    assert applies(d, "a") == applies(d, "b") == [(applier.runs()[-1].env["INFORMERD_RUN"],
                                                   ["a", "b"])]
    assert starts(applier) == 2


def test_a_paused_hook_has_no_part(api, place, applier, pair, change):
    d = pair([applier.path])
    applier.forget()
    owe_both(place, applier, change, 82)
    assert d.ctl("pause", "b").returncode == 0
    applier.release()
    applier.wait(2)
    wait_until(lambda: d.control.hook("a")["apply"] == "handled")
    wait_until(lambda: d.control.hook("b")["apply"] == "paused", what="the run that wrote its file has ended")
    assert starts(applier) == 2
    assert applies(d, "a")[-1][1] is None
    assert d.ctl("resume", "b").returncode == 0
    d.caught_up(api)
    assert starts(applier) == 3 and applies(d, "b")[-1][1] is None


def test_why_names_the_hook_for_which_apply_runs(api, place, applier, pair):
    d = pair([applier.path])
    applier.forget()
    applier.block()
    api.apply(text(82))
    applier.wait(1)
    api.apply(service("n/a", ports=[82]))
    wait_until(lambda: written(place, 82))
    wait_until(lambda: d.control.hook("a")["apply"] == "holding")
    assert "apply: holding for hook b" in d.ctl("why", "a").stdout
    applier.release()
    d.caught_up(api)
    assert starts(applier) == 2


def test_the_output_of_a_shared_apply_is_hidden_if_one_hook_has_secrets(api, daemon, place,
                                                                        new_hook):
    applier = new_hook("echo loud")
    for name in ("upstreams", "certificates"):
        (place / name).mkdir()
    api.apply(service("n/a", ports=[81]),
              simple("Secret", "n/c", type="Opaque", data={"crt": "Y2VydGlmaWNhdGUgODE="}))
    apply = [applier.path]
    d = daemon(api, watches={name: WATCHES[name] for name in ("services", "secrets")},
               hooks={"a": upstreams(place, apply, timeout="1h"),
                      "b": certificates(place, apply, source="secrets")}).caught_up(api)
    applier.forget()
    applier.block()
    api.apply(service("n/a", ports=[82]))
    applier.wait(1)
    api.apply(service("n/a", ports=[83]),
              simple("Secret", "n/c", type="Opaque", data={"crt": "Y2VydGlmaWNhdGUgODM="}))
    wait_until(lambda: written(place, 83))
    applier.release()
    d.caught_up(api)
    alone, shared = [run.env["INFORMERD_RUN"] for run in applier.runs()]
    assert applies(d, "b")[-1] == (shared, ["a", "b"])
    logged = {str(line["run"]) for line in d.log(msg="hook output")}
    assert alone.rpartition("-")[2] in logged and shared.rpartition("-")[2] not in logged
