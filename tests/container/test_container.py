# SPDX-License-Identifier: Apache-2.0
"""The image of ./dev container as process 1 of a pod, by packaging/container (docs/container.md)."""
import os
import pathlib
import signal

import pod as code
from balancer import web
from control import wait_until
from fakeapi import service
from proctree import children, exists, status

LABEL = {"informerd/haproxy": ""}
NAME = "echo name is $INFORMERD_NAME"


def hooks(shell):
    """The configuration of the manifest with one hook in the place of its hooks."""
    text = code.documents()["ConfigMap"]["data"]["informerd.conf"].partition("hooks : {")[0]
    return f'{text}hooks : {{ one : {{ sources = [ "services" ]; shell = "{shell}"; }}; }};\n'


def test_the_roles_are_those_that_informerd_prints(pod):
    printed = pod.run("informerd", "--print-rbac", "--subject", "ServiceAccount:kube-system:informerd")
    text = (code.FOLDER / "rbac.yaml").read_text()
    assert printed.returncode == 0, printed.stderr
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        line for line in printed.stdout.splitlines() if not line.startswith("#")]


def test_informerd_is_process_1_and_its_hooks_run_on_a_read_only_root(pod, api):
    api.apply(service("shop/web", labels=LABEL))
    pod.start().wait_log("ADDED services shop/web")
    facts = status(pod.pid)
    assert facts["Name"].strip() == "informerd" and facts["NSpid"].split()[-1] == "1"
    assert facts["Uid"].split()[0] == pod.exec("id", "-u", "informerd").stdout.strip()
    assert int(facts["CapEff"], 16) == 0 and facts["NoNewPrivs"].strip() == "1"
    assert facts["Uid"].split()[0] == "9916"    # docs/container.md
    assert "Read-only file system" in pod.exec("touch", "/etc/new").stderr
    wait_until(lambda: (pod.folder / "state" / "state" / "state.db").exists())
    assert pod.exec("informerctl", "status").returncode in (0, 1)
    assert pod.stdout() == ""


def test_it_needs_no_cgroup_that_can_be_written(pod, api):
    api.apply(service("shop/web", labels=LABEL))
    pod.start().wait_log("ADDED services shop/web")
    tried = pod.exec("sh", "-c", "for one in /sys/fs/cgroup /sys/fs/cgroup/*/; do mkdir $one/new; done")
    refused = tried.stderr.splitlines()
    assert len(refused) > 1 and all("Read-only file system" in line for line in refused), tried.stderr


def test_a_socket_of_systemd_that_is_not_there_changes_nothing(pod, api):
    """As where NOTIFY_SOCKET comes from the container's runtime."""
    api.apply(service("shop/web", labels=LABEL))
    pod.configure(hooks(NAME))
    pod.environment = {"NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}
    pod.start().wait_idle()
    assert "name is web" in pod.log()
    assert pod.stop() == 0
    assert " error " not in pod.log() and "/run/notify" not in pod.log()


def test_a_hook_of_root_talks_to_a_socket_of_the_node(pod, api):
    asked = pod.folder / "haproxy" / "asked"
    (pod.folder / "haproxy" / "answer").write_text("#!/bin/sh\nread -r line; echo \"$line\" >>/run/haproxy/asked\n")
    (pod.folder / "haproxy" / "answer").chmod(0o755)
    api.apply(*web(["10.1.0.1"], labels=LABEL))
    pod.start().wait_log("ready")
    pod.exec("sh", "-c", "socat UNIX-LISTEN:/run/haproxy/admin.sock,fork,unlink-early,mode=600 "
             "EXEC:/run/haproxy/answer >/dev/null 2>&1 &")
    pod.exec("informerctl", "run", "haproxy")
    wait_until(lambda: asked.exists() and "show backend" in asked.read_text(), what=pod.log)


def test_orphans_are_reaped(pod, api):
    """Those of hooks belong to the helper, those of kubectl exec to process 1."""
    sleep = "sleep 1000 </dev/null >/dev/null 2>&1 &"
    pod.configure(hooks(f"{sleep} echo left"))
    api.apply(service("shop/web", labels=LABEL))
    pod.start().wait_log("left")
    main = pod.pid
    helper = next(iter(children(main)))

    def orphans(parent):
        return [pid for pid in children(parent) if status(pid).get("Name", "").strip() == "sleep"]
    pod.exec("sh", "-c", sleep)
    for parent in (helper, main):
        orphan = wait_until(lambda: orphans(parent), what=pod.log)[0]
        os.kill(orphan, signal.SIGKILL)
        wait_until(lambda: not pathlib.Path(f"/proc/{orphan}").exists(), what="it is no zombie")


def test_term_stops_it_and_a_new_pod_goes_on_with_the_state(pod, api):
    api.apply(service("shop/web", labels=LABEL))
    pod.configure(hooks(NAME))
    pod.start().wait_idle()
    main = pod.pid
    assert "name is web" in pod.log() and pod.stop() == 0
    assert not exists(main) and "stopped" in pod.log()
    api.apply(service("shop/mail", labels=LABEL))
    pod.start().wait_log("name is mail")
    assert "name is web" not in pod.log()
