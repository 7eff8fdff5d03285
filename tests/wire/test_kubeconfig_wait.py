# SPDX-License-Identifier: Apache-2.0
"""A kubeconfig, or a file that it names, that does not exist yet: informerd waits for it."""
import os
import shutil
import subprocess

import pytest

from control import PATIENCE, wait_until
from fakeapi import service
from harness import INFORMERD, check_config, hook_settings


@pytest.fixture
def late(factory, api, tmp_path):
    """The kubeconfig of api lies ready as `made`; the daemon is told of another path."""
    return Late(factory, api, tmp_path)


class Late:
    def __init__(self, factory, api, folder):
        self.cluster = factory.cluster(api)
        self.made = self.cluster["kubeconfig"]
        self.path = folder / "kubernetes" / "kubelet.conf"
        self.cluster["kubeconfig"] = self.path

    def put(self, text=None):
        """The folder appears, and then the file in one step, as kubeadm's are seen at the latest."""
        self.path.parent.mkdir(exist_ok=True)
        new = self.path.with_suffix(".new")
        shutil.copy(self.made, new)
        if text is not None:
            new.write_text(text)
        os.replace(new, self.path)


def waits_for(d, path):
    return any(f"waiting for {path}" in text for text in d.control.status()["degraded"])


def test_the_first_hook_runs_once_the_kubeconfig_is_there(api, factory, late, hook):
    api.apply(service("n/a"))
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook})
    assert waits_for(d, late.path)
    status = d.control.status()
    assert status["clusters"]["prod"]["server"] is None
    assert status["watches"]["services"]["synced"] is False
    assert [f["where"] for f in d.ctl_json("doctor", code=1)["findings"]
            if f["id"] == "kubeconfig" and str(late.path) in f["text"]] == ["cluster prod"]
    assert d.running() and api.requests == []
    late.put()
    assert hook.wait(1)[0].key == "n/a"
    wait_until(lambda: d.control.status()["degraded"] == [])
    assert d.control.status()["clusters"]["prod"]["server"] == api.url


def test_a_kubeconfig_that_is_written_in_pieces_is_taken_when_it_is_whole(api, factory, late, hook):
    api.apply(service("n/a"))
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook})
    whole = late.made.read_text()
    late.put(whole[:len(whole) // 2])
    wait_until(lambda: d.control.status()["reload"]["result"] == "invalid")
    assert waits_for(d, late.path)
    late.put(whole)
    hook.wait(1)
    wait_until(lambda: d.control.status()["reload"]["result"] == "reloaded")


def test_one_of_several_kubeconfigs_is_enough(api, factory, late, hook, tmp_path):
    api.apply(service("n/a"))
    late.cluster["kubeconfig"] = f"{tmp_path}/other/kubeconfig:{late.path}"
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook})
    assert waits_for(d, late.cluster["kubeconfig"])
    late.put()
    hook.wait(1)


def test_another_cluster_goes_on_meanwhile(api, new_api, factory, late, hook, new_hook):
    other = new_api()
    other.apply(service("n/b"))
    d = factory.daemon(
        clusters={"prod": late.cluster, "there": factory.cluster(other)},
        watches={"late": {"resource": "services", "namespaces": ["*"], "cluster": "prod"},
                 "svc": {"resource": "services", "namespaces": ["*"], "cluster": "there"}},
        hooks={"h": hook_settings(hook, sources=["late"]),
               "o": hook_settings(new_hook(), sources=["svc"])})
    wait_until(lambda: d.control.status()["hooks"]["o"]["handled"] == 1)
    lists = len(other.of("services", "L"))
    api.apply(service("n/a"))
    late.put()
    hook.wait(1)
    assert len(other.of("services", "L")) == lists
    assert d.control.status()["hooks"]["o"]["runs_ok"] == 1


