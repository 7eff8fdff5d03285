# SPDX-License-Identifier: Apache-2.0
"""Exec plugins: programs that give credentials. When they run and as whom, how their output is used, and
that only their own cluster waits for them."""
import base64
import json
import os
import pwd
import re
import signal

import proctree
import pytest
from control import wait_until
from fakeapi import service
from harness import NEVER, NOBODY, SERVICES, check_config, hook_settings
from plugins import V1, V1BETA1, Plugin, user_settings
from test_credentials import installed
from test_renew import names
from test_rotation import reconnect

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root")
AS_ROOT = {"user": "root"} if ROOT else {}  # a hook that may write into the folder of the test
FIRST, SECOND = "first-token-of-the-plugin", "second-token-of-the-plugin"
SETTING = "secret-of-exec.env"
NAMESPACES = [f"ns{i}" for i in range(20)]
TWENTY = {"services": {"resource": "services", "namespaces": NAMESPACES}}

# A request or plugin that failed is tried again within a test only if something makes informerd try
# at once.
PATIENT = {"backoff": {"initial": NEVER, "max": NEVER, "jitter": 0.0}}


@pytest.fixture
def new_plugin():
    made = []

    def make():
        made.append(Plugin())
        return made[-1]
    yield make
    for plugin in made:
        plugin.finish()


@pytest.fixture
def plugin(new_plugin):
    return new_plugin()


@pytest.fixture
def plugged(factory):
    """plugged(api, plugin, credentials={...}, settings...): a daemon whose kubeconfig names this
    plugin; exec: further fields of that section. At the end, no secret is in the log or the status,
    nor in the parts of its processes that other users see."""
    made = []

    def make(api, plugin, credentials=None, exec_=None, tuning=None, **settings):
        user = {"exec": plugin.exec(**(exec_ or {}))}
        cluster = factory.cluster(api, tuning, user=user, **(credentials or {}))
        made.append(factory.daemon(clusters={"prod": cluster}, **user_settings(), **settings))
        return made[-1]
    yield make
    for d in made:
        told = d.stderr()
        if d.running():
            told += d.ctl("status").stdout + d.ctl("status", "-o", "json").stdout
            told += proctree.command(d.pid) + proctree.command(d.helper)
        for secret in (FIRST, SECOND, "PRIVATE KEY", SETTING):
            assert secret not in told


def bearers(requests):
    return {request.header("authorization") for request in requests}


def refusals(api):
    return [request for request in api.requests + api.identity_requests if request.status == 401]


def follow_all(d, api):
    """Each watch of TWENTY has got an event, so it may end without being taken for one that does
    not work."""
    api.wait_watching("services", len(NAMESPACES))
    api.apply(*[service(f"{name}/a") for name in NAMESPACES])
    d.control.wait_watch("services", objects=len(NAMESPACES))


def wait_refused(d, times):
    """Waits until each watch of TWENTY was refused so many times, and informerd knows."""
    wait_until(lambda: len(d.log(msg="watch failed", kind="unauthorized"))
               >= times * len(NAMESPACES), what="all watches are refused")


# ---- Tokens and certificates

def test_s117_a_token_is_sent_with_every_request(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    plugged(api, plugin).synced()
    assert bearers(api.requests) == {f"Bearer {FIRST}"}
    assert len(plugin.runs()) == 1


def test_s117_a_token_is_renewed_when_it_expires_and_no_request_fails(api, plugin, plugged):
    api.tokens = {FIRST, SECOND}
    plugin.says(FIRST, expires_in=2, run=1).says(SECOND)
    d = plugged(api, plugin, tuning=PATIENT).synced()
    wait_until(lambda: d.log(msg="credential of the exec plugin was renewed"))
    api.wait_watching("services")
    api.tokens = {SECOND}
    assert reconnect(api).header("authorization") == f"Bearer {SECOND}"
    assert not refusals(api)
    assert len(plugin.runs()) == 2


def test_s117_a_certificate_is_shown_and_renewed(new_api, authority, plugin, plugged):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns = {"one", "two"}
    plugin.says(leaf=authority.client("one"), expires_in=2, run=1)
    plugin.says(leaf=authority.client("two"))
    d = plugged(api, plugin, tuning=PATIENT).synced()
    assert api.requests[0].conn.client_cn == "one"
    wait_until(lambda: d.log(msg="credential of the exec plugin was renewed"))
    api.wait_watching("services")
    assert reconnect(api).conn.client_cn == "two"
    assert not refusals(api)


def test_a_new_certificate_of_the_plugin_moves_the_open_watch_and_a_new_token_does_not(
        new_api, authority, plugin, plugged, hook):
    """The watch moves without a gap: no LIST, and each change is told once."""
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns, api.tokens = {"one", "two"}, {FIRST, SECOND}
    one = authority.client("one")
    plugin.says(FIRST, leaf=one, expires_in=2)
    d = plugged(api, plugin, tuning=PATIENT, hooks={"h": hook_settings(hook, **AS_ROOT)}).synced()
    api.wait_watching("services")
    api.apply(service("n/a"))
    hook.wait_what("ADDED", "n/a")
    d.caught_up(api)
    plugin.says(SECOND, leaf=one, expires_in=5)
    wait_until(lambda: d.log(msg="credential of the exec plugin was renewed"))
    api.apply(service("n/b"))
    hook.wait_what("ADDED", "n/b")
    assert len(api.of("services", "W")) == 1
    plugin.says(SECOND, leaf=authority.client("two"))
    wait_until(lambda: names(api) == {"two"} and api.watching("services") == 1,
               what="the watch has moved")
    api.apply(service("n/c"))
    hook.wait_what("ADDED", "n/c")
    assert len(api.of("services", "L")) == 1 and len(api.of("services", "W")) == 2
    assert hook.what() == [("ADDED", "n/a"), ("ADDED", "n/b"), ("ADDED", "n/c")]
    assert not refusals(api)


def test_s117_token_and_certificate_go_together(new_api, authority, plugin, plugged):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns, api.tokens = {"one"}, {FIRST}
    plugin.says(FIRST, leaf=authority.client("one"))
    plugged(api, plugin).synced()
    assert bearers(api.requests) == {f"Bearer {FIRST}"}


def test_s117_informerd_once_runs_the_plugin(api, plugin, plugged, hook):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    api.apply(service("n/a"))
    d = plugged(api, plugin, start=False, hooks={"h": hook_settings(hook, **AS_ROOT)})
    assert d.to_the_end("--once") == 0
    assert [run.key for run in hook.runs()] == ["n/a"] and len(plugin.runs()) == 1


def test_s117_api_version_v1beta1(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST, api_version=V1BETA1)
    plugged(api, plugin, exec_={"apiVersion": V1BETA1}).synced()
    assert plugin.runs()[0].info["apiVersion"] == V1BETA1


def test_s117_an_expired_credential_is_used_and_replaced_after_a_401(api, plugin, plugged):
    """The clock of this machine may be the wrong one."""
    api.tokens = {SECOND}
    plugin.says(FIRST, expires_in=-3600)
    d = plugged(api, plugin)
    api.wait(lambda: refusals(api))
    d.wait_problem(str(plugin.path), "expired on", "correct the clock", msg="credential has expired")
    plugin.says(SECOND)
    d.synced()


def test_s117_after_401_the_plugin_runs_once_more(api, plugin, plugged):
    """All watches are refused while the plugin runs; none waits for its backoff."""
    api.tokens = {FIRST}
    plugin.says(FIRST)
    d = plugged(api, plugin, watches=TWENTY, tuning=PATIENT).synced()
    follow_all(d, api)
    plugin.says(SECOND)
    plugin.block()
    api.tokens = {SECOND}
    api.end_watches()
    api.wait(lambda: len(refusals(api)) >= len(NAMESPACES))
    plugin.release()
    api.wait(lambda: len([r for r in api.of("services", "W")
                          if r.header("authorization") == f"Bearer {SECOND}"]) >= len(NAMESPACES))
    assert len(plugin.runs()) == 2


# ---- Nobody waits for a plugin who need not

def test_s117_a_slow_plugin_does_not_stop_another_cluster(
        factory, api, new_api, new_plugin, hook):
    """At the start and later, the other cluster is followed and its hook runs."""
    slow, quick, other = new_plugin().says(FIRST), new_plugin().says(SECOND), new_api()
    slow.block()
    clusters = {name: factory.cluster(server, user={"exec": plugin.exec()})
                for name, server, plugin in (("slow", api, slow), ("quick", other, quick))}
    watches = {name: {**SERVICES["services"], "cluster": name} for name in clusters}
    d = factory.daemon(clusters=clusters, watches=watches, **user_settings(), hooks={
        "h": hook_settings(hook, sources=["quick"], **AS_ROOT)})
    slow.wait(1)
    d.control.wait_synced("quick")
    other.apply(service("n/a"))
    hook.wait(1)
    assert not api.requests and not d.control.watch("slow")["synced"]
    slow.release()
    d.control.wait_synced("slow")
    assert slow.runs() and len(quick.runs()) == 1


def test_s117_while_the_plugin_runs_again_the_old_token_serves(api, plugin, plugged, hook):
    api.tokens = {FIRST}
    plugin.says(FIRST, expires_in=2)
    d = plugged(api, plugin).synced()
    api.wait_watching("services")
    plugin.block()
    plugin.wait(2)
    reconnect(api)
    d.caught_up(api)
    assert bearers(api.requests) == {f"Bearer {FIRST}"} and not refusals(api)
    plugin.says(SECOND)
    plugin.release()
    wait_until(lambda: d.log(msg="credential of the exec plugin was renewed"))


def test_a_reload_kills_the_plugin_that_hangs_and_runs_the_new_one(factory, api, plugin, plugged):
    """At once: the new one does not wait for the end of the other, nor for a slot."""
    api.tokens = {FIRST}
    plugin.says(FIRST).block()
    d = plugged(api, plugin, tuning=PATIENT)
    before = plugin.wait(1)[0]
    api.kubeconfig(d.settings["clusters"]["prod"]["kubeconfig"], ca=factory.authority,
                   user={"exec": plugin.exec(args=["--new"])})
    done = d.ctl("reload")
    assert done.returncode == 0, done.stderr
    after = plugin.wait(2)[1]
    assert after.args == ["--new"]
    assert after.env["INFORMERD_RUN"] != before.env["INFORMERD_RUN"]  # nor does it share its cgroup
    wait_until(lambda: not proctree.exists(before.pid), what="the program of before is dead")
    plugin.release()
    d.synced()
    assert len(plugin.runs()) == 2 and not d.log(level="error")


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_s117_a_plugin_that_hangs_ends_with_informerd(api, plugin, plugged, end):
    """It does not hold up the end, and neither it nor its children outlive it."""
    plugin.says(FIRST).block()
    plugin.leaves_child()
    d = plugged(api, plugin)
    pids = [plugin.wait(1)[0].pid, plugin.child()]
    assert all(proctree.exists(pid) for pid in pids)
    if end == "stop":
        d.stop()
    else:
        d.kill()
        d.expected_exit = -signal.SIGKILL
    wait_until(lambda: not any(proctree.exists(pid) for pid in pids), what="all are dead")


def test_s117_what_a_plugin_that_fails_leaves_behind_is_killed(api, plugin, plugged):
    """As of a hook; a child in a session of its own, too."""
    api.tokens = {SECOND}
    plugin.says(FIRST).prints(code=1)
    plugin.leaves_child()
    d = plugged(api, plugin, tuning=PATIENT)
    d.wait_problem("exit status 1", msg="credentials cannot be used")
    assert not proctree.exists(plugin.child())


def test_s118_twenty_watches_share_one_run(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    watches = {f"w{i}": {"resource": "services", "namespaces": [name]}
               for i, name in enumerate(NAMESPACES)}
    plugged(api, plugin, watches=watches).synced()
    assert len(plugin.runs()) == 1


def test_s118_each_cluster_runs_its_plugin_for_itself(factory, api, new_api, plugin):
    """Although both kubeconfigs have the same exec section."""
    other = new_api()
    api.tokens = other.tokens = {FIRST}
    plugin.says(FIRST)
    clusters = {name: factory.cluster(server, user={"exec": plugin.exec()})
                for name, server in (("one", api), ("two", other))}
    watches = {name: {**SERVICES["services"], "cluster": name} for name in clusters}
    factory.daemon(clusters=clusters, watches=watches, **user_settings()).synced(*clusters)
    assert sorted(re.sub("-[0-9a-f]+-1$", "", run.env["INFORMERD_RUN"]) for run in plugin.runs()) == [
        "exec-plugin-one", "exec-plugin-two"]


@pytest.mark.parametrize("scheme", ["http"])
def test_s118_for_a_server_without_tls_no_plugin_is_started(new_api, plugin, plugged, scheme):
    api = new_api(tls=None)
    plugin.says(FIRST)
    d = plugged(api, plugin, credentials={"server": api.url, "ca": None}).synced()
    assert bearers(api.requests) == {""} and not plugin.runs()
    d.wait_problem("credentials are not sent to a server without tls")


# ---- Failures

def answer(status, **more):
    return json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status, **more})


