# SPDX-License-Identifier: Apache-2.0
"""Options of informerd and informerctl that the other tests do not show, on each command that has them, and
the width of all tables."""
import json
import subprocess
import time

import pytest
from confwriter import merge
from control import PATIENCE, wait_until
from fakeapi import endpointslice, service
from harness import INFORMERCTL, INFORMERD, ONCE, TWO, hook_settings
from outputs import whole
from terminals import on_terminal
from test_ctl_repeat import Repeater

ONCE = {"initial": "1h", "max": "1h"}
LONG = 63   # the longest name of a Service, and of a watch or hook


def informerd(*args):
    return subprocess.run([INFORMERD, *args], text=True, capture_output=True, timeout=PATIENCE, cwd="/")


@pytest.fixture
def failed(api, daemon, hook):
    """A daemon whose hook "h" has failed for n/a, and waits."""
    hook.exit_with(1)
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": hook_settings(hook, retry=ONCE)})
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 1)
    api.wait_watching("services")       # else there is nothing to verify
    return d


@pytest.mark.parametrize("command", [["status"], ["watches"], ["get", "services"], ["hooks"], ["runs"],
                                     ["why", "h"]])
def test_each_command_that_has_it_repeats_with_w(failed, api, hook, command):
    """status, watches, get, hooks, runs and why with -w, which is --repeat: again when something changed."""
    with Repeater(failed, *command) as r:
        wait_until(lambda: r.text)
        before = r.text
        api.apply(service("n/b"))
        hook.wait(2)
        wait_until(lambda: len(r.text) > len(before) and "\n\n" in r.text[len(before) - 1:])
    done = failed.ctl("relist", "services", "--repeat")
    assert done.returncode == 64 and "relist has no -w" in done.stderr


def test_o_name_prints_one_name_a_line(failed, api):
    """Of get, watches, hooks, runs, why, verify, pause and resume."""
    runs = [run["run"] for run in failed.ctl_json("runs")]
    for command, names in ((("get", "services"), ["n/a"]), (("watches",), ["services"]),
                           (("hooks",), ["h"]), (("runs",), runs), (("why", "h"), ["n/a"]),
                           (("verify", "services"), []), (("pause", "h"), ["h"]), (("resume", "h"), ["h"])):
        done = failed.ctl(*command, "-o", "name")
        assert done.stdout.splitlines() == names, (command, done)
    api.apply(service("n/hidden"), silent=True)     # no event tells of it
    done = failed.ctl("verify", "services", "-o", "name")
    assert (done.returncode, done.stdout) == (1, "n/hidden\n")