def test_a_reload_without_the_kubeconfig_of_a_cluster_in_use_is_refused(api, factory, late, hook):
    """The cluster goes on as it is, with credentials that are renewed. A mistyped path has the same effect."""
    late.put()
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook}).caught_up(api)
    late.path.unlink()
    for flags in ((), ("--dry-run",)):
        done = d.ctl("reload", *flags)
        assert done.returncode == 78
        assert f"kubeconfig: {late.path}: there is no such file, and cluster prod is in use" in done.stderr
    api.apply(service("n/later"))
    hook.wait_what("ADDED", "n/later")
    late.put()
    assert d.ctl("reload").returncode == 0
    wait_until(lambda: d.control.status()["degraded"] == [])


def test_a_bad_kubeconfig_that_goes_away_again_leaves_no_failed_reload(factory, late, hook):
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook})
    late.put("nonsense: [")
    wait_until(lambda: d.control.status()["reload"]["result"] == "invalid")
    late.path.unlink()
    wait_until(lambda: d.control.status()["reload"]["result"] == "reloaded")
    assert [waits_for(d, late.path)] == [True] and len(d.control.status()["degraded"]) == 1


def test_two_clusters_that_wait_for_one_file_are_one_reload(api, factory, late, new_hook):
    watch = {"resource": "services", "namespaces": ["*"]}
    api.apply(service("n/a"))
    d = factory.daemon(clusters={"prod": late.cluster, "too": late.cluster},
                       watches={"one": {**watch, "cluster": "prod"}, "two": {**watch, "cluster": "too"}},
                       hooks={name: hook_settings(new_hook(), sources=[name]) for name in ("one", "two")})
    late.put()
    wait_until(lambda: [h["handled"] for h in d.control.status()["hooks"].values()] == [1, 1])
    assert len(d.log(msg="reloaded")) == 1


def test_a_token_that_the_kubeconfig_names_may_come_later(api, factory, hook, tmp_path, authority):
    api.tokens = {"made-up"}
    api.apply(service("n/a"))
    token = tmp_path / "tokens" / "informerd"
    d = factory.daemon(api, hooks={"h": hook}, credentials={"token_file": token})
    wait_until(lambda: any(str(token) in text for text in d.control.status()["degraded"]))
    token.parent.mkdir()
    token.write_text("made-up")
    hook.wait(1)
    wait_until(lambda: d.control.status()["degraded"] == [])


def test_check_warns_and_commands_that_do_not_wait_refuse(factory, late, hook):
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook}, start=False)
    d.write_config()
    done = check_config(d.config)
    assert done.returncode == 0, done.stderr
    assert "does not exist yet" in done.stderr and str(late.path) in done.stderr
    for flag in ("--once", "--dry-run", "--check-access"):
        done = subprocess.run([INFORMERD, "-c", d.config, flag], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
        assert done.returncode == 78, flag
        assert f"kubeconfig: {late.path}: there is no such file" in done.stderr


def test_another_name_of_the_node_is_taken_by_a_restart(api, factory, late, hook):
    """Everything that was built at the start has the name of the host; the kubeconfig is that of a kubelet
    with another one."""
    api.apply(service("n/a"))
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook})
    wait_until(lambda: waits_for(d, late.path))
    api.kubeconfig(late.made, ca=factory.authority, user={"as": "system:node:worker-17"})
    d.expected_exit = 1
    late.put()
    assert d.wait_exit() == 1
    assert d.wait_problem("this node is worker-17 now, not ", "as at the start: informerd exits, and systemd restarts it")
    d.again(api)
    d.expected_exit = 0
    assert hook.wait(1)[0].env["INFORMERD_NODE"] == "worker-17"


@pytest.mark.parametrize("come", [False, True], ids=["it waits", "it has come"])
def test_a_name_in_the_configuration_only_needs_a_restart(api, factory, late, hook, come):
    """As at any other time: informerd goes on, and says so."""
    d = factory.daemon(clusters={"prod": late.cluster}, hooks={"h": hook})
    if come:
        late.put()
        wait_until(lambda: d.control.status()["reload"]["result"] == "reloaded")
    d.settings["node_name"] = "worker-17"
    d.write_config()
    done = d.ctl("reload")
    assert done.returncode == 0, done.stderr
    assert "node_name" in done.stdout and d.running()