BAD = {
    "garbage": ({"stdout": f"your token is {FIRST}\n"}, "is no json"),
    "nothing": ({"stdout": ""}, "is empty"),
    "half an answer": ({"stdout": answer({"token": FIRST})[:-3]}, "is no json"),
    "another apiVersion": ({"stdout": answer({"token": FIRST}, apiVersion=V1BETA1)},
                           f"apiversion {V1BETA1}"),
    "another kind": ({"stdout": answer({"token": FIRST}, kind="Secret")}, "kind"),
    "no credential": ({"stdout": answer({})}, "no credential"),
    "a certificate without its key": ({"stdout": answer({"clientCertificateData": "x"})},
                                      "without clientkeydata"),
    "a key without its certificate": ({"stdout": answer({"clientKeyData": FIRST})},
                                      "without clientcertificatedata"),
    "a token of two words": ({"stdout": answer({"token": f"{FIRST}\r\nX-A: b"})}, "white space"),
    "no time": ({"stdout": answer({"token": FIRST, "expirationTimestamp": "soon"})},
                "expirationtimestamp"),
    "exit 1": ({"stdout": answer({"token": FIRST}), "code": 1}, "exit status 1"),
    "a signal": ({"stdout": answer({"token": FIRST}), "signal": "SEGV"}, "signal 11"),
    "2 MiB": ({"stdout": answer({"token": FIRST}) + " " * (2 << 20)}, "more than 1 mib"),
}


@pytest.mark.parametrize("name", BAD)
def test_s117_a_bad_answer_is_an_error_and_tried_again(api, plugin, plugged, name):
    how, words = BAD[name]
    api.tokens = {SECOND}
    plugin.prints(stderr=f"debug: {FIRST}\n" if FIRST in how["stdout"] else "debug\n", **how)
    d = plugged(api, plugin)
    line = d.wait_problem("exec plugin", str(plugin.path), words, msg="credentials cannot be used")
    assert line["cluster"] == "prod" and line["retry_in_ms"]
    plugin.wait(3)
    assert not api.requests
    plugin.prints()
    plugin.says(SECOND)
    d.synced()


def test_s117_a_pair_that_does_not_fit_is_not_used(new_api, authority, plugin, plugged):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    one, two = authority.client("one"), authority.client("two")
    plugin.says(clientCertificateData=one.cert.decode(), clientKeyData=two.key.decode())
    d = plugged(api, plugin)
    d.wait_problem("exec plugin", msg="credentials cannot be used")
    plugin.says(leaf=one)
    d.synced()


def test_s117_when_the_plugin_fails_later_the_old_token_serves(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST, expires_in=2)
    d = plugged(api, plugin).synced()
    plugin.prints(stderr="no network\n", code=1)
    d.wait_problem("exit status 1", "stays in use")
    api.wait_watching("services")
    assert reconnect(api).header("authorization") == f"Bearer {FIRST}"
    plugin.wait(4)
    assert len(d.problems(msg="credential of the exec plugin was not renewed; the old one stays in "
                              "use")) == 1
    plugin.prints()
    plugin.says(SECOND)
    wait_until(lambda: d.log(msg="exec plugin gives credentials again"))


