# SPDX-License-Identifier: Apache-2.0
"""Text from outside is harmless wherever it is shown (docs/design.md "Text from outside"). WAYS has the ways
by which a hostile text comes in, PLACES the places where it can be shown; each place is looked at for each
way. A new place is a line in PLACES, and in the list of a way that reaches it."""
import json
import os
import re
import subprocess
import unicodedata
import urllib.parse

import pytest
from control import PATIENCE, wait_until
from fakeapi import Authority, service
from harness import INFORMERCTL, INFORMERD, ONCE, hook_settings
from plugins import Plugin, user_settings
from probes import ANY_PORT, Probes
from terminals import on_terminal

# Turns writing around, hides letters, ends lines, and is invisible. Names of objects may have these.
INVISIBLE = "\u202e\u2066\u200f\u061c\u200b\u2060\ufeff\u2028\u2029\U000e0041\u00ad\ufe0f\x7f\x9b"
# Moves the cursor, paints, sets the title. These are in no name that informerd takes.
CONTROLS = "\x1b[2J\x1b]0;title\x07\x08\x08"
EVIL = f"ev{CONTROLS}{INVISIBLE}il"
NAME = f"ev{INVISIBLE.replace(chr(0x7f), '')}il"     # an object's name, if a server sends it
SHOWN = "ev\\u001b[2J"                  # how EVIL begins where it is shown
NAME_SHOWN = "ev\\u202e\\u2066"

IGNORABLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
                       "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]")


def raw(text):
    """The characters of a text that must not be shown as they are."""
    return [c for c in text if c != "\n" and (unicodedata.category(c) == "Cc" or IGNORABLE.match(c))]


def both(command, **more):
    """The output of a program, stdout and stderr."""
    done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                          env={"LC_ALL": "C", "PATH": os.environ["PATH"]}, **more)
    return (done.stdout + done.stderr).decode()


def informerd(*flags):
    return lambda d: both([INFORMERD, "-c", d.config, *flags])


def log_of(form):
    """The log of another process with this configuration."""
    return informerd("--once", "--timeout", "1s", "--dry-run", "--log-format", form)


def ctl(*words):
    return lambda d: both([INFORMERCTL, "--socket", d.control.path, *words])


def completes(*words):
    return lambda d: both([INFORMERCTL, "__complete", "--socket", d.control.path, *words, ""])


def control(target):
    return lambda d: d.control.ask(target)[2].decode()


def probe(target):
    return lambda d: Probes(d).ask(target)[2]


def strings(value):
    """All strings in a value that was JSON."""
    if isinstance(value, (dict, list)):
        values = value.values() if isinstance(value, dict) else value
        return [text for entry in values for text in strings(entry)]
    return [value] if isinstance(value, str) else []


def page_texts(d):
    """The page's script shows the strings of /page.json as they are."""
    return "\n".join(strings(json.loads(Probes(d).ask("/page.json")[2])))


def systemd_status(d):
    """All that systemd was told."""
    d.systemd.setblocking(False)
    try:
        while True:
            d.told += d.systemd.recv(8192).decode() + "\n"
    except BlockingIOError:
        return d.told


def terminal(*words):
    return lambda d: "\n".join(on_terminal(d, 200, *words))


# name: the text that is shown there
PLACES = {
    "log": lambda d: d.stderr_file.read_bytes().decode(),
    "text log": log_of("text"),
    "journal without a journal": log_of("journal"),
    "systemctl status": systemd_status,
    "informerctl status": ctl("status"),
    "informerctl status -o json": ctl("status", "-o", "json"),
    "informerctl watches": ctl("watches", "-o", "wide"),
    "informerctl hooks": ctl("hooks", "-o", "wide"),
    "informerctl get": ctl("get", "services"),
    "informerctl get -o name": ctl("get", "services", "-o", "name"),
    "informerctl get -o json, on a terminal": terminal("get", "services", "-o", "json"),
    "informerctl runs": ctl("runs", "h", "-o", "wide"),
    "informerctl runs -o json": ctl("runs", "h", "-o", "json"),
    "informerctl why": ctl("why", "h"),
    "informerctl why KEY": ctl("why", "h", f"n/{NAME}"),
    "informerctl events": ctl("events"),
    "informerctl doctor": ctl("doctor"),
    "informerctl wait": ctl("wait", "--for", "synced", "--timeout", "10ms"),
    "informerctl reload": ctl("reload", "--dry-run"),
    "informerctl get, of no source": ctl("get", EVIL),
    "informerctl completes": completes("why", "h"),
    "an error answer": control("/v1/sources/" + urllib.parse.quote(EVIL) + "/objects"),
    "the page": probe("/"),
    "the page's script": page_texts,
    "/healthz": probe("/healthz"),
    "/healthz in JSON": probe("/healthz?format=json"),
    "/readyz": probe("/readyz"),
    "/metrics": probe("/metrics"),
    "--check": informerd("--check"),
    "--check-access": informerd("--check-access"),
    "--print-config": informerd("--print-config"),
    "--print-rbac": informerd("--print-rbac"),
}

FAULTS = ["informerctl status", "informerctl status -o json", "informerctl doctor",
          "the page", "the page's script", "/healthz", "/healthz in JSON"]
WATCH = [*FAULTS, "log", "text log", "journal without a journal", "informerctl wait", "informerctl watches"]


# These show names of the configuration, which has no other characters than letters, digits, '-', '_' and '.',
# and sentences of informerd. They are looked at all the same.
UNREACHED = {"/readyz", "/metrics", "an error answer", "informerctl get, of no source"}


class Way:
    """How a text comes in: start() returns the daemon; places: where it must be seen then, and as what."""

    def __init__(self, places, shown=SHOWN):
        self.places, self.shown, self.start = places, shown, None

    def __call__(self, start):
        self.start = start
        WAYS[start.__name__.replace("_", " ")] = self
        return self


WAYS = {}


class Stage:
    """The fixtures with which a way starts its daemon."""

    def __init__(self, api, factory, systemd):
        self.api, self.factory, self.systemd = api, factory, systemd

    def daemon(self, start=True, **settings):
        base = {"hooks": {"h": {"sources": ["services"], "retry": ONCE, "command": ["/bin/false"]}},
                "tuning": {"backoff": {"initial": "1h", "max": "1h"}},
                "metrics": {"listen": [ANY_PORT], "page_keys": True},
                "environ": {"NOTIFY_SOCKET": self.systemd.getsockname()}}
        d = self.factory.daemon(self.api, start=start, **{**base, **settings})
        d.systemd, d.told = self.systemd, ""
        return d

    def failing(self, **settings):
        """A daemon whose watch has failed."""
        d = self.daemon(**settings)
        wait_until(lambda: d.control.watch("services")["last_error"], what="an error")
        return d

    def ran(self, **settings):
        """A daemon whose hook has failed once."""
        d = self.daemon(**settings)
        wait_until(lambda: d.control.hook("h")["runs_failed"] == 1)
        return d


def quoted(text):
    """A string in YAML."""
    return '"' + "".join(c if c.isascii() and c.isprintable() else f"\\U{ord(c):08x}" for c in text) + '"'


# ---- From servers

@Way(WATCH)
def the_message_of_a_status(stage):
    stage.api.on_list("services", times=None).fail(403, message=EVIL)
    return stage.failing()


@Way(WATCH)
def an_error_body_that_is_no_status(stage):
    stage.api.on_list("services", times=None).reply(403, body=EVIL.encode(), type="text/plain")
    return stage.failing()


@Way(["log"], NAME_SHOWN)
def a_warning_of_the_server(stage):
    stage.api.on_list("services", times=None).list([], rv=stage.api.rv, headers={"Warning": f'299 - "{NAME}"'})
    return stage.daemon().synced()


@Way([*WATCH, "--check-access", "systemctl status"], "ev?[2J")   # mbedTLS writes names of certificates, with ? for bytes
def the_names_in_a_certificate(stage):
    authority = Authority(stage.factory.folder / "evil", name="evil")
    authority.name = EVIL
    stage.api.set_tls(authority.server())
    return stage.failing()


@Way(["--check-access"])
def the_reason_of_a_review(stage):
    stage.api.access = lambda review: (False, EVIL)
    return stage.daemon()


# ---- From objects

@Way(["log", "text log", "journal without a journal", "informerctl get", "informerctl get -o name",
      "informerctl get -o json, on a terminal", "informerctl runs", "informerctl runs -o json",
      "informerctl why", "informerctl why KEY", "informerctl events", "informerctl completes"], NAME_SHOWN)
def the_name_of_an_object(stage):
    stage.api.apply(service(f"n/{NAME}"))
    return stage.ran()


@Way([*FAULTS, "log", "text log", "journal without a journal"])
def a_name_that_cannot_be_used(stage):
    stage.api.apply(service(f"n/{EVIL}"))
    d = stage.daemon()
    wait_until(lambda: d.control.watch("services")["skipped"] == 1)
    return d


@Way(["informerctl get -o json, on a terminal"], NAME_SHOWN)
def the_values_of_an_object(stage):
    stage.api.apply(service("n/a", annotations={NAME: EVIL}, labels={NAME: NAME}, type=NAME))
    return stage.ran()


# ---- From hooks and plugins

@Way(["log", "informerctl runs", "informerctl runs -o json"])
def the_output_of_a_hook(stage):
    stage.api.apply(service("n/a"))
    said = stage.factory.folder / "said"
    said.write_bytes(EVIL.encode() + b"\xff\xc3\n")
    shout = stage.factory.program(f"cat {said}; cat {said} >&2; exit 3")
    return stage.ran(hooks={"h": {"sources": ["services"], "retry": ONCE, "command": [shout.path]}})


@Way(["log", "text log", "journal without a journal"])
def the_complaint_of_an_exec_plugin(stage):
    plugin = Plugin().prints(stderr=EVIL.encode() + b"\xff\n", code=1)
    stage.plugins.append(plugin)
    d = stage.daemon(credentials={"user": {"exec": plugin.exec()}}, **user_settings())
    wait_until(lambda: d.log(msg="exec plugin output"))
    return d


# ---- From files

@Way([*FAULTS, "--check", "systemctl status"])
def the_name_of_a_file(stage):
    path = f"/nonexistent/{EVIL}"
    return stage.daemon(clusters={"prod": {"kubeconfig": path}})


@Way(["log", "informerctl hooks", "informerctl runs", "informerctl why"])
def the_path_of_an_output_file(stage):
    stage.api.apply(service("n/a"))
    return stage.ran(hooks={"h": {"sources": ["services"], "retry": ONCE, "command": ["/bin/true"],
                                  "output": f"/nonexistent/{EVIL}/${{name}}"}})


@Way(["--print-config"], r"ev\x1b[2J")      # as libconfig reads it
def a_setting(stage):
    return stage.daemon(hooks={"h": {"sources": ["services"], "command": ["/bin/true"],
                                     "environment": {"X": EVIL}}})


@Way(["--print-rbac"], r"ev\U0000001B[2J")  # as YAML has it
def the_name_in_a_credential(stage):
    client = stage.factory.authority.client(EVIL)
    return stage.daemon(credentials={"client": client})


@Way(["informerctl reload", "--check", "informerctl status", "/healthz"])
def the_contents_of_a_kubeconfig(stage):
    d = stage.daemon().synced()
    path = d.settings["clusters"]["prod"]["kubeconfig"]
    path.write_text(path.read_text().replace("current-context: fake", f"current-context: {quoted(EVIL)}"))
    assert d.ctl("reload").returncode == 78
    return d


@pytest.fixture
def stage(api, factory, systemd):
    made = Stage(api, factory, systemd)
    made.plugins = []
    yield made
    for plugin in made.plugins:
        plugin.finish()


@pytest.mark.parametrize("name", WAYS)
def test_a_text_from_outside_is_harmless_wherever_it_is_shown(stage, name):
    way = WAYS[name]
    d = way.start(stage)
    places = dict(PLACES)
    if b"libsystemd" not in open(f"/proc/{d.pid}/maps", "rb").read():
        places.pop("systemctl status")
    for place, look in places.items():
        text = look(d) if place not in way.places else wait_until(
            lambda: (found := look(d)) and way.shown in found and found, what=lambda: f"the text at: {place}: {look(d)}")
        assert not raw(text), (place, text)


def test_each_place_is_reached():
    assert set(PLACES) == {place for way in WAYS.values() for place in way.places} | UNREACHED


def test_data_for_programs_stays_as_it_is(api, daemon, new_hook, tmp_path):
    """DEL and what is invisible stand in JSON as they are: informerd changes no byte of an object."""
    value = INVISIBLE
    hook = new_hook()
    api.apply(service("n/a", annotations={"x": value}))
    out = tmp_path / "out"
    d = daemon(api, hooks={
        "h": hook_settings(hook),
        "file": {"sources": ["services"], "output": str(out), "mode": "snapshot", "command": ["/bin/cat"]}})
    assert value.encode() in hook.wait(1)[0].raw
    wait_until(out.exists)
    assert value.encode() in out.read_bytes()
    for words in (("get", "services", "-o", "json"), ("get", "services", "n/a", "-o", "json"),
                  ("input", "h", "n/a")):
        assert value in d.ctl(*words).stdout, words
    assert value.encode() in d.control.ask("/v1/sources/services/objects")[2]
    with d.follow("stream", "services") as f:
        assert f.wait(1)[0]["object"]["metadata"]["annotations"]["x"] == value
