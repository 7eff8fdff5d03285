# SPDX-License-Identifier: Apache-2.0
"""Colours of informerctl: on a terminal, and nowhere else."""
import pytest
from control import wait_until
from fakeapi import service
from harness import INFORMERCTL, hook_settings
from screens import COLUMNS, Terminal, plain


@pytest.fixture
def parked(api, daemon, hook):
    """A daemon with a parked key, which needs a person."""
    api.apply(service("n/a"))
    hook.exit_with(3)
    d = daemon(api, hooks={"h": hook_settings(hook, park_exit=[3])})
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    return d.settled(api)


def on_terminal(d, *words, **environ):
    return Terminal(INFORMERCTL, "--socket", d.control.path, *words, environ=environ).all()[0]


@pytest.mark.parametrize("command", ["hooks", "status"])
def test_tables_on_a_terminal_have_colours_and_fit_it(parked, command):
    text = on_terminal(parked, command)
    assert "\x1b[1mHOOK\x1b[0m" in text and "\x1b[31m1\x1b[0m" in text
    # The path of the state is whole, however long it is.
    lines = [line for line in plain(text).splitlines() if not line.startswith("state: ")]
    assert all(len(line) <= COLUMNS for line in lines)
    head, row = (next(ln for ln in lines if ln.startswith(name)) for name in ("HOOK", "h "))
    assert row[head.index("PARKED")] == "1"


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_switched_off(parked, environ):
    assert "\x1b" not in on_terminal(parked, "status", **environ)


def test_an_empty_no_color_switches_nothing_off(parked):
    assert "\x1b[31m" in on_terminal(parked, "hooks", NO_COLOR="")


@pytest.mark.parametrize("words", [("status",), ("hooks",), ("hooks", "-o", "wide")])
def test_a_pipe_gets_no_colours(parked, words):
    assert "\x1b" not in parked.ctl(*words).stdout


@pytest.mark.parametrize("output", ["json", "name"])
def test_what_programs_read_has_no_colours_on_a_terminal_either(parked, output):
    assert "\x1b" not in on_terminal(parked, "hooks", "-o", output)
