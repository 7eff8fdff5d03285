# SPDX-License-Identifier: Apache-2.0
"""A reload: it reads the configuration, says what would change, and refuses the configurations that a start
refuses."""
import json
import os
import signal
import subprocess

import pytest
from control import PATIENCE, wait_until
from harness import INFORMERCTL, check_config, hook_settings
from terminals import on_terminal


def spoil(d):
    """Writes a line that no configuration has; returns it as informerd names it."""
    text = d.config.read_text()
    d.config.write_text(text + "nonsense = 1;\n")
    return text, f"{d.config}:{len(text.splitlines()) + 1}: "


def reload_result(d):
    return d.control.status()["reload"]["result"]


def test_a_file_without_changes_changes_nothing(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    done = d.ctl("reload")
    told = "programs and files of hooks are compared next: other ones run their hook again\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing changed\n" + told, "")
    done = d.ctl("reload", "--dry-run")
    told = "a reload compares programs and files of hooks, too\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "nothing changes\n" + told, "")
    assert d.ctl_json("reload", "--dry-run")["plan"]["compares_programs"] is True
    assert d.log("info", msg="reloaded")


def test_without_a_state_no_programs_are_compared(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, state_dir="none").caught_up(api)
    assert d.ctl("reload").stdout == "nothing changed\n"
    assert d.ctl("reload", "--dry-run").stdout == "nothing changes\n"


def test_a_bad_file_is_refused_as_at_a_start_and_seen_until_a_good_one(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    good, place = spoil(d)
    done = d.ctl("reload")
    assert (done.returncode, done.stdout) == (78, "")
    assert place in done.stderr
    assert check_config(d.config).stderr.strip() in done.stderr
    status = d.control.status()
    assert status["reload"]["result"] == "invalid"
    assert place in status["reload"]["problems"][0]
    assert status["reload"]["failing_since"] is not None
    assert [text for text in status["degraded"] if place in text and "informerctl reload" in text]
    since = status["reload"]["failing_since"]
    assert d.ctl("reload").returncode == 78
    assert d.control.status()["reload"]["failing_since"] == since
    d.config.write_text(good)
    assert d.ctl("reload").returncode == 0
    status = d.control.status()
    assert (status["reload"]["result"], status["reload"]["failing_since"]) == ("reloaded", None)
    wait_until(lambda: d.control.status()["degraded"] == [])
    events = [json.loads(line) for line in d.ctl("events", "-o", "json").stdout.splitlines()]
    assert [e["result"] for e in events if e["what"] == "reload"] == [
        "invalid", "invalid", "reloaded"]


def test_a_dry_run_tells_the_plan_and_leaves_no_trace(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    d.settings["hooks"]["extra"] = hook_settings(hook)
    d.settings["hooks"]["h"]["timeout"] = "7s"
    d.write_config()
    done = d.ctl("reload", "--dry-run")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0][:3] == ["KIND", "NAME", "CHANGE"]
    assert sorted(row[1:3] for row in rows[1:]) == [["extra", "add"], ["h", "change"]]
    assert "timeout" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    plan = d.ctl_json("reload", "--dry-run")
    assert plan["result"] == "planned"
    assert {h["name"]: h["change"] for h in plan["plan"]["hooks"]} == {"h": "change",
                                                                       "extra": "add"}
    settings = {h["name"]: (h["settings"], h["because"]) for h in plan["plan"]["hooks"]}
    assert settings["h"] == (["timeout"], None)
    assert [c["change"] for c in plan["plan"]["clusters"]] == ["keep"] and not plan["plan"]["views"]
    assert d.control.status()["reload"]["result"] is None
    spoil(d)
    assert d.ctl("reload", "--dry-run").returncode == 78
    wait_until(lambda: d.control.status()["degraded"] == [])


def test_a_setting_that_needs_a_restart_is_named(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    before = d.settings["state_dir"]
    d.settings["state_dir"] = d.folder / "elsewhere"
    d.write_config()
    done = d.ctl("reload", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.startswith(
        f"needs a restart: state_dir (now {before}, file says {d.folder / 'elsewhere'})")
    told = d.ctl_json("reload", "--dry-run")["plan"]["needs_restart"]
    assert [(r["setting"], r["now"]) for r in told] == [("state_dir", str(before))]
    assert d.ctl("reload").returncode == 0
    assert str(before) in d.ctl("status", "-o", "json").stdout
    assert d.log(msg="a changed setting needs a restart", setting="state_dir")


def test_the_default_of_a_setting_that_needs_a_restart_is_named(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    d.settings["control"]["group"] = "nogroup"
    d.write_config()
    assert d.ctl("reload", "--dry-run").stdout.startswith(
        "needs a restart: control.group (now the default, file says nogroup)")


def test_another_format_of_the_log_needs_a_restart(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    d.settings["log"]["format"] = "text"
    d.write_config()
    assert d.ctl("reload").stdout.startswith(
        "needs a restart: log.format (now json, file says text)")
    assert d.log(msg="a changed setting needs a restart", setting="log.format")


@pytest.mark.parametrize("setting", [
    "control.group",
    pytest.param("user", marks=pytest.mark.skipif(
        os.geteuid() != 0, reason="only root becomes another user"))])
def test_what_a_start_would_refuse_of_them_is_refused(api, daemon, hook, setting):
    """The value takes effect at the next start only, and that must not fail at night."""
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    *group, key = setting.split(".")
    (d.settings[group[0]] if group else d.settings)[key] = "no-such-name"
    d.write_config()
    for flags in ([], ["--dry-run"]):
        done = d.ctl("reload", *flags)
        assert done.returncode == 78, done.stdout
        assert "no-such-name does not exist" in done.stderr
        assert check_config(d.config).stderr.strip() in done.stderr


def test_the_plan_is_whole_in_a_pipe_and_fits_a_terminal(api, daemon, hook):
    names = [f"a-hook-with-a-long-name-{'x' * 30}-{end}" for end in "ab"]
    d = daemon(api, hooks={name: hook_settings(hook) for name in names}).caught_up(api)
    for name in names:
        d.settings["hooks"][name].update({"umask": "0077", "environment": {"A": "b"}})
    d.write_config()
    rows = d.ctl("reload", "--dry-run").stdout.splitlines()
    assert [row.split()[1] for row in rows[1:]] == names
    assert all(row.endswith("runs again for all objects") for row in rows[1:])
    lines = on_terminal(d, 80, "reload", "--dry-run")
    assert all(len(line) <= 80 for line in lines), lines
    shown = [line.split()[1] for line in lines[1:]]
    assert len(set(shown)) == 2 and all("~" in name for name in shown), lines


def test_an_included_file_is_found_by_a_reload(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False)
    conf_d = d.folder / "conf.d"
    conf_d.mkdir(mode=0o755)
    text = d.config.read_text() + f'include = ["{conf_d}/*.conf"];\n'
    d.config.write_text(text)
    d.start()
    d.caught_up(api)
    more = conf_d / "more.conf"
    more.write_text('watches: { more: { resource = "configmaps"; namespaces = ["a"]; }; };\n')
    more.chmod(0o600)
    plan = d.ctl_json("reload", "--dry-run")
    assert {w["name"]: w["change"] for w in plan["plan"]["watches"]}["more"] == "add"


def test_a_broken_kubeconfig_is_refused(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    kubeconfig = d.settings["clusters"]["prod"]["kubeconfig"]
    kubeconfig.write_text("{")
    done = d.ctl("reload")
    assert done.returncode == 78
    assert str(kubeconfig) in done.stderr
    assert d.ctl("status").returncode == 1


def test_sighup_reloads_and_tells_the_log(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    good, place = spoil(d)
    with d.follow("events", "-f", "-o", "json") as events:
        d.signal(signal.SIGHUP)
        events.wait_for(lambda line: line.get("result") == "invalid")
    assert reload_result(d) == "invalid"
    assert [line for line in d.log("error") if place in line.get("problem", "")]
    d.config.write_text(good)
    assert d.ctl("reload").returncode == 0
    assert reload_result(d) == "reloaded"


def test_reloads_at_the_same_time_all_get_an_answer(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    spoil(d)
    orders = [subprocess.Popen([INFORMERCTL, "--socket", d.control.path, "reload", *flags],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
              for flags in ([], ["--dry-run"], [], ["--dry-run"], [])]
    for order in orders:
        _out, err = order.communicate(timeout=PATIENCE)
        assert (order.returncode, "nonsense" in err) == (78, True)


def test_others_may_not_reload(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}).caught_up(api)
    status, _headers, _body = d.control.ask("/v1/reload", method="GET")
    assert status == 405
    assert d.ctl_of_nobody("reload").returncode == 77
    assert d.ctl_of_nobody("reload", "--dry-run").returncode == 77


def test_a_dry_run_of_informerd_refuses_a_reload(api, daemon, hook):
    d = daemon(api, hooks={"h": hook}, start=False).start(flags=["--dry-run"])
    done = d.ctl("reload")
    assert done.returncode == 1
    assert "informerd --dry-run does not reload" in done.stderr