def test_s117_refusals_do_not_hurry_a_plugin_that_fails(api, plugin, plugged):
    """It has the pauses of the backoff, here an hour."""
    api.tokens = {FIRST}
    plugin.says(FIRST)
    d = plugged(api, plugin, watches=TWENTY, tuning=PATIENT).synced()
    follow_all(d, api)
    plugin.prints(code=1)
    api.tokens = {SECOND}
    api.end_watches()
    d.wait_problem("exit status 1", "stays in use")
    for times in range(1, 4):
        wait_refused(d, times)
        assert d.ctl("relist", "services").returncode == 0
    assert len(refusals(api)) >= 3 * len(NAMESPACES) and len(plugin.runs()) == 2


def test_s117_a_program_that_is_missing_is_told_with_its_install_hint_once(
        api, plugin, plugged):
    """It may be installed while informerd runs."""
    api.tokens = {FIRST}
    plugin.says(FIRST)
    env = [{"name": "PATH", "value": f"{plugin.folder / 'bin'}:/usr/bin:/bin"}]
    d = plugged(api, plugin, exec_={"command": "my-plugin", "env": env,
                                    "installHint": "get it from example.com"})
    wait_until(lambda: len(d.problems(msg="credentials cannot be used")) >= 3)
    assert "there is no such program in PATH" in d.problems(msg="credentials cannot be used")[0]["err"]
    told = d.problems(msg="exec plugin is not installed")
    assert [line["hint"] for line in told] == ["get it from example.com"]
    done = check_config(d.config)
    assert done.returncode == 0
    assert "warning: clusters.prod: exec plugin: my-plugin is not installed: get it from" in done.stderr
    (plugin.folder / "bin").mkdir(mode=0o755)
    (plugin.folder / "bin" / "my-plugin").symlink_to(plugin.path)
    d.synced()
    assert "is not installed" not in check_config(d.config).stderr


def test_s117_stderr_is_logged_without_the_credential(new_api, authority, plugin, plugged):
    api = new_api(tls_options={"client_ca": authority, "client_required": True})
    api.client_cns, api.tokens = {"one"}, {FIRST}
    leaf = authority.client("one")
    plugin.says(FIRST, leaf=leaf)
    plugin.put("stderr", f"using cache\ntoken={FIRST}; {base64.b64encode(b'x' * 60).decode()}\n"
                         + leaf.key.decode())
    d = plugged(api, plugin).synced()
    lines = [line["line"] for line in d.log(msg="exec plugin output", cluster="prod")]
    assert lines[0] == "using cache"
    assert lines[1] == f"token=***; {base64.b64encode(b'x' * 60).decode()}"
    for secret in leaf.key.decode().splitlines()[1:-1]:
        assert secret not in d.stderr()


# ---- The user and the environment of plugins

@needs_root
def test_s117_started_as_root_the_plugin_runs_as_the_user_of_main(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    plugged(api, plugin).synced()
    run = plugin.runs()[0]
    assert run.uid == str(NOBODY) and "0" not in run.groups
    assert run.env["HOME"] == pwd.getpwnam("nobody").pw_dir


def test_s117_the_environment_and_the_arguments_of_the_plugin(api, plugin, plugged, authority):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    plugged(api, plugin, exec_={
        "args": ["get-token", '"--cluster=a b"', "''"], "provideClusterInfo": True,
        "env": [{"name": "AWS_PROFILE", "value": SETTING}, {"name": "LANG", "value": "C"}]},
        credentials={"tls_server_name": "localhost", "cluster": {"extensions": [
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}}]}},
        environ={"HTTPS_PROXY": "", "no_proxy": "127.0.0.1", "AWS_REGION": "of-informerd"}).synced()
    run = plugin.runs()[0]
    assert run.args == ["get-token", "--cluster=a b", ""]
    assert run.folder == "/" and run.stdin == 0
    home = pwd.getpwnam("nobody").pw_dir if ROOT else pwd.getpwuid(os.geteuid()).pw_dir
    assert {name: value for name, value in run.env.items()
            if name not in ("KUBERNETES_EXEC_INFO", "INFORMERD_RUN", "PWD", "OLDPWD", "SHLVL", "_")} == {
        "AWS_PROFILE": SETTING, "LANG": "C", "HOME": home, "HTTPS_PROXY": "",
        "no_proxy": "127.0.0.1",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    assert run.info == {"kind": "ExecCredential", "apiVersion": V1, "spec": {
        "interactive": False, "cluster": {
            "server": api.url, "tls-server-name": "localhost",
            "certificate-authority-data": base64.b64encode(authority.pem).decode(),
            "config": {"audience": "me"}}}}


def test_s117_the_plugin_has_the_proxies_of_informerd(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    proxies = {name: f"http://127.0.0.1:{number + 1}" for number, name in enumerate((
        "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"))}
    plugged(api, plugin, environ=proxies).synced()
    env = plugin.runs()[0].env
    assert {name: env.get(name) for name in proxies} == proxies
    assert env["LANG"] == "C.UTF-8"


def test_s117_without_provide_cluster_info_the_plugin_is_told_nothing_of_it(api, plugin, plugged):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    plugged(api, plugin).synced()
    assert plugin.runs()[0].info["spec"] == {"interactive": False}


@needs_root
def test_s117_root_does_not_start_a_program_of_another_user(api, plugin, plugged):
    os.chown(plugin.path, NOBODY, NOBODY)
    d = plugged(api, plugin, start=False)
    done = check_config(d.config)
    assert done.returncode == 78 and str(plugin.path) in done.stderr
    os.chown(plugin.path, 0, 0)
    plugin.says(FIRST)
    d.start()
    api.wait_watching("services")
    os.chown(plugin.path, NOBODY, NOBODY)
    runs = len(plugin.runs())
    api.tokens = {SECOND}
    api.end_watches()   # the next request is refused
    d.wait_problem("could not be started: trust")
    assert len(plugin.runs()) == runs


# ---- Kubeconfigs as tools write them

def in_path(text, folder):
    """The kubeconfig with PATH in the environment of its plugin, which is the last part of it."""
    variable = f"      - name: PATH\n        value: {folder}:/usr/bin:/bin\n"
    return text + ("" if "      env:\n" in text else "      env:\n") + variable


@pytest.mark.parametrize("name,program,args", [
    ("eks.yaml", "aws", ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "demo",
                         "--output", "json"]),
    ("gke.yaml", "gke-gcloud-auth-plugin", [])])
def test_s119_kubeconfigs_of_clouds_connect(factory, api, authority, plugin, tmp_path, name,
                                            program, args):
    """A stand-in for the program of the cloud is found by its name."""
    api.tokens = {FIRST}
    plugin.says(FIRST, api_version=V1BETA1)
    plugin.path.rename(plugin.folder / program)
    path = installed(name, tmp_path / name, api.url, authority, authority.client())
    path.write_text(in_path(path.read_text(), plugin.folder))
    factory.daemon(clusters={"prod": {"kubeconfig": path}}, **user_settings()).synced()
    assert bearers(api.requests) == {f"Bearer {FIRST}"}
    assert [run.args for run in plugin.runs()] == [args]
    run = plugin.runs()[0]
    if name == "eks.yaml":
        assert run.env["AWS_PROFILE"] == "demo" and run.info["spec"] == {"interactive": False}
    else:
        assert run.info["spec"]["cluster"] == {
            "server": api.url,
            "certificate-authority-data": base64.b64encode(authority.pem).decode()}


def test_s119_a_command_with_a_slash_is_relative_to_its_kubeconfig(
        factory, api, authority, plugin):
    api.tokens = {FIRST}
    plugin.says(FIRST)
    path = api.kubeconfig(plugin.folder / "config", ca=authority,
                          user={"exec": plugin.exec(command=f"./{plugin.path.name}")})
    factory.daemon(clusters={"prod": {"kubeconfig": path}}, **user_settings()).synced()


@pytest.mark.parametrize("more,words", [
    ({"interactiveMode": "Always"}, "interactiveMode Always needs a terminal, which a daemon does "
                                    "not have: write Never if the plugin can do without"),
    ({"apiVersion": "client.authentication.k8s.io/v1alpha1"},
     'exec.apiVersion "client.authentication.k8s.io/v1alpha1" is not supported: ')])
def test_s117_mistakes_are_told_with_the_line_of_the_kubeconfig(api, plugin, plugged, more, words):
    d = plugged(api, plugin, exec_=more, start=False)
    done = check_config(d.config)
    assert done.returncode == 78
    assert re.search(rf"/kubeconfig\d+:\d+: {re.escape(words)}", done.stderr), done.stderr
    assert not plugin.runs()
