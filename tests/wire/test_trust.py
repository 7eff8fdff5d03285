# SPDX-License-Identifier: Apache-2.0
"""Files that root opens for others: credentials, files of hooks, scripts. No other user may change
them, and no user can make root read a file that is not the user's own."""
import os

import pytest
from control import wait_until
from fakeapi import service
from harness import NOBODY, check_config, hook_settings

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

SECRET = "what-only-root-may-read"


@pytest.fixture
def theirs(tmp_path):
    """A folder that belongs to user nobody."""
    os.umask(0o022)
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o755)
    os.chown(folder, NOBODY, NOBODY)
    return folder


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    return path


def put(path, text, owner=0, mode=0o600):
    """Replaces the file in one step."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.chmod(mode)
    os.chown(new, owner, owner)
    new.rename(path)
    return path


def link(path, target, owner=0):
    new = path.with_name(f"{path.name}.new")
    new.symlink_to(target)
    os.chown(new, owner, owner, follow_symlinks=False)
    new.rename(path)
    return path


def of_nobody(factory, api, **credentials):
    """A cluster whose credentials user nobody may write."""
    return {"prod": {**factory.cluster(api, **credentials), "credential_owner": "nobody"}}


def refused(d, *words):
    done = check_config(d.config)
    assert done.returncode == 78, done.stderr
    for word in words:
        assert str(word) in done.stderr, done.stderr


def accepted(d):
    done = check_config(d.config)
    assert done.returncode == 0, done.stderr


# ---- Credentials

@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_link_of_another_user_is_not_followed_to_a_file_of_root(api, factory, theirs, secret,
                                                                  user):
    token = link(theirs / "token", secret, NOBODY)
    for clusters in ({"prod": factory.cluster(api, token_file=token)},
                     of_nobody(factory, api, token_file=token)):
        refused(factory.daemon(clusters=clusters, user=user, start=False), theirs)


@pytest.mark.parametrize("kind", ["token_file", "ca_file", "client_cert_file", "client_key_file"])
def test_every_file_of_the_plain_settings_is_checked(api, factory, authority, tmp_path, kind):
    os.umask(0o022)
    leaf = authority.client()
    files = {"ca_file": authority.pem, "client_cert_file": leaf.cert, "client_key_file": leaf.key,
             "token_file": b"token"}
    paths = {}
    for name, text in files.items():
        paths[name] = tmp_path / name
        paths[name].write_bytes(text)
    d = factory.daemon(clusters={"prod": {"servers": [api.url], **paths}}, start=False)
    accepted(d)
    paths[kind].chmod(0o666)
    refused(d, paths[kind], "chmod go-w")
    paths[kind].chmod(0o600)
    os.chown(paths[kind], NOBODY, NOBODY)
    refused(d, paths[kind], "chown root")


def test_the_owner_of_a_credential_is_named(api, factory, theirs):
    token = put(theirs / "token", "tok-1\n", NOBODY)
    api.tokens = {"tok-1"}
    refused(factory.daemon(clusters={"prod": factory.cluster(api, token_file=token)}, start=False),
            theirs, "chown root")
    d = factory.daemon(clusters=of_nobody(factory, api, token_file=token)).synced()
    assert api.requests[-1].header("authorization") == "Bearer tok-1"
    api.tokens = {"tok-2"}
    put(token, "tok-2\n", NOBODY)
    api.end_watches()
    api.wait_for_request(lambda r: r.header("authorization") == "Bearer tok-2")
    d.synced()


def test_main_may_own_files_that_only_main_uses(api, factory, theirs):
    token = put(theirs / "token", "tok-1\n", NOBODY)
    d = factory.daemon(clusters={"prod": factory.cluster(api, token_file=token)}, user="nobody",
                       start=False)
    accepted(d)


def test_an_owner_that_does_not_exist_is_an_error(api, factory):
    clusters = {"prod": {**factory.cluster(api), "credential_owner": "no-such-user-here"}}
    refused(factory.daemon(clusters=clusters, start=False), "no-such-user-here does not exist")


def test_a_link_that_is_put_there_later_is_not_followed(api, factory, theirs, secret):
    token = put(theirs / "token", "tok-1\n", NOBODY)
    api.tokens = {"tok-1"}
    d = factory.daemon(clusters=of_nobody(factory, api, token_file=token)).synced()
    link(token, secret, NOBODY)
    api.tokens = {"tok-2"}
    api.end_watches()
    d.wait_problem("credential file refused", "a link")
    # On a connection without a resumed TLS session informerd asks for the cluster's identity first:
    # then that request gets the 401.
    api.wait(lambda: [r for r in api.requests + api.identity_requests if r.status == 401][1:])
    assert not any(SECRET in (r.header("authorization") or "")
                   for r in api.requests + api.identity_requests)
    put(token, "tok-2\n", NOBODY)
    api.wait_for_request(lambda r: r.header("authorization") == "Bearer tok-2")
    assert SECRET not in d.stderr()


def test_a_token_that_others_may_write_later_is_not_read(api, factory, tmp_path):
    token = put(tmp_path / "token", "tok-1\n")
    api.tokens = {"tok-1"}
    d = factory.daemon(clusters={"prod": factory.cluster(api, token_file=token)}).synced()
    put(token, "tok-2\n", mode=0o666)
    api.tokens = {"tok-2"}
    api.end_watches()
    d.wait_problem("credential file refused", "chmod go-w")
    assert not any(r.header("authorization") == "Bearer tok-2" for r in api.requests)
    token.chmod(0o600)
    api.wait_for_request(lambda r: r.header("authorization") == "Bearer tok-2")


def test_a_kubeconfig_of_its_owner_names_files_of_its_owner(api, factory, theirs, secret):
    for token, good in ((secret, False), (put(theirs / "token", "tok-1\n", NOBODY), True)):
        clusters = of_nobody(factory, api, token_file=token)
        os.chown(clusters["prod"]["kubeconfig"], NOBODY, NOBODY)
        d = factory.daemon(clusters=clusters, start=False)
        if good:
            accepted(d)
        else:
            refused(d, secret, "kubeconfig")


def test_a_projected_volume_is_read_again_when_it_was_swapped(api, factory, tmp_path):
    """As kubelet makes it: a sticky folder that all may write, a link for each file, and one link
    to the current folder."""
    volume = tmp_path / "volume"
    volume.mkdir()
    volume.chmod(0o1777)

    def project(name, text):
        (volume / name).mkdir(mode=0o755)
        put(volume / name / "token", text)
        link(volume / "..data", name)
    project("..2024", "tok-1")
    link(volume / "token", "..data/token")
    api.tokens = {"tok-1"}
    factory.daemon(clusters={"prod": factory.cluster(api, token_file=volume / "token")}).synced()
    project("..2025", "tok-2")
    api.tokens = {"tok-2"}
    api.end_watches()
    api.wait_for_request(lambda r: r.header("authorization") == "Bearer tok-2")


# ---- Programs that root runs

SCRIPTS = {
    "a shell": lambda script: ["/bin/sh", script],
    "options": lambda script: ["/bin/sh", "-e", "-u", script, "/etc/hostname"],
    "env": lambda script: ["/usr/bin/env", "A=1", "sh", script],
}


@pytest.mark.parametrize("how", SCRIPTS)
def test_a_script_that_root_runs_must_be_writable_by_root_alone(api, daemon, hook, tmp_path, how):
    script = put(tmp_path / "script", f"exec {hook.path}\n", mode=0o644)
    command = SCRIPTS[how](script)
    d = daemon(api, hooks={"h": hook_settings(hook, command=command)}, start=False)
    accepted(d)
    script.chmod(0o646)
    refused(d, script, "chmod go-w")
    script.chmod(0o644)
    os.chown(script, NOBODY, NOBODY)
    refused(d, script, "chown root")
    d.settings["hooks"]["h"]["user"] = "nobody"
    d.write_config()
    accepted(d)


@pytest.mark.parametrize("which", ["script", "program"])
def test_root_does_not_run_a_program_that_others_may_write_later(api, daemon, hook, tmp_path,
                                                                 which):
    script = put(tmp_path / "script", f"exec {hook.path}\n", mode=0o755)
    command = ["/bin/sh", script] if which == "script" else [hook.path]
    guarded = script if which == "script" else hook.path
    d = daemon(api, hooks={"h": hook_settings(hook, command=command)}).synced()
    guarded.chmod(0o777)
    api.apply(service("n/a"))
    d.wait_problem("trust", hook="h")
    wait_until(lambda: "chmod go-w" in d.stderr())
    assert not hook.runs()
    guarded.chmod(0o755)
    assert hook.wait(1)[0].what == ("ADDED", "n/a")


def test_files_of_a_hook_are_of_root_or_of_its_user(api, daemon, hook, theirs):
    file = put(theirs / "file", "x", NOBODY)
    d = daemon(api, hooks={"h": hook_settings(hook, files=[file])}, start=False)
    refused(d, theirs, "chown root")
    d.settings["hooks"]["h"]["user"] = "nobody"
    d.write_config()
    accepted(d)
    os.unlink(file)
    link(file, "/etc/shadow", NOBODY)
    refused(d, "/etc/shadow", "link")
