# SPDX-License-Identifier: Apache-2.0
"""informerctl log-level: of all lines, of one watch, of one hook, and back."""
from control import wait_until
from fakeapi import service


INFO = {"level": "info", "format": "text"}


def lines_with(daemon, *words):
    return [line for line in daemon.stderr().splitlines() if all(word in line for word in words)]


def test_the_level_of_all_lines_changes_in_both_processes(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, log=INFO).synced()
    assert d.ctl("log-level").stdout == "info\n"
    done = d.ctl("log-level", "debug")
    assert (done.returncode, done.stdout) == (0, "debug (configured: info)\n")
    wait_until(lambda: lines_with(d, "helper: log level is changed"))
    api.apply(service("n/a"))
    hook.wait(1)
    wait_until(lambda: lines_with(d, "debug", "hook started"))      # it is logged when the program runs already
    assert d.ctl("log-level", "default").stdout == "info\n"
    api.apply(service("n/b"))
    hook.wait(2)
    d.caught_up(api)
    assert len(lines_with(d, "hook started")) == 1
    assert len(lines_with(d, "log level is changed", "to=")) == 3


def test_the_level_of_one_hook_leaves_the_others_alone(api, daemon, new_hook):
    loud, quiet, other = new_hook(), new_hook(), new_hook()
    for hook in (quiet, other):
        hook.exit_with(1)
    d = daemon(api, hooks={"loud": loud, "quiet": quiet, "other": other}, log=INFO)
    d.synced()
    assert d.ctl("log-level", "debug", "--hook", "loud").returncode == 0
    done = d.ctl("log-level", "error", "--hook", "quiet")
    assert sorted(done.stdout.splitlines()) == ["hook loud: debug", "hook quiet: error", "info"]
    api.apply(service("n/a"))
    for hook in (loud, quiet, other):
        hook.wait(1)
    wait_until(lambda: lines_with(d, "hook started", 'hook="loud"'))
    assert not lines_with(d, "hook started", 'hook="other"')
    wait_until(lambda: lines_with(d, "warn", "hook failed", 'hook="other"'))
    wait_until(lambda: d.control.hook("quiet")["runs_failed"] > 0)
    assert not lines_with(d, "hook failed", 'hook="quiet"')
    assert d.ctl_json("log-level", "default", "--hook", "quiet")["hooks"] == {"loud": "debug"}
    assert d.ctl_json("log-level", "default") == {
        "level": "info", "configured": "info", "watches": {}, "hooks": {}}


def test_the_level_of_one_watch(api, daemon):
    watch = {"resource": "services", "namespaces": ["*"]}
    d = daemon(api, watches={"a": watch, "b": {**watch, "resource": "pods"}},
               log={"level": "error", "format": "text"}).synced()
    before = len(d.stderr().splitlines())
    assert d.ctl("log-level", "trace", "--watch", "a").returncode == 0
    for name in "ab":
        assert d.ctl("relist", name).returncode == 0
        d.control.wait_watch(name, relists=1, state="watching")
    new = d.stderr().splitlines()[before:]
    assert [line for line in new if "watch asks its server" in line and 'watch="a"' in line]
    assert not [line for line in new if 'watch="b"' in line]