def test_short_and_long_options_of_informerctl_are_the_same(failed):
    """-o and --output, with each of json, wide, name and table; -f and --follow; -V and --version."""
    for word in ("json", "wide", "name", "table"):
        short, long = (failed.ctl("watches", option, word) for option in ("-o", "--output"))
        assert short.returncode == long.returncode == 0, word
        assert short.stdout and long.stdout[:5] == short.stdout[:5]
    assert failed.ctl("watches", "--output=name").stdout == "services\n"
    assert json.loads(failed.ctl("hooks", "-ojson").stdout)["hooks"]["h"]["runs_failed"] == 1
    assert "CONTACT" in failed.ctl("watches", "-o", "wide").stdout
    assert failed.ctl("watches", "-o", "table").stdout.startswith("WATCH")
    for option in ("-f", "--follow"):
        with failed.follow("events", option, "-o", "json") as events:
            events.wait(1)
    for option in ("-V", "--version"):
        done = subprocess.run([INFORMERCTL, option], text=True, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0 and done.stdout.startswith("informerctl ")


def test_short_and_long_options_of_informerd_are_the_same(api, daemon):
    """-c and --config, -t and --check, -V and --version."""
    d = daemon(api, start=False)
    for config in ("-c", "--config"):
        for check in ("-t", "--check"):
            assert informerd(config, str(d.config), check).returncode == 0
            assert informerd(config, "/none", check).returncode == 78
    for option in ("-V", "--version"):
        done = informerd(option)
        assert done.returncode == 0 and done.stdout.startswith("informerd ")


def test_log_format_and_log_level_go_before_the_configuration(api, daemon):
    d = daemon(api, start=False, log={"format": "json", "level": "debug"})
    d.start(flags=["--log-format", "text", "--log-level", "error"])
    d.synced()
    assert d.ctl("log-level").stdout.split()[0] == "error"
    d.stop()
    assert d.stderr() == "", "nothing went wrong"
    d.start(flags=["--log-format", "text"]).synced()
    assert '"msg"' not in d.stderr() and "started" in d.stderr()
    d.stop()
    d.start().synced()
    assert d.log(msg="started", level="info") and d.log(level="debug"), "as the configuration says"
    for flag in ("--log-format", "--log-level"):
        assert informerd("-c", str(d.config), flag, "loud").returncode == 64


def test_log_max_lines_bounds_the_lines_of_a_level(api, daemon, new_program):
    """In each half a minute; the other levels are not bounded by it."""
    program = new_program("seq -f 'line %g' 2000; echo end >&2; exit 3")
    d = daemon(api, log={"max_lines": 100, "format": "json"}, hooks={
        "h": {"sources": ["services"], "command": [program.path], "log_limit": "1MiB", "retry": ONCE}}).synced()
    began = time.monotonic()
    api.apply(service("n/a"))
    wait_until(lambda: d.problems(hook="h", key="n/a"), what="the log says that the run has failed")
    assert len(d.log(level="info")) <= 100 * (2 + (time.monotonic() - began) // 30)


def test_check_access_print_config_and_print_rbac_say_what_they_are_for(api, daemon):
    d = daemon(api, start=False)
    done = informerd("-c", str(d.config), "--check-access")
    assert done.returncode == 0 and "services" in done.stdout
    done = informerd("-c", str(d.config), "--print-config")
    assert done.returncode == 0 and "hook_concurrency = 8;" in done.stdout
    done = informerd("-c", str(d.config), "--print-rbac", "--subject", "User:someone")
    assert done.returncode == 0 and "kind: ClusterRole" in done.stdout and "someone" in done.stdout


# ---- Tables fit 80 columns

def long_names(letter):
    return letter * LONG


def hook_number(number):
    return f"h{number:02}" + "h" * (LONG - 3)


@pytest.fixture
def crowded(api, daemon, place, applier, new_hook):
    """A daemon with names of 63 characters everywhere, hooks that have failed, are parked, paused or
    running, a watch that waits, one that is held back, and files that were written."""
    watch, slices, view = long_names("w"), long_names("e"), long_names("v")
    names = [f"{long_names('n')}/{letter * LONG}" for letter in "abc"]
    for name in names:
        api.apply(service(name, ports=[80]), endpointslice(f"{name[:-2]}-1", name.split("/")[1], ["10.0.0.1"]))
    chatty = new_hook("echo a line that is much too long for a terminal of this width, with a long word "
                      + "x" * 100)
    chatty.exit_with(1)
    parks, runs = new_hook(), new_hook()
    parks.exit_with(7)
    runs.block()
    hooks = {hook_number(number): hook_settings(chatty, sources=[watch], retry=ONCE)
             for number in range(12)}
    hooks |= {long_names("p"): hook_settings(parks, sources=[view], park_exit=[7], retry=ONCE),
              long_names("r"): hook_settings(runs, sources=[watch], concurrency=1),
              long_names("f"): merge(whole(place, apply=[applier.path]), {"sources": [watch]})}
    d = daemon(api, watches={watch: TWO["services"], slices: TWO["slices"],
                             long_names("u"): {"resource": f"{'u' * 60}.{'g' * 60}.example.com",
                                               "namespaces": ["*"]}},
               views={view: {"type": "service_endpoints", "services": watch, "slices": slices}},
               hooks=hooks, limits={"object_size": "2KiB", "pending": "1ms"})
    d.control.wait_watch(long_names("u"), state="waiting")
    api.wait_watching("services")       # else there is nothing to verify
    wait_until(lambda: d.control.hook(long_names("p"))["parked"] == 3
               and d.control.hook(long_names("f"))["applies_ok"] and d.control.hook(long_names("r"))["running"]
               and all(d.control.hook(name)["runs_failed"] == 3 for name in hooks if name[0] == "h"))
    yield d
    runs.release_all()


def test_all_tables_fit_a_terminal_of_80_columns(crowded, api):
    watch, hook = long_names("w"), hook_number(0)
    key = f"{long_names('n')}/{'a' * LONG}"
    assert crowded.ctl("pause", hook_number(11)).returncode == 0
    api.apply(service(f"{key[:-2]}zz"), silent=True)     # verify finds it
    too_wide = [line for line in on_terminal(crowded, 80, "--help") if len(line) > 80]
    for args in (["status"], ["watches"], ["hooks"], ["runs"], ["runs", hook], ["why", hook],
                 ["why", hook, key], ["why", long_names("p")], ["why", long_names("r")], ["get", watch],
                 ["get", watch, key], ["get", long_names("v")], ["pause"], ["resume"], ["pause", hook],
                 ["resume", hook], ["verify", watch]):
        # A row has two spaces between its columns; sentences are whole, so that they can be followed.
        rows = [line for line in on_terminal(crowded, 80, *args) if "  " in line.strip()]
        assert len(rows) > 1, args
        too_wide += [f"{args}: {len(line)} {line}" for line in rows if len(line) > 80]
    assert not too_wide, "\n".join(too_wide)
    row = on_terminal(crowded, 80, "get", watch)[1].split()
    assert row[0].endswith("n") and row[1].endswith("a") and "~" in row[0] + row[1]


def test_top_fits_80_columns_with_long_names(crowded):
    done = crowded.ctl("top")
    assert done.returncode == 0 and all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout
