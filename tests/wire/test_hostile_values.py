# SPDX-License-Identifier: Apache-2.0
"""Values that objects can hold and that must never be interpreted: newlines, quotes, $(...),
escapes of a terminal, NUL, a megabyte; in the input, the environment, the log, and informerctl."""
import json
import re

import pytest
from control import wait_until
from fakeapi import service
from harness import ONCE, hook_settings

VALUES = {
    "newlines": "one\ntwo\r\nthree\n", "quotes": "\"'`\\\"", "command": "$(touch {t}) `touch {t}`",
    "shell": "; touch {t} #", "variable": "${INFORMERD_HOOK} $HOME", "percent": "%s%n%d{}",
    "terminal": "\x1b[31mred\x1b]0;title\x07\x1b[2J", "c1": "\x9b31m\x85", "del": "\x7f\x08\x08",
    "bidi": "\u202eevil\u202c", "separators": "\u2028\u2029\u0085",
    "log line": "\n{\"level\":\"error\"}",
    "astral": "\U0001f600\ud7ff\ufffd", "blank": "", "spaces": "  \t ", "equals": "A=B=C",
    "journal": "<0>panic", "dashes": "--help -rf",
}


def hostile(name, tmp_path):
    return VALUES[name].replace("{t}", str(tmp_path / "touched"))


def controls(raw):
    """The control characters in a log, also C1 in UTF-8, but not newlines."""
    return set(raw) & (set(range(32)) - {10}) or re.findall(rb"\x7f|\xc2[\x80-\x9f]", raw)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_reaches_the_hook_as_it_is_and_nothing_interprets_it(api, daemon, new_hook,
                                                                    tmp_path, name):
    value = hostile(name, tmp_path)
    hook = new_hook(extra='printf "%s\\n" "$INFORMERD_FIELD_X"; '
                          'printf "%s\\n" "$INFORMERD_FIELD_X" >&2')
    api.apply(service("n/a", annotations={"x": value, f"k/{len(value)}": value}))
    d = daemon(api, hooks={"h": hook_settings(hook, fields={"X": "metadata.annotations.x",
                                                            "ALL": "metadata.annotations"}),
                           "sh": {"sources": ["services"], "retry": ONCE,
                                  "fields": {"X": "metadata.annotations.x"},
                                  "shell": "printf '%s' \"$INFORMERD_FIELD_X\"; exit 3"}})
    run = hook.wait(1)[0]
    wait_until(lambda: d.control.hook("sh")["runs_failed"] == 1)
    d.control.wait_watch("services", objects=1)
    assert run.event["object"]["metadata"]["annotations"]["x"] == value
    assert run.env["INFORMERD_FIELD_X"] == value
    assert json.loads(run.env["INFORMERD_FIELD_ALL"])["x"] == value
    wait_until(lambda: d.log(msg="hook output", stream="stderr", hook="h") or not value.strip())
    raw = d.stderr_file.read_bytes()
    assert not controls(raw), raw
    lines = raw.decode().split("\n")
    assert all(isinstance(json.loads(line), dict) for line in lines if line)
    assert not [e for e in d.log(level="error")]
    assert not (tmp_path / "touched").exists()


def test_each_entry_of_the_text_log_is_one_line(api, daemon, new_hook, tmp_path):
    hook = new_hook(extra='printf "%s\\n" "$INFORMERD_FIELD_X"; exit 3')
    for number, name in enumerate(VALUES):
        api.apply(service(f"n/s{number}", annotations={"x": hostile(name, tmp_path)}))
    d = daemon(api, log={"format": "text"}, hooks={"h": hook_settings(
        hook, retry=ONCE, concurrency=4, fields={"X": "metadata.annotations.x"})})
    wait_until(lambda: d.control.hook("h")["runs_failed"] == len(VALUES))
    raw = d.stderr_file.read_bytes()
    assert not controls(raw)
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warn |info |debug) ")
    lines = raw.decode().rstrip("\n").split("\n")
    assert all(stamp.match(line) for line in lines), [x for x in lines if not stamp.match(x)]
    assert not [line for line in lines if stamp.match(line)[1] == "error"]
    assert not (tmp_path / "touched").exists()


def test_names_of_members_are_no_safer(api, handled, hook):
    evil = "u\n{\"level\":\"error\"}\x1b[31m'"
    d = handled(service("n/a", annotations={evil: "1"}, labels={evil: "1"}), mode="batch",
                settle=["0s", "0s"], daemon={"log": {"level": "trace"}})
    api.apply(service("n/a", annotations={evil: "2"}, labels={evil: "1"}))
    event = hook.wait(2)[1].events[0]
    assert event["object"]["metadata"]["annotations"] == {evil: "2"}
    assert len(event["changed"]) == 1
    assert event["changed"][0].startswith("metadata.annotations")
    d.control.wait_idle()
    for words in (("status",), ("hooks",), ("watches",), ("get", "services"), ("runs", "h"),
                  ("why", "h"), ("events",)):
        shown = d.ctl(*words)
        assert shown.returncode == 0, (words, shown)
        assert not controls(shown.stdout.encode()), words
    assert not controls(d.stderr_file.read_bytes())
    assert not d.log(level="error")


def test_an_identity_that_no_server_would_give_is_refused_in_one_line(api, daemon, hook):
    api.apply(service("n/a", uid="u\n{\"level\":\"error\"}\x1b[31m"))
    d = daemon(api, hooks={"h": hook})
    d.wait_problem("metadata.uid")
    assert not controls(d.stderr_file.read_bytes()) and not d.log(level="error")
    assert not hook.runs()


def test_escape_codes_that_a_hook_prints_do_not_reach_the_terminal(api, daemon, new_program):
    program = new_program(r"printf 'a\033[31mred\rb\007\302\233\n'; exit 5")
    api.apply(service("n/a"))
    d = daemon(api, hooks={"h": {"sources": ["services"], "command": [program.path],
                                 "retry": ONCE}})
    wait_until(lambda: d.control.hook("h")["runs_failed"] == 1)
    d.control.wait_watch("services", objects=1)
    for words in (("runs",), ("runs", "h"), ("runs", "h", "-o", "wide"), ("why", "h", "n/a"),
                  ("events",), ("hooks", "-o", "wide")):
        assert not controls(d.ctl(*words).stdout.encode()), words
    assert "exit status 5" in d.ctl("runs", "h", "-o", "json").stdout


def test_annotations_of_a_megabyte(api, daemon, new_hook):
    value = "é\"\\\n" * 200000
    hooks = {mode: new_hook() for mode in ("object", "batch", "snapshot")}
    api.apply(service("n/big", annotations={"x": value}), service("n/small"))
    d = daemon(api, hooks={mode: hook_settings(hook, mode=mode) for mode, hook in hooks.items()})
    hooks["object"].wait(2)
    for mode in ("batch", "snapshot"):
        hooks[mode].wait(1)
    d.caught_up(api)
    big = [run for run in hooks["object"].runs() if run.key == "n/big"][0]
    assert big.event["object"]["metadata"]["annotations"]["x"] == value
    event = [e for e in hooks["batch"].runs()[0].events if e["name"] == "big"][0]
    assert event["object"]["metadata"]["annotations"]["x"] == value
    assert hooks["snapshot"].runs()[0].snapshot["services"][0]["metadata"]["annotations"][
        "x"] == value
    assert d.stderr_file.stat().st_size < 200_000, "no value is logged"


def test_nul_escapes_come_through_in_the_input(api, daemon, hook):
    api.apply(service("n/a", annotations={"x": "a\0b", "y": "\\u0000"}))
    d = daemon(api, hooks={"h": hook})
    run = hook.wait(1)[0]
    d.caught_up(api)
    assert run.event["object"]["metadata"]["annotations"] == {"x": "a\0b", "y": "\\u0000"}
    assert b"\0" not in run.raw and b"\\u0000" in run.raw


# ---- fields that cannot be passed on

UNFIT = {"nul": ("a\0b", ("metadata.annotations.x", "NUL")),
         "one of 140000 bytes": ("x" * 140000, ("environment", "131072"))}


@pytest.mark.parametrize("name", UNFIT)
def test_a_field_that_cannot_be_an_environment_variable_parks_its_key(api, daemon, hook, name):
    value, words = UNFIT[name]
    api.apply(service("n/bad", annotations={"x": value}),
              service("n/good", annotations={"x": "fine"}))
    d = daemon(api, hooks={"h": hook_settings(
        hook, fields={"X": "metadata.annotations.x", "PORT": "spec.ports[0].port"})})
    assert hook.wait(1)[0].key == "n/good"
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    line = d.wait_problem("park", "fields", *words, hook="h", key="n/bad")
    assert len(json.dumps(line)) < 2000, "and not the value itself"
    assert all(word in d.ctl("runs", "h", "-o", "json").stdout for word in words)
    assert "parked" in d.ctl("why", "h", "n/bad").stdout
    api.wait_watching("services")
    api.apply(service("n/other", annotations={"x": "fine"}))
    hook.wait_what("ADDED", "n/other")
    assert not hook.of("n/bad")
    api.apply(service("n/bad", annotations={"x": "better"}))
    run = hook.wait_what("ADDED", "n/bad")
    assert run.env["INFORMERD_FIELD_X"] == "better"
    d.caught_up(api)
    assert d.control.hook("h")["parked"] == 0


def test_many_fields_that_are_too_long_together_park_too(api, daemon, hook):
    notes = {f"k{i}": "x" * 30000 for i in range(6)}
    api.apply(service("n/bad", annotations=notes))
    d = daemon(api, hooks={"h": hook_settings(hook, fields={
        f"F{i}": f"metadata.annotations.k{i}" for i in range(6)})})
    wait_until(lambda: d.control.hook("h")["parked"] == 1)
    d.wait_problem("park", "131072", hook="h", key="n/bad")
    api.wait_watching("services")
    api.apply(service("n/bad", annotations={"k0": "short"}))
    hook.wait_what("ADDED", "n/bad")
    assert len(hook.runs()) == 1


def test_a_field_of_a_hundred_kilobytes_is_passed_on(api, daemon, hook):
    value = "y" * 100000
    api.apply(service("n/a", annotations={"x": value}))
    daemon(api, hooks={"h": hook_settings(hook, fields={"X": "metadata.annotations.x"})})
    assert hook.wait(1)[0].env["INFORMERD_FIELD_X"] == value
